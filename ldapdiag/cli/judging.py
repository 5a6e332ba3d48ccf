"""Steps that `diagnose`, `indexes` and `storage` share: gather evidence, run checks, report, exit code."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer

from ldapdiag.cli.destinations import contains_gaps, deliver, text_on_terminal
from ldapdiag.cli.exit_codes import FAILED, INTERRUPTED
from ldapdiag.cli.output import print_error, print_gaps
from ldapdiag.cli.site_options import today
from ldapdiag.cli.times import asked_period
from ldapdiag.errors import UsageError
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from threading import Event
    from typing import TextIO

    from ldapdiag.baseline.reported import Reported
    from ldapdiag.check import MainNumber
    from ldapdiag.cli.destinations import Destination, ReportFormat
    from ldapdiag.cli.judging_options import Gate, Judging
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.history import History
    from ldapdiag.evidence.origin import Fact
    from ldapdiag.finding import Finding
    from ldapdiag.sources.cluster.executor import Executor

COMMANDS = {ReportKind.ALL: "diagnose", ReportKind.INDEXES: "indexes", ReportKind.STORAGE: "storage"}


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier report, and its file."""

    path: Path
    report: Reported


def read_baseline(path: Path | None, kind: ReportKind) -> Baseline | None:
    """Return the report of --baseline, None without. Raises UsageError if it cannot be compared with one of `kind`."""
    if path is None:
        return None
    from ldapdiag.sources.earlier_report import earlier_report  # noqa: PLC0415  import late: --help must be quick

    report = earlier_report(path)
    if report.kind is not kind:
        of, here = COMMANDS[report.kind], COMMANDS[kind]
        raise UsageError(f"the baseline {path} is of `ldapdiag {of}`; compare with a report of `ldapdiag {here}`")
    return Baseline(path, report)


def compared(diagnosis: Diagnosis, before: Baseline) -> Diagnosis:
    """Return the diagnosis with what has changed since the baseline."""
    from datetime import UTC, datetime  # noqa: PLC0415  import late

    from ldapdiag.baseline.comparison import compare  # noqa: PLC0415  import late
    from ldapdiag.baseline.reading import report_of  # noqa: PLC0415
    from ldapdiag.report import as_json  # noqa: PLC0415

    now = report_of(as_json.document(diagnosis, datetime.now(UTC)))
    return replace(diagnosis, changes=compare(before.report, now, _main_numbers(), before.path.name))


def _main_numbers() -> dict[str, MainNumber]:
    """Return the main number of each installed check that names one."""
    from ldapdiag.catalogue import installed_checks  # noqa: PLC0415  import late: --help must be quick

    return {check.id: check.number for check in installed_checks() if check.number is not None}


def import_early(checks: Callable[[], object]) -> None:
    """Import checks and reports while logs are scanned: that takes as long as a few hundred megabytes of log."""
    from ldapdiag import diagnosis  # noqa: F401, PLC0415  import late
    from ldapdiag.report import findings  # noqa: F401, PLC0415  import late

    checks()


def run_diagnosis(  # noqa: PLR0913  what the operator asked for, and what the command adds
    evidence: list[str],
    asked: Judging,
    stop: Event,
    *,
    kind: ReportKind = ReportKind.ALL,
    collecting: Mapping[str, Any] = MappingProxyType({}),
    measure: Callable[[], Sequence[Fact]] = tuple,
    earlier: History | None = None,
    named: Collection[str] = (),
    executor: Executor | None = None,
) -> Diagnosis:
    """Gather the evidence, and run the checks on it. Raises typer.Exit without evidence.

    `named` are the checks that the command line names. `collecting` replaces collection options. `executor` reads the
    access logs. `measure` is called first; what it returns is evidence, too.
    """
    from ldapdiag.catalogue import checks_named  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.evidence.access_log import AccessLog  # noqa: PLC0415
    from ldapdiag.evidence.ldap_probe import LdapProbe  # noqa: PLC0415
    from ldapdiag.evidence.schema import Schema  # noqa: PLC0415
    from ldapdiag.site.configuration import checks_in_force  # noqa: PLC0415
    from ldapdiag.sources.gathering import gather  # noqa: PLC0415
    from ldapdiag.sources.logs import native  # noqa: PLC0415
    from ldapdiag.sources.progress import NO_PROGRESS  # noqa: PLC0415
    from ldapdiag.sources.site_file import names_in  # noqa: PLC0415

    native.chosen()  # fails early if LDAPDIAG_SCANNER names a scanner that is not installed
    notices, site, period = asked.notices, asked.collecting.given.site, asked_period(asked.since)
    in_force = cache(lambda: checks_in_force(checks_named(named, kind), site, named=named, today=today()))
    if site is not None or named:
        in_force()  # an error in the site configuration, or an unknown ID, is reported before anything is collected
    before = read_baseline(asked.gate.baseline, kind)
    collection = replace(asked.collecting.options(notices), **collecting)
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
    if site is not None:
        bundle = replace(bundle, named=bundle.named | names_in(site))
    bundle = replace(bundle, facts=(*bundle.facts, *measured))
    if (notice := native.notice()) and any(isinstance(fact, AccessLog) for fact in bundle.facts):
        notices.write(notice)
    # Any server shows its schema to any client; and a server that did not answer has left no evidence to judge others.
    if all(isinstance(fact, Schema | LdapProbe) for fact in bundle.facts):
        every = asked.detail.verbose or not bundle.gaps
        print_gaps((*bundle.gaps, *(one for one in bundle.passed_over if every or one.files)))
        raise typer.Exit(INTERRUPTED if stop.is_set() else FAILED)
    from ldapdiag.diagnosis import diagnose as judge  # noqa: PLC0415  import late

    diagnosis = judge(bundle, in_force().checks, kind=kind, earlier=earlier, in_force=in_force())
    diagnosis = replace(diagnosis, typed=collection.typed)
    return diagnosis if before is None else compared(diagnosis, before)


