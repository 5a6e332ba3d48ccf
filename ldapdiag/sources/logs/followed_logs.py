"""Followed logs: read what is there, then what is added to it, in files that are rotated, truncated or appear.

Appearing logs: files that come into the followed folders and globs, each read once.

access -> access.20261120-090000      the followed file under a new name, known by its inode
access.1, a copy, then access cut     logrotate's copytruncate: known by its beginning
access.1.gz                           what was read before; a compressed file does not grow
slapd-2026-11-21.log                  new records: it continues slapd-2026-11-20.log
"""

from __future__ import annotations

import stat
from contextlib import suppress
from dataclasses import field, replace
from glob import has_magic
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.files.folders import RegularFile, contents
from ldapdiag.sources.files.input import HEAD_BYTES
from ldapdiag.sources.files.unreadable import unreadable
from ldapdiag.sources.files.walk import expanded
from ldapdiag.sources.logs import native
from ldapdiag.sources.logs.access_log import NO_METER, Meter, ScannedLogs, ScannedStream, logs_among, read_streams
from ldapdiag.sources.logs.asked_period import end_of
from ldapdiag.sources.logs.following import Tail, tail_from_start, tail_of
from ldapdiag.sources.logs.log_files import LogFile, NotYet, find_logs
from ldapdiag.sources.logs.period import Period, WholeRecords
from ldapdiag.sources.logs.stream_counts import counts_by
from ldapdiag.sources.logs.streams import Stream, continued_by, last_part, streams_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from datetime import tzinfo

    from ldapdiag.sources.logs.log_files import NotALog

    Inode = tuple[int, int]
    from threading import Event

MOST_FOLLOWED = 400
"""Limit of the files that are followed at the same time, each of them open."""

LIVE_SECONDS = 60
LIVE_BYTES = 16 << 20
"""A few seconds' work for the slower scanner."""

TOO_MANY = Gap(
    target="the followed logs",
    reason=f"are {MOST_FOLLOWED} or more: logs that appear now are not read",
    how="follow the folder of one server",
)


def follow(  # noqa: PLR0913  one for each option of the command, and that of the live view
    named: Sequence[str],
    *,
    workers: int | None = None,
    meter: Meter = NO_METER,
    zone: tzinfo | None = None,
    stop: Event,
    every: float = 0.5,
    scanner: Scanner | None = None,
    live: bool = False,
) -> Iterator[ScannedLogs]:
    """Read the existing records, then follow the logs; yield the reading after each addition, until `stop` is set.

    For a `live` view it is yielded after each poll, the same object if nothing was added, and the counts begin
    LIVE_SECONDS before the last record; of earlier ones the last LIVE_BYTES show who has the connections. Logs of which
    none can grow are not read.

    The last file of each stream, and logs that appear in named folders and globs, are polled every `every` seconds.
    The Segments of the yielded readings keep growing: call finish on a copy. Pipes, archives and compressed files are
    read once. If no file has a record yet but one may get one, the first reading has `waits` set, and the next one
    follows when a record has been written.
    """
    appearing = Appearing(named, zone)
    found = yield from _with_record(named, zone, stop, every, live=live)
    if not found:
        return
    not_logs = tuple(one for one in found if not isinstance(one, LogFile))
    appearing.know(logs_among(found))
    streams = streams_of(logs_among(found))
    followed = Followed(is_native=native.chosen(scanner) is Scanner.NATIVE)
    for number, stream in enumerate(streams):
        if tail := tail_of(stream.files[-1]):
            stream.files[-1], following = tail
            followed.tails.append((number, following))
    if live and streams and not followed.tails:
        return
    period = _recent(streams, stop) if live else None
    try:
        followed.readings += read_streams(streams, workers, meter, period, stop, scanner)
        _close_files(streams)
        reading = ScannedLogs(streams=tuple(followed.readings), not_logs=not_logs, stopped=False)
        yield reading
        while followed.tails and not stop.wait(every):
            if followed.grow(appearing, stop):
                reading = replace(reading, streams=tuple(followed.readings))
                yield reading
            elif live:
                yield reading
    finally:
        followed.close()


