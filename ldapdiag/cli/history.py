"""ldapdiag history: report the recorded runs of `diagnose --record`; nothing is judged."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli import times
from ldapdiag.cli.commands import Panel
from ldapdiag.cli.destinations import Output, deliver
from ldapdiag.cli.option_groups import command
from ldapdiag.cli.rendering import writer
from ldapdiag.errors import UsageError
from ldapdiag.report.color import Color

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from ldapdiag.cli.destinations import ReportFormat
    from ldapdiag.evidence.history import History
    from ldapdiag.sources.logs.asked_period import AskedPeriod


@command
def history(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file of ldapdiag diagnose --record.", show_default=False)
    ],
    *,
    server: Annotated[
        str | None, Panel.EVIDENCE.option("--server", metavar="NAME", help="Report this server only; default all.")
    ] = None,
    since: Annotated[
        str | None,
        Panel.EVIDENCE.option(
            "--since",
            metavar="TIME",
            help="Report the runs from TIME on, as in -30d (before the last run), today, 2026-11-20 (UTC).",
        ),
    ] = None,
    output: Output,
) -> None:
    """Report how connections and findings change over time.

    FILE is written by ldapdiag diagnose --record FILE, which adds a summary of each run: per server connections,
    descriptors and their limit, ghost, stranded and severed connections, rates of an access log, and findings by check
    and severity. It contains no address, DN, filter or password of a client. Runs are in the order of the times at
    which their evidence was taken.

    Reading the plots:
        All plots begin at zero, and that of descriptors ends at their limit; each column shows the highest value of
        its time. In the table, 1c 2h 3m 4l are findings by severity.

    Exit code:
        0  reported
        2  no history, no run, or no such server in it

    Examples:
        The last 30 days:
            ldapdiag history ds1.history --since -30d
        One server of several:
            ldapdiag history ds1.history --server ds1
        Record a run; examples/ldapdiag-record.timer does so every 15 minutes:
            ldapdiag diagnose --record ds1.history
    """
    written = output.destinations()
    period = times.asked_period(since)
    read = _of_period(_read(file), period, since)
    if server is not None and server not in read.servers:
        known = ", ".join(read.servers)
        raise UsageError(f"--server {server}: no such server in {read.origin.path}; it has {known}")
    deliver(_writer(read, server, output.color), written)


def _read(file: Path) -> History:
    from ldapdiag.sources.history.recorded_runs import read  # noqa: PLC0415  import late: --help must be quick

    found = read(file)
    if not found.servers:
        raise UsageError(f"{found.origin.path}: no run in it; record one: ldapdiag diagnose … --record FILE")
    return found


def _of_period(read: History, period: AskedPeriod | None, since: str | None) -> History:
    """Return the runs from a time on, which may count from the last one."""
    from ldapdiag.evidence.log.stamps import EPOCH, SECOND, when  # noqa: PLC0415  import late

    end = int((read.runs[-1].taken - EPOCH).total_seconds()) * SECOND
    begin = None if period is None else period.by_end(end).since
    if begin is None:
        return read
    runs = tuple(run for run in read.runs if run.taken >= when(begin))
    if not any(run.servers for run in runs):
        last = f"{read.runs[-1].taken:%Y-%m-%d %H:%M} UTC"
        raise UsageError(f"--since {since}: the last run in {read.origin.path} is of {last}; choose an earlier time")
    return replace(read, runs=runs)


def _writer(read: History, server: str | None, color: Color) -> Callable[[ReportFormat, TextIO], None]:
    from ldapdiag.report.history import as_json, as_text  # noqa: PLC0415  import late, with rich
    from ldapdiag.report.history.as_json import RUNS  # noqa: PLC0415

    text = partial(as_text.print_history, color=color)
    return writer(partial(as_json.document, read, server), text, as_json.render, RUNS)
