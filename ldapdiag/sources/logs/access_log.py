"""Reading of access logs: group files into streams and scan each stream into one Segment, in bounded memory."""

from __future__ import annotations

import gc
from contextlib import closing, contextmanager, suppress
from dataclasses import field, replace
from threading import Event
from typing import TYPE_CHECKING, Protocol

from ldapdiag.evidence.access_log import CountedLog, LogStream
from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.files.unreadable import unreadable
from ldapdiag.sources.logs.batches import groups
from ldapdiag.sources.logs.chunks import EndedEarlyError, KeptOpen, chunks_of
from ldapdiag.sources.logs.interleaving import WRITERS_NAMED, printable, remark
from ldapdiag.sources.logs.log_files import LogFile, find_logs
from ldapdiag.sources.logs.merging import Merging, Remarks
from ldapdiag.sources.logs.period import Period
from ldapdiag.sources.logs.scanners import Scanners
from ldapdiag.sources.logs.scanning import ChunkError, explained
from ldapdiag.sources.logs.stream_counts import ReferenceCounts, StreamCounts, counts_by
from ldapdiag.sources.logs.streams import Stream, streams_of
from ldapdiag.wording import duration

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from datetime import tzinfo

    from ldapdiag.evidence.cluster_work import ClusterWork
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.evidence.log.selection import Selection, ShownOperation
    from ldapdiag.sources.logs.asked_period import AskedPeriod
    from ldapdiag.sources.logs.chunks import Chunk, Sizes
    from ldapdiag.sources.logs.log_files import NotALog
    from ldapdiag.sources.logs.scanning import Scanning

LATER, MOST_LATER = 60, 2 * 86400
"""Seconds by which records are later than their file; the time of a file that is years away was set by a program."""
SHORTEST = 60 * SECOND
"""A log of a shorter time does not show how fast its files grow."""
ADVICE = {
    Scanner.PYTHON: "name fewer files, or read them where there is more memory",
    Scanner.NATIVE: "--scanner python reads without the compiled scanner, more slowly",
}
"""The next step after a scanner, or the process that it runs in, has died."""


class Meter(Protocol):
    """The interface of a progress display."""

    def begin(self, total_bytes: int | None) -> None:
        """Show the total size of the files in bytes; None if it is unknown."""

    def advance(self, size: int) -> None:
        """Show that `size` more bytes have been read."""


class NoMeter:
    """A progress display that shows nothing."""

    def begin(self, total_bytes: int | None) -> None:
        """Do nothing."""

    def advance(self, size: int) -> None:
        """Do nothing."""


NO_METER = NoMeter()


