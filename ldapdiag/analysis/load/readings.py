"""Readings: how many connections were open when, by source; and the part of a series that shows a trend.

count          ....··.
           ....'      |        .....·''
                      |    .·''
                      |..·'
    left out: restart | refill | the part that is used

How many connections a server had open when: from the snapshots of its sockets, its access log and recorded runs.

Connections over time in intervals of equal length, from readings at any times.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.time_axis import time_axis
from ldapdiag.evidence.history import readings as recorded
from ldapdiag.evidence.log.stamps import when
from ldapdiag.evidence.log.timeline import MOST, STEPS
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import counted, rounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.log.traffic import Traffic
    from ldapdiag.evidence.history import History

    Points = list[tuple[float, float]]

RESTART, LEAST_FALL = 0.6, 10
"""A count that falls below this share of the one before, by so many: the server was restarted, or its clients were."""
EMPTY = 0.25
"""A series that begins with less than this share of its last count may begin with clients that fill their pools."""
FASTER, SLOWER = 1.5, 2 / 3
GAP_HOURS, REST = 48, 5
"""So long without a reading, and longer than all readings last: only what follows is used, if it has so many."""
REFILL_PARTS = 10
"""A refill is looked for at the tenths of a series, up to its half."""
PARTS = 24
"""A series of more readings is averaged in as many parts: what decides is in the long ones."""
PARTS_A_DAY, MOST_PARTS = 4, 72
"""A series of several days is averaged in more parts, which show a daily rhythm."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How many connections (or descriptors) were open at a time."""

    time: datetime
    open: int
    source: str
    """As in a report: `the snapshots of its sockets`. Readings of one source are one series."""


@dataclass(frozen=True, slots=True)
class GrowthSeries:
    """The part of a series that shows a trend, in (hours from its last reading, count)."""

    points: Points
    """In order of time; parts of a long series, averaged."""
    readings: int
    hours: float
    gained: int
    """Connections, from its first reading to its last."""
    last: int
    end: datetime
    """The time of its last reading."""
    noise: float
    """The variance of a reading, as far as neighbours show it."""
    left_out: tuple[str, ...]
    """What of the series is not used, and why."""
    filling: bool
    """Its growth slows down: pools that refill after a restart."""


def growth_series(readings: Sequence[Reading]) -> GrowthSeries | None:
    """Return the part of a series since its last restart, without the refill; None for fewer than two times."""
    ordered = {reading.time: reading for reading in sorted(readings, key=lambda one: (one.time, one.open))}
    times = list(ordered)
    if len(times) < 2:
        return None
    points = [((time - times[-1]).total_seconds() / 3600, float(ordered[time].open)) for time in times]
    left_out = []
    if begin := _after_gap(points):
        left_out.append(
            _before(points[begin][0], f"none for {(points[begin][0] - points[begin - 1][0]) / 24:,.1f} days")
        )
        points = points[begin:]
    restarts = [place for place, ((_, one), (_, two)) in enumerate(pairwise(points), 1) if _is_restart(one, two)]
    if restarts:
        left_out.append(_before(points[restarts[-1]][0], "connections fell by half at once, as at a restart"))
        points = points[restarts[-1] :]
    filling = False
    if len(points) > 2 and (restarts or points[0][1] < EMPTY * points[-1][1]):
        begin = _refilled(points)
        filling = _slows_down(points[begin:])
        if begin:
            left_out.append(_before(points[begin][0], "clients refilled their pools"))
            points = points[begin:]
    steps = [(two - one) ** 2 for (_, one), (_, two) in pairwise(points)]
    return GrowthSeries(
        points=_averaged(points),
        readings=len(points),
        hours=points[-1][0] - points[0][0],
        gained=round(points[-1][1] - points[0][1]),
        last=round(points[-1][1]),
        end=times[-1],
        noise=sum(steps) / len(steps) / 2 if steps else 0.0,
        left_out=tuple(left_out),
        filling=filling,
    )


def _is_restart(before: float, after: float) -> bool:
    return after < RESTART * before and before - after >= LEAST_FALL


def _after_gap(points: Points) -> int:
    """Return where a series begins again after a gap of days that is longer than all the rest; 0: there is none."""
    gaps = [two - one for (one, _), (two, _) in pairwise(points)]
    longest = max(gaps)
    begin = gaps.index(longest) + 1
    is_gap = longest >= GAP_HOURS and 2 * longest > points[-1][0] - points[0][0]
    return begin if is_gap and len(points) - begin >= REST else 0


def _before(hours: float, reason: str) -> str:
    if not hours:
        return f"only the last reading is used ({reason})"
    return f"readings of more than {rounded(-hours)} h before the last one are not used ({reason})"


