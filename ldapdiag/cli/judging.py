"""Judging: evidence gathered and judged, and the report delivered, as every command does that judges."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli import INTERRUPTED
from ldapdiag.cli.output import complain, standard_output, tell, write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from threading import Event
    from typing import TextIO

    from ldapdiag.catalogue import AnyCheck
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.sources.collection_options import Terms


class Form(StrEnum):
    """The forms a report can take."""

    TEXT = "text"
    JSON = "json"


class FailOn(StrEnum):
    """From which severity on the exit code is 1."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    NEVER = "never"


Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the report to this file.", show_default=False)
]
Worst = Annotated[FailOn, typer.Option("--fail-on", help="Exit with 1 when a finding is at least this severe.")]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Count what access logs tell from this time on, as in 2026-11-20 or 2026-11-20T08:45 (UTC).",
        show_default=False,
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1, too, when a check could not judge.")]


def load(checks: Callable[[], object]) -> None:
    """Import what judges and what tells of it: that takes as long as scanning a few hundred megabytes."""
    from ldapdiag import diagnosis  # noqa: F401, PLC0415  import late
    from ldapdiag.report import as_text  # noqa: F401, PLC0415  import late

    checks()


def judged(
    evidence: list[str],
    checks: Callable[[], Sequence[AnyCheck]],
    asked: Callable[[], Terms],
    stop: Event,
    *,
    since: int | None,
    verbose: bool,
) -> Diagnosis:
    """Gather the evidence, and let the checks judge it; typer.Exit where there is none."""
    from ldapdiag.evidence.access_log import AccessLog  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.evidence.schema import Schema  # noqa: PLC0415
    from ldapdiag.report.progress import reading  # noqa: PLC0415
    from ldapdiag.sources.gathering import gather  # noqa: PLC0415
    from ldapdiag.sources.logs import native  # noqa: PLC0415
    from ldapdiag.sources.progress import SILENCE  # noqa: PLC0415

    native.chosen()  # the environment may ask for one that cannot be had
    terms = asked()
    with reading() as progress:
        bundle = gather(
            evidence,
            ldap_ports=terms.ldap_ports,
            terms=terms,
            progress=progress or SILENCE,
            stop=stop,
            since=since,
            meanwhile=partial(load, checks),
        )
    if (notice := native.notice()) and any(isinstance(fact, AccessLog) for fact in bundle.facts):
        complain(notice)
    if all(isinstance(fact, Schema) for fact in bundle.facts):  # which any server shows to anybody
        tell((*bundle.gaps, *bundle.passed_over) if verbose or not bundle.gaps else bundle.gaps)
        raise typer.Exit(INTERRUPTED if stop.is_set() else 2)
    from ldapdiag.diagnosis import diagnose as judge  # noqa: PLC0415  import late

    return judge(bundle, checks())


def deliver(write: Callable[[TextIO], None], output: Path | None) -> None:
    """Write a report to standard output, or to the file the operator named."""
    if output is None:
        with standard_output() as stream:
            write(stream)
    else:
        text = StringIO()
        write(text)
        write_file(output, text.getvalue())


def exit_code(diagnosis: Diagnosis, fail_on: FailOn, *, strict: bool) -> int:
    """Return 1 when something is as bad as --fail-on, a check crashed or, with --strict, could not judge."""
    from ldapdiag.finding import NotJudged, Severity  # noqa: PLC0415  import late

    if diagnosis.crashed:
        return 1
    if strict and any(isinstance(one.verdict, NotJudged) for one in diagnosis.judged):
        return 1
    if fail_on is FailOn.NEVER:
        return 0
    threshold = Severity[fail_on.name]
    return int(any(finding.severity >= threshold for finding in diagnosis.findings))