@dataclass(slots=True, kw_only=True)
class ScannedStream:
    """A stream and the counts of its records, which may go on."""

    stream: Stream
    counts: StreamCounts
    scanner: Scanner
    notes: list[str] = field(default_factory=list)
    """Irregularities of the files (a truncated file, a line that is too long), one sentence each."""
    gaps: list[Gap] = field(default_factory=list)
    """The parts that could not be read."""
    truncated: list[Gap] = field(default_factory=list)
    """The files that end early or became shorter; `notes` has a sentence for each of them."""
    shown: tuple[ShownOperation, ...] = ()
    """The slowest operations with their lines, where a selection asks for them."""
    is_whole: bool = False
    """True if reading was stopped, but not before the end of this stream."""
    is_read_here: bool = False
    """Its files can be read once more by this process."""
    _mixed: tuple[int, str] = (0, "")
    """Whether several servers wrote it at once, and for how many server processes that was found."""

    def counted(self, *, goes_on: bool = False) -> CountedLog:
        """Return the stream with its finished counts; with `goes_on` more records can be added to it."""
        stream, segment = self.stream, self.counts.finished(goes_on=goes_on)
        described = LogStream(
            name=stream.name,
            dialect=stream.dialect.name,
            family=stream.dialect.family,
            files=tuple(file.path for file in stream.files),
            folder=stream.files[0].input.folder,
            asked=stream.files[0].input.asked,
            instance=stream.instance.decode(errors="replace"),
            server=stream.server,
            scanner=self.scanner,
            server_processes=segment.server_processes,
            peak=segment.peak,
            notes=(*self.notes, *(() if goes_on else self._later_than_its_file(segment))),
            unreliable=tuple(self._unreliable(segment)),
            copies=tuple(
                PassedOver(target=duplicate.file.path, reason=duplicate.reason) for duplicate in stream.duplicates
            ),
            is_half_read=bool(self.gaps or self.truncated),
            bytes_per_hour=bytes_per_hour(stream.files),
        )
        return CountedLog(described, segment)

    def _later_than_its_file(self, segment: Segment) -> Iterator[str]:
        """Yield by how much records are later than the last change of their file: a wrong clock or time zone.

        Earlier ones show nothing: a file that was copied, or a quiet server.
        """
        file = self.stream.files[-1].input
        with suppress(OSError):  # reported when the file was read
            is_of_a_file = self.is_read_here and file.file_range is not None and file.file_range.length is None
            changed = file.with_status().changed if is_of_a_file else file.changed  # it may have grown meanwhile
            later = (segment.last_time or 0) / SECOND - changed.timestamp() if changed else 0.0
            if LATER <= later <= MOST_LATER:
                yield (
                    f"{self.stream.name}: its last record is {duration(later)} later than its file: the clock "
                    "of the server is likely so much ahead, or more, or the log is in another time zone (--zone)"
                )

    def _unreliable(self, segment: Segment) -> Iterator[str]:
        """Yield why counts by connection are wrong: several servers have written the stream."""
        together = [file for file in self.stream.files if file.together]
        if together:
            writers = {writer for file in together for writer in file.concurrent.writers}
            yield remark(self.stream.name, tuple(sorted(writers)), together[0].together)
        elif len(segment.instances) > 1 and self.stream.files[0].dialect.is_export and self.stream.files[0].input.spool:
            named = ", ".join(printable(name) for name, _ in sorted(segment.instances)[:WRITERS_NAMED])
            yield (
                f"{self.stream.name}: events of several servers ({named}), which are read as one, as a stream is not "
                "read more than once: name the file to judge each server by its own events"
            )
        elif segment.server_processes > 1:
            if segment.server_processes >= 2 * self._mixed[0]:  # a followed log is finished many times
                self._mixed = segment.server_processes, self._written_at_once(segment)
            yield from filter(None, self._mixed[1:])

    def _written_at_once(self, segment: Segment) -> str:
        """Return the sentence on several servers that were found after reading; empty: none were."""
        from ldapdiag.sources.logs.sequences import missed, mixed  # noqa: PLC0415  import late: most have no restart

        for file in self.stream.files if self.is_read_here else ():
            with suppress(OSError):  # reported when the file was read
                if writers := missed(file):
                    return remark(file.path, writers, "the samples of it did not show that")
        return mixed(self.stream.files, segment)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedLogs:
    """The result of reading all inputs that the operator named."""

    streams: tuple[ScannedStream, ...]
    not_logs: tuple[NotALog, ...]
    """The inputs that were not read, with the reasons."""
    stopped: bool
    """True if reading was stopped early; the records read until then are included."""
    period: Period = field(default_factory=Period)
    """The period that was read."""
    waits: bool = False
    """True if no file has a record yet, but one can be followed until it has."""
    cluster: ClusterWork | None = None
    """The work of the cluster that read them; None: they were read here."""

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Return the files, given or found, that could not be read, and the parts of logs."""
        of_files = [log for log in self.not_logs if isinstance(log, Gap)]
        return (*of_files, *(gap for stream in self.streams for gap in stream.gaps))

    @property
    def passed_over(self) -> tuple[PassedOver, ...]:
        """Return the files that are no access logs."""
        others = [log for log in self.not_logs if not isinstance(log, Gap)]
        return tuple(replace(other, files=0) for other in others)

    @property
    def times(self) -> tuple[int, int] | None:
        """Return when the logs begin and end, whatever was asked for; None without a record. It may read them again."""
        from ldapdiag.sources.logs.asked_period import end_of  # noqa: PLC0415  import late: most logs have a match

        streams = [stream.stream for stream in self.streams]
        end = end_of(streams, Event())
        return (min(stream.first_time for stream in streams), end) if end else None


def read(  # noqa: PLR0913  one for each option of the command
    named: Sequence[str],
    *,
    workers: int | None = None,
    meter: Meter = NO_METER,
    period: AskedPeriod | None = None,
    zone: tzinfo | None = None,
    stop: Event | None = None,
    scanner: Scanner | None = None,
    selection: Selection | None = None,
    collected: Sequence[LogFile | NotALog] = (),
) -> ScannedLogs:
    """Read the access logs that the operator named, and those that were collected.

    `workers` is the number of threads of the native scanner (None: one per core). `scanner` selects the scanner (None:
    the native one if it is installed and supports the dialect). Raise NoNativeError if the native scanner is requested
    and not usable. With a `selection` only the operations that it takes are counted, by the reference scanner.
    """
    stop = stop or Event()
    found = [*find_logs(named, zone), *collected]
    streams = streams_of(logs_among(found))
    within = None if period is None else period_within(period, streams, stop)
    if selection is None:
        done = read_streams(streams, workers, meter, within, stop, scanner)
    else:
        meter.begin(total_bytes([file for stream in streams for file in stream.files]))
        done = tuple(read_selected(stream, selection, meter, within, stop) for stream in streams)
    return ScannedLogs(
        streams=done,
        period=within or Period(),
        not_logs=tuple(one for one in found if not isinstance(one, LogFile)),
        stopped=stop.is_set(),
    )


def period_within(asked: AskedPeriod, streams: Sequence[Stream], stop: Event) -> Period | None:
    """Return the period that was asked for, in the times of the streams."""
    from ldapdiag.sources.logs.asked_period import period_of  # noqa: PLC0415  import late: most logs are read whole

    return period_of(asked, streams, stop)


def logs_among(found: Sequence[LogFile | NotALog]) -> list[LogFile]:
    """Return the logs without the inputs that are none."""
    return [one for one in found if isinstance(one, LogFile)]


def read_streams(
    streams: Sequence[Stream],
    workers: int | None,
    meter: Meter,
    period: Period | None,
    stop: Event,
    scanner: Scanner | None,
) -> tuple[ScannedStream, ...]:
    """Scan the streams, one after the other."""
    meter.begin(total_bytes([file for stream in streams for file in stream.files]))
    scanners = Scanners(workers, scanner)
    with no_cycles():
        return tuple(read_stream(stream, scanners.of(stream), meter, period, stop) for stream in streams)


@contextmanager
def no_cycles() -> Iterator[None]:
    """Disable cyclic garbage collection: no cycles are created here, and collection triples the time per Segment."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def read_stream(
    stream: Stream,
    scanning: Scanning,
    meter: Meter = NO_METER,
    period: Period | None = None,
    stop: Event | None = None,
) -> ScannedStream:
    """Scan a stream and return its Segment, with gaps for the parts that cannot be read."""
    merging = Merging(stream.name, counts_by(scanning.scanner), period)
    return _read(stream, scanning, merging, meter, period, stop)