def _with_record(
    named: Sequence[str], zone: tzinfo | None, stop: Event, every: float, *, live: bool
) -> Generator[ScannedLogs, None, list[LogFile | NotALog]]:
    """Return what is found; if no file has a record yet, but one may get one, yield that, and wait; none if stopped."""
    found = list(find_logs(named, zone, is_followed=True))
    if logs_among(found) or not any(isinstance(one, NotYet) for one in found):
        return found
    nothing = ScannedLogs(streams=(), not_logs=tuple(found), stopped=False, waits=True)  # type: ignore[arg-type]  # no log
    yield nothing
    while not stop.wait(every):
        found = list(find_logs(named, zone, is_followed=True))
        if logs_among(found):
            return found
        if live:
            yield nothing
    return []


def _recent(streams: Sequence[Stream], stop: Event) -> Period:
    """Leave of each stream the end of its last file, and return the period whose records a live view counts."""
    period = Period(end_of(streams, stop) - LIVE_SECONDS * SECOND)
    for stream in streams:
        stream.replace_files([last_part(stream.files[-1], LIVE_BYTES)])
    return period


@dataclass(slots=True)
class Followed:
    """The logs that are followed."""

    is_native: bool
    """The native scanner reads the logs that it can."""
    readings: list[ScannedStream] = field(default_factory=list)
    tails: list[tuple[int, Tail]] = field(default_factory=list)
    """With the numbers of their readings; of one reading, the file rotated away before the one that continues it."""

    def grow(self, appearing: Appearing, stop: Event) -> bool:
        """Add what has been written since the last call; return whether there is anything."""
        grown = [_added(self.readings[number], tail, stop) for number, tail in self.tails]
        last = dict(self.tails)
        ended = [one for one, more in zip(self.tails, grown, strict=True) if not more and last[one[0]] is not one[1]]
        for number, tail in ended:
            _merge_records(self.readings[number], tail, tail.rest())
        self.tails = [one for one in self.tails if one not in ended]
        new = islice(appearing.new_logs([tail for _, tail in self.tails]), max(0, MOST_FOLLOWED - len(self.tails)))
        grown += [self._begin(file, stop) for file in list(new)]
        if len(self.tails) >= MOST_FOLLOWED and TOO_MANY not in self.readings[0].gaps:
            self.readings[0].gaps.append(TOO_MANY)
        return any(grown)

    def _begin(self, file: LogFile, stop: Event) -> bool:
        """Follow a file that has appeared."""
        tail = tail_from_start(file)
        if tail is None:
            return False
        file = replace(file, head=replace(file.head, openings={}, operations={}))
        ends = ((reading.stream, reading.counts.last_time or reading.stream.end) for reading in self.readings)
        number = continued_by(ends, file)
        if number is None:
            number = len(self.readings)
            by = Scanner.NATIVE if self.is_native and native.reads(file.dialect.name) else Scanner.PYTHON
            self.readings.append(ScannedStream(stream=Stream(files=[file]), counts=counts_by(by), scanner=by))
        else:
            self.readings[number].stream.files.append(file)
        self.tails.append((number, tail))
        return _added(self.readings[number], tail, stop)

    def close(self) -> None:
        """Close all files."""
        for _, tail in self.tails:
            tail.close()


def _close_files(streams: Sequence[Stream]) -> None:
    """Close the files that were read, except those that are followed: an open file keeps its disk space."""
    for stream in streams:
        for file in stream.files:
            if file.input.file_range is not None:
                file.input.file_range.files.clear()


def _added(reading: ScannedStream, tail: Tail, stop: Event) -> bool:
    """Merge the records added since the last call; return whether the reading has changed."""
    truncated = tail.truncated
    has_records = False
    try:
        while not stop.is_set() and (data := tail.more()):
            _merge_records(reading, tail, data)
            has_records = True
    except OSError as error:
        gap = unreadable(tail.location, error)
        if gap not in reading.gaps:
            reading.gaps.append(gap)
    if tail.truncated > truncated:
        reason = "was truncated while it was followed, or rotated twice between two looks; lines may be missing there"
        reading.notes.append(f"{reading.stream.name} {reason}")
        reading.truncated.append(Gap(target=tail.location, reason=reason, how="read it again, with the rotated file"))
    return has_records or tail.truncated > truncated


