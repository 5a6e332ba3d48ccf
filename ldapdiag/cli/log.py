"""ldapdiag log: report the contents of access logs; nothing is judged without --fail-on."""

from __future__ import annotations

import sys
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldapdiag.cli import times
from ldapdiag.cli.cluster_option import ClusterOption, check_alone, cluster_executor
from ldapdiag.cli.commands import Panel
from ldapdiag.cli.destinations import (
    Output,
    ReportFormat,
    check_followed,
    check_table,
    contains_gaps,
    deliver,
    text_on_terminal,
)
from ldapdiag.cli.exit_codes import FAILED, INTERRUPTED
from ldapdiag.cli.interruptible import stoppable
from ldapdiag.cli.log_gate import check_alone_with, facts_of, judged_by_log
from ldapdiag.cli.log_selection import Select
from ldapdiag.cli.notices import Notices, QuietOption
from ldapdiag.cli.option_groups import FailOn, FailOnOption, Sudo, Timeout, command, is_typed
from ldapdiag.cli.output import print_error
from ldapdiag.cli.rendering import writer
from ldapdiag.cli.site_options import ConfigOption, named_logs, target_names, with_target
from ldapdiag.errors import UsageError
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.report.log.sort import OF_TOTALS, By, Sort
from ldapdiag.sources.objects.addresses import object_address

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import tzinfo
    from pathlib import Path
    from threading import Event
    from typing import TextIO

    from ldapdiag.analysis.log.selections import Wanted
    from ldapdiag.cli.destinations import Destination
    from ldapdiag.evidence.access_log import CountedLog
    from ldapdiag.evidence.log.selection import Selection
    from ldapdiag.report.color import Color
    from ldapdiag.report.log.content import LogContent
    from ldapdiag.sources.cluster.executor import Executor
    from ldapdiag.sources.logs.access_log import ScannedLogs
    from ldapdiag.sources.logs.asked_period import AskedPeriod
    from ldapdiag.sources.logs.log_files import LogFile, NotALog
    from ldapdiag.sources.targets import Target

FOLLOW_SECONDS = 2.0
"""Time between two reads of a log with --follow."""
CLEAR = "\x1b[H\x1b[2J"
"""Cursor home, erase display (ECMA-48)."""
RULE = f"{'-' * 40}\n"
"""Separates the reports of --follow where the output is not a terminal."""


FileArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Logs, folders, globs, archives; - for standard input; s3://BUCKET/PREFIX/, gs:// and az://. Or hosts "
        "with a directory server: ssh://HOST, ssh://HOST/PATH (one file there), local: (this host), netns:NAME. Or "
        "@NAME of ldapdiag.toml.",
        show_default=False,
        autocompletion=target_names,
    ),
]


class LogTable(StrEnum):
    """Tables of `log`."""

    SEARCHES = "searches"
    REQUESTERS = "requesters"
    TARGETS = "targets"
    FAILURES = "failures"
    CLIENTS = "clients"
    IDLE_TIMES = "idle-times"
    CLOSES = "closes"
    FAILED_BINDS = "failed-binds"
    TIMELINE = "timeline"
    SILENCES = "silences"
    SERVERS = "servers"
    DIFFERING_SEARCHES = "differing-searches"


OF_SERVERS = frozenset({LogTable.SERVERS, LogTable.DIFFERING_SEARCHES})
"""Tables of `log --by server` alone."""

TableOption = Annotated[
    LogTable | None, Panel.OUTPUT.option("--table", help="Write this table as CSV; default searches.")
]
TopOption = Annotated[
    int, Panel.OUTPUT.option("--top", metavar="N", min=1, max=100_000, help="Show N rows of the main table.")
]
ByOption = Annotated[
    By, Panel.OUTPUT.option("--by", metavar="KEY", help="Group the searches of the main table by this.")
]
SortOption = Annotated[
    Sort,
    Panel.OUTPUT.option(
        "--sort",
        metavar="KEY",
        help="Sort the main table by this, the largest first; with --by client or account by time or count.",
    ),
]
SinceOption = Annotated[
    str | None, Panel.EVIDENCE.option("--since", metavar="TIME", help="Read the logs from TIME on.")
]
UntilOption = Annotated[str | None, Panel.EVIDENCE.option("--until", metavar="TIME", help="Read the logs up to TIME.")]
ZoneOption = Annotated[
    str | None,
    Panel.EVIDENCE.option(
        "--zone",
        metavar="ZONE",
        help="Assume ZONE for times without a zone (syslog, --since), as in Europe/Berlin; default UTC.",
    ),
]
FollowOption = Annotated[bool, Panel.EVIDENCE.option("--follow", "-f", help="Report again as logs grow, until Ctrl-C.")]
WorkersOption = Annotated[
    int | None,
    Panel.EVIDENCE.option(
        "--workers",
        metavar="N",
        min=1,
        max=64,
        help="Read with N threads where the native scanner reads; default one per core.",
    ),
]
ScannerOption = Annotated[
    Scanner | None,
    Panel.EVIDENCE.option(
        "--scanner",
        help="Use this scanner; default native where installed (389-ds and slapd, much faster), else python. "
        "LDAPDIAG_SCANNER sets it for all commands.",
    ),
]


