"""Streams: group log files by server, in the order of their records (docs/how-it-decides.md, "Access logs").

    access.20261120-090625.gz .. access      nine files, rotated: one stream, in the order of their first records
    slapd.stderr.log, syslog-iso.log         two duplicates of one run: one is read, the other is named
    access of two servers in one folder      their times overlap and their connections differ: two streams

Names do not show the order: access.1 may be newer or older than access.2. They only decide which server a file
belongs to if two servers log at the same time.

Overlapping copies: find where one file of a log continues after the end of another; no record counts twice.

    head -n 60% access > one; tail -n 60% access > two          two is read from where one ends

A copy is recognised by its bytes. Other duplicates of a run (a syslog and slapd's stderr) differ in every line.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field, replace
from itertools import islice
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.dialect import cut_at_line
from ldapdiag.evidence.log.line_scan import NEVER
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.logs.period import TAIL_BYTES
from ldapdiag.sources.logs.samples import DISORDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.sources.files.open_files import FileRange
    from ldapdiag.sources.logs.log_files import LogFile

FOREVER = NEVER

ALIKE = 10 * SECOND
"""Periods whose lengths differ by less count as equal: resolutions differ, or one has a line more."""

MOST_COMPARED = 2_000
"""Limit of compared pairs of streams without a common mark; each costs about 20 reads."""

CHANGING = pattern(r"[\d._-]+")
"""The part of a name that rotation changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """A file that is not read, because another stream has the same records."""

    file: LogFile
    reason: str


@dataclass(slots=True, kw_only=True)
class Stream:
    """The files of one server's log, in the order of their records."""

    files: list[LogFile]
    duplicates: list[Duplicate] = field(default_factory=list)
    _nameless: int = 0
    """First files whose headers have no server name, as far as they were looked at."""

    def replace_files(self, files: Sequence[LogFile]) -> None:
        """Replace the files by others of the same server."""
        self.files[:], self._nameless = files, 0

    @property
    def name(self) -> str:
        """The name in the report: the shortest path, which is that of the file being written."""
        return min((file.path for file in self.files), key=lambda path: (len(path), path))

    @property
    def dialect(self) -> Dialect:
        """The dialect of its files."""
        return self.files[0].dialect

    @property
    def instance(self) -> bytes:
        """The server name in the headers; empty if there is none."""
        for file in islice(self.files, self._nameless, None):
            if file.head.instance:
                return file.head.instance
            self._nameless += 1
        return b""

    @property
    def server(self) -> str:
        """The name of the server, if it shares a file with others; else empty."""
        return next((file.server.name for file in self.files if file.server), "")

    @property
    def first_time(self) -> int:
        """Time of the first record."""
        return self.files[0].first_time

    @property
    def end(self) -> int:
        """The latest known time of a record."""
        return max(max(file.head.last_time, file.last_time or 0) for file in self.files)

    @property
    def open_ended(self) -> bool:
        """True if it may contain records after `end`: the last time of the last file is unknown."""
        return self.files[-1].last_time is None


def streams_of(files: Iterable[LogFile]) -> tuple[Stream, ...]:
    """Return the streams of these files, sorted by their first records; the order of `files` has no effect."""
    files = list(files)
    if len(files) > 1:
        files = [_with_period(file) for file in files]
    ordered = sorted(files, key=lambda file: (file.first_time, _end(file), file.path, file.input.label))
    streams: list[Stream] = []
    attempts = iter(range(MOST_COMPARED))
    for file in ordered:
        if _continued_copy(streams, file, attempts):
            continue
        candidates = [stream for stream in streams if _may_follow(stream, file)]
        if candidates:
            max(candidates, key=lambda stream: _fit(stream, file)).files.append(file)
        else:
            streams.append(Stream(files=[file]))
    if len(streams) > 1:
        _find_marks(streams)
    kept = sorted(_without_duplicates(streams), key=lambda stream: (stream.first_time, stream.name))
    _say_overlaps(kept)
    return tuple(kept)


def _with_period(file: LogFile) -> LogFile:
    with suppress(OSError):  # reported when the file is read
        return file.with_period()
    return file


def _say_overlaps(streams: Iterable[Stream]) -> None:
    """Note on exports of one server whose periods overlap that the events in both count twice."""
    longest: dict[bytes, Stream] = {}
    for stream in streams:
        if not stream.dialect.is_export or not stream.instance:
            continue
        other = longest.get(stream.instance, stream)
        if other is not stream and stream.first_time <= other.end:
            note = f"{stream.name} overlaps {other.name}, an export of the same server: events in both count twice"
            first, *rest = stream.files
            stream.replace_files([replace(first, note="; ".join(filter(None, (first.note, note)))), *rest])
        longest[stream.instance] = max(other, stream, key=lambda one: one.end)


