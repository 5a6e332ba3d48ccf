"""ldapdiag diagnose: judge live or captured evidence.

The options of `diagnose --record`, and what it does before and after the diagnosis.
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.completion import check_ids
from ldapdiag.cli.destinations import ReportFormat
from ldapdiag.cli.exit_codes import INTERRUPTED
from ldapdiag.cli.interruptible import interruptible
from ldapdiag.cli.judging import deliver_report, exit_code, report_of, run_diagnosis
from ldapdiag.cli.judging_options import Judging
from ldapdiag.cli.option_groups import command
from ldapdiag.cli.output import print_error
from ldapdiag.cli.rendering import writer
from ldapdiag.cli.site_options import target_names
from ldapdiag.cli.times import DurationOption
from ldapdiag.errors import LdapdiagError, UsageError
from ldapdiag.lazy_dataclass import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.history import History, RecordedRun


RecordOption = Annotated[
    Path | None,
    Panel.HISTORY.option(
        "--record", metavar="FILE", help="Add a summary of this run to FILE, a history; ldapdiag history reports it."
    ),
]
RecordDaysOption = Annotated[
    int,
    Panel.HISTORY.option(
        "--record-days",
        metavar="DAYS",
        parser=DurationOption(least=1, most=36_500, unit="d", whole=True),
        help="Remove runs older than DAYS from the history.",
    ),
]
RecordSizeOption = Annotated[
    int,
    Panel.HISTORY.option(
        "--record-size", metavar="MIB", min=1, max=100_000, help="Remove the oldest runs of a history that is larger."
    ),
]


class Recording(NamedTuple):
    """The history that the run is added to."""

    record: RecordOption = None
    record_days: RecordDaysOption = 400
    record_size: RecordSizeOption = 64


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


def record_run(file: Path, diagnosis: Diagnosis, code: int, recording: Recording, *, interrupted: bool) -> RecordedRun:
    """Record a run, and return it. Raises LdapdiagError if it is not in the history then."""
    from ldapdiag.sources.history.recording import Bounds, record  # noqa: PLC0415  import late

    if interrupted or diagnosis.shortfall:
        reason = "the run was interrupted" if interrupted else "most of the evidence was not read"
        raise UsageError(f"not recorded: {reason}, and its numbers would be too low; run it again")
    run = summary_of(diagnosis, code, "not recorded")
    record(file, run, Bounds(days=recording.record_days, megabytes=recording.record_size))
    return run


def summary_of(diagnosis: Diagnosis, code: int, refusal: str) -> RecordedRun:
    """Return the summary of a run. Raises UsageError, which begins with `refusal`, if no evidence shows its time."""
    from datetime import UTC, datetime  # noqa: PLC0415  import late

    from ldapdiag.report.history.summary import summarise  # noqa: PLC0415  import late, with the analysis

    run = summarise(diagnosis, datetime.now(UTC), code)
    if run is None:
        raise UsageError(
            f"{refusal}: no evidence about a directory server shows its time; "
            "collect it with ldapdiag, or put the output of date -u into captured-at.txt beside it"
        )
    return run


EvidenceArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="EVIDENCE...",
        help="Files, folders, captures; - for standard input; s3://BUCKET/PREFIX/; example:incident, a packaged "
        "capture. Or live targets: ldap://HOST, ldaps://HOST, "
        "ldapi://%2FPATH, ssh://HOST, ssh://HOST/PATH (one file there), netns:NAME, local: (this host, the "
        "default), @NAME of ldapdiag.toml.",
        show_default=False,
        autocompletion=target_names,
    ),
]


class DiagnosisTable(StrEnum):
    """Tables of `diagnose`."""

    FINDINGS = "findings"
    GHOSTS = "ghosts"
    ACCOUNTS = "accounts"
    VERDICTS = "verdicts"
    GAPS = "gaps"
    EVIDENCE = "evidence"


TableOption = Annotated[
    DiagnosisTable | None, Panel.OUTPUT.option("--table", help="Write this table as CSV; default findings.")
]
CheckOption = Annotated[
    list[str] | None,
    Panel.GATE.option("--check", metavar="ID", help="Run only this check; repeatable.", autocompletion=check_ids),
]
NoAccountsOption = Annotated[bool, Panel.OUTPUT.option("--no-accounts", help="Omit DNs of accounts from openmetrics.")]
LdapPortOption = Annotated[
    list[int] | None,
    Panel.EVIDENCE.option(
        "--ldap-port",
        min=1,
        max=65535,
        metavar="PORT",
        help="Treat PORT as an LDAP port, too, besides 389, 636, 3268, 3269 and those in the evidence; repeatable.",
    ),
]


@command
def diagnose(
    evidence: EvidenceArgument = None,
    *,
    asked: Judging,
    table: TableOption = None,
    no_accounts: NoAccountsOption = False,
    check: CheckOption = None,
    ldap_port: LdapPortOption = None,
    recording: Recording,
) -> None:
    """Diagnose LDAP connections from live hosts or captures.

    Live: name the directory server, the hosts of its clients, and a firewall between them. The targets are read in
    parallel, their sockets twice. Nothing is changed or left on them.

    Captured: name a capture of ldapdiag collect, or a folder with one sub-folder per host (directory server,
    application hosts, firewall or proxy between them). Files are recognised by their content.

    Files that are read:
        netstat of any system, Get-NetTCPConnection as CSV, ss, /proc/net/tcp, lsof (also -F), conntrack (also as XML),
        HAProxy's show sess and haproxy.cfg, F5's show sys connection and profiles, nft list ruleset, iptables-save,
        conntrack -S, sysctl, ip route, ip addr, nstat, /proc/net/netstat, /proc/PID/limits, /proc/PID/fd listed or
        counted, /proc/PID/task/*/stat with wchan and syscall, cn=monitor and cn=config as LDIF, slapd.conf, output of
        dsconf and dsconfig, Active Directory's LDAP policies and registry (reg query), the errors log of 389-ds, the
        log of slapd, access logs (rotated sets, too); archives of these (tar, gz, bz2, xz, zst). Only bare numbers (fd)
        and times (captured-at) need a file name.

    Recorded runs:
        --record FILE adds the numbers of this run to a history, and no address, DN or password; evidence of the same
        time is recorded once. A run that cannot be recorded is reported on standard error, and the exit code is that
        of the diagnosis. A FILE that is no history, or cannot be written, ends the command before it collects anything.

    Monitoring:
        --format openmetrics writes gauges for Prometheus, to a FILE.prom of the textfile collector for example; what
        was not judged is absent. --format nagios writes the output of a plug-in, as Icinga and Checkmk read it, too;
        its exit codes are 0 (ok), 1 (a medium finding), 2 (a high or critical one) and 3 (unknown).

    Exit code:
        0  no finding at or above --fail-on
        1  such a finding, or a crashed check
        2  no evidence, or most of it passed over
        130  Ctrl-C

    Examples:
        On the directory server itself, as root:
            ldapdiag diagnose
        The server, a host of its clients, and the firewall between them:
            ldapdiag diagnose ldaps://ds1 ssh://ds1 ssh://app1 ssh://fw -D DN -W
        A capture, on the screen and as a page to send:
            ldapdiag diagnose incident.tar.gz -o - -o report.html
        For Prometheus, every minute, without what could end an alert by mistake:
            ldapdiag diagnose @prod --fail-on never -o /var/lib/prometheus/node-exporter/ldapdiag.prom
        Every night: exit with 1 for what is new or worse since an earlier report:
            ldapdiag diagnose @prod --baseline earlier.json --fail-on-new
    """
    written = asked.written(table, (ReportFormat.OPENMETRICS, ReportFormat.NAGIOS))
    if any(one.form is ReportFormat.OPENMETRICS for one in written):
        from ldapdiag.report.monitoring.gauges import require_library  # noqa: PLC0415  import late

        require_library(f"--format {ReportFormat.OPENMETRICS}")
    earlier = earlier_runs(recording.record, check or [])
    with interruptible(evidence or []) as stop:
        diagnosis = run_diagnosis(
            evidence or [],
            asked,
            stop,
            collecting={"ldap_ports": frozenset(ldap_port or ())},
            earlier=earlier,
            named=check or (),
        )
    report = report_of(diagnosis)
    deliver_report(asked, report, _writer(report, table, asked, with_accounts=not no_accounts), written)
    code = INTERRUPTED if stop.is_set() else exit_code(diagnosis, asked.gate)
    if recording.record is not None:
        try:
            record_run(recording.record, diagnosis, code, recording, interrupted=stop.is_set())
        except LdapdiagError as error:
            print_error(error)  # the exit code stays: the diagnosis is right without it
    if any(one.form is ReportFormat.NAGIOS for one in written):
        from ldapdiag.report.monitoring.nagios import CRITICAL, UNKNOWN, status  # noqa: PLC0415  import late

        code = status(report())
        if stop.is_set() and code != CRITICAL:
            code = UNKNOWN
    raise typer.Exit(code)


def _writer(
    report: Callable[[], Mapping[str, Any]], table: DiagnosisTable | None, asked: Judging, *, with_accounts: bool
) -> Callable[[ReportFormat, TextIO], None]:
    from ldapdiag.report import as_json, as_text  # noqa: PLC0415  import late, with rich
    from ldapdiag.report.tables.of_diagnosis import TABLES  # noqa: PLC0415

    text = partial(as_text.Screen.write, **asked.text())
    others = asked.formats() | {
        ReportFormat.OPENMETRICS: partial(_metrics, with_accounts=with_accounts),
        ReportFormat.NAGIOS: _plugin,
    }
    return writer(report, text, as_json.render, TABLES[table or DiagnosisTable.FINDINGS], others)


def _metrics(report: Mapping[str, Any], *, with_accounts: bool) -> str:
    from ldapdiag.report.monitoring import gauges  # noqa: PLC0415  import late

    return gauges.render(report, with_accounts=with_accounts)


def _plugin(report: Mapping[str, Any]) -> str:
    from ldapdiag.report.monitoring import nagios  # noqa: PLC0415  import late

    return nagios.render(report)