@command
def log(  # noqa: PLR0913  one parameter per option of the command
    context: typer.Context,
    file: FileArgument,
    *,
    output: Output,
    table: TableOption = None,
    top: TopOption = 10,
    by: ByOption = By.SHAPE,
    sort: SortOption = Sort.TIME,
    since: SinceOption = None,
    until: UntilOption = None,
    zone: ZoneOption = None,
    follow: FollowOption = False,
    select: Select,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    sudo: Sudo = False,
    timeout: Timeout = 10,
    quiet: QuietOption = False,
    scanner: ScannerOption = None,
    config: ConfigOption = None,
    fail_on: FailOnOption = FailOn.NEVER,
) -> None:
    """Report slow searches, clients and more from access logs.

    Files are recognised by their content, rotated files are ordered by their times, and logs of several servers are
    combined. Files with the same records (text and JSON, stderr and syslog, a file and its copy) count once.

    Logs that are read:
        Access logs of 389-ds, Red Hat and Sun directory servers, the log of slapd (stderr or syslog, loglevel stats),
        those of OpenDJ and its relatives, of PingDirectory, and Active Directory's events 1644 (CSV, XML, JSON); plain
        or as gz, bz2, xz, zst, tar, and within the logs of Docker, CRI, the journal or syslog.

    Times:
        TIME is 09:55 (the last in the logs; after --since the next one), -1h or -30m (before the end of the logs),
        today or yesterday (the logs end today), 2026-11-20 (the whole day), 2026-11-20T08:45, or a stamp of the log, as
        in "20/Nov/2026:09:45:30 +0100" or "Nov 20 09:45:30"; without a zone it is in that of --zone, else UTC. The log
        before --since is read, too, for the open connections and their bind DNs at that time.

    Selected operations:
        --client, --account, --conn, --shape, --min-etime and --code select the operations that are counted; together
        they must all be met, one option given twice is met by either value. Such a log is read in one process by the
        scanner in Python, a gigabyte in about a minute.

    Exit code:
        0  read; with --fail-on no finding at or above it
        1  with --fail-on: such a finding, or a crashed check
        2  no access log
        130  Ctrl-C (the report covers what was read until then)

    Examples:
        A rotated set:
            ldapdiag log /var/log/dirsrv/slapd-ds1/access*
        The last hour, by client:
            ldapdiag log access* --since -1h --by client
        The five slowest operations of one network, with their lines:
            ldapdiag log access* --client 10.1.0.0/16 --show-lines 5
        Of the servers on two hosts, over ssh:
            ldapdiag log ssh://ds1 ssh://ds2 --sudo
        As it grows, until Ctrl-C:
            ldapdiag log access --follow
    """
    typed = file
    file, hosts, given = _named(context, file, config, sudo=sudo, timeout=timeout, notices=Notices(quiet=quiet))
    written = output.destinations()
    check_table(table, written)
    _check_compared(table, by)
    if by is not By.SHAPE and sort not in OF_TOTALS:
        raise UsageError(
            f"--by {by} excludes --sort {sort}: the times of single searches are kept by filter; "
            "use --sort time or count, or --by shape"
        )
    asked = select.wanted()
    if follow:
        check_followed(written)
        others = {"hosts": hosts, "object stores": any(map(object_address, file)), "--by server": by is By.SERVER}
        _check_follow({**others, "--since and --until": since or until, "options that select operations": asked})
    check_alone_with(fail_on, {"--follow": follow, "the options that select operations": asked})
    zone_of_logs = times.zone("--zone", zone)
    period = times.asked_period(since, until, zone_of_logs)
    check_alone(
        cluster, {"--follow": follow, "--workers": workers, "options that select operations": asked, "hosts": hosts}
    )
    notices = Notices(quiet=quiet, color=output.color, gaps_in_output=contains_gaps(written))
    _print_scanner_notice(scanner, notices)
    write = _writer(written, top, by, sort, table=table, color=output.color, again=follow)
    status = 0
    with stoppable() as stop:
        if follow:
            _follow(file, workers, zone_of_logs, stop, write, scanner, notices)
        else:
            selection = None if asked is None else asked.selection()
            collected = _collected(hosts, given, zone_of_logs, stop, notices)
            with cluster_executor(cluster, notices, stop) as executor:
                reading = _read(
                    file,
                    executor or workers,
                    period,
                    zone_of_logs,
                    stop,
                    scanner=scanner,
                    selection=selection,
                    notices=notices,
                    collected=collected,
                )
            if not text_on_terminal(written):
                notices.write_gaps([gap for stream in reading.streams for gap in stream.gaps])
            logs = [stream.counted() for stream in reading.streams]
            evidence = facts_of(logs, fail_on)
            found = content_of(reading, logs, wanted=asked, by_server=by is By.SERVER)
            _print_not_found(found, written)
            write(found)
            unread = [*reading.gaps, *(gap for stream in reading.streams for gap in stream.truncated)]
            status = judged_by_log(evidence, typed, config, fail_on, gaps=unread, notices=notices)
    raise typer.Exit(INTERRUPTED if stop.is_set() else status)


