"""ldapdiag log: access logs in, what they say out; nothing is judged."""

from __future__ import annotations

from copy import deepcopy
from functools import reduce
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli import INTERRUPTED, moments
from ldapdiag.cli.interruptible import stoppable
from ldapdiag.cli.judging import Form
from ldapdiag.cli.output import complain, on_one_screen, standard_output, tell, write_file
from ldapdiag.errors import LdapdiagError, UsageError
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.report.log.by import By

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo
    from threading import Event
    from typing import TextIO

    from ldapdiag.report.log.reading import ReadLog
    from ldapdiag.sources.logs.access_log import LogReading
    from ldapdiag.sources.logs.border import Period

EVERY = 2.0
"""Seconds between two looks at a log that is followed."""

CLEAR = "\x1b[H\x1b[2J"
"""Cursor home, and an empty screen (ECMA-48)."""
RULE = f"{'-' * 40}\n"
"""Before each report of a log that is followed, where the one before stays."""


def log(  # noqa: PLR0913  one parameter per option of the command
    file: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Logs, folders, globs, archives; - is standard input.", show_default=False
        ),
    ],
    *,
    form: Annotated[Form, typer.Option("--format", help="What to write.")] = Form.TEXT,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the report to this file.", show_default=False)
    ] = None,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, max=100_000, help="Rows of the leading table.")] = 10,
    by: Annotated[By, typer.Option("--by", help="What the leading table adds searches up by.")] = By.SHAPE,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Count from this time on.", show_default=False)
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Count up to this time.", show_default=False)
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            "--zone",
            metavar="ZONE",
            help="Of logs whose times name none (syslog), as in Europe/Berlin; UTC unless told.",
            show_default=False,
        ),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is added, until Ctrl-C.")] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            min=1,
            max=64,
            help="Processes or threads that read; one per core.",
            show_default=False,
        ),
    ] = None,
    scanner: Annotated[
        Scanner | None,
        typer.Option(
            "--scanner",
            help="Who reads: native (of 389-ds and slapd, much faster) where it is installed, else python; "
            "LDAPDIAG_SCANNER says so for every command.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Say what is in an access log: which searches are slow, on which attribute, from whom, and much more.

    Reads the access logs of 389-ds, Red Hat and Sun directory servers, slapd's log (its stderr or syslog, at loglevel
    stats), those of OpenDJ and its kin, of PingDirectory, and Active Directory's events 1644 as CSV; plain or in gz,
    bz2, xz, zst, tar. What a file is comes from its content, and the order of rotated files from their times:

        ldapdiag log /var/log/dirsrv/slapd-ds1/access*

    Logs of several servers are added up. Files that tell the same twice (text and JSON, stderr and syslog, a file and
    its copy) are counted once.

    TIME is ISO 8601: 2026-11-20 (that whole day), 2026-11-20T08:45, 2026-11-20T09:45:30+01:00; UTC where it names no
    zone. What is connected and bound when --since begins is known from the log before it.

    Exit code: 0 read, 2 nothing was a log, 130 Ctrl-C (what had been read by then is told).
    """
    from ldapdiag.sources.logs.border import Period  # noqa: PLC0415  import late: --help must be quick

    try:
        if follow and (since or until):
            raise UsageError("--follow reads what is to come, --since and --until what has been: leave either out")
        period = Period(moments.since("--since", since), moments.until("--until", until))
        if period.since is not None and period.until is not None and period.until < period.since:
            raise UsageError(f"--until {until} is before --since {since}: nothing lies between them")
        zone_of_logs = moments.zone("--zone", zone)
        _complain_of_scanner(scanner)
        write = _writer(form, output, top, by, again=follow)
        with stoppable() as stop:
            if follow:
                _follow(file, workers, zone_of_logs, stop, write, scanner)
            else:
                reading = _read(file, workers, period, zone_of_logs, stop, scanner)
                if form is Form.JSON or output or not on_one_screen():
                    _complain_of_gaps(reading)
                write(_told(reading, period))
    except LdapdiagError as error:
        complain(error)
        raise typer.Exit(2) from None
    raise typer.Exit(INTERRUPTED if stop.is_set() else 0)


def _complain_of_scanner(scanner: Scanner | None) -> None:
    """Say, unless nobody wants it, that there is a native scanner that cannot be used; NoNativeError if it must be."""
    from ldapdiag.sources.logs import native  # noqa: PLC0415  import late

    if native.chosen(scanner) is Scanner.PYTHON and scanner is None and (notice := native.notice()):
        complain(notice)


def _read(
    named: list[str],
    workers: int | None,
    period: Period,
    zone: tzinfo | None,
    stop: Event,
    scanner: Scanner | None,
) -> LogReading:
    from ldapdiag.report.progress import reading_bytes  # noqa: PLC0415  import late
    from ldapdiag.sources.logs.access_log import SILENCE, read  # noqa: PLC0415

    asked = period if (period.since, period.until) != (None, None) else None
    with reading_bytes() as meter:
        reading = read(
            named, workers=workers, meter=meter or SILENCE, period=asked, zone=zone, stop=stop, scanner=scanner
        )
    _complain_of_others(reading, stop)
    return reading


def _follow(
    named: list[str],
    workers: int | None,
    zone: tzinfo | None,
    stop: Event,
    write: Callable[[ReadLog], bool],
    scanner: Scanner | None,
) -> None:
    """Write the report again and again, as the logs grow, as long as anybody reads it."""
    from ldapdiag.report.progress import reading_bytes  # noqa: PLC0415  import late
    from ldapdiag.sources.logs.access_log import SILENCE, follow  # noqa: PLC0415
    from ldapdiag.sources.logs.border import Period  # noqa: PLC0415

    with reading_bytes() as meter:
        readings = follow(
            named, workers=workers, meter=meter or SILENCE, zone=zone, stop=stop, every=EVERY, scanner=scanner
        )
        first = next(readings)
    _complain_of_others(first, stop)
    for reading in readings if first.waits else chain((first,), readings):
        if not write(_told(reading, Period(), goes_on=True)):
            return


def _complain_of_others(reading: LogReading, stop: Event) -> None:
    """Say what is no log, a line each; where nothing is one, that is all there is to say."""
    for one in reading.not_logs:
        how = getattr(one, "how", None)
        complain(f"{one.target}{'' if one.reason.startswith('is ') else ':'} {one.reason}{f'; {how}' if how else ''}")
    if reading.waits:
        complain("there is no record yet; waiting for one")
    elif not reading.streams:
        raise typer.Exit(INTERRUPTED if stop.is_set() else 2)


def _complain_of_gaps(reading: LogReading) -> None:
    tell([gap for stream in reading.streams for gap in stream.gaps])


def _told(reading: LogReading, period: Period, *, goes_on: bool = False) -> ReadLog:
    """Return what was read, added up; a reading that goes on is not touched."""
    from ldapdiag.analysis.log.workload import Workload  # noqa: PLC0415  import late
    from ldapdiag.evidence.bundle import Gap  # noqa: PLC0415
    from ldapdiag.evidence.log.merge import combine, finish  # noqa: PLC0415
    from ldapdiag.report.log.reading import LeftOut, ReadLog, StreamRead  # noqa: PLC0415

    finished = [finish(deepcopy(one.segment) if goes_on else one.segment) for one in reading.streams]
    streams = tuple(
        StreamRead(
            name=one.stream.name,
            dialect=one.stream.dialect.name,
            family=one.stream.dialect.family,
            files=tuple(file.path for file in one.stream.files),
            server_lives=segment.server_processes,
            peak=segment.peak,
            scanner=one.scanner,
            left_out=tuple(LeftOut(target=telling.file.path, reason=telling.reason) for telling in one.stream.tellings),
        )
        for one, segment in zip(reading.streams, finished, strict=True)
    )
    families = {one.family for one in streams}
    others = [one for one in reading.not_logs if not isinstance(one, Gap)]
    return ReadLog(
        workload=Workload(reduce(combine, finished), families.pop() if len(families) == 1 else None),
        streams=streams,
        not_logs=tuple(LeftOut(target=one.target, reason=one.reason) for one in others),
        gaps=(
            *(one for one in reading.not_logs if isinstance(one, Gap)),
            *(gap for one in reading.streams for gap in one.gaps),
        ),
        remarks=tuple(note for one in reading.streams for note in one.notes),
        since=period.since,
        until=period.until,
        stopped=reading.stopped,
    )


def _writer(form: Form, output: Path | None, top: int, by: By, *, again: bool) -> Callable[[ReadLog], bool]:
    """Return who writes a report and tells whether it was read to its end.

    `again`: another one follows, on a terminal in its place, else behind it.
    """

    def to(stream: TextIO, read: ReadLog) -> None:
        if form is Form.JSON:
            from ldapdiag.report.log import as_json  # noqa: PLC0415  import late

            stream.write(as_json.line(read) if again and output is None else as_json.render(read))
            return
        from ldapdiag.report.log import as_text  # noqa: PLC0415  import late, with rich

        if again and output is None:
            stream.write(CLEAR if stream.isatty() else RULE)
        as_text.print_log(read, stream, top=top, by=by)

    def write(read: ReadLog) -> bool:
        if output is None:
            read_to = []
            with standard_output() as stream:
                to(stream, read)
                stream.flush()
                read_to.append("its end")
            return bool(read_to)  # head, or a pager, may have left before
        text = StringIO()
        to(text, read)
        write_file(output, text.getvalue())
        return True

    return write
