"""The cover: compared with every set there is where these can be counted, and with its own bound where they cannot."""

from __future__ import annotations

from itertools import chain, combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
from ldapdiag.analysis.indexes.set_cover import Demand, cheapest
from ldapdiag.analysis.indexes.set_cover.bound import least_cost
from ldapdiag.analysis.indexes.set_cover.greedy import greedy, improved
from ldapdiag.analysis.indexes.set_cover.problem import CoverProblem, WorkBudget, cost_of, elements
from ldapdiag.analysis.indexes.set_cover.reduction import reduced
from ldapdiag.analysis.indexes.set_cover.search import solved

NAMES = "abcdefghijkl"
BUDGETS = [(400_000, 500_000), (0, 0), (20, 0), (60, 60)]
"""Steps: enough for anything here, none at all, and some that end in the middle."""

alternatives = st.frozensets(st.sampled_from(NAMES), min_size=1, max_size=4)
demands = st.lists(
    st.builds(
        Demand,
        st.lists(alternatives | st.just(frozenset()), max_size=5).map(tuple),
        st.integers(0, 100),
    ),
    max_size=12,
)
prices = st.fixed_dictionaries({name: st.integers(1, 9) for name in NAMES})


def satisfied(demand, chosen) -> bool:
    return any(alternative <= chosen for alternative in demand.alternatives)


def satisfiable(wanted) -> list:
    return [demand for demand in wanted if demand.alternatives]


def optimum(wanted, price) -> int:
    """Return the least price of all sets, by looking at every one of them."""
    used = sorted(set(chain.from_iterable(chain.from_iterable(demand.alternatives for demand in wanted))))
    sets = chain.from_iterable(combinations(used, size) for size in range(len(used) + 1))
    return min(
        sum(price[name] for name in chosen)
        for chosen in sets
        if all(satisfied(demand, frozenset(chosen)) for demand in satisfiable(wanted))
    )


def generated(seed: int, demands: int, names: int, alternatives: int, size: int):
    """Return a workload: so many demands, alternatives of each and elements of these at most."""
    random = Random(seed)  # noqa: S311  a generated workload
    elements = [f"a{number:04}" for number in range(names)]
    price = {name: random.choice([1_000_000, 1_100_000, 3_500_000]) for name in elements}
    wanted = [
        Demand(
            tuple(
                frozenset(random.sample(elements, random.randint(1, size)))
                for _ in range(random.randint(1, alternatives))
            ),
            random.randint(1, 10**10),
        )
        for _ in range(demands)
    ]
    return wanted, price


def in_numbers(wanted, price) -> CoverProblem:
    """Return the same as the search sees it."""
    names = sorted(price)
    bit = {name: 1 << place for place, name in enumerate(names)}
    masks = {tuple(sorted({sum(bit[name] for name in one) for one in demand.alternatives})) for demand in wanted}
    return CoverProblem(tuple(sorted(masks)), tuple(price[name] for name in names), tuple(range(len(names))))


class TestAgainstEverySet:
    @given(demands, prices, st.sampled_from(BUDGETS))
    def test_cost_and_bound_enclose_the_least_price(self, wanted, price, budget) -> None:
        found = cheapest(wanted, price, reducing=budget[0], searching=budget[1])
        least = optimum(wanted, price)
        assert found.lower_bound <= least <= found.cost
        assert found.exact == (found.lower_bound == found.cost)
        assert found.cost == sum(price[name] for name in found.chosen)

    @given(demands, prices)
    def test_small_instances_are_solved(self, wanted, price) -> None:
        found = cheapest(wanted, price)
        assert found.exact
        assert found.cost == optimum(wanted, price)

    @given(demands.filter(satisfiable), prices)
    def test_the_bound_never_exceeds_it(self, wanted, price) -> None:
        wanted = [one for one in satisfiable(wanted) if frozenset() not in one.alternatives]
        assert least_cost(in_numbers(wanted, price).demands, tuple(price[name] for name in NAMES)) <= (
            optimum(wanted, price)
        )

    @given(demands, prices, st.integers(0, 300))
    def test_reduction_leaves_a_best_set(self, wanted, price, steps) -> None:
        wanted = [one for one in satisfiable(wanted) if frozenset() not in one.alternatives]
        numbers = in_numbers(wanted, price)
        chosen, rest = reduced(numbers, WorkBudget(steps))
        left = [Demand(tuple(frozenset(NAMES[each] for each in elements(one)) for one in demand), 0) for demand in rest]
        assert cost_of(chosen, numbers.prices) + optimum(left, price) == optimum(wanted, price)


