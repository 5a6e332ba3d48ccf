"""What only some servers log of searches, as JSON: how they were sorted, and which indexes were used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.report.log.quantities import seconds

if TYPE_CHECKING:
    from ldapdiag.analysis.log.searches import ReportedIndexes, SearchGroup, SortCount, Visits
    from ldapdiag.documents.log_operations import FilterShape, UsedIndexes
    from ldapdiag.documents.log_operations import Sort as SearchSort


def add_details(row: FilterShape, search: SearchGroup) -> None:
    """Add them to the row of a filter shape."""
    if search.sorts:
        row["sorts"] = [_sort(keys, count) for keys, count in search.sorts.items()]
    if search.reported:
        visits = search.reported.values()
        row["visited"] = sum(one.visited for one in visits)
        row["pages"] = sum(one.pages for one in visits)
        row["pages_from_disk"] = sum(one.from_disk for one in visits)
        row["used_indexes"] = [_used_indexes(reported, one) for reported, one in search.reported.items()]


def _sort(keys: str, sort: SortCount) -> SearchSort:
    return {
        "keys": keys,
        "count": sort.count,
        "etime_seconds": seconds(sort.etime),
        "unindexed": sort.unindexed,
        "candidates": sort.candidates,
        "most_candidates": sort.most_candidates,
        "unsorted": sort.unsorted,
        "vlv": sort.vlv,
        "vlv_by_index": sort.by_index,
        "vlv_errors": {str(err): count for err, count in sorted(sort.vlv_errors.items())},
    }


def _used_indexes(reported: ReportedIndexes, visits: Visits) -> UsedIndexes:
    return {
        "indexes": list(reported.indexes),
        "preventing": list(reported.preventing),
        "count": visits.results,
        "etime_seconds": seconds(visits.etime),
        "entries": visits.entries,
        "visited": visits.visited,
        "most_visited": visits.most_visited,
        "pages": visits.pages,
        "pages_from_disk": visits.from_disk,
        "expected": visits.expected,
    }
