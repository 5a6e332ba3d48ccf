"""Streams: which server's log each file is a part of, and in which order (docs/how-it-decides.md, "Access logs").

    access.20261120-090625.gz .. access      nine files, rotated: one stream, in the order of their first records
    slapd.stderr.log, syslog-iso.log         two duplicates of one run: one is read, the other is named
    access of two servers in one folder      their times overlap and their connections differ: two streams

Names do not show the order: access.1 may be younger or older than access.2. They only show whose next file one is
where two servers log side by side.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.line_scan import NEVER
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.sources.logs.overlap import divided

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.sources.logs.log_files import LogFile

DISORDER = 2 * SECOND
"""By so much a server's threads write lines out of order."""

FOREVER = NEVER

ALIKE = 10 * SECOND
"""Spans that differ by less cover the same: a clock of seconds against one of nanoseconds, a last line more."""

MOST_COMPARED = 2_000
"""Pairs of streams without a mark in common that are looked into; each costs some twenty reads."""

CHANGING = re.compile(r"[\d._-]+")
"""What rotation changes of a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """A file that is not read, because another stream has the same records."""

    file: LogFile
    reason: str


@dataclass(slots=True, kw_only=True)
class Stream:
    """One server's log, in order."""

    files: list[LogFile]
    duplicates: list[Duplicate] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What the report calls it: the path of the file with the shortest name, which is the one written last."""
        return min((file.path for file in self.files), key=lambda path: (len(path), path))

    @property
    def dialect(self) -> Dialect:
        """How it is written."""
        return self.files[0].dialect

    @property
    def instance(self) -> bytes:
        """The server's description in the headers."""
        return next((file.head.instance for file in self.files if file.head.instance), b"")

    @property
    def first_time(self) -> int:
        """Of the first record."""
        return self.files[0].first_time

    @property
    def end(self) -> int:
        """The latest time that is known to be in it."""
        return max(max(file.head.last_time, file.last_time or 0) for file in self.files)

    @property
    def open_ended(self) -> bool:
        """It may go on after `end`: the last file's last record is not known."""
        return self.files[-1].last_time is None


def streams_of(files: Iterable[LogFile]) -> tuple[Stream, ...]:
    """Return the streams of these files, by their first record. The order of the files is nothing."""
    ordered = sorted(files, key=lambda file: (file.first_time, _end(file), file.path, file.input.label))
    streams: list[Stream] = []
    looks = iter(range(MOST_COMPARED))
    for file in ordered:
        if _read_on(streams, file, looks):
            continue
        before = [stream for stream in streams if _goes_on(stream, file)]
        if before:
            max(before, key=lambda stream: _fit(stream, file)).files.append(file)
        else:
            streams.append(Stream(files=[file]))
    return tuple(sorted(_told_once(streams), key=lambda stream: (stream.first_time, stream.name)))


def _read_on(streams: list[Stream], file: LogFile, looks: Iterator[int]) -> bool:
    """Continue a stream whose end is within a file with the rest of that file; return whether there is one."""
    ending = [stream for stream in streams if _ends_within(stream.files[-1], file)]
    for stream in sorted(ending, key=lambda stream: _end(stream.files[-1]), reverse=True):
        if next(looks, None) is None:
            return False
        with suppress(OSError):  # reported when the file is read
            if found := divided(stream.files[-1], file):
                stream.files[-1], rest = found
                if rest is None:
                    reason = f"has the same records as {stream.files[-1].path}, which is read"
                    stream.duplicates.append(Duplicate(file=file, reason=reason))
                else:
                    stream.files.append(rest)
                return True
    return False


def _ends_within(last: LogFile, file: LogFile) -> bool:
    return last.last_time is not None and file.first_time <= last.last_time < _end(file)


def _end(file: LogFile) -> int:
    return FOREVER if file.last_time is None else file.last_time