class TestAnyBudget:
    @given(demands, prices, st.sampled_from(BUDGETS))
    def test_satisfies_what_can_be_and_nothing_can_be_left_out(self, wanted, price, budget) -> None:
        found = cheapest(wanted, price, reducing=budget[0], searching=budget[1])
        chosen = frozenset(found.chosen)
        assert all(satisfied(demand, chosen) for demand in satisfiable(wanted))
        for name in chosen:
            assert not all(satisfied(demand, chosen - {name}) for demand in satisfiable(wanted))

    @given(demands, prices, st.sampled_from(BUDGETS), st.randoms(use_true_random=False))
    def test_the_order_changes_nothing(self, wanted, price, budget, random) -> None:
        places = random.sample(range(len(wanted)), len(wanted))
        mixed = [
            Demand(
                tuple(random.sample(wanted[place].alternatives, len(wanted[place].alternatives))), wanted[place].worth
            )
            for place in places
        ]
        first, second = (cheapest(each, price, reducing=budget[0], searching=budget[1]) for each in (wanted, mixed))
        assert (first.chosen, first.saves, first.lower_bound) == (second.chosen, second.saves, second.lower_bound)
        assert set(first.unsatisfiable) == {places[place] for place in second.unsatisfiable}

    @given(demands, prices)
    def test_what_saves_most_comes_first(self, wanted, price) -> None:
        found = cheapest(wanted, price)
        chosen = frozenset(found.chosen)
        for name, saves in zip(found.chosen, found.saves, strict=True):
            lost = [one for one in wanted if satisfied(one, chosen) and not satisfied(one, chosen - {name})]
            assert saves == sum(one.worth for one in lost)
        assert list(zip(found.saves, found.chosen, strict=True)) == sorted(
            zip(found.saves, found.chosen, strict=True), key=lambda pair: (-pair[0], pair[1])
        )


@pytest.mark.parametrize(
    ("seed", "traits"), [(0, (500, 300, 6, 1)), (1, (500, 300, 10, 1)), (2, (500, 300, 5, 3)), (3, (300, 100, 9, 2))]
)
def test_large_ones_stay_within_their_bound(seed, traits) -> None:
    wanted, price = generated(seed, *traits)
    found = cheapest(wanted, price, searching=50_000)
    chosen = frozenset(found.chosen)
    assert all(satisfied(demand, chosen) for demand in wanted)
    assert found.lower_bound <= found.cost <= 1.2 * found.lower_bound
    assert cheapest(wanted, price).lower_bound >= found.lower_bound


@pytest.mark.parametrize("steps", [0, 1000, 20_000])
def test_the_search_keeps_to_its_work(steps) -> None:
    """It may finish the node at which the work runs out: a branch per alternative, each in few passes."""
    numbers = in_numbers(*generated(1, 300, 200, 6, 2))
    work = WorkBudget(steps)
    best, bound = solved(numbers.demands, numbers.prices, work)
    assert bound < cost_of(best, numbers.prices)
    assert work.left >= -6 * 10 * sum(map(len, numbers.demands))


def test_greedy_is_improved_and_never_made_worse() -> None:
    better = 0
    for seed in examples.rounds(30):
        numbers = in_numbers(*generated(seed, 60, 40, 5, 2))
        first = greedy(numbers.demands, numbers.prices)
        second = improved(numbers.demands, numbers.prices, first, WorkBudget(10_000))
        costs = cost_of(second, numbers.prices), cost_of(first, numbers.prices)
        assert costs[0] <= costs[1]
        better += costs[0] < costs[1]
    assert better > 0


def test_ten_thousand_demands_end() -> None:
    """Counted in steps; that the steps are short is what the suite's patience proves."""
    wanted, price = generated(5, 10_000, 2000, 4, 2)
    found = cheapest(wanted, price, reducing=50_000, searching=50_000)
    chosen = frozenset(found.chosen)
    assert all(satisfied(demand, chosen) for demand in wanted)


def test_a_demand_of_very_many_alternatives_ends() -> None:
    random = Random(3)  # noqa: S311  as above
    wanted = [Demand(tuple(frozenset(random.sample(range(2000), 3)) for _ in range(20_000)), 1)]
    price = {number: 1 + number % 7 for number in range(2000)}
    found = cheapest(wanted, price)
    assert found.exact
    assert found.cost == min(sum(price[each] for each in one) for one in wanted[0].alternatives)


def test_one_for_all_is_cheaper_than_each_for_one() -> None:
    wanted = [Demand((frozenset({"a"}), frozenset({f"b{number}"})), number) for number in range(5)]
    price = {"a": 4} | {f"b{number}": 1 for number in range(5)}
    assert cheapest(wanted, price).chosen == ("a",)
    assert cheapest(wanted[:4], price | {"a": 5}).chosen == ("b3", "b2", "b1", "b0")


def test_every_branch_of_an_or_is_needed() -> None:
    found = cheapest([Demand((frozenset({"title", "employeeNumber"}),), 7)], {"title": 1, "employeeNumber": 1})
    assert found.chosen == ("employeeNumber", "title")
    assert found.saves == (7, 7)


def test_what_nothing_satisfies_is_told() -> None:
    wanted = [Demand((), 1), Demand((frozenset({"a"}),), 1), Demand((frozenset({"b"}),), 1), Demand((frozenset(),), 1)]
    found = cheapest(wanted, {"a": 1})
    assert (found.chosen, found.unsatisfiable) == (("a",), (0, 2))


def test_nothing_wanted_costs_nothing() -> None:
    found = cheapest([], {"a": 1})
    assert (found.chosen, found.cost, found.lower_bound, found.exact) == ((), 0, 0, True)


def test_a_price_is_above_zero() -> None:
    with pytest.raises(ValueError, match="above zero"):
        cheapest([], {"a": 0})