def _refilled(points: Points) -> int:
    """Return where a straight line begins to fit best, for its length: the refill is before it."""
    places = sorted({len(points) * part // REFILL_PARTS for part in range(REFILL_PARTS // 2 + 1)})
    fits = {place: _misfit(points[place:]) for place in places if len(points) - place >= 4}
    begin = min(fits, key=lambda place: (fits[place], place), default=0)
    filling = begin > 1 and _line(points[:begin])[0] > FASTER * max(0.0, _line(points[begin:])[0])
    return begin if filling else 0


def _misfit(points: Points) -> float:
    """Return the squared standard error of a straight line (MSER, White 1997, with a trend)."""
    slope, level = _line(points)
    return (sum((count - level - slope * time) ** 2 for time, count in points) + 1) / len(points) ** 2


def _slows_down(points: Points) -> bool:
    """Return whether the second half grows clearly slower than the first."""
    half = len(points) // 2
    if half < 4:
        return False
    first, second = _line(points[:half])[0], _line(points[half:])[0]
    return first > 0 and second < SLOWER * first


def _line(points: Points) -> tuple[float, float]:
    size = len(points)
    time, count = sum(one for one, _ in points) / size, sum(one for _, one in points) / size
    spread = sum((one - time) ** 2 for one, _ in points)
    slope = sum((one - time) * (two - count) for one, two in points) / spread if spread else 0.0
    return slope, count - slope * time


def _averaged(points: Points) -> Points:
    """Return the averages of equally long parts; of parts with equally many readings where most would have none."""
    begin, hours = points[0][0], points[-1][0] - points[0][0]
    most = max(PARTS, min(MOST_PARTS, round(hours / 24 * PARTS_A_DAY)))
    if len(points) <= most:
        return points
    parts: dict[int, Points] = {}
    for time, count in points:
        parts.setdefault(min(most - 1, int((time - begin) / hours * most)), []).append((time, count))
    if len(parts) < PARTS // 2:
        size = -(-len(points) // PARTS)
        parts = {place: points[place : place + size] for place in range(0, len(points), size)}
    return [
        (sum(time for time, _ in part) / len(part), sum(one for _, one in part) / len(part)) for part in parts.values()
    ]


SOCKET_TABLE = "socket table"
"""What a recorded run names as the source of connections that its snapshots show."""
MOST_NAMES = 3
SNAPSHOTS = "the snapshots of its sockets"
LOG = "its access log"


def snapshot_readings(host: Host, ports: frozenset[int]) -> Iterator[Reading]:
    """Yield the established connections in each snapshot with a time."""
    for snapshot in host.snapshots:
        if snapshot.taken:
            yield Reading(snapshot.taken.start, len(snapshot.sockets.established_at(ports)), SNAPSHOTS)


def logged_readings(traffic: Traffic) -> Iterator[Reading]:
    """Yield the connections open at the end of each interval of an access log.

    Connections that stay open and silent all the time are not in a log: their number is missing in each reading, and
    not in the growth. A log with lost lines may lack closes: it yields none.
    """
    axis = time_axis(traffic.segment)
    if axis is None or traffic.segment.lost:
        return
    for place, count in enumerate(axis.open):
        yield Reading(when(min(axis.at(place + 1), axis.end)), count, LOG)


def recorded_readings(history: History, server: str, now: Reading | None) -> Iterator[Reading]:
    """Yield the connections in the recorded runs, counted in the way in which most runs counted them, and those now."""
    runs = [one for one in recorded(history, server) if one.connections is not None]
    ways = Counter(one.connections_source for one in runs)
    if not ways:
        return
    way = max(ways, key=lambda one: (ways[one], one))
    source = f"the runs recorded in {history.origin.path}"
    for run in runs:
        if run.connections_source == way:
            yield Reading(run.taken, run.connections or 0, source)
    if now is not None and way == SOCKET_TABLE:
        yield Reading(now.time, now.open, source)


def other_servers(histories: Iterable[History], server: str) -> Iterator[str]:
    """Yield which histories have no run of a server, with the names that they have: it may have another name there."""
    for history in histories:
        if history.servers and server not in history.servers:
            more = len(history.servers) - MOST_NAMES
            names = ", ".join(history.servers[:MOST_NAMES]) + (
                f" and {counted(more, 'more server')}" if more > 0 else ""
            )
            yield f"without {history.origin.path} (it has runs of {names}, and none of {server})"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledConnections:
    """The readings of one source."""

    source: str
    step: int
    """Seconds of an interval. Each begins at a multiple of it since 1970 (UTC), as those of an access log do."""
    first: int
    """The number of the first interval since 1970."""
    values: tuple[int | None, ...]
    """The most connections in a reading of each interval; None: it has no reading. The first and the last have one."""


def sampled_connections(readings: Iterable[Reading]) -> Iterator[SampledConnections]:
    """Yield the intervals of each source with readings of two times or more, in the order of their names."""
    by_source: dict[str, list[Reading]] = {}
    for reading in sorted(readings, key=lambda one: (one.source, one.time, one.open)):
        by_source.setdefault(reading.source, []).append(reading)
    for source, several in by_source.items():
        begin, end = (int(several[place].time.timestamp()) for place in (0, -1))
        if several[0].time == several[-1].time:
            continue
        step = next((step for step in STEPS if end // step - begin // step < MOST), STEPS[-1])
        values: list[int | None] = [None] * min(MOST, end // step - begin // step + 1)
        for reading in several:
            place = min(MOST - 1, int(reading.time.timestamp()) // step - begin // step)
            values[place] = max(values[place] or 0, reading.open)
        yield SampledConnections(
            source=source,
            step=step,
            first=begin // step,
            values=tuple(values),
        )
