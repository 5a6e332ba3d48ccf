"""Parts of a log as JSON (docs/contract.md): the time axis, trends and quantiles.

What only some servers log of searches: how they were sorted, and which indexes were used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.log.time_axis import result_counts
from ldapdiag.evidence.log.stamps import SECOND, moment
from ldapdiag.report.log.quantities import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.analysis.log.quantiles import KindTimes
    from ldapdiag.analysis.log.quantiles import Quantiles as QuantilesOf
    from ldapdiag.analysis.log.searches import ReportedIndexes, SearchGroup, SortCount, Visits
    from ldapdiag.analysis.log.silences import Silence as SilenceOf
    from ldapdiag.analysis.log.time_axis import TimeAxis
    from ldapdiag.analysis.log.trends import Growth as GrowthOf
    from ldapdiag.analysis.log.trends import Share as ShareOf
    from ldapdiag.analysis.log.trends import Trend
    from ldapdiag.documents.log import Silence, Timeline
    from ldapdiag.documents.log_operations import FilterShape, Growth, OperationTimes, Quantiles, Share, UsedIndexes
    from ldapdiag.documents.log_operations import Sort as SearchSort
    from ldapdiag.documents.log_operations import Trend as TrendDocument


def timeline(axis: TimeAxis | None) -> Timeline | None:
    """Return the time axis: its step, its ends, and an array per number with a value for each interval."""
    if axis is None:
        return None
    intervals = axis.intervals
    busiest = intervals[axis.busiest]
    document: Timeline = {
        "step_seconds": axis.step,
        "from": moment(axis.at(0), SECOND),
        "to": moment(axis.at(len(intervals)), SECOND),
        "operations": [interval.answered for interval in intervals],
        "operation_seconds": [seconds(interval.etime) for interval in intervals],
        "searches": [interval.searches for interval in intervals],
        "search_seconds": [seconds(interval.search_etime) for interval in intervals],
        "slow": [interval.slow for interval in intervals],
        "failed_binds": [interval.failed_binds for interval in intervals],
        "opened": [interval.opened for interval in intervals],
        "closed": [interval.closed for interval in intervals],
        "open": list(axis.open),
        "results": {str(code): list(counts) for code, counts in result_counts(axis).items()},
        "worst": {
            "from": moment(axis.at(axis.busiest), SECOND),
            "searches": busiest.searches,
            "search_seconds": seconds(busiest.search_etime),
        },
        "left_out": [
            {"records": far.records, "from": moment(far.begin, SECOND), "to": moment(far.end, SECOND)}
            for far in axis.left_out
        ],
    }
    if threads := max(interval.most_busy[1] for interval in intervals):
        document["busy_workers"] = [interval.most_busy[0] for interval in intervals]
        document["workers"] = threads
        document["queued"] = [interval.longest_queue for interval in intervals]
    return document


def silences(found: Iterable[SilenceOf]) -> list[Silence]:
    """Return the unlikely times without an answer."""
    return [
        {
            "from": moment(one.begin, SECOND),
            "to": moment(one.end, SECOND),
            "seconds": seconds(one.length),
            "usual_per_second": round(one.usual, 6),
        }
        for one in found
    ]


def trend_of(trend: Trend | None, resolution: int) -> TrendDocument:
    """Return when the searches of a shape came, and whether their time grows."""
    if trend is None:
        return {"first_seen": None, "last_seen": None, "since": None, "until": None, "series": None, "growth": None}
    parts = trend.parts
    return {
        "first_seen": moment(trend.first, resolution),
        "last_seen": moment(trend.last, resolution),
        "since": None if trend.since is None else moment(trend.since, resolution),
        "until": None if trend.until is None else moment(trend.until, resolution),
        "series": {
            "from": moment(parts.at(0), SECOND),
            "step_seconds": 1 << parts.shift,
            "answered": list(trend.counts),
            "etime_seconds": [seconds(etime) for etime in trend.etimes],
        }
        if trend.etimes
        else None,
        "growth": None if trend.growth is None else _growth(trend.growth),
    }


def _growth(growth: GrowthOf) -> Growth:
    step = growth.step
    return {
        "growing": growth.is_growing,
        "steady": growth.is_steady,
        "step": None
        if step is None
        else {"at": moment(step.at, SECOND), "before": _share(step.before), "after": _share(step.after)},
        "first": _share(growth.first),
        "last": _share(growth.last),
    }


def _share(share: ShareOf) -> Share:
    return {
        "from": moment(share.begin, SECOND),
        "to": moment(share.end, SECOND),
        "answered": share.count,
        "etime_seconds": seconds(share.etime),
        "share": round(share.share, 6),
    }


def quantiles(times: QuantilesOf | None) -> Quantiles | None:
    """Return quantiles with the number of durations."""
    if times is None:
        return None
    return {
        "count": times.count,
        "p50_seconds": seconds(times.p50),
        "p95_seconds": seconds(times.p95),
        "p99_seconds": seconds(times.p99),
    }


def kind(times: KindTimes) -> OperationTimes:
    """Return the times of one kind of operation."""
    return {
        "answered": times.answered,
        "etime_seconds": seconds(times.etime),
        "worst_seconds": seconds(times.worst),
        "etime": quantiles(times.etimes),
        "wtime": quantiles(times.waits),
        "optime": quantiles(times.optimes),
    }


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