def _continued_copy(streams: list[Stream], file: LogFile, attempts: Iterator[int]) -> bool:
    """Continue a stream that ends inside a file with the remainder of that file; return whether there is one."""
    ending = [one for one in streams if _ends_within(one.files[-1], file) and _may_have_one_name(one, file)]
    for stream in sorted(ending, key=lambda stream: _end(stream.files[-1]), reverse=True):
        if next(attempts, None) is None:
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


def _may_have_one_name(stream: Stream, file: LogFile) -> bool:
    return not stream.instance or not file.head.instance or stream.instance == file.head.instance


def _end(file: LogFile) -> int:
    return FOREVER if file.last_time is None else file.last_time


def _may_follow(stream: Stream, file: LogFile) -> bool:
    """Return whether a file may be the next one of a stream."""
    last = stream.files[-1]
    if (last.input.folder, last.dialect.name) != (file.input.folder, file.dialect.name):
        return False
    same = stream.instance == file.head.instance
    if not _may_have_one_name(stream, file) or not last.may_be_of_one_server(file):
        return False
    if file.dialect.is_export and not same:  # each export has the name of its server, or none at all
        return False
    if last.last_time is None and not (same and stream.instance) and _stem(last) != _stem(file):
        return False
    end = last.head.last_time if last.last_time is None else last.last_time
    return file.first_time >= end - DISORDER and file.first_time > last.first_time


def continued_by(ends: Iterable[tuple[Stream, int]], file: LogFile) -> int | None:
    """Return the number of the stream that a file continues which has just appeared; None for a new stream.

    `ends` are the streams with the times of their last records. The name decides where all of them grow.
    """
    found = [
        (end, number)
        for number, (stream, end) in enumerate(ends)
        if _stem(stream.files[-1]) == _stem(file)
        and stream.files[-1].input.folder == file.input.folder
        and stream.dialect.name == file.dialect.name
        and stream.instance in ({file.head.instance} if file.dialect.is_export else {file.head.instance, b""})
        and file.first_time >= end - DISORDER
    ]
    return max(found)[1] if found else None


def _stem(file: LogFile) -> str:
    return CHANGING.sub("", file.path)


def _fit(stream: Stream, file: LogFile) -> tuple[bool, int]:
    """Return how well a file continues a stream, as a sort key: the same name, then the shortest time between them."""
    last = stream.files[-1]
    return _stem(last) == _stem(file), _end(last) if last.last_time is not None else last.head.last_time


def _without_duplicates(streams: list[Stream]) -> list[Stream]:
    """Return one stream of each run of a server: among duplicates the one that covers the longest period."""
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


def _find_marks(streams: list[Stream]) -> None:
    """Sample the files again, for their marks: a single stream has nothing to be compared with."""
    for stream in streams:
        with suppress(OSError):  # reported when the file is read
            stream.replace_files([file.with_marks() for file in stream.files])


def _worth(stream: Stream) -> tuple[int, int, bool, int, bool, str, str]:
    """Return a sort key that puts the stream with the longest period first."""
    span = stream.end - stream.first_time
    compressed = any(file.input.compressed for file in stream.files)
    size = sum(file.input.size_bytes or 0 for file in stream.files)
    resolution = max(file.head.resolution for file in stream.files)
    carried = any(file.input.file_range is None for file in stream.files)
    return -round(span / ALIKE), resolution, compressed, -size, carried, stream.name, stream.files[0].input.label


def _marks(stream: Stream) -> set[object]:
    """Return the marks of a stream; only streams with a common mark are compared."""
    return {
        (stream.dialect.family, *mark) for file in stream.files for mark in (file.head.openings or file.head.operations)
    }


def _same_run(one: Stream, other: Stream) -> bool:
    """Return whether any two files begin with the same records."""
    return not _of_two_servers(one, other) and any(
        mine.begins_like(theirs) for mine in one.files for theirs in other.files
    )


def _may_be_same(earlier: Stream, later: Stream) -> bool:
    """Return whether two streams with different beginnings may be of one run: one log may have been enabled later."""
    if earlier.dialect.family != later.dialect.family or _of_two_servers(earlier, later):
        return False
    return earlier.open_ended or later.first_time <= earlier.end


def _of_two_servers(one: Stream, other: Stream) -> bool:
    """Return whether two streams are of two servers: they write into one file, or their exports are of two hosts."""
    if one.dialect.is_export and other.dialect.is_export and not one.instance and not other.instance:
        return one.files[0].input.folder != other.files[0].input.folder
    files = {file.input.label for file in one.files if file.server}
    return any(file.server and file.input.label in files for file in other.files)


