"""The time axis on screen: a sparkline of the search time, the worst interval, and a mark for each filter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.log.time_axis import time_axis
from ldapdiag.analysis.log.trends import clock, growth, parts_of, period
from ldapdiag.report.charts.terminal import sparkline
from ldapdiag.report.log.quantities import day_and_time, duration
from ldapdiag.wording import counted, number, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.log.time_axis import FarRecords, TimeAxis
    from ldapdiag.analysis.log.trends import Trend
    from ldapdiag.analysis.log.workload import Workload
    from ldapdiag.report.page import Page

WIDEST = 40
"""Intervals of the sparkline."""
FEWEST = 4
"""Intervals; fewer are no picture."""
MANY_OPEN = 50
"""Open connections, of which a picture is drawn if their number at least doubles."""
UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def print_times(page: Page, work: Workload) -> None:
    """Print the search time of each interval, and the numbers of the worst."""
    axis = time_axis(work.segment, min(WIDEST, page.room))
    if axis is None or len(axis.intervals) < FEWEST:
        return
    etimes = [interval.search_etime for interval in axis.intervals]
    if not any(etimes):
        return
    place, parts = axis.busiest, parts_of(axis)
    most = f"most {duration(etimes[place])} ({percent(etimes[place] / sum(etimes))}) at {clock(axis.at(place), parts)}"
    page.packed("time", [f"{sparkline(etimes)}  search time per {_step(axis.step)}", most, *_workers(axis)], "bold")
    if MANY_OPEN <= max(axis.open) >= 2 * max(1, axis.open[0]):
        page.packed("", [f"{sparkline(axis.open)}  open connections", f"at most {number(max(axis.open))}"], "")


def _workers(axis: TimeAxis) -> Iterator[str]:
    """Yield how many workers were busy, if operations waited for one."""
    busiest = max(axis.intervals, key=lambda interval: (interval.most_busy, interval.longest_queue))
    busy, threads = busiest.most_busy
    if busiest.longest_queue:
        yield f"{busy} of {threads} workers busy, {counted(busiest.longest_queue, 'operation')} waiting"


def _step(seconds: int) -> str:
    size, unit = next((size, unit) for size, unit in UNITS if seconds % size == 0)
    return f"{seconds // size} {unit}"


def pictures(trend: Trend | None) -> list[str]:
    """Return a picture of a filter's search time over the time of the log, with since when, and without."""
    if trend is None or len(trend.etimes) < FEWEST:
        return []
    line = sparkline(trend.etimes)
    return [*([f"{line} {period(trend)}"] if trend.since is not None else []), line]


def course(trend: Trend | None, shown: str) -> list[str]:
    """Return since when a filter's searches come, unless that is shown, and how fast their time grows, if so."""
    if trend is None:
        return []
    begins = [] if trend.since is None else [period(trend)]
    return [*(one for one in begins if one not in shown), *growth(trend)]


def far_records(axis: TimeAxis) -> Iterator[str]:
    """Yield a sentence on records that are left out of the time axis."""
    for far in axis.left_out:
        (is_, it) = ("is", "it is") if far.records == 1 else ("are", "they are")
        yield (
            f"{counted(far.records, 'record')} {is_} {_when(far)}, far from all others: {it} counted, but not on the "
            "time axis"
        )


def _when(far: FarRecords) -> str:
    (day, _), (last_day, _) = day_and_time(far.begin), day_and_time(far.end - 1)
    return f"of {day}" if day == last_day else f"between {day} and {last_day}"
