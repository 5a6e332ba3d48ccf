"""Sorts of a kind of search, by their keys."""

from __future__ import annotations

from ldapdiag.analysis.log.searches import SortCount, sort_counts
from ldapdiag.evidence.log.sorting import ALL, NO_SORT, UNLISTED, Sorting


def test_the_ways_of_one_key_are_added_up() -> None:
    counts = sort_counts(
        {
            Sorting(b"cn", 0): [2, 20, 0, 80, 50],
            Sorting(b"CN", ALL): [1, 400, 1, 0, 0],
            Sorting(b"cn", 0, 0): [3, 900, 3, 60_000, 20_000],
            Sorting(b"cn", 0, 11): [1, 300, 1, 4_992, 4_992],
            Sorting(b"cn", UNLISTED, 0): [4, 8, 0, 0, 0],
            Sorting(b"-sn", 0): [1, 5, 0, 9, 9],
            Sorting(vlv=0): [1, 1, 1, 0, 0],
        }
    )
    assert counts == {
        "cn": SortCount(
            count=11, etime=1628, unindexed=5, candidates=65_072, most_candidates=20_000, unsorted=1, vlv=8, by_index=4,
            by_index_etime=8, vlv_errors={11: 1},
        ),
        "-sn": SortCount(count=1, etime=5, candidates=9, most_candidates=9, vlv_errors={}),
        "": SortCount(count=1, etime=1, unindexed=1, vlv=1, vlv_errors={}),
    }  # fmt: skip
    assert list(counts) == ["cn", "-sn", ""]


def test_a_view_without_candidates_that_is_noted_used_no_index() -> None:
    (count,) = sort_counts({Sorting(b"cn", UNLISTED, 0): [2, 10, 1, 0, 0]}).values()
    assert (count.vlv, count.by_index, count.by_index_etime) == (2, 1, 0)
    assert sort_counts({Sorting(b"", NO_SORT, 11): [1, 1, 1, 0, 0]})[""].vlv_errors == {11: 1}
