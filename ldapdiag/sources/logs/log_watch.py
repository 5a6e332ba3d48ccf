"""A watch of the access log that a server is writing: its counts since a minute before the first look, look by look."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from ldapdiag.analysis.log.search_counts import search_counts
from ldapdiag.analysis.log.workload import Workload
from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.log.combine import combine
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.logs.followed_logs import follow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from threading import Event

    from ldapdiag.analysis.log.search_counts import SearchCounts
    from ldapdiag.evidence.access_log import CountedLog, LogStream
    from ldapdiag.sources.logs.access_log import ScannedLogs


class NotFollowedError(LdapdiagError):
    """The log cannot be followed; the text is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLook:
    """What a log has counted so far."""

    workload: Workload
    searches: SearchCounts
    logs: tuple[CountedLog, ...]
    """The same by stream."""
    seconds: float
    """How long reading and counting took."""
    beginning: int
    """Looks with the same number continue the same counts."""
    left_out: int = 0
    """Bytes of the log that were not counted so far, at least."""
    ahead_seconds: float = 0.0
    """How far the clock of the server is ahead."""


class LogFiles(Protocol):
    """The files that have the log of a server, here or as a copy of those on another host."""

    files: Sequence[str]
    left_out: int
    """Bytes of the log that no file has, at least: too many came at once, or a file was gone before its end."""
    ahead_seconds: float
    """How far the clock of the server is ahead of the one here; about a second of it is uncertain."""

    def more(self) -> None:
        """Let the files have what has been written since. Raises LdapdiagError."""

    def described(self, stream: LogStream) -> LogStream:
        """Return a stream of the files as that of the log."""

    def explained(self, reason: str) -> str:
        """Return a reason that names the log."""

    def close(self) -> None:
        """End what was begun; may be called more than once."""


class LocalFiles:
    """The files of a log on this host."""

    left_out = 0
    ahead_seconds = 0.0

    def __init__(self, files: Sequence[str], folder: str) -> None:
        """`folder` is that of the other evidence of their host; empty: it is not known."""
        self.files = files
        self._folder = folder

    def more(self) -> None:
        """Do nothing: the server writes them."""

    def described(self, stream: LogStream) -> LogStream:
        """Return the stream in the folder of its host."""
        return replace(stream, folder=self._folder or stream.folder)

    def explained(self, reason: str) -> str:
        """Return the reason."""
        return reason

    def close(self) -> None:
        """Do nothing: nothing was begun."""


class LogWatch:
    """Follows the log of one server."""

    def __init__(self, find: Callable[[], LogFiles], stop: Event) -> None:
        """`find` raises LdapdiagError with the reason if there is no log."""
        self._find = find
        self._stop = stop
        self._followed: LogFiles | None = None
        self._readings: Iterator[ScannedLogs] | None = None
        self._beginnings = 0
        self._last: tuple[ScannedLogs, LogLook] | None = None

    @property
    def counted(self) -> tuple[CountedLog, ...]:
        """Return the counts of the last look, as evidence."""
        if (last := self._last) is None:
            return ()
        return last[1].logs

    @property
    def names(self) -> frozenset[str]:
        """Return what identifies the files of the log: their paths without links, or the name of that elsewhere."""
        followed = self._followed
        return (
            frozenset(os.path.realpath(followed.explained(one)) for one in followed.files) if followed else frozenset()
        )

    def look(self) -> LogLook:
        """Return the counts, the same object as before if nothing was written. Raises NotFollowedError."""
        began = time.monotonic()
        try:
            reading = _usable(next(self._begun(), None))
            if self._last is None or self._last[0] is not reading:
                self._last = reading, self._counted(reading, began)
        except BaseException as error:
            reason = self._followed.explained(str(error)) if self._followed else str(error)
            self._readings = self._last = None  # the next look begins anew
            self.close()
            if isinstance(error, LdapdiagError):
                raise NotFollowedError(f"not followed, because {reason}") from error
            raise
        return self._last[1]

    def close(self) -> None:
        """End a session with the host of the log."""
        followed, self._followed = self._followed, None
        if followed is not None:
            followed.close()

    def _begun(self) -> Iterator[ScannedLogs]:
        if self._readings is None or self._followed is None:
            self._beginnings += 1
            self._followed = self._find()
            self._readings = follow(self._followed.files, workers=1, stop=self._stop, every=0, live=True)
        else:
            self._followed.more()
        return self._readings

    def _counted(self, reading: ScannedLogs, began: float) -> LogLook:
        followed = self._followed
        logs = tuple(stream.counted(goes_on=True) for stream in reading.streams)
        if followed is not None:
            logs = tuple(log._replace(stream=followed.described(log.stream)) for log in logs)
        families = {log.stream.family for log in logs}
        total = logs[0].segment if len(logs) == 1 else combine(Segment(), *(log.segment for log in logs))
        workload = Workload(total, families.pop() if len(families) == 1 else None)
        return LogLook(
            workload=workload,
            searches=search_counts(total),  # here, not in the thread of the screen
            logs=logs,
            seconds=time.monotonic() - began,
            beginning=self._beginnings,
            left_out=(followed.left_out if followed else 0) + sum(len(one.truncated) for one in reading.streams),
            ahead_seconds=followed.ahead_seconds if followed else 0.0,
        )


def _usable(reading: ScannedLogs | None) -> ScannedLogs:
    """Return a reading of which something was counted, and nothing is missing. Raises NotFollowedError."""
    if reading is None:
        raise NotFollowedError("it is no plain file, and does not grow")
    missing = reading.gaps or (() if reading.streams else reading.not_logs)
    if missing or not reading.streams:
        raise NotFollowedError(next((f"{one.target} {one.reason}" for one in missing), "no log was found"))
    return reading
