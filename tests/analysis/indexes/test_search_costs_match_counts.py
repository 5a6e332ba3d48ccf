"""How many candidates filters have, with lists for some of their parts."""

from __future__ import annotations

import pytest

from ldapdiag.analysis.indexes.search_costs import Estimate, FilterCounts
from ldapdiag.evidence.filter_tree import parse_shape

TOTAL = 20_000


def counts(*listed: str, longest: float = TOTAL, **known: float) -> FilterCounts:
    """Return the counts of a database with lists of these attributes, of which so many entries are known."""
    return FilterCounts(
        total=TOTAL,
        known=lambda one: Estimate(*(known[one.attribute],) * 3) if one.attribute in known else None,
        has_list=lambda one: one.attribute in listed,
        longest=longest,
    )


def candidates(shape: str, returned: float, known: FilterCounts) -> tuple[float, ...] | None:
    tree = parse_shape(shape)
    assert tree is not None
    found = known.candidates(tree, Estimate(returned, returned, returned))
    return found and tuple(map(round, found))


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ("(title=?)", (20, 20, 20)),
        ("(l=?)", None),
        ("(!(title=?))", None),
        ("(&(title=?)(l=?))", (20, 632, TOTAL)),  # the square root of 20 of 20,000 is one of 32
        ("(&(title=?)(l=?)(o=?))", (20, 2000, TOTAL)),
        ("(&(title=?)(!(l=?)))", (20, 20, TOTAL)),
        ("(|(title=?)(l=?))", None),
    ],
)
def test_of_what_only_the_result_shows(shape, found) -> None:
    assert candidates(shape, 20, counts("title")) == found


def test_what_other_searches_show_is_not_guessed() -> None:
    assert candidates("(&(objectClass=person)(title=?))", 20, counts("title", objectclass=TOTAL)) == (20, 20, TOTAL)
    assert candidates("(&(title=?)(l=?))", 20, counts("title", title=3000)) == (20, 3000, 3000)
    assert candidates("(&(title=?)(l=?))", 20, counts("title", l=40)) == (20, 10_000, TOTAL)


def test_lists_of_all_parts_leave_what_is_returned() -> None:
    assert candidates("(&(title=?)(l=?))", 20, counts("title", "l"))[1] == 20
    assert candidates("(|(title=?)(l=?))", 20, counts("title", "l")) == (20, 20, 40)


def test_the_bounds_of_a_range_are_one_list() -> None:
    assert candidates("(&(uidNumber>=?)(uidNumber<=?))", 100, counts("uidnumber"))[1] == 100


def test_a_list_that_is_too_long_is_all_entries() -> None:
    assert candidates("(title=?)", 5000, counts("title", longest=4000)) is None
    assert candidates("(&(title=?)(l=?))", 20, counts("title", longest=4000, title=5000)) is None