def _named(
    context: typer.Context, named: list[str], config: Path | None, *, sudo: bool, timeout: int, notices: Notices
) -> tuple[list[str], list[Target], dict[str, Any]]:
    """Return the files and the hosts that are named, and the options by which hosts are read."""
    from ldapdiag.sources.targets import split_targets  # noqa: PLC0415  import late: --help must be quick

    named, target = named_logs(named, config, notices)
    typed = {name for name in ("sudo", "timeout") if is_typed(context, name)}
    given = with_target({"sudo": sudo, "timeout": timeout}, typed, target)
    hosts, files = split_targets(named)
    return files, hosts, given


def _check_follow(others: Mapping[str, object]) -> None:
    """Raise UsageError for what cannot be followed."""
    for what, value in others.items():
        if value:
            raise UsageError(f"--follow excludes {what}: omit one of them")


def _collected(
    hosts: Sequence[Target], given: Mapping[str, Any], zone: tzinfo | None, stop: Event, notices: Notices
) -> tuple[LogFile | NotALog, ...]:
    """Return the access logs of hosts."""
    if not hosts:
        return ()
    from ldapdiag.sources.collection_options import CollectionOptions  # noqa: PLC0415  import late
    from ldapdiag.sources.gathering import logs_of  # noqa: PLC0415
    from ldapdiag.sources.progress import NO_PROGRESS  # noqa: PLC0415

    options = CollectionOptions(sudo=given["sudo"], timeout_seconds=given["timeout"])
    with notices.progress() as progress:
        return logs_of(hosts, options, zone=zone, stop=stop, progress=progress or NO_PROGRESS)


def _check_compared(table: LogTable | None, by: By) -> None:
    """Raise UsageError for a table of servers that are not compared: it would be empty."""
    if table in OF_SERVERS and by is not By.SERVER:
        raise UsageError(f"--table {table} compares servers: add --by server")


def _print_not_found(found: LogContent, written: Sequence[Destination]) -> None:
    """Print what the selection names and the log does not have, which only the text contains."""
    from ldapdiag.report.log.selected import no_match, no_match_sentence  # noqa: PLC0415  import late

    if all(one.form is not ReportFormat.TEXT for one in written):
        nothing = no_match(found)
        for sentence in (*([f"nothing matches: {no_match_sentence(nothing)}"] if nothing else []), *found.not_found):
            print_error(sentence)


def _print_scanner_notice(scanner: Scanner | None, notices: Notices) -> None:
    """Print why the installed native scanner is not used. Raises NoNativeError if it was requested."""
    from ldapdiag.sources.logs import native  # noqa: PLC0415  import late

    if native.chosen(scanner) is Scanner.PYTHON and scanner is None and (notice := native.notice()):
        notices.write(notice)


def _read(  # noqa: PLR0913  what the operator asked for, option by option
    arguments: list[str],
    workers: Executor | int | None,
    period: AskedPeriod | None,
    zone: tzinfo | None,
    stop: Event,
    *,
    scanner: Scanner | None,
    selection: Selection | None,
    notices: Notices,
    collected: Sequence[LogFile | NotALog],
) -> ScannedLogs:
    from ldapdiag.sources.logs.access_log import NO_METER, read  # noqa: PLC0415  import late

    with notices.byte_progress() as meter:
        if isinstance(workers, int | None):
            reading = read(
                arguments,
                workers=workers,
                meter=meter or NO_METER,
                period=period,
                zone=zone,
                stop=stop,
                scanner=scanner,
                selection=selection,
                collected=collected,
            )
        else:
            from ldapdiag.sources.cluster import cluster_reading  # noqa: PLC0415  import late

            reading = cluster_reading.read(
                arguments, workers, meter=meter, period=period, zone=zone, stop=stop, scanner=scanner
            )
            for name in reading.cluster.read_here if reading.cluster else ():
                notices.write(f"{name}: read on this machine, the only one that can open it")
    _print_other_files(reading, stop, notices)
    return reading


