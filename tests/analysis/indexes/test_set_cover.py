"""The cover: compared with every set there is where these can be counted, and with its own bound where they cannot."""

from __future__ import annotations

from itertools import chain, combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
from ldapdiag.analysis.indexes.set_cover.cover import Demand, cheapest, greedy, improved, least_cost, solved
from ldapdiag.analysis.indexes.set_cover.problem import CoverProblem, WorkBudget, cost_of, elements
from ldapdiag.analysis.indexes.set_cover.reduction import reduced

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
costs = st.fixed_dictionaries({name: st.integers(1, 9) for name in NAMES})


def satisfied(demand, chosen) -> bool:
    return any(alternative <= chosen for alternative in demand.alternatives)


def satisfiable(wanted) -> list:
    return [demand for demand in wanted if demand.alternatives]


def optimum(wanted, cost_by_name) -> int:
    """Return the least cost of all sets, by trying every one."""
    used = sorted(set(chain.from_iterable(chain.from_iterable(demand.alternatives for demand in wanted))))
    sets = chain.from_iterable(combinations(used, size) for size in range(len(used) + 1))
    return min(
        sum(cost_by_name[name] for name in chosen)
        for chosen in sets
        if all(satisfied(demand, frozenset(chosen)) for demand in satisfiable(wanted))
    )


def generated(seed: int, demands: int, names: int, alternatives: int, size: int):
    """Return random demands with at most so many alternatives and elements each, and costs."""
    random = Random(seed)  # noqa: S311  a generated workload
    elements = [f"a{number:04}" for number in range(names)]
    cost_by_name = {name: random.choice([1_000_000, 1_100_000, 3_500_000]) for name in elements}
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
    return wanted, cost_by_name


def as_problem(wanted, cost_by_name) -> CoverProblem:
    """Return the same in bit masks."""
    names = sorted(cost_by_name)
    bit = {name: 1 << place for place, name in enumerate(names)}
    masks = {tuple(sorted({sum(bit[name] for name in one) for one in demand.alternatives})) for demand in wanted}
    return CoverProblem(tuple(sorted(masks)), tuple(cost_by_name[name] for name in names), tuple(range(len(names))))


class TestAgainstEverySet:
    @given(demands, costs, st.sampled_from(BUDGETS))
    def test_cost_and_bound_enclose_the_least_cost(self, wanted, cost_by_name, budget) -> None:
        found = cheapest(wanted, cost_by_name, reduction_steps=budget[0], search_steps=budget[1])
        least = optimum(wanted, cost_by_name)
        assert found.lower_bound <= least <= found.cost
        assert found.exact == (found.lower_bound == found.cost)
        assert found.cost == sum(cost_by_name[name] for name in found.chosen)

    @given(demands, costs)
    def test_small_problems_are_solved(self, wanted, cost_by_name) -> None:
        found = cheapest(wanted, cost_by_name)
        assert found.exact
        assert found.cost == optimum(wanted, cost_by_name)

    @given(demands.filter(satisfiable), costs)
    def test_the_bound_never_exceeds_it(self, wanted, cost_by_name) -> None:
        wanted = [one for one in satisfiable(wanted) if frozenset() not in one.alternatives]
        assert least_cost(as_problem(wanted, cost_by_name).demands, tuple(cost_by_name[name] for name in NAMES)) <= (
            optimum(wanted, cost_by_name)
        )

    @given(demands, costs, st.integers(0, 300))
    def test_reduction_leaves_a_best_set(self, wanted, cost_by_name, steps) -> None:
        wanted = [one for one in satisfiable(wanted) if frozenset() not in one.alternatives]
        problem = as_problem(wanted, cost_by_name)
        chosen, rest = reduced(problem, WorkBudget(steps))
        left = [Demand(tuple(frozenset(NAMES[each] for each in elements(one)) for one in demand), 0) for demand in rest]
        assert cost_of(chosen, problem.costs) + optimum(left, cost_by_name) == optimum(wanted, cost_by_name)


class TestAnyBudget:
    @given(demands, costs, st.sampled_from(BUDGETS))
    def test_satisfies_what_can_be_and_nothing_can_be_left_out(self, wanted, cost_by_name, budget) -> None:
        found = cheapest(wanted, cost_by_name, reduction_steps=budget[0], search_steps=budget[1])
        chosen = frozenset(found.chosen)
        assert all(satisfied(demand, chosen) for demand in satisfiable(wanted))
        for name in chosen:
            assert not all(satisfied(demand, chosen - {name}) for demand in satisfiable(wanted))

    @given(demands, costs, st.sampled_from(BUDGETS), st.randoms(use_true_random=False))
    def test_the_order_changes_nothing(self, wanted, cost_by_name, budget, random) -> None:
        places = random.sample(range(len(wanted)), len(wanted))
        mixed = [
            Demand(
                tuple(random.sample(wanted[place].alternatives, len(wanted[place].alternatives))), wanted[place].worth
            )
            for place in places
        ]
        first, second = (
            cheapest(each, cost_by_name, reduction_steps=budget[0], search_steps=budget[1]) for each in (wanted, mixed)
        )
        assert (first.chosen, first.saves, first.lower_bound) == (second.chosen, second.saves, second.lower_bound)
        assert set(first.unsatisfiable) == {places[place] for place in second.unsatisfiable}

    @given(demands, costs)
    def test_what_saves_most_comes_first(self, wanted, cost_by_name) -> None:
        found = cheapest(wanted, cost_by_name)
        chosen = frozenset(found.chosen)
        for name, saves in zip(found.chosen, found.saves, strict=True):
            lost = [one for one in wanted if satisfied(one, chosen) and not satisfied(one, chosen - {name})]
            assert saves == sum(one.worth for one in lost)
        assert list(zip(found.saves, found.chosen, strict=True)) == sorted(
            zip(found.saves, found.chosen, strict=True), key=lambda pair: (-pair[0], pair[1])
        )


