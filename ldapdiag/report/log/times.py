"""The time axis on screen: a sparkline of the search time, the worst interval, and a mark for each filter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.log.trends import Growth, Parts, Share, Step, Trend, clock, growth, period
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.timeline import DAY, STEPS
from ldapdiag.report.charts.terminal import sparkline
from ldapdiag.report.log.quantities import instant, per_second
from ldapdiag.wording import counted, duration, number, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ldapdiag.report.page import Page

WIDEST = 40
"""Intervals of the sparkline."""
FEW = 3
"""Silences."""
FEWEST = 4
"""Intervals; fewer are no picture."""
MANY_OPEN = 50
"""Open connections, of which a picture is drawn if their number at least doubles."""
UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def print_times(page: Page, document: Mapping[str, Any]) -> None:
    """Print the search time of each interval, and the numbers of the worst."""
    axis = document["timeline"]
    if axis is None or len(axis["searches"]) < FEWEST or not any(axis["search_seconds"]):
        return
    step = _step(axis, min(WIDEST, page.room))
    etimes = _joined(axis, "search_seconds", step, sum)
    worst, total = axis["worst"], document["searches"]["etime_seconds"]
    within = "" if step == axis["step_seconds"] else f" within {_words(axis['step_seconds'])}"
    most = f"most {duration(worst['search_seconds'])} ({percent(worst['search_seconds'] / total)}){within}"
    at = clock(instant(worst["from"]), parts_of(document))
    picture = f"{sparkline(etimes)}  search time per {_words(step)}"
    page.packed("time", [picture, f"{most} at {at}", *_workers(axis)], "bold")
    counts = axis["open"]
    if MANY_OPEN <= max(counts) >= 2 * max(1, counts[0]):
        open_ = _joined(axis, "open", step, max)
        page.packed("", [f"{sparkline(open_)}  open connections", f"at most {number(max(counts))}"], "")


def print_silences(page: Page, document: Mapping[str, Any]) -> None:
    """Print the longest times without an answer."""
    found = document["silences"]
    for place, one in enumerate(found[:FEW]):
        more = [f"and {number(len(found) - FEW)} more"] if place == FEW - 1 and len(found) > FEW else []
        page.packed("" if place else "silence", [*_silence(one, parts_of(document)), *more], "bold")


def _silence(one: Mapping[str, Any], parts: Parts) -> Iterator[str]:
    """Yield when no operation was answered, and how many are in that hour."""
    begin, end = (clock(instant(one[key]), parts, exact=True) for key in ("from", "to"))
    until = end.split()[-1] if end.split()[:-1] == begin.split()[:-1] else end
    yield f"no answer from {begin} to {until} UTC ({duration(one['seconds'])})"
    yield f"usual in that hour: {per_second(round(one['usual_per_second'] * DAY), DAY * SECOND)}"


def _step(axis: Mapping[str, Any], most: int) -> int:
    """Return the smallest step of a coarser axis that has no more intervals."""
    count, own = len(axis["searches"]), axis["step_seconds"]
    begin = instant(axis["from"]) // SECOND
    steps = (step for step in STEPS if step % own == 0)
    return next(step for step in steps if (begin + (count - 1) * own) // step - begin // step < most)


def _joined(axis: Mapping[str, Any], key: str, step: int, join: Callable[[list[float]], float]) -> list[int]:
    """Return the values of an axis by longer intervals, in thousandths."""
    begin, own = instant(axis["from"]) // SECOND, axis["step_seconds"]
    intervals: dict[int, list[float]] = {}
    for place, value in enumerate(axis[key]):
        intervals.setdefault((begin + place * own) // step, []).append(value)
    return [round(1000 * join(values)) for values in intervals.values()]


def _workers(axis: Mapping[str, Any]) -> Iterator[str]:
    """Yield how many workers were busy, if operations waited for one."""
    busy, queued = max(zip(axis.get("busy_workers", [0]), axis.get("queued", [0]), strict=True))
    if queued:
        yield f"{busy} of {axis['workers']} workers busy, {counted(queued, 'operation')} waiting"


def _words(seconds: int) -> str:
    size, unit = next((size, unit) for size, unit in UNITS if seconds % size == 0)
    return f"{seconds // size} {unit}"


def parts_of(document: Mapping[str, Any]) -> Parts:
    """Return the time of the log, by which times are shown."""
    ends = (instant(document[key]) if document[key] else 0 for key in ("first_time", "last_time"))
    begin, end = ends
    return Parts(begin=begin, end=end, shift=0, first=0, count=0)


def trend_of(row: Mapping[str, Any], parts: Parts) -> Trend | None:
    """Return when the searches of a row came."""
    if row["first_seen"] is None:
        return None
    values = row["series"] or {"answered": (), "etime_seconds": ()}
    times = {key: None if row[key] is None else instant(row[key]) for key in ("since", "until")}
    grown = row["growth"]
    return Trend(
        parts=parts,
        first=instant(row["first_seen"]),
        last=instant(row["last_seen"]),
        counts=tuple(values["answered"]),
        etimes=tuple(round(second * SECOND) for second in values["etime_seconds"]),
        since=times["since"],
        until=times["until"],
        growth=_growth(grown) if grown and grown["growing"] else None,
    )


def _growth(row: Mapping[str, Any]) -> Growth:
    step = row["step"]
    return Growth(
        first=_share(row["first"]),
        last=_share(row["last"]),
        step=step and Step(at=instant(step["at"]), before=_share(step["before"]), after=_share(step["after"])),
        is_steady=row["steady"],
    )


def _share(row: Mapping[str, Any]) -> Share:
    etime = round(row["etime_seconds"] * SECOND)
    total = round(etime / row["share"]) if row["share"] else max(etime, 1)
    return Share(begin=instant(row["from"]), end=instant(row["to"]), etime=etime, total=total, count=row["answered"])


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
    return [*(begin for begin in begins if begin not in shown), *growth(trend)]