def _follow(
    arguments: list[str],
    workers: int | None,
    zone: tzinfo | None,
    stop: Event,
    write: Callable[[LogContent], bool],
    scanner: Scanner | None,
    notices: Notices,
) -> None:
    """Write the report whenever the logs grow, until the output is closed."""
    from ldapdiag.sources.logs.access_log import NO_METER  # noqa: PLC0415  import late
    from ldapdiag.sources.logs.followed_logs import follow  # noqa: PLC0415

    with notices.byte_progress() as meter:
        readings = follow(
            arguments,
            workers=workers,
            meter=meter or NO_METER,
            zone=zone,
            stop=stop,
            every=FOLLOW_SECONDS,
            scanner=scanner,
        )
        first = next(readings)
    _print_other_files(first, stop, notices)
    for reading in readings if first.waits else chain((first,), readings):
        if not write(content_of(reading, [stream.counted(goes_on=True) for stream in reading.streams])):
            return


def _print_other_files(reading: ScannedLogs, stop: Event, notices: Notices) -> None:
    """Print a line for each file that is not an access log. Raises typer.Exit when none is: then they are errors."""
    nothing = not reading.streams and not reading.waits
    for one in reading.not_logs:
        how = getattr(one, "how", None)
        is_needed = nothing or (hasattr(one, "how") and not notices.gaps_in_output)  # a gap
        (print_error if is_needed else notices.write)(
            f"{one.target}{'' if one.reason.startswith('is ') else ':'} {one.reason}{f'; {how}' if how else ''}"
        )
    if nothing:
        raise typer.Exit(INTERRUPTED if stop.is_set() else FAILED)
    if reading.waits:
        notices.write("no record yet; waiting for the first")


def content_of(
    reading: ScannedLogs, logs: Sequence[CountedLog], *, wanted: Wanted | None = None, by_server: bool = False
) -> LogContent:
    """Return what the report on a reading with these counts is about, which are added up; `by_server`: and compared."""
    from ldapdiag.report.log.content import LogContent, combined, compared  # noqa: PLC0415  import late

    missing: tuple[str, ...] = ()
    fleet = compared(logs) if by_server else None  # before their counts are added up
    workload = combined(logs)
    if wanted:
        from ldapdiag.analysis.log.selections import not_found  # noqa: PLC0415  import late

        missing = not_found(wanted, workload.segment)
    is_empty = workload.period is None or (wanted and wanted.restricts and not any(workload.operations.values()))
    shown = sorted((operation for stream in reading.streams for operation in stream.shown), key=lambda one: -one.etime)
    return LogContent(
        workload=workload,
        streams=tuple(log.stream for log in logs),
        passed_over=reading.passed_over,
        gaps=reading.gaps,
        since=reading.period.since,
        until=reading.period.until,
        log_times=reading.times if is_empty else None,
        wanted=wanted,
        not_found=missing,
        shown=tuple(shown[: wanted.most_shown if wanted else 0]),
        fleet=fleet,
        cluster=reading.cluster,
        stopped=reading.stopped,
    )


def _writer(
    written: Sequence[Destination], top: int, by: By, sort: Sort, *, table: LogTable | None, color: Color, again: bool
) -> Callable[[LogContent], bool]:
    """Return a function that writes a report and returns whether the output is still open.

    `again`: another report follows; on a terminal it replaces this one, else it comes after it.
    """
    from ldapdiag.report.log import as_json  # noqa: PLC0415  import late
    from ldapdiag.report.log.tables import TABLES  # noqa: PLC0415

    json = as_json.line if again and any(one.path is None for one in written) else as_json.render

    def text(document: Mapping[str, Any], stream: TextIO) -> None:
        from ldapdiag.report.log import as_text  # noqa: PLC0415  import late, with rich

        if again and stream is sys.stdout:
            stream.write(CLEAR if stream.isatty() else RULE)
        as_text.print_log(document, stream, top=top, by=by, sort=sort, color=color)

    def write(read: LogContent) -> bool:
        rows = TABLES[table or LogTable.SEARCHES]
        return deliver(writer(lambda: as_json.document(read, sort), text, json, rows), written)

    return write
