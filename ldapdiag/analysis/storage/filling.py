"""Filling: when a volume has no space left, by its free space in recorded runs.

free  40 '·.                  '·.    .·.    .·.
          '·.                    '·.'   '·.'   '·.
      30     '·.   forecast        removed: what comes and goes is no trend

Logs are rotated and databases compacted: the free space of most volumes is a saw tooth, and one tooth of it looks like
growth. So a time is forecast only from what came after the last removal, if the volume has gone longer without one, and
is fuller, than ever in these runs; and no further ahead than it was watched.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from ldapdiag.analysis.load.forecast import FEWEST_READINGS, LimitForecast, forecast, in_words
from ldapdiag.analysis.load.readings import Reading
from ldapdiag.wording import counted, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from ldapdiag.evidence.access_log import AccessLog
    from ldapdiag.evidence.history import History, RecordedVolume
    from ldapdiag.evidence.storage import Space

    Series = Sequence[tuple[datetime, int]]

REMOVED = 0.1
"""A rise of the free space by more than this share of its range: something was removed."""
LEAST_GAIN = 64 << 20
"""Less may be the temporary files of any program."""
UNIT = 1 << 20
LATE_HOURS = 8760
SOURCE = "the recorded runs"
NO_RUNS = "no recorded run shows its free space (ldapdiag diagnose … --record FILE)"


def when(found: LimitForecast) -> str:
    """Return the time left in words."""
    if found.is_over:
        return "now"
    latest = "or more" if found.latest is None else f"to {in_words(found.latest)}"
    return f"in {in_words(found.earliest or 0.0)} {latest}"


def reached(needed: int) -> str:
    """Return the end that is forecast: the space that the server needs is left no more, or none is."""
    return f"have less free than the {size(needed)} that the server needs" if needed else "be full"


def _fills(needed: int) -> str:
    return f"leave less free than the {size(needed)} that the server needs" if needed else "fill it"


def clause(found: LimitForecast, needed: int = 0) -> str:
    """Return the forecast, or why there is none."""
    if found.median is None or found.rates is None:
        return f"when it will {reached(needed)} is not judged: {found.not_because}"
    rate = size(found.rates[1])
    return (
        f"by {SOURCE} {rate} are added an hour: it will {reached(needed)} {when(found)}, as long as nothing is removed"
    )


def by_log(space: Space, logs: Iterable[AccessLog], needed: int) -> str:
    """Return when the access log alone fills a volume, at the speed at which its files grew; empty: not known."""
    rates = [stream.bytes_per_hour for log in logs for stream in log.streams]
    known = [rate for rate in rates if rate is not None]
    rate = sum(known)
    if not rate or len(known) < len(rates) or space.free_bytes is None:
        return ""
    hours = max(0, space.free_bytes - needed) / rate
    within = f"in {in_words(hours)}" if hours < LATE_HOURS else "in more than a year"
    return f"its access log adds {size(rate)} an hour: that alone will {_fills(needed)} {within}, if no log is removed"


def filling(space: Space, server: str, histories: Iterable[History], needed: int) -> LimitForecast:
    """Return when the free space of a volume of a server falls below `needed`; rates in bytes an hour."""
    recorded = {one.taken: one.free_bytes for one in _recorded(space, server, histories)}
    if not recorded:
        return LimitForecast(not_because=NO_RUNS)
    if space.taken is None or space.free_bytes is None:
        return LimitForecast(not_because="the evidence does not show its free space at a known time")
    recorded = {at: free for at, free in recorded.items() if at < space.taken}
    series = [*sorted(recorded.items()), (space.taken, space.free_bytes)]
    parts = _parts(series)
    *earlier, last = parts
    if earlier and not _is_beyond(last, earlier):
        at = f"last before {last[0][0]:%Y-%m-%d %H:%M} UTC"
        removed = f"something was removed from it {counted(len(earlier), 'time')} ({at})"
        how = "as when logs are rotated or a database is compacted: what comes and goes is no trend"
        return LimitForecast(not_because=f"{removed}, {how}")
    return _of_part(last, needed)


def _recorded(space: Space, server: str, histories: Iterable[History]) -> Iterator[RecordedVolume]:
    """Yield what was recorded of the volume; with another size it was enlarged, or is another one."""
    for history in histories:
        for run in history.runs:
            for one in (volume for of in run.servers if of.name == server for volume in of.volumes):
                if one.mount_point == space.mount_point and one.total_bytes == space.total_bytes:
                    yield one


def _parts(series: Series) -> list[Series]:
    """Return a series cut where something was removed."""
    amounts = [free for _, free in series]
    least = REMOVED * (max(amounts) - min(amounts))
    cuts = [place for place, ((_, one), (_, two)) in enumerate(pairwise(series), 1) if two - one > least]
    return [series[begin:end] for begin, end in pairwise([0, *cuts, len(series)])]


def _is_beyond(last: Series, earlier: Sequence[Series]) -> bool:
    """Return whether a volume has gone longer without a removal than before, and is fuller than ever."""
    longest = max(two[0][0] - one[0][0] for one, two in pairwise([*earlier, last]))
    return last[-1][0] - last[0][0] > longest and last[-1][1] < min(free for part in earlier for _, free in part)


def _of_part(part: Series, needed: int) -> LimitForecast:
    """Return the forecast from readings without a removal between them."""
    (begin, first), (end, last) = part[0], part[-1]
    hours, gained = (end - begin).total_seconds() / 3600, first - last
    if len(part) < FEWEST_READINGS:
        enough = f"{counted(len(part), 'reading')} of its free space since something was last removed"
        return LimitForecast(not_because=f"{enough}; {FEWEST_READINGS} are needed")
    if gained < LEAST_GAIN:
        change = f"{size(abs(gained))} {'less' if gained >= 0 else 'more'} are free"
        return LimitForecast(not_because=f"{change} than {in_words(hours)} before; {size(LEAST_GAIN)} less are needed")
    # The level of a volume has no daily rhythm, as that of connections has: counted from its first reading.
    readings = [Reading(at, (gained + first - free) // UNIT, SOURCE) for at, free in part]
    found = forecast(readings, (gained + first - needed) // UNIT)
    if found.rates is not None:
        low, median, high = (rate * UNIT for rate in found.rates)
        found = replace(found, rates=(low, median, high))
    if found.rates is None:
        return replace(found, not_because="its readings are too few, or too far apart")
    if found.median is None:
        return replace(found, not_because="its growth does not exceed its fluctuation")
    earliest = min(found.earliest or 0.0, _left_at_last(part, needed))
    if found.median > found.hours:
        slow = f"with {size(found.rates[1])} more an hour it takes longer than the {in_words(found.hours)}"
        but = f" (as fast as in the last readings: {in_words(earliest)})" if earliest <= found.hours else ""
        why = f"{slow} that were watched{but}, and no forecast reaches further"
        return replace(found, not_because=why, earliest=None, median=None, latest=None)
    return replace(found, earliest=earliest)


def _left_at_last(part: Series, needed: int) -> float:
    """Return the hours until it is full as fast as in the last readings: what fills it may be new."""
    (begin, before), (end, free) = part[-FEWEST_READINGS], part[-1]
    gained, left = before - free, max(0, free - needed)
    return left * (end - begin).total_seconds() / 3600 / gained if gained >= LEAST_GAIN else inf