def _goes_on(stream: Stream, file: LogFile) -> bool:
    """Tell whether a file may be the next one of a stream."""
    last = stream.files[-1]
    if (last.input.folder, last.dialect.name) != (file.input.folder, file.dialect.name):
        return False
    same = stream.instance == file.head.instance
    if not same and stream.instance and file.head.instance:
        return False
    if last.last_time is None and not (same and stream.instance) and _stem(last) != _stem(file):
        return False
    end = last.head.last_time if last.last_time is None else last.last_time
    return file.first_time >= end - DISORDER and file.first_time > last.first_time


def _stem(file: LogFile) -> str:
    return CHANGING.sub("", file.path)


def _fit(stream: Stream, file: LogFile) -> tuple[bool, int]:
    """Return how well a file goes on with a stream: by its name, and by how short the time between them is."""
    last = stream.files[-1]
    return _stem(last) == _stem(file), _end(last) if last.last_time is not None else last.head.last_time


def _told_once(streams: list[Stream]) -> list[Stream]:
    """Return one stream of each run: of several with the same records the one that covers most."""
    kept: list[Stream] = []
    by_mark: dict[object, list[Stream]] = {}
    compared = 0
    for stream in sorted(streams, key=_worth):
        known = {id(other): other for mark in _marks(stream) for other in by_mark.get(mark, ())}
        for other in known.values():
            if stream.files and _same_run(other, stream):
                _leave_out(stream, other)
        for other in kept:
            if not stream.files or compared >= MOST_COMPARED:
                break
            earlier, later = (stream, other) if stream.first_time < other.first_time else (other, stream)
            if _may_be_same(earlier, later):
                compared += 1
                if _same_run_within(earlier, later):
                    _leave_out(stream, other)
        if stream.files:
            kept.append(stream)
            for mark in _marks(stream):
                by_mark.setdefault(mark, []).append(stream)
    return kept


def _worth(stream: Stream) -> tuple[int, int, bool, int, str, str]:
    """Return a key by which the stream that covers most comes first."""
    span = stream.end - stream.first_time
    compressed = any(file.input.compressed for file in stream.files)
    size = sum(file.input.size_bytes or 0 for file in stream.files)
    resolution = max(file.head.resolution for file in stream.files)
    return -round(span / ALIKE), resolution, compressed, -size, stream.name, stream.files[0].input.label


def _marks(stream: Stream) -> set[object]:
    """Return by what a stream is known, so that only those are compared that have something in common."""
    return {
        (stream.dialect.family, *mark) for file in stream.files for mark in (file.head.openings or file.head.operations)
    }


def _same_run(one: Stream, other: Stream) -> bool:
    """Tell whether any two files begin with the same records."""
    return any(mine.head.agrees(theirs.head) for mine in one.files for theirs in other.files)


def _may_be_same(earlier: Stream, later: Stream) -> bool:
    """Return whether two streams that begin differently may be of one run: one was switched on later."""
    if earlier.dialect.family != later.dialect.family:
        return False
    return earlier.open_ended or later.first_time <= earlier.end


def _same_run_within(one: Stream, other: Stream) -> bool:
    """Return whether the beginning of one stream is within another."""
    begins = other.files[0]
    holding = [file for file in one.files if file.first_time <= begins.first_time]
    there = holding[-1].sample_at(begins.first_time) if holding else None
    return bool(there and there.agrees(begins.head))


def _leave_out(stream: Stream, kept: Stream) -> None:
    """Take the files out of a stream that duplicate another, and list them there; those wholly outside it stay."""
    end = FOREVER if kept.open_ended else kept.end
    zoned = all(file.head.zoned for file in (*kept.files, *stream.files))
    rest = []
    for file in stream.files:
        if zoned and (file.first_time > end or (file.last_time or FOREVER) < kept.first_time):
            rest.append(file)
            continue
        reason = f"has the same records as {kept.name}, which is read"
        if zoned and file.last_time is not None and file.last_time > end + ALIKE:
            reason += "; its later records are not read"
        if zoned and file.last_time is None and not kept.open_ended:
            reason += "; whether it contains later records is unknown"
        if zoned and file.first_time < kept.first_time - ALIKE:
            reason += "; its earlier records are not read"
        kept.duplicates.append(Duplicate(file=file, reason=reason))
    stream.files[:] = rest
