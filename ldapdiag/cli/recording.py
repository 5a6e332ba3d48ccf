"""The options of `diagnose --record`, and what it does before and after the diagnosis."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.output import print_error
from ldapdiag.cli.times import Duration
from ldapdiag.errors import LdapdiagError, UsageError

if TYPE_CHECKING:
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.history import History

RecordOption = Annotated[
    Path | None,
    typer.Option(
        "--record",
        metavar="FILE",
        help="Add a summary of this run to FILE, a history; ldapdiag history reports it.",
        show_default=False,
        rich_help_panel=Panel.HISTORY,
    ),
]
DaysOption = Annotated[
    int,
    typer.Option(
        "--record-days",
        metavar="DAYS",
        parser=Duration(least=1, most=36_500, unit="d", whole=True),
        help="Remove runs older than DAYS from the history.",
        rich_help_panel=Panel.HISTORY,
    ),
]
SizeOption = Annotated[
    int,
    typer.Option(
        "--record-size",
        metavar="MIB",
        min=1,
        max=100_000,
        help="Remove the oldest runs of a history that is larger.",
        rich_help_panel=Panel.HISTORY,
    ),
]


def earlier_runs(file: Path | None, checks: list[str]) -> History | None:
    """Return the runs in a history, before anything is collected; None without one.

    Raises LdapdiagError for a file in which no run can be recorded.
    """
    if file is None:
        return None
    if checks:
        reason = "the findings of all other checks would seem to have ended"
        raise UsageError(f"--record excludes --check ({reason}): omit one of them")
    from ldapdiag.sources.history.database import check  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.sources.history.recorded_runs import read  # noqa: PLC0415

    check(file)
    return read(file, with_findings=False) if file.exists() else None


def record_run(file: Path, diagnosis: Diagnosis, code: int, days: int, megabytes: int, *, interrupted: bool) -> None:
    """Record a run. A failure is reported, and changes no exit code: the diagnosis is right without it."""
    from datetime import UTC, datetime  # noqa: PLC0415  import late

    from ldapdiag.report.history.summary import summarise  # noqa: PLC0415  import late, with the analysis
    from ldapdiag.sources.history.recording import Bounds, record  # noqa: PLC0415

    try:
        if interrupted or diagnosis.shortfall:
            reason = "the run was interrupted" if interrupted else "most of the evidence was not read"
            raise UsageError(f"not recorded: {reason}, and its numbers would be too low; run it again")
        run = summarise(diagnosis, datetime.now(UTC), code)
        if run is None:
            raise UsageError(
                "not recorded: no evidence about a directory server shows its time; "
                "collect it with ldapdiag, or put the output of date -u into captured-at.txt beside it"
            )
        record(file, run, Bounds(days=days, megabytes=megabytes))
    except LdapdiagError as error:
        print_error(error)