def _same_run_within(one: Stream, other: Stream) -> bool:
    """Return whether the beginning of one stream is within another."""
    begins = other.files[0]
    holding = [file for file in one.files if file.first_time <= begins.first_time]
    for there in holding[-1].samples_at(begins.first_time) if holding else ():
        if there.agrees(begins.head) is not None:
            return holding[-1].begins_like(begins, there)
    return False


def _leave_out(stream: Stream, kept: Stream) -> None:
    """Move the files of a stream that duplicate `kept` to its duplicates; files outside its period stay."""
    end = FOREVER if kept.open_ended else kept.end
    zoned = all(file.head.zoned for file in (*kept.files, *stream.files))
    rest = []
    for file in stream.files:
        if zoned and (file.first_time > end or (file.last_time or FOREVER) < kept.first_time):
            rest.append(file)
            continue
        if file.dialect.is_export and _has_others(file, kept, zoned=zoned):
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
    stream.replace_files(rest)


def _has_others(file: LogFile, kept: Stream, *, zoned: bool) -> bool:
    """Return whether an export has more events than a stream with the same others, or some outside its period."""
    if file.head.events > sum(one.head.events for one in kept.files):
        return True
    shift = 0 if zoned else max((one.head.shift_to(file.head) for one in kept.files), key=abs)
    return file.first_time - shift < kept.first_time - ALIKE or _end(file) - shift > kept.end + ALIKE


COMPARED_BYTES = 1 << 12
"""Bytes compared before the end of one file and before the match in the other: several lines, so it is unique."""

LONGEST_LINE = 1 << 20

WINDOW = 16 * TAIL_BYTES
"""Bytes read of the later file around the time at which the earlier one ends."""


def divided(earlier: LogFile, later: LogFile) -> tuple[LogFile, LogFile | None] | None:
    """Return the whole lines of the earlier file, and the remainder of the later one (None: no record remains).

    None if the end of the earlier file is not found in the later one, or if the search requires reading all of it.
    OSError propagates to the caller.
    """
    one, other = earlier.input.file_range, later.input.file_range
    if one is None or other is None or earlier.last_time is None or earlier.dialect != later.dialect:
        return None
    if earlier.dialect.cut is not cut_at_line:
        return None
    start, end = one.bounds()
    tail = one.read_at(max(start, end - TAIL_BYTES), min(TAIL_BYTES, end - start))
    tail = tail[: tail.rfind(b"\n") + 1]
    at = _end_within(later, other, tail, earlier.last_time)
    if at is None:
        return None
    ended = end - max(start, end - TAIL_BYTES)
    whole = replace(one, length=end - start - ended + len(tail))
    skipped = f"its first {at - other.start} bytes are not read again"
    note = f"{later.path} begins with records of {earlier.path}; {skipped}"
    return replace(earlier, input=earlier.input.ranged(whole)), _from(later, other, at, note)


def _end_within(file: LogFile, found: FileRange, tail: bytes, time: int) -> int | None:
    """Return the offset after the last line of `tail` in a file, searched around a time; None if it is absent."""
    line = tail[tail.rfind(b"\n", 0, -1) + 1 :]
    if not line or line == tail:  # the line is longer than the tail
        return None
    low = file.offset_of(time)
    if low is None:
        return None
    begin = max(found.start, low - TAIL_BYTES)
    data = found.read_at(begin, WINDOW)
    at = data.find(line)
    while at >= 0:
        end = at + len(line)
        length = min(end, len(tail), COMPARED_BYTES)
        if data[end - length : end] == tail[-length:]:
            return begin + end
        at = data.find(line, at + 1)
    return None


def last_part(file: LogFile, most: int) -> LogFile:
    """Return the last `most` bytes of a file, from a line on; all of one whose records are no lines."""
    found = file.input.file_range
    if found is None or file.dialect.cut is not cut_at_line:
        return file
    start, end = found.bounds()
    line = found.read_at(end - most, LONGEST_LINE) if end - start > most else b""
    after = line.find(b"\n") + 1
    return (_from(file, found, end - most + after, "") if after else None) or file


def _from(file: LogFile, found: FileRange, at: int, note: str) -> LogFile | None:
    """Return the file from an offset on; None if no record follows."""
    length = None if found.length is None else found.start + found.length - at
    rest = replace(found, start=at, length=length)
    head = file.sample_from(rest, at)
    if head is None:
        return None
    return replace(file.without(at - found.start), head=head, input=file.input.ranged(rest), note=note)