@pytest.mark.parametrize(
    ("seed", "traits"),
    examples.some([(3, (300, 100, 9, 2)), (0, (500, 300, 6, 1)), (1, (500, 300, 10, 1)), (2, (500, 300, 5, 3))], 4),
)
def test_large_ones_stay_within_their_bound(seed, traits) -> None:
    wanted, cost_by_name = generated(seed, *traits)
    found = cheapest(wanted, cost_by_name, search_steps=50_000)
    chosen = frozenset(found.chosen)
    assert all(satisfied(demand, chosen) for demand in wanted)
    assert found.lower_bound <= found.cost <= 1.2 * found.lower_bound
    assert cheapest(wanted, cost_by_name).lower_bound >= found.lower_bound


@pytest.mark.parametrize("steps", [0, 1000, 20_000])
def test_the_search_keeps_to_its_budget(steps) -> None:
    """It may finish the branch at which the budget runs out: a branch per alternative, each in few passes."""
    problem = as_problem(*generated(1, 300, 200, 6, 2))
    work = WorkBudget(steps)
    best, bound = solved(problem.demands, problem.costs, work)
    assert bound < cost_of(best, problem.costs)
    assert work.left >= -6 * 10 * sum(map(len, problem.demands))


def test_greedy_is_improved_and_never_made_worse() -> None:
    better = 0
    for seed in examples.rounds(30):
        problem = as_problem(*generated(seed, 60, 40, 5, 2))
        first = greedy(problem.demands, problem.costs)
        second = improved(problem.demands, problem.costs, first, WorkBudget(10_000))
        costs = cost_of(second, problem.costs), cost_of(first, problem.costs)
        assert costs[0] <= costs[1]
        better += costs[0] < costs[1]
    assert better > 0


@pytest.mark.parametrize("demands", [2000, pytest.param(10_000, marks=pytest.mark.long)])
def test_thousands_of_demands_end(demands) -> None:
    """The budget counts steps; the time of the suite shows that they are short."""
    wanted, cost_by_name = generated(5, demands, 2000, 4, 2)
    found = cheapest(wanted, cost_by_name, reduction_steps=50_000, search_steps=50_000)
    chosen = frozenset(found.chosen)
    assert all(satisfied(demand, chosen) for demand in wanted)


@pytest.mark.parametrize("alternatives", [2000, pytest.param(20_000, marks=pytest.mark.long)])
def test_a_demand_of_very_many_alternatives_ends(alternatives) -> None:
    random = Random(3)  # noqa: S311  as above
    wanted = [Demand(tuple(frozenset(random.sample(range(2000), 3)) for _ in range(alternatives)), 1)]
    cost_by_name = {number: 1 + number % 7 for number in range(2000)}
    found = cheapest(wanted, cost_by_name)
    assert found.exact
    assert found.cost == min(sum(cost_by_name[each] for each in one) for one in wanted[0].alternatives)


def test_one_for_all_is_cheaper_than_each_for_one() -> None:
    wanted = [Demand((frozenset({"a"}), frozenset({f"b{number}"})), number) for number in range(5)]
    cost_by_name = {"a": 4} | {f"b{number}": 1 for number in range(5)}
    assert cheapest(wanted, cost_by_name).chosen == ("a",)
    assert cheapest(wanted[:4], cost_by_name | {"a": 5}).chosen == ("b3", "b2", "b1", "b0")


def test_every_branch_of_an_or_is_needed() -> None:
    found = cheapest([Demand((frozenset({"title", "employeeNumber"}),), 7)], {"title": 1, "employeeNumber": 1})
    assert found.chosen == ("employeeNumber", "title")
    assert found.saves == (7, 7)


def test_demands_that_nothing_satisfies_are_listed() -> None:
    wanted = [Demand((), 1), Demand((frozenset({"a"}),), 1), Demand((frozenset({"b"}),), 1), Demand((frozenset(),), 1)]
    found = cheapest(wanted, {"a": 1})
    assert (found.chosen, found.unsatisfiable) == (("a",), (0, 2))


def test_nothing_wanted_costs_nothing() -> None:
    found = cheapest([], {"a": 1})
    assert (found.chosen, found.cost, found.lower_bound, found.exact) == ((), 0, 0, True)


def test_a_cost_is_above_zero() -> None:
    with pytest.raises(ValueError, match="above zero"):
        cheapest([], {"a": 0})
