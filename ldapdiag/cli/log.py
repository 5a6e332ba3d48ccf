"""ldapdiag log: report the contents of access logs; nothing is judged."""

from __future__ import annotations

from copy import deepcopy
from functools import reduce
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli import times
from ldapdiag.cli.exit_codes import FAILED, INTERRUPTED
from ldapdiag.cli.interruptible import stoppable
from ldapdiag.cli.judging import OutputOption, ReportFormat
from ldapdiag.cli.output import outputs_share_terminal, print_error, print_gaps, standard_output, write_file
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

FOLLOW_SECONDS = 2.0
"""Time between two reads of a log with --follow."""

CLEAR = "\x1b[H\x1b[2J"
"""Cursor home, erase display (ECMA-48)."""
RULE = f"{'-' * 40}\n"
"""Separates the reports of --follow where the output is not a terminal."""


def log(  # noqa: PLR0913  one parameter per option of the command
    file: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Logs, folders, globs, archives; - for standard input.", show_default=False
        ),
    ],
    *,
    form: Annotated[
        ReportFormat, typer.Option("--format", help="Write the report in this format.")
    ] = ReportFormat.TEXT,
    output: OutputOption = None,
    top: Annotated[
        int, typer.Option("--top", metavar="N", min=1, max=100_000, help="Show N rows of the main table.")
    ] = 10,
    by: Annotated[By, typer.Option("--by", help="Group the searches of the main table by this.")] = By.SHAPE,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Read the logs from TIME on.", show_default=False)
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Read the logs up to TIME.", show_default=False)
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            "--zone",
            metavar="ZONE",
            help="Assume ZONE for times without a zone (syslog), as in Europe/Berlin; default UTC.",
            show_default=False,
        ),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Report again as logs grow, until Ctrl-C.")] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            min=1,
            max=64,
            help="Read with N processes or threads; default one per core.",
            show_default=False,
        ),
    ] = None,
    scanner: Annotated[
        Scanner | None,
        typer.Option(
            "--scanner",
            help="Use this scanner; default native where installed (389-ds and slapd, much faster), else python. "
            "LDAPDIAG_SCANNER sets it for all commands.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Report slow searches, clients and more from access logs.

    Supported: access logs of 389-ds, Red Hat and Sun directory servers, the log of slapd (stderr or syslog, loglevel
    stats), those of OpenDJ and its relatives, of PingDirectory, and Active Directory's events 1644 as CSV; plain or as
    gz, bz2, xz, zst, tar. Files are recognised by their content, and rotated files are ordered by their times:

        ldapdiag log /var/log/dirsrv/slapd-ds1/access*

    Logs of several servers are combined. Files with the same records (text and JSON, stderr and syslog, a file and its
    copy) count once.

    TIME is ISO 8601: 2026-11-20 (the whole day), 2026-11-20T08:45, 2026-11-20T09:45:30+01:00; UTC without a zone. The
    log before --since is read, too, for the open connections and their bind DNs at that time.

    Exit code: 0 read, 2 no access log, 130 Ctrl-C (the report covers what was read until then).
    """
    from ldapdiag.sources.logs.border import Period  # noqa: PLC0415  import late: --help must be quick

    try:
        if follow and (since or until):
            raise UsageError("--follow excludes --since and --until: omit one of them")
        period = Period(times.since("--since", since), times.until("--until", until))
        if period.since is not None and period.until is not None and period.until < period.since:
            raise UsageError(f"--until {until} is before --since {since}: exchange them")
        zone_of_logs = times.zone("--zone", zone)
        _print_scanner_notice(scanner)
        write = _writer(form, output, top, by, again=follow)
        with stoppable() as stop:
            if follow:
                _follow(file, workers, zone_of_logs, stop, write, scanner)
            else:
                reading = _read(file, workers, period, zone_of_logs, stop, scanner)
                if form is ReportFormat.JSON or output or not outputs_share_terminal():
                    _print_stream_gaps(reading)
                write(_read_log(reading, period))
    except LdapdiagError as error:
        print_error(error)
        raise typer.Exit(FAILED) from None
    raise typer.Exit(INTERRUPTED if stop.is_set() else 0)


def _print_scanner_notice(scanner: Scanner | None) -> None:
    """Print why the installed native scanner is not used. Raises NoNativeError if it was requested."""
    from ldapdiag.sources.logs import native  # noqa: PLC0415  import late

    if native.chosen(scanner) is Scanner.PYTHON and scanner is None and (notice := native.notice()):
        print_error(notice)


def _read(
    arguments: list[str],
    workers: int | None,
    period: Period,
    zone: tzinfo | None,
    stop: Event,
    scanner: Scanner | None,
) -> LogReading:
    from ldapdiag.report.progress import show_byte_progress  # noqa: PLC0415  import late
    from ldapdiag.sources.logs.access_log import SILENCE, read  # noqa: PLC0415

    asked = period if (period.since, period.until) != (None, None) else None
    with show_byte_progress() as meter:
        reading = read(
            arguments, workers=workers, meter=meter or SILENCE, period=asked, zone=zone, stop=stop, scanner=scanner
        )
    _print_other_files(reading, stop)
    return reading


def _follow(
    arguments: list[str],
    workers: int | None,
    zone: tzinfo | None,
    stop: Event,
    write: Callable[[ReadLog], bool],
    scanner: Scanner | None,
) -> None:
    """Write the report whenever the logs grow, until the output is closed."""
    from ldapdiag.report.progress import show_byte_progress  # noqa: PLC0415  import late
    from ldapdiag.sources.logs.access_log import SILENCE, follow  # noqa: PLC0415
    from ldapdiag.sources.logs.border import Period  # noqa: PLC0415

    with show_byte_progress() as meter:
        readings = follow(
            arguments,
            workers=workers,
            meter=meter or SILENCE,
            zone=zone,
            stop=stop,
            every=FOLLOW_SECONDS,
            scanner=scanner,
        )
        first = next(readings)
    _print_other_files(first, stop)
    for reading in readings if first.waits else chain((first,), readings):
        if not write(_read_log(reading, Period(), goes_on=True)):
            return


def _print_other_files(reading: LogReading, stop: Event) -> None:
    """Print a line for each file that is not an access log. Raises typer.Exit when none is."""
    for one in reading.not_logs:
        how = getattr(one, "how", None)
        print_error(
            f"{one.target}{'' if one.reason.startswith('is ') else ':'} {one.reason}{f'; {how}' if how else ''}"
        )
    if reading.waits:
        print_error("no record yet; waiting for the first")
    elif not reading.streams:
        raise typer.Exit(INTERRUPTED if stop.is_set() else FAILED)


def _print_stream_gaps(reading: LogReading) -> None:
    print_gaps([gap for stream in reading.streams for gap in stream.gaps])


def _read_log(reading: LogReading, period: Period, *, goes_on: bool = False) -> ReadLog:
    """Combine the streams of a reading. With `goes_on` the reading stays unchanged, to be continued."""
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


def _writer(form: ReportFormat, output: Path | None, top: int, by: By, *, again: bool) -> Callable[[ReadLog], bool]:
    """Return a function that writes a report and returns whether the output is still open.

    `again`: another report follows; on a terminal it replaces this one, else it comes after it.
    """

    def to(stream: TextIO, read: ReadLog) -> None:
        if form is ReportFormat.JSON:
            from ldapdiag.report.log import as_json  # noqa: PLC0415  import late

            stream.write(as_json.line(read) if again and output is None else as_json.render(read))
            return
        from ldapdiag.report.log import as_text  # noqa: PLC0415  import late, with rich

        if again and output is None:
            stream.write(CLEAR if stream.isatty() else RULE)
        as_text.print_log(read, stream, top=top, by=by)

    def write(read: ReadLog) -> bool:
        if output is None:
            finished = []
            with standard_output() as stream:
                to(stream, read)
                stream.flush()
                finished.append(True)
            return bool(finished)  # empty when a reader such as head closed the output
        text = StringIO()
        to(text, read)
        write_file(output, text.getvalue())
        return True

    return write
