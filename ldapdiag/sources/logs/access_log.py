"""Access logs: named files become streams, and each stream one Segment, read in parallel in bounded memory."""

from __future__ import annotations

import gc
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Protocol

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.evidence.log.dialects import scan_chunk
from ldapdiag.evidence.log.merge import merge, reset_counts, start
from ldapdiag.sources.files.unreadable import unreadable
from ldapdiag.sources.logs.chunks import EndedEarlyError, KeptOpen, chunks_of, shrunk
from ldapdiag.sources.logs.following import Tail, tail_of
from ldapdiag.sources.logs.interleaving import remark
from ldapdiag.sources.logs.log_files import LogFile, NotYet, find_logs
from ldapdiag.sources.logs.period import Period
from ldapdiag.sources.logs.records import too_long
from ldapdiag.sources.logs.scanners import Scanners
from ldapdiag.sources.logs.scanning import ChunkError
from ldapdiag.sources.logs.streams import Stream, streams_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from datetime import tzinfo

    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.sources.logs.chunks import Chunk, Sizes
    from ldapdiag.sources.logs.log_files import NotALog
    from ldapdiag.sources.logs.scanning import Scanned, Scanning


ADVICE = {
    Scanner.PYTHON: "name fewer files, or read them where there is more memory",
    Scanner.NATIVE: "--scanner python reads without the compiled scanner, more slowly",
}
"""Where a scanner, or the process that it runs in, has died."""


class Meter(Protocol):
    """A display of how far the reading is."""

    def begin(self, total_bytes: int | None) -> None:
        """Show how many bytes of files there are to read; None where that is unknown."""

    def advance(self, size: int) -> None:
        """Show that so many bytes more have been read."""


class NoMeter:
    """Shows nothing."""

    def begin(self, total_bytes: int | None) -> None:
        """Do nothing."""

    def advance(self, size: int) -> None:
        """Do nothing."""


NO_METER = NoMeter()


