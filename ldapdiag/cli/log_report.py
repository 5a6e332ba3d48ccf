"""The report of `ldapdiag log`: the streams of a reading combined, and written once or again and again."""

from __future__ import annotations

import sys
from copy import deepcopy
from functools import partial, reduce
from typing import TYPE_CHECKING

from ldapdiag.cli.destinations import deliver
from ldapdiag.cli.rendering import writer
from ldapdiag.report.tables.names import LogTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from ldapdiag.analysis.log.selections import Wanted
    from ldapdiag.cli.destinations import Destination
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.report.color import Color
    from ldapdiag.report.log.by import By
    from ldapdiag.report.log.reading import ReadLog, StreamRead
    from ldapdiag.report.log.sort import Sort
    from ldapdiag.sources.logs.access_log import LogReading, ReadStream

CLEAR = "\x1b[H\x1b[2J"
"""Cursor home, erase display (ECMA-48)."""
RULE = f"{'-' * 40}\n"
"""Separates the reports of --follow where the output is not a terminal."""


def combined(reading: LogReading, *, wanted: Wanted | None = None, goes_on: bool = False) -> ReadLog:
    """Combine the streams of a reading. With `goes_on` the reading stays unchanged, to be continued."""
    from ldapdiag.analysis.log.workload import Workload  # noqa: PLC0415  import late
    from ldapdiag.evidence.bundle import Gap  # noqa: PLC0415
    from ldapdiag.evidence.log.merge import combine, finish  # noqa: PLC0415
    from ldapdiag.report.log.reading import LeftOut, ReadLog  # noqa: PLC0415

    finished = [finish(deepcopy(one.segment) if goes_on else one.segment) for one in reading.streams]
    streams = tuple(_stream(one, segment) for one, segment in zip(reading.streams, finished, strict=True))
    families = {one.family for one in streams}
    workload = Workload(reduce(combine, finished), families.pop() if len(families) == 1 else None)
    shown = sorted((operation for one in reading.streams for operation in one.shown), key=lambda one: -one.etime)
    others = [one for one in reading.not_logs if not isinstance(one, Gap)]
    return ReadLog(
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
        wanted=wanted,
        not_found=_not_found(wanted, workload.segment),
        shown=tuple(shown[: 0 if wanted is None else wanted.most_shown]),
        stopped=reading.stopped,
    )


def _not_found(wanted: Wanted | None, segment: Segment) -> tuple[str, ...]:
    if wanted is None:
        return ()
    from ldapdiag.analysis.log.selections import not_found  # noqa: PLC0415  import late

    return not_found(wanted, segment)


def _stream(one: ReadStream, segment: Segment) -> StreamRead:
    from ldapdiag.report.log.reading import LeftOut, StreamRead  # noqa: PLC0415  import late

    return StreamRead(
        name=one.stream.name,
        dialect=one.stream.dialect.name,
        family=one.stream.dialect.family,
        files=tuple(file.path for file in one.stream.files),
        server_lives=segment.server_processes,
        peak=segment.peak,
        scanner=one.scanner,
        left_out=tuple(LeftOut(target=two.file.path, reason=two.reason) for two in one.stream.duplicates),
    )


def report_writer(
    written: Sequence[Destination], top: int, by: By, sort: Sort, *, table: LogTable | None, color: Color, again: bool
) -> Callable[[ReadLog], bool]:
    """Return a function that writes a report and returns whether the output is still open.

    `again`: another report follows; on a terminal it replaces this one, else it comes after it.
    """
    from ldapdiag.report.log import as_json  # noqa: PLC0415  import late
    from ldapdiag.report.tables.of_log import TABLES  # noqa: PLC0415

    as_stream = again and any(one.path is None for one in written)

    def text(read: ReadLog, stream: TextIO) -> None:
        from ldapdiag.report.log import as_text  # noqa: PLC0415  import late, with rich

        if again and stream is sys.stdout:
            stream.write(CLEAR if stream.isatty() else RULE)
        as_text.print_log(read, stream, top=top, by=by, sort=sort, color=color)

    def write(read: ReadLog) -> bool:
        json = as_json.line if as_stream else as_json.render
        rows = TABLES[table or LogTable.SEARCHES]
        return deliver(writer(lambda: as_json.document(read, sort), partial(text, read), json, rows), written)

    return write