def report_of(diagnosis: Diagnosis) -> Callable[[], Mapping[str, Any]]:
    """Return a function that returns the report object, the same each time."""
    from datetime import UTC, datetime  # noqa: PLC0415  import late

    from ldapdiag.report import as_json  # noqa: PLC0415  import late: --help must be quick

    return cache(lambda: as_json.document(diagnosis, datetime.now(UTC)))


def collected_again(
    evidence: list[str],
    asked: Judging,
    stop: Event,
    collecting: Mapping[str, Any],
    nothing: str,
    measure: Callable[[], Sequence[Fact]] = tuple,
    earlier: History | None = None,
) -> Diagnosis:
    """Diagnose once, for what does so several times. Raises UsageError without evidence.

    `nothing`: what to say then; `measure` returns further evidence.
    """
    try:
        return run_diagnosis(evidence, asked, stop, collecting=collecting, measure=measure, earlier=earlier)
    except typer.Exit as error:
        raise UsageError(nothing) from error


def deliver_report(
    asked: Judging,
    report: Callable[[], Mapping[str, Any]],
    write: Callable[[ReportFormat, TextIO], object],
    written: Sequence[Destination],
    *,
    commands: bool = False,
) -> None:
    """Write the report everywhere, and to standard error what was not read, unless the terminal shows it anyway.

    `commands`: the output is commands for servers.
    """
    if commands or not text_on_terminal(written):
        print_unread(report(), quiet=asked.quiet, alone=commands or not contains_gaps(written))
    deliver(write, written)


def print_unread(report: Mapping[str, Any], *, quiet: bool, alone: bool) -> None:
    """Write to standard error what was not read, the main evidence first; if quiet, only why the exit code is 2.

    `alone`: the output is a table or commands, which do not contain this; then also why it is no all-clear.
    """
    shortfall = [{"target": "evidence", **report["shortfall"]}] if report["shortfall"] else []
    gaps = () if quiet and not alone else report["gaps"]
    print_gaps(Gap(**one) for one in (*shortfall, *gaps))
    if alone:
        _print_no_all_clear(report)


def _print_no_all_clear(report: Mapping[str, Any]) -> None:
    """Write the checks that crashed, and that nothing was found where that is no all-clear."""
    from ldapdiag.report.headline import CRASHED, UNKNOWN, headline, reservation  # noqa: PLC0415  import late
    from ldapdiag.report.verdicts import of_outcome  # noqa: PLC0415

    for one in of_outcome(report, "crashed"):
        print_error(f"{one['check']} crashed; nothing is claimed about what it judges")
    first = headline(report)
    if first.label in {CRASHED, UNKNOWN}:
        print_error(first.text)
    elif rest := reservation(report):
        print_error(rest)


def exit_code(diagnosis: Diagnosis, gate: Gate) -> int:
    """Return the exit code of a report: 2 if the main evidence was not read, or with --strict a part of an access log.

    Else it is 1 or 0 by --fail-on and --strict.
    With --fail-on-new only findings count that are new or worse since the baseline, or whose acceptance is over.
    """
    from ldapdiag.finding import NotJudged  # noqa: PLC0415  import late

    if diagnosis.shortfall or (gate.strict and diagnosis.is_half_read):
        return FAILED
    if diagnosis.crashed:
        return 1
    if gate.strict and any(isinstance(one.verdict, NotJudged) for one in diagnosis.judged):
        return 1
    least = gate.least
    return int(
        any(
            least is not None
            and one.severity >= least
            and not one.is_accepted
            and (not gate.fail_on_new or _is_new(diagnosis, check, one))
            for check, one in diagnosis.found
        )
    )


def _is_new(diagnosis: Diagnosis, check: str, finding: Finding) -> bool:
    """Return whether a finding counts for --fail-on-new: new, worse, or no longer covered by an acceptance."""
    from ldapdiag.finding import finding_id  # noqa: PLC0415  import late

    has_grown = diagnosis.changes is not None and diagnosis.changes.has_grown(finding_id(check, finding))
    return has_grown or finding.acceptance is not None
