"""The hours that a local clock shows twice: which records of a log without zones are of the second time.

    Oct 25 02:59:58 vm slapd[3989]: conn=1 ...      Europe/Berlin, +0200
    Oct 25 02:00:03 vm slapd[3989]: conn=1 ...      two seconds after 02:59:59, the clock is set back: +0100

The order of the lines decides: where the clock goes back within such an hour, the second time begins. A line alone does
not show it, so it is decided for a whole file, before the file is cut.
"""

from __future__ import annotations

import re
from collections import deque
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.stamps import SECOND, Seconds, when
from ldapdiag.evidence.log.syslog import yearless
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    from ldapdiag.evidence.log.line_scan import Hints

    Span = tuple[int, int]
    Stamped = tuple[int, int]
    """The offset and the time of a line."""

DAY = 86_400
MOST_DAYS = 4000

LEAST_TURN = 600 * SECOND
"""The smallest step back that begins the second time. Time daemons step a clock by less."""

LAST_LINES = 8
"""The last lines of a log that give its year: a single one may have been forged."""

STAMP = pattern(
    rb"^(?>(?:<\d{1,3}+>)?)((?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\ {1,2}\d{1,2}\ \d\d:\d\d:\d\d)",
    re.VERBOSE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedHour:
    """The times at which a clock shows an hour, nanoseconds since 1970; in some zones it is less than an hour."""

    begin: int
    turn: int
    """The clock is set back: the hour begins again."""

    @property
    def length(self) -> int:
        """Return how much the clock is set back."""
        return self.turn - self.begin


def repeated_hours(zone: tzinfo, first: int, last: datetime) -> Iterator[RepeatedHour]:
    """Yield the hours that a zone's clock shows twice from a time to another, give or take a day."""
    if isinstance(zone, timezone):
        return
    begin = max(first // SECOND - DAY, 0)
    for second in range(begin, min(int(last.timestamp()) + DAY, begin + MOST_DAYS * DAY), DAY):
        low, high = second, second + DAY
        back = _east(zone, low) - _east(zone, high)
        if back <= 0:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _east(zone, middle) > _east(zone, high) else (low, middle)
        yield RepeatedHour(begin=(high - back) * SECOND, turn=high * SECOND)


def _east(zone: tzinfo, second: int) -> int:
    offset = when(second * SECOND).astimezone(zone).utcoffset()
    return int((offset or timedelta()).total_seconds())


def second_time(
    blocks: Iterable[tuple[int, bytes]], hour: RepeatedHour, hints: Hints, written: datetime
) -> tuple[tuple[int, int], ...]:
    """Return where the second time of an hour begins and where it is over, as (offset, fold); empty without records.

    `blocks` are whole lines with their offsets, from before the hour or from the beginning of the log. `written` is
    when the last of them was written, by a clock with a zone.
    """
    first: Stamped | None = None
    before = turned = past = None
    last = 0
    for earlier, (offset, time), later in _with_neighbours(_stamps(blocks, hour, hints)):
        if time < hour.begin:
            before = time
        elif time < hour.turn:
            if first and turned is None and min(earlier) - max(time, later) >= LEAST_TURN:
                turned = offset
            first, last = first or (offset, time), time
        elif later >= hour.turn:
            past = offset, time
            break
    if first and turned is None and _is_second(hour, before, (first[1], last), past and past[1], written):
        turned = first[0]
    if turned is None:
        return ()
    return ((turned, 1), (past[0], 0)) if past else ((turned, 1),)


def _is_second(hour: RepeatedHour, before: int | None, inside: Span, past: int | None, written: datetime) -> bool:
    """Return whether records of an hour without a turn are of the second time: they join those after it, not before."""
    first, last = inside
    if past is not None:
        return before is None or past - hour.length - last < first - before
    return before is None and abs(int(written.timestamp()) * SECOND - last - hour.length) * 2 < hour.length


def _with_neighbours(stamps: Iterable[Stamped]) -> Iterator[tuple[Span, Stamped, int]]:
    """Yield each line with the times of the two before it and of the one after it; at the ends, its own."""
    earlier: Span | None = None
    line: Stamped | None = None
    for following in stamps:
        if line is not None:
            earlier = earlier or (line[1], line[1])
            yield earlier, line, following[1]
            earlier = earlier[1], line[1]
        line = following
    if line is not None:
        yield earlier or (line[1], line[1]), line, line[1]


def _stamps(blocks: Iterable[tuple[int, bytes]], hour: RepeatedHour, hints: Hints) -> Iterator[Stamped]:
    """Yield the lines with a time, as if the clock were never set back; of blocks before the hour only the last one."""
    seconds = Seconds(lambda text: yearless(text, hints))
    for at, data in blocks:
        begin = data.rfind(b"\n", 0, -1) + 1
        last = STAMP.match(data, begin)
        for found in STAMP.finditer(data, begin if last and 0 < _time(last, seconds) < hour.begin else 0):
            time = _time(found, seconds)
            if time > 0:
                yield at + found.start(), time


def last_time(tail: bytes, hints: Hints) -> datetime | None:
    """Return the latest time of the last lines of a log; None if none has one."""
    seconds = Seconds(lambda text: yearless(text, hints))
    last = max((_time(found, seconds) for found in deque(STAMP.finditer(tail), LAST_LINES)), default=0)
    return when(last) if last else None


def _time(found: re.Match[bytes], seconds: Seconds) -> int:
    """Return the time of a stamp; 0 for an invalid one."""
    try:
        return seconds[found[1]]
    except ValueError:
        return 0