@dataclass(slots=True, kw_only=True)
class ReadStream:
    """A stream and the total of its records; call finish (evidence.log.merge) when no more of it will be read."""

    stream: Stream
    segment: Segment
    scanner: Scanner
    notes: list[str] = field(default_factory=list)
    """What of it was not read as it was written, a sentence each."""
    gaps: list[Gap] = field(default_factory=list)
    """What of it could not be read."""
    truncated: list[Gap] = field(default_factory=list)
    """Files of it that end early; `notes` has a sentence for each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReading:
    """What became of all that was named."""

    streams: tuple[ReadStream, ...]
    not_logs: tuple[NotALog, ...]
    """What was not read, and why."""
    stopped: bool
    """The reading was stopped before its end; what had been read until then is there."""
    waits: bool = False
    """There is no record yet, but a file that can be followed until there is one."""


def read(
    named: Sequence[str],
    *,
    workers: int | None = None,
    meter: Meter = NO_METER,
    period: Period | None = None,
    zone: tzinfo | None = None,
    stop: Event | None = None,
    scanner: Scanner | None = None,
) -> LogReading:
    """Read the access logs of what the operator named.

    `workers` is how many processes or threads read (None: one per core), `scanner` which scanner is to be used (None:
    the native one where it is installed and reads the dialect); NoNativeError where that is not installed.
    """
    stop = stop or Event()
    found = list(find_logs(named, zone))
    streams = streams_of(_logs(found))
    done = _read_streams(streams, workers, meter, period, stop, scanner)
    return LogReading(
        streams=done,
        not_logs=tuple(one for one in found if not isinstance(one, LogFile)),
        stopped=stop.is_set(),
    )


def _logs(found: Sequence[LogFile | NotALog]) -> list[LogFile]:
    return [one for one in found if isinstance(one, LogFile)]


def _read_streams(
    streams: Sequence[Stream],
    workers: int | None,
    meter: Meter,
    period: Period | None,
    stop: Event,
    scanner: Scanner | None,
) -> tuple[ReadStream, ...]:
    files = [file for stream in streams for file in stream.files]
    meter.begin(_total(files))
    with _no_cycles(), Scanners(files, workers, scanner) as scanners:
        return tuple(read_stream(stream, scanners.of(stream), meter, period, stop) for stream in streams)


@contextmanager
def _no_cycles() -> Iterator[None]:
    """Look for no garbage in cycles: nothing here makes any, and looking triples the time Segments take to arrive."""
    looked = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked:
            gc.enable()


def follow(
    named: Sequence[str],
    *,
    workers: int | None = None,
    meter: Meter = NO_METER,
    zone: tzinfo | None = None,
    stop: Event,
    every: float = 0.5,
    scanner: Scanner | None = None,
) -> Iterator[LogReading]:
    """Read what there is, then what is added, and yield the same reading again whenever something came, until stopped.

    Every `every` seconds the last file of each stream is looked at. What is yielded goes on growing: finish a copy.
    Pipes, archives and compressed files are read once. Where there is no record at all, but a file that may get one,
    a reading that `waits` comes first, and the file is waited for.
    """
    found = list(find_logs(named, zone))
    if not _logs(found) and any(isinstance(one, NotYet) for one in found):
        nothing = [one for one in found if not isinstance(one, LogFile)]
        yield LogReading(streams=(), not_logs=tuple(nothing), stopped=False, waits=True)
        while not _logs(found):
            if stop.wait(every):
                return
            found = list(find_logs(named, zone))
    not_logs = tuple(one for one in found if not isinstance(one, LogFile))
    streams = streams_of(_logs(found))
    tails: dict[int, Tail] = {}
    for number, stream in enumerate(streams):
        if followed := tail_of(stream.files[-1]):
            stream.files[-1], tails[number] = followed
    try:
        done = _read_streams(streams, workers, meter, None, stop, scanner)
        _let_go(streams)
        reading = LogReading(streams=done, not_logs=not_logs, stopped=False)
        yield reading
        while tails and not stop.wait(every):
            came = [_added(done[number], tail) for number, tail in tails.items()]
            if any(came):
                yield reading
    finally:
        for tail in tails.values():
            tail.close()


def _let_go(streams: Sequence[Stream]) -> None:
    """Close the files that were read, but for those that are followed: a rotation may remove them."""
    for stream in streams:
        for file in stream.files:
            if file.input.file_range is not None:
                file.input.file_range.files.clear()


def _added(reading: ReadStream, tail: Tail) -> bool:
    """Merge what has come, and return whether anything has."""
    truncated = tail.truncated
    came = False
    try:
        while data := tail.more():
            reading.segment = merge(reading.segment, scan_chunk(tail.dialect, data, tail.hints))
            came = True
    except OSError as error:
        gap = unreadable(tail.location, error)
        if gap not in reading.gaps:
            reading.gaps.append(gap)
    if tail.truncated > truncated:
        reading.notes.append(f"{reading.stream.name} was truncated while it was followed; lines may be missing there")
    return came or tail.truncated > truncated


def read_stream(
    stream: Stream,
    scanning: Scanning,
    meter: Meter = NO_METER,
    period: Period | None = None,
    stop: Event | None = None,
) -> ReadStream:
    """Return what a stream adds up to, as far as it can be read."""
    reading = ReadStream(stream=stream, segment=start(), scanner=scanning.scanner)
    if writers := {writer for file in stream.files for writer in file.writers}:
        reading.notes.append(remark(stream.name, tuple(sorted(writers))))
    into = _Merging(reading, waits=period is not None and period.since is not None)
    with KeptOpen(scanning.most_open) as kept_open:
        chunks = _chunks(reading, kept_open, period, scanning.sizes(_total(stream.files) or 0))
        try:
            with closing(scanning.scanned(chunks, period, stop or Event())) as coming:
                for scanned in coming:
                    into.take(scanned)
                    meter.advance(scanned.cost)
                    if into.ended:
                        break
        except ChunkError as error:
            how = f"what came before it is counted; {ADVICE[scanning.scanner]}"
            reading.gaps.append(Gap(target=stream.name, reason=str(error), how=how))
    into.finish()
    return reading


@dataclass(slots=True)
class _Merging:
    """Merges chunks as they come; records before the period show who is connected, and are not counted."""

    reading: ReadStream
    waits: bool
    """Nothing of the period has come yet."""
    ended: bool = False
    shrunk: dict[str, int] = field(default_factory=dict)
    """Files that were cut off meanwhile, and where: what was read beyond is no neighbour of what came before."""

    def take(self, scanned: Scanned) -> None:
        reading, chunk = self.reading, scanned.chunk
        if chunk.at <= self.shrunk.get(chunk.label, chunk.at):
            self._merge(scanned)
        for place in scanned.too_long:
            reading.notes.append(too_long(chunk.label, place))
        if scanned.shrunk_at is not None and chunk.label not in self.shrunk:
            reading.notes.append(shrunk(chunk.label, scanned.shrunk_at))
            self.shrunk[chunk.label] = scanned.shrunk_at
        if scanned.replaced:
            reason = f"was replaced by another file while it was read, at byte {chunk.at}"
            reading.gaps.append(Gap(target=chunk.label, reason=reason, how="read it again, with the rotated file"))
        self.ended = scanned.ended or scanned.replaced

    def _merge(self, scanned: Scanned) -> None:
        if scanned.before is not None:
            self.reading.segment = merge(self.reading.segment, scanned.before)
        if scanned.within is not None:
            self.finish()
            self.reading.segment = merge(self.reading.segment, scanned.within)

    def finish(self) -> None:
        """Forget the counts of the time before the period, once."""
        if self.waits:
            self.reading.segment = reset_counts(self.reading.segment)
            self.waits = False


def _chunks(reading: ReadStream, kept_open: KeptOpen, period: Period | None, sizes: Sizes) -> Generator[Chunk]:
    for file in reading.stream.files:
        if period is not None and period.until is not None and file.first_time > period.until:
            return
        try:
            yield from chunks_of(file, kept_open, reading.notes.append, sizes)
        except OSError as error:
            reading.gaps.append(unreadable(file.input.label, error))
        except EndedEarlyError as error:
            label = file.input.label
            reading.notes.append(f"{label} {error}; the records before that are counted")
            how = "ask for another copy; the part before the damage is used"
            reading.truncated.append(Gap(target=label, reason=str(error), how=how))


def _total(files: Sequence[LogFile]) -> int | None:
    sizes = [file.input.size_bytes for file in files]
    return None if None in sizes else sum(size for size in sizes if size)