def _merge_records(reading: ScannedStream, tail: Tail, data: bytes) -> None:
    if data and reading.scanner is Scanner.NATIVE:
        for part in native.scanned(tail.dialect, tail.hints, data):
            reading.counts.merge(part)
    elif data:
        reading.counts.merge(WholeRecords(tail.dialect, data, tail.hints))


COMPARED_BYTES = 1 << 10
"""Bytes at the beginning of two files by which one is known as a copy of the other: several records."""

MOST_BEGINNINGS = 1_000
"""Beginnings of files that are kept: those of the last ones that were followed."""


class Appearing:
    """Finds the logs that appear among what the operator named."""

    def __init__(self, named: Sequence[str], zone: tzinfo | None) -> None:
        """Take what is there now as known; call it before the logs are searched for the first time."""
        self._named = named
        self._zone = zone
        self._beginnings: dict[object, bytes] = {}
        self._logs: set[Inode] = set()
        """The files that have been read."""
        self._others = {inode: one.status.st_size for inode, one in self._present().items()}
        """The sizes of the files that were no plain logs when they were read last."""

    def know(self, files: Iterable[LogFile]) -> None:
        """Take these logs as known."""
        for file in files:
            if file.input.identity is not None:
                self._logs.add(file.input.identity)
                self._others.pop(file.input.identity, None)
            if found := file.input.file_range:
                with suppress(OSError):  # reported when the file is read
                    self._remember(file.input.identity, found.read_at(found.start, COMPARED_BYTES))

    def new_logs(self, tails: Iterable[Tail]) -> Iterator[LogFile]:
        """Yield the plain logs that have appeared or got their first record, and are no copies of what was read."""
        present = self._present()
        self._logs &= present.keys()  # the inode of a removed file may be used again
        self._others = {inode: size for inode, size in self._others.items() if inode in present}
        for tail in tails:
            self._logs |= tail.inodes()
            self._remember((id(tail), tail.generation), tail.beginning(COMPARED_BYTES))
        for inode, one in present.items():
            if inode not in self._logs and self._may_be_log(inode, one.status.st_size):
                self._others[inode] = one.status.st_size
                for file in find_logs([one.location], self._zone, is_followed=True):
                    if isinstance(file, LogFile) and _grows(file) and not self._is_copy(file):
                        self.know([file])
                        yield file

    def _present(self) -> dict[Inode, RegularFile]:
        """Return the regular files in the named folders and of the named globs."""
        found = {}
        for named in self._named:
            for name in expanded(named):
                for one in _files_of(Path(name), is_glob=has_magic(named)):
                    found[one.status.st_dev, one.status.st_ino] = one
        return found

    def _may_be_log(self, inode: Inode, size: int) -> bool:
        """Return whether a file is new, or has grown since its head was too short to recognise it."""
        before = self._others.get(inode, 0)
        return before < HEAD_BYTES and size != before

    def _remember(self, key: object, beginning: bytes) -> None:
        self._beginnings.pop(key, None)
        self._beginnings[key] = beginning
        while len(self._beginnings) > MOST_BEGINNINGS:
            del self._beginnings[next(iter(self._beginnings))]

    def _is_copy(self, file: LogFile) -> bool:
        found = file.input.file_range
        beginning = found.read_at(found.start, COMPARED_BYTES) if found else b""
        for known in self._beginnings.values():
            shorter = min(known, beginning, key=len)
            if _has_record(shorter) and known[: len(shorter)] == beginning[: len(shorter)]:
                return True
        return False


def _files_of(path: Path, *, is_glob: bool) -> Iterator[RegularFile]:
    with suppress(OSError):  # it has been removed
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            yield from (content for content in contents(path) if isinstance(content, RegularFile))
        elif is_glob and stat.S_ISREG(status.st_mode):
            yield RegularFile(str(path), path.parent, status)


def _grows(file: LogFile) -> bool:
    """Return whether a log is a plain file, which may get more records."""
    return file.input.file_range is not None and file.input.file_range.length is None


def _has_record(beginning: bytes) -> bool:
    """Return whether a beginning has more than the header of 389-ds, which all its files have alike."""
    return any(line and not line.startswith(b"\t") for line in beginning.split(b"\n")[:-1])
