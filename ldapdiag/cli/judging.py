"""Steps that `diagnose`, `indexes` and `storage` share: gather evidence, run checks, report, exit code."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli.baseline import compared, read_baseline
from ldapdiag.cli.commands import Panel
from ldapdiag.cli.exit_codes import FAILED, INTERRUPTED
from ldapdiag.cli.output import print_error, print_gaps
from ldapdiag.cli.site_options import today
from ldapdiag.evidence.report_kind import ReportKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path
    from threading import Event

    from ldapdiag.catalogue import AnyCheck
    from ldapdiag.cli.notices import Notices
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.history import History
    from ldapdiag.evidence.origin import Fact
    from ldapdiag.finding import Finding
    from ldapdiag.site.configuration import SiteConfiguration
    from ldapdiag.sources.cluster.executor import Executor
    from ldapdiag.sources.collection_options import CollectionOptions
    from ldapdiag.sources.logs.asked_period import AskedPeriod


class FailOn(StrEnum):
    """The lowest severity that makes the exit code 1."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    NEVER = "never"


FailOnOption = Annotated[
    FailOn,
    typer.Option(
        "--fail-on",
        metavar="SEVERITY",
        help="Exit with 1 for a finding of at least this severity.",
        rich_help_panel=Panel.GATE,
    ),
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Read access logs from TIME on, as in 09:55, -1h (before their end), 2026-11-20T08:45 (UTC).",
        show_default=False,
        rich_help_panel=Panel.EVIDENCE,
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Exit with 1 for a check that is not judged, too.", rich_help_panel=Panel.GATE)
]


def import_early(checks: Callable[[], object]) -> None:
    """Import checks and reports while logs are scanned: that takes as long as a few hundred megabytes of log."""
    from ldapdiag import diagnosis  # noqa: F401, PLC0415  import late
    from ldapdiag.report import findings  # noqa: F401, PLC0415  import late

    checks()


def run_diagnosis(  # noqa: PLR0913  what the operator asked for, option by option
    evidence: list[str],
    checks: Callable[[], Sequence[AnyCheck]],
    options: Callable[[], CollectionOptions],
    stop: Event,
    *,
    period: AskedPeriod | None,
    notices: Notices,
    verbose: bool,
    kind: ReportKind = ReportKind.ALL,
    measure: Callable[[], Sequence[Fact]] = tuple,
    earlier: History | None = None,
    site: SiteConfiguration | None = None,
    named: Collection[str] = (),
    baseline: Path | None = None,
    executor: Executor | None = None,
) -> Diagnosis:
    """Gather the evidence, and run the checks on it. Raises typer.Exit without evidence.

    `named` are the checks that the command line names. `executor` reads the access logs. `baseline` is the file of the
    report that this one is compared with.

    `measure` is called first; what it returns is evidence, too.
    """
    from ldapdiag.evidence.access_log import AccessLog  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.evidence.ldap_probe import LdapProbe  # noqa: PLC0415
    from ldapdiag.evidence.schema import Schema  # noqa: PLC0415
    from ldapdiag.site.checks_in_force import checks_in_force  # noqa: PLC0415
    from ldapdiag.sources.gathering import gather  # noqa: PLC0415
    from ldapdiag.sources.logs import native  # noqa: PLC0415
    from ldapdiag.sources.progress import NO_PROGRESS  # noqa: PLC0415

    native.chosen()  # fails early if LDAPDIAG_SCANNER names a scanner that is not installed
    in_force = cache(lambda: checks_in_force(checks(), site, named=named, today=today()))
    if site is not None:
        in_force()  # an error in the site configuration is reported before anything is collected
    before = read_baseline(baseline, kind)
    collection = options()
    measured = tuple(measure())
    with notices.progress() as progress:
        bundle = gather(
            evidence,
            ldap_ports=collection.ldap_ports,
            options=collection,
            progress=progress or NO_PROGRESS,
            stop=stop,
            period=period,
            meanwhile=partial(import_early, in_force),
            executor=executor,
        )
    bundle = replace(bundle, facts=(*bundle.facts, *measured))
    if (notice := native.notice()) and any(isinstance(fact, AccessLog) for fact in bundle.facts):
        notices.write(notice)
    # Any server shows its schema to any client; and a server that did not answer has left no evidence to judge others.
    if all(isinstance(fact, Schema | LdapProbe) for fact in bundle.facts):
        every = verbose or not bundle.gaps
        print_gaps((*bundle.gaps, *(one for one in bundle.passed_over if every or one.files)))
        raise typer.Exit(INTERRUPTED if stop.is_set() else FAILED)
    from ldapdiag.diagnosis import diagnose as judge  # noqa: PLC0415  import late

    diagnosis = judge(bundle, in_force().checks, kind=kind, earlier=earlier, in_force=in_force())
    diagnosis = replace(diagnosis, typed=collection.typed)
    return diagnosis if before is None else compared(diagnosis, before)


def print_unread(diagnosis: Diagnosis, *, quiet: bool, alone: bool) -> None:
    """Write to standard error what was not read, the main evidence first; if quiet, only why the exit code is 2.

    `alone`: the output is a table or commands, which do not contain this; then also why it is no all-clear.
    """
    gaps = () if quiet and not alone else diagnosis.bundle.gaps
    print_gaps((*filter(None, (diagnosis.shortfall,)), *gaps))
    if alone:
        _print_no_all_clear(diagnosis)


def _print_no_all_clear(diagnosis: Diagnosis) -> None:
    """Write the checks that crashed, and that nothing was found where that is no all-clear."""
    from ldapdiag.report.headline import CRASHED, UNKNOWN, headline, reservation  # noqa: PLC0415  import late

    for one in diagnosis.crashed:
        print_error(f"{one.check} crashed; nothing is claimed about what it judges")
    first = headline(diagnosis)
    if first is not None and first.label in {CRASHED, UNKNOWN}:
        print_error(first.text)
    elif rest := reservation(diagnosis):
        print_error(rest)


def exit_code(diagnosis: Diagnosis, fail_on: FailOn, *, strict: bool, fail_on_new: bool = False) -> int:
    """Return the exit code of a report: 2 if the main evidence was not read, else 1 or 0 by --fail-on and --strict.

    With `fail_on_new` only findings count that are new or worse since the baseline, or whose acceptance is over.
    """
    from ldapdiag.finding import NotJudged, Severity  # noqa: PLC0415  import late

    if diagnosis.shortfall:
        return FAILED
    if diagnosis.crashed:
        return 1
    if strict and any(isinstance(one.verdict, NotJudged) for one in diagnosis.judged):
        return 1
    if fail_on is FailOn.NEVER:
        return 0
    threshold = Severity[fail_on.name]
    return int(
        any(
            one.severity >= threshold and not one.is_accepted and (not fail_on_new or _is_new(diagnosis, check, one))
            for check, one in diagnosis.found
        )
    )


def _is_new(diagnosis: Diagnosis, check: str, finding: Finding) -> bool:
    """Return whether a finding counts for --fail-on-new: new, worse, or no longer covered by an acceptance."""
    from ldapdiag.finding import finding_id  # noqa: PLC0415  import late

    has_grown = diagnosis.changes is not None and diagnosis.changes.has_grown(finding_id(check, finding))
    return has_grown or finding.acceptance is not None
