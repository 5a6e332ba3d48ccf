"""The report of `ldapdiag log`: the streams of a reading combined, and written once or again and again."""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache, partial
from threading import Event
from typing import TYPE_CHECKING, Any

from ldapdiag.cli.destinations import deliver
from ldapdiag.cli.rendering import writer
from ldapdiag.report.tables.names import LogTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TextIO

    from ldapdiag.analysis.fleet.comparison import Comparison
    from ldapdiag.analysis.log.selections import Wanted
    from ldapdiag.cli.destinations import Destination
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.report.color import Color
    from ldapdiag.report.log.content import LogContent, StreamContent
    from ldapdiag.report.log.sort import By, Sort
    from ldapdiag.sources.logs.access_log import ScannedLogs, ScannedStream
    from ldapdiag.sources.logs.streams import Stream

CLEAR = "\x1b[H\x1b[2J"
"""Cursor home, erase display (ECMA-48)."""
RULE = f"{'-' * 40}\n"
"""Separates the reports of --follow where the output is not a terminal."""


def combined(
    reading: ScannedLogs, *, wanted: Wanted | None = None, goes_on: bool = False, by_server: bool = False
) -> LogContent:
    """Combine the streams of a reading. With `goes_on` the reading stays unchanged, to be continued.

    `by_server`: compare the servers, too.
    """
    from ldapdiag.analysis.log.workload import Workload  # noqa: PLC0415  import late
    from ldapdiag.evidence.bundle import Gap  # noqa: PLC0415
    from ldapdiag.evidence.log.merge import combine, finish  # noqa: PLC0415
    from ldapdiag.report.log.content import LeftOut, LogContent  # noqa: PLC0415

    finished = [finish(one.segment.copied() if goes_on else one.segment) for one in reading.streams]
    streams = tuple(_stream(one, segment) for one, segment in zip(reading.streams, finished, strict=True))
    families = {one.family for one in streams}
    fleet = _fleet(reading, finished) if by_server else None  # before their counts are added up
    workload = Workload(combine(*finished), families.pop() if len(families) == 1 else None)
    has_none = wanted is not None and wanted.restricts and not any(workload.operations.values())
    shown = sorted((operation for one in reading.streams for operation in one.shown), key=lambda one: -one.etime)
    others = [one for one in reading.not_logs if not isinstance(one, Gap)]
    return LogContent(
        workload=workload,
        streams=streams,
        not_logs=tuple(LeftOut(target=one.target, reason=one.reason) for one in others),
        gaps=(
            *(one for one in reading.not_logs if isinstance(one, Gap)),
            *(gap for one in reading.streams for gap in one.gaps),
        ),
        remarks=tuple(note for one in reading.streams for note in one.notes),
        since=reading.period.since,
        until=reading.period.until,
        log_times=_times(reading) if has_none or workload.period is None else None,
        wanted=wanted,
        not_found=_not_found(wanted, workload.segment),
        shown=tuple(shown[: 0 if wanted is None else wanted.most_shown]),
        fleet=fleet,
        cluster=reading.cluster,
        stopped=reading.stopped,
    )


def _times(reading: ScannedLogs) -> tuple[int, int] | None:
    """Return when the logs begin and end, whatever was asked for; None without a record."""
    from ldapdiag.sources.logs.asked_period import end_of  # noqa: PLC0415  import late: most logs have a match

    streams = [one.stream for one in reading.streams]
    end = end_of(streams, Event())
    return (min(one.first_time for one in streams), end) if end else None


def _fleet(reading: ScannedLogs, finished: Sequence[Segment]) -> Comparison:
    """Return the servers side by side: the streams of each folder are one server's, unless it has several logs."""
    from ldapdiag.analysis.fleet.comparison import Comparison  # noqa: PLC0415  import late
    from ldapdiag.analysis.fleet.replicas import fleet_of  # noqa: PLC0415
    from ldapdiag.analysis.log.workload import Workload  # noqa: PLC0415
    from ldapdiag.evidence.log.merge import combine  # noqa: PLC0415

    names = names_of([one.stream for one in reading.streams])
    servers: dict[str, list[tuple[ScannedStream, Segment]]] = {}
    for name, one, segment in zip(names, reading.streams, finished, strict=True):
        servers.setdefault(name, []).append((one, segment))
    return Comparison(
        fleet_of(
            (
                name,
                Workload(combine(*(segment.copied() for _, segment in several)), several[0][0].stream.dialect.family),
            )
            for name, several in servers.items()
        )
    )


def names_of(streams: Sequence[Stream]) -> list[str]:
    """Return the server of each stream: its folder's name, or its own where its folder has logs of several."""
    folders = [stream.files[0].input.folder for stream in streams]
    alike = Counter((folder, stream.dialect.name) for folder, stream in zip(folders, streams, strict=True))
    names = [
        stream.name if alike[folder, stream.dialect.name] > 1 else folder.rpartition("/")[2]
        for folder, stream in zip(folders, streams, strict=True)
    ]
    of: dict[str, set[str]] = {}
    for name, folder in zip(names, folders, strict=True):
        of.setdefault(name, set()).add(folder)
    return [name if len(of[name]) == 1 else folder for name, folder in zip(names, folders, strict=True)]


def _not_found(wanted: Wanted | None, segment: Segment) -> tuple[str, ...]:
    if wanted is None:
        return ()
    from ldapdiag.analysis.log.selections import not_found  # noqa: PLC0415  import late

    return not_found(wanted, segment)


def _stream(one: ScannedStream, segment: Segment) -> StreamContent:
    from ldapdiag.report.log.content import LeftOut, StreamContent  # noqa: PLC0415  import late

    return StreamContent(
        name=one.stream.name,
        dialect=one.stream.dialect.name,
        family=one.stream.dialect.family,
        files=tuple(file.path for file in one.stream.files),
        server_processes=segment.server_processes,
        peak=segment.peak,
        scanner=one.scanner,
        left_out=tuple(LeftOut(target=two.file.path, reason=two.reason) for two in one.stream.duplicates),
    )


def report_writer(
    written: Sequence[Destination], top: int, by: By, sort: Sort, *, table: LogTable | None, color: Color, again: bool
) -> Callable[[LogContent], bool]:
    """Return a function that writes a report and returns whether the output is still open.

    `again`: another report follows; on a terminal it replaces this one, else it comes after it.
    """
    from ldapdiag.report.log import as_json  # noqa: PLC0415  import late
    from ldapdiag.report.log.tables import TABLES  # noqa: PLC0415

    as_stream = again and any(one.path is None for one in written)

    def text(read: LogContent, document: Callable[[], Mapping[str, Any]], stream: TextIO) -> None:
        from ldapdiag.report.log import as_text  # noqa: PLC0415  import late, with rich

        if again and stream is sys.stdout:
            stream.write(CLEAR if stream.isatty() else RULE)
        as_text.print_log(document(), stream, top=top, by=by, sort=sort, color=color, fleet=read.fleet)

    def write(read: LogContent) -> bool:
        json = as_json.line if as_stream else as_json.render
        rows = TABLES[table or LogTable.SEARCHES]
        document = cache(lambda: as_json.document(read, sort))
        return deliver(writer(document, partial(text, read, document), json, rows), written)

    return write