def read_selected(
    stream: Stream,
    selection: Selection,
    meter: Meter = NO_METER,
    period: Period | None = None,
    stop: Event | None = None,
) -> ScannedStream:
    """Scan a stream as read_stream does, and count the operations that the selection takes."""
    from ldapdiag.sources.logs.selecting import Selecting  # noqa: PLC0415  import late: mostly all operations count

    counts = ReferenceCounts(selection)
    scanning = Selecting(lambda: counts.scan.total.slowest)
    reading = _read(stream, scanning, Merging(stream.name, counts, period), meter, period, stop)
    reading.shown = scanning.lines.shown(counts.scan.total.slowest)
    return reading


def _read(
    stream: Stream, scanning: Scanning, merging: Merging, meter: Meter, period: Period | None, stop: Event | None
) -> ScannedStream:
    remarks = Remarks()
    crashed = ""
    with KeptOpen(scanning.most_open) as kept_open:
        chunks = chunks_in(stream.files, kept_open, period, scanning.sizes(total_bytes(stream.files) or 0), remarks)
        try:
            with closing(scanning.scanned(chunks, period, stop or Event())) as results:
                for scanned in results:
                    with explained(scanned.chunk):
                        merging.take(scanned)
                    meter.advance(scanned.cost)
                    if merging.ended:
                        break
        except ChunkError as error:
            crashed = str(error)
    merging.finish()
    remarks.add(merging.remarks)
    if crashed:
        remarks.gaps.append(crash_gap(stream.name, crashed, scanning.scanner))
    reading = read_result(stream, scanning.scanner, merging.counts, remarks)
    reading.is_read_here = True
    return reading


def read_result(stream: Stream, scanner: Scanner, counts: StreamCounts, remarks: Remarks) -> ScannedStream:
    """Return a stream as it was read."""
    reading = ScannedStream(stream=stream, counts=counts, scanner=scanner)
    reading.notes += remarks.notes
    reading.gaps += remarks.gaps
    reading.truncated += remarks.truncated
    return reading


def crash_gap(stream: str, reason: str, scanner: Scanner) -> Gap:
    """Return the gap of a stream whose scanner crashed, or whose worker died."""
    return Gap(target=stream, reason=reason, how=f"the records before it are counted; {ADVICE[scanner]}")


def chunks_in(
    files: Iterable[LogFile], kept_open: KeptOpen, period: Period | None, sizes: Sizes, remarks: Remarks
) -> Generator[Chunk]:
    """Yield the chunks of files in order, up to the first file that begins after the period."""
    lost = ""
    for file, group in groups(files):
        if file.part_at and file.input.label == lost:
            continue  # records after a gap do not adjoin those before it
        if period and period.until is not None and file.first_time > period.until and not file.dialect.is_export:
            return
        try:
            yield from chunks_of(file, kept_open, remarks.notes.append, sizes, group)
        except OSError as error:
            lost = file.input.label
            remarks.gaps.append(unreadable(file.input.label, error))
        except EndedEarlyError as error:
            label = file.input.label
            remarks.notes.append(f"{label} {error}; the records before that are counted")
            how = "ask for another copy; the part before the damage is used"
            remarks.truncated.append(Gap(target=label, reason=str(error), how=how))


def bytes_per_hour(files: Sequence[LogFile]) -> float | None:
    """Return how fast the files of a stream grew; None: not known, or they are compressed or of several servers."""
    size, first, last = total_bytes(files), files[0].first_time, files[-1].last_time
    if (
        size is None
        or last is None
        or last - first < SHORTEST
        or any(one.input.compressed or one.server for one in files)
    ):
        return None
    return size * 3600 * SECOND / (last - first)


def total_bytes(files: Sequence[LogFile]) -> int | None:
    """Return the size of the (compressed) files; None if one is not known."""
    sizes = [file.input.size_bytes for file in files]
    return None if None in sizes else sum(size for size in sizes if size)
