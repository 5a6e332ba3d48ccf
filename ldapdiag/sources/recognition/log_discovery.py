"""The access logs that gathering meets: files are read when all of them are known, what runs on as it passes.

A rotated set is one log, and two tellings of a run are one: which files belong together shows only when all have been
looked at. What lies in a file can wait for that; standard input, or a member of an archive, cannot: it is added up
while it is read, unanchored, and takes its place in the order later.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ldapdiag.evidence.access_log import AccessLog, LogStream
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.document import SAMPLE_LENGTH
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.evidence.log.merge import combine, finish, merge, reset_counts, start
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.evidence.origin import Origin
from ldapdiag.sources.files.unreadable import unreadable
from ldapdiag.sources.logs.files import LogFile, log_file
from ldapdiag.sources.logs.listening import Heard, Listener
from ldapdiag.sources.logs.places import Place, places
from ldapdiag.sources.logs.streams import Stream, streams_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from threading import Event

    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.log.dialect import Dialect, Scanner
    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.logs.border import Period
    from ldapdiag.sources.logs.places import NotALog


@dataclass(slots=True)
class LogsMet:
    """The access logs met so far."""

    period: Period | None = None
    """The time asked for; None: all."""
    lying: dict[str, Input] = field(default_factory=dict)
    """Files that wait, by where they lie."""
    heard: list[Heard] = field(default_factory=list)
    meanwhile: Callable[[], object] | None = None
    """What else there is to do while others than this thread read."""

    def meet(self, piece: Input, dialect: Dialect, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Keep a file for later, or hear what runs on; yield its chunks for whoever else reads them."""
        if piece.location is not None:
            self.lying[piece.location] = piece
            return iter(chunks)
        return self._passing(piece, dialect, chunks)

    def _passing(self, piece: Input, dialect: Dialect, chunks: Iterable[bytes]) -> Iterator[bytes]:
        year_end = piece.taken.end if piece.taken else datetime.now(UTC)
        listener = Listener(dialect, self.period, Hints(year_end=year_end))
        for chunk in chunks:
            listener.hear(chunk)
            yield chunk
        told = listener.end(piece)
        if told is not None:
            self.heard.append(told)

    def read(self, tell: Callable[[str], object], stop: Event) -> Iterator[AccessLog | NotALog]:
        """Yield what the logs say, a fact for each folder and product, and why of others there is none."""
        from ldapdiag.sources.logs.access_log import read_stream  # noqa: PLC0415  import late
        from ldapdiag.sources.logs.scanners import Scanners  # noqa: PLC0415

        files = [heard.file for heard in self.heard]
        for location, piece in self.lying.items():
            for found in _logs_at(location, piece):
                if isinstance(found, LogFile):
                    files.append(found)
                else:
                    yield found
        by_server: dict[tuple[str, Family], list[_Told]] = defaultdict(list)
        streams = streams_of(files)
        every = [file for stream in streams for file in stream.files]
        with Scanners(every, meanwhile=self.meanwhile) as scanners:
            for stream in streams:
                tell(stream.name)
                told = _joined(stream, self.heard)
                if told is None:
                    reading = read_stream(stream, scanners.of(stream), period=self.period, stop=stop)
                    yield from reading.gaps
                    told = _Told(stream, reading.segment, reading.scanner, reading.notes)
                if stop.is_set():
                    yield _interrupted(stream)
                by_server[stream.files[0].place.folder, stream.dialect.family].append(told)
        for (folder, family), logs in by_server.items():
            yield _fact(folder, family, logs)


def _interrupted(stream: Stream) -> Gap:
    how = "run it again, and let it read to the end"
    return Gap(target=stream.name, reason="was interrupted; what had been read until then is counted", how=how)


def _logs_at(location: str, piece: Input) -> Iterator[LogFile | NotALog]:
    """Yield the log that lies in a file, told as gathering tells of it."""
    for place in places(location):
        try:
            if isinstance(place, Place):
                yield log_file(replace(place, path=piece.path, folder=piece.folder))
            else:
                yield place
        except OSError as error:
            yield unreadable(piece.label, error)


@dataclass(slots=True)
class _Told:
    stream: Stream
    segment: Segment
    scanner: Scanner
    notes: list[str] = field(default_factory=list)


def _joined(stream: Stream, heard: Iterable[Heard]) -> _Told | None:
    """Return what files that have passed add up to, in their order; None of a stream whose files can be read."""
    passed = {id(one.file): one for one in heard}
    parts = [passed[id(file)] for file in stream.files if id(file) in passed]
    if not parts:
        return None
    total = start()
    before = [part.before for part in parts if part.before is not None]
    for segment in before:
        total = merge(total, segment)
    if before:
        total = reset_counts(total)
    for part in parts:
        if part.within is not None:
            total = merge(total, part.within)
    return _Told(stream, total, parts[0].scanner)


def _fact(folder: str, family: Family, logs: list[_Told]) -> AccessLog:
    """Return the fact of one product's logs in one folder."""
    total = Segment()
    for told in logs:
        total = combine(total, finish(told.segment))
    streams = tuple(
        LogStream(
            name=told.stream.name,
            dialect=told.stream.dialect.name,
            files=tuple(file.path for file in told.stream.files),
            scanner=told.scanner,
        )
        for told in logs
    )
    origin = Origin(
        path=streams[0].name,
        folder=folder,
        lines=total.lines,
        understood=total.lines - total.misread,
        not_understood=total.misread,
        samples=tuple(line.decode(errors="backslashreplace")[:SAMPLE_LENGTH] for line in total.samples[:3]),
        notes=tuple(_notes(total, logs)),
    )
    return AccessLog(origin=origin, family=family, segment=total, streams=streams)


def _notes(total: Segment, logs: Iterable[_Told]) -> Iterator[str]:
    for told in logs:
        for telling in told.stream.tellings:
            yield f"{telling.file.path} {telling.reason}."
        yield from (f"{note}." for note in told.notes)
    if total.lost:
        yield f"The log itself says that {total.lost} lines are missing."
    if total.caps_hit:
        yield f"There are more {', '.join(total.caps_hit)} than are kept apart: the rest is counted as 'other'."
