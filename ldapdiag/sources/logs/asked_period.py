"""Asked periods: --since and --until, where a time may count from the end of the logs.

A log is often read days after it was written. So `-1h`, `today` and `09:55` refer to the end of the logs, not to now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.errors import UsageError
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.logs.period import TAIL_BYTES, Period
from ldapdiag.sources.logs.samples import sample_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from threading import Event

    from ldapdiag.sources.logs.log_files import LogFile
    from ldapdiag.sources.logs.streams import Stream

    Span = tuple[int, int]

READ = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTime:
    """A time on the command line, as a span in nanoseconds since 1970: a day, a second, or an instant."""

    text: str
    by_end: Callable[[int], Span]
    """Returns the span for logs that end at a time."""
    following: Callable[[int], Span] | None = None
    """Returns the first such span that ends at or after a time; None if there is only one."""
    needs_end: bool = True
    """False if the end of the logs does not matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPeriod:
    """The period that the operator asked for; None: no limit on that side."""

    since: AskedTime | None = None
    until: AskedTime | None = None

    @property
    def needs_end(self) -> bool:
        """Return whether the period depends on the end of the logs."""
        return any(time is not None and time.needs_end for time in (self.since, self.until))

    def by_end(self, end: int) -> Period:
        """Return the period for logs that end at a time. Raises UsageError if it ends before it begins."""
        since = None if self.since is None else self.since.by_end(end)[0]
        if self.until is None:
            return Period(since)
        if since is not None and self.until.following is not None:
            return Period(since, self.until.following(since)[1])
        until = self.until.by_end(end)[1]
        if self.since is not None and since is not None and until < since:
            raise UsageError(f"--until {self.until.text} is before --since {self.since.text}: swap the two times")
        return Period(since, until)


def period_of(asked: AskedPeriod | None, streams: Sequence[Stream], stop: Event) -> Period | None:
    """Return the period asked for; None for all records. Where it counts from the end of the logs, find their end."""
    if asked is None or (asked.since is None and asked.until is None):
        return None
    return asked.by_end(end_of(streams, stop) if asked.needs_end else 0)


def end_of(streams: Iterable[Stream], stop: Event) -> int:
    """Return the time of the last record of all streams; 0 if no stream has one."""
    ends = [0]
    for stream in streams:
        last = stream.files[-1]
        ends.append(stream.end)
        if last.last_time is None:
            ends.append(_read_through(last, stop))
    return max(ends)


def _read_through(file: LogFile, stop: Event) -> int:
    """Return the time of the last record of a compressed log or a stream; it is read twice."""
    file.input.keep()
    tail, size = b"", 0
    try:
        with file.input.open() as opened:
            while not stop.is_set() and (data := opened.read(READ)):
                tail, size = (tail + data)[-TAIL_BYTES:], size + len(data)
    except OSError:  # reported when the file is read
        pass
    tail = tail[tail.find(b"\n") + 1 :]
    sampled = sample_of(file.dialect, file.pieces(tail, size - len(tail)), 0)
    return sampled.last_time if sampled else 0
