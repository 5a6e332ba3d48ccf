"""ldapdiag diagnose: evidence in, verdicts out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from ldapdiag.cli.output import complain, on_one_screen, standard_output, tell, write_file
from ldapdiag.errors import LdapdiagError, UsageError

if TYPE_CHECKING:
    from ldapdiag.diagnosis import Diagnosis

TARGETS = ("ldap://", "ldaps://", "ldapi://", "ssh://", "local:", "netns:")


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


def diagnose(  # noqa: PLR0913  one parameter per option of the command
    evidence: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EVIDENCE",
            help="Files and folders of captured evidence; - is standard input.",
            show_default=False,
        ),
    ] = None,
    *,
    form: Annotated[Form, typer.Option("--format", help="What to write.")] = Form.TEXT,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the report to this file.", show_default=False)
    ] = None,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Exit with 1 when a finding is at least this severe.")
    ] = FailOn.HIGH,
    check: Annotated[
        list[str] | None, typer.Option("--check", help="Run this check only; may be repeated.", show_default=False)
    ] = None,
    ldap_port: Annotated[
        list[int] | None,
        typer.Option(
            "--ldap-port",
            min=1,
            max=65535,
            help="A port that is LDAP, beside 389, 636, 3268, 3269 and what the evidence shows; may be repeated.",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1, too, when a check could not judge.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every finding in full, with origins and files passed over.")
    ] = False,
) -> None:
    """Judge captured evidence of both ends.

    Put what you captured on the directory server, on the application hosts and on the firewall or proxy between into
    one folder, one sub-folder per host, and name the folder. Files are known by their content: netstat of any system,
    Get-NetTCPConnection as CSV, ss, /proc/net/tcp, lsof (also -F), conntrack (also as XML), HAProxy's show sess and
    haproxy.cfg, F5's show sys connection and profiles, sysctl, nstat, /proc/PID/limits, /proc/PID/fd listed or counted,
    cn=monitor and cn=config as LDIF, slapd.conf, what dsconf and dsconfig show, Active Directory's LDAP policies, the
    errors log of 389-ds, the log of slapd. Only bare numbers (fd) and times (captured-at) need a name.

    Exit code: 0 nothing at or above --fail-on, 1 there is (or a check crashed), 2 nothing could be read, 130 Ctrl-C.
    """
    try:
        diagnosis = _diagnose(evidence or [], check or [], ldap_port or [], verbose=verbose)
        if form is Form.JSON or output or not on_one_screen():
            tell(diagnosis.bundle.gaps)
        _write(diagnosis, form, output, verbose=verbose)
    except LdapdiagError as error:
        complain(error)
        raise typer.Exit(2) from None
    raise typer.Exit(exit_code(diagnosis, fail_on, strict=strict))


def _diagnose(evidence: list[str], ids: list[str], ldap_ports: list[int], *, verbose: bool) -> Diagnosis:
    from ldapdiag.catalogue import chosen, installed_checks  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.diagnosis import diagnose as judge  # noqa: PLC0415
    from ldapdiag.report.progress import reading  # noqa: PLC0415
    from ldapdiag.sources.gathering import gather  # noqa: PLC0415

    if not evidence:
        raise UsageError(
            "name the evidence: files, or a folder with a sub-folder per host (looking live is not built yet)"
        )
    if live := [one for one in evidence if one.startswith(TARGETS)]:
        raise UsageError(f"{live[0]}: looking live is not built yet; name captured files or folders")
    checks = chosen(installed_checks(), ids)
    with reading() as progress:
        bundle = gather(evidence, ldap_ports=ldap_ports, progress=progress)
    if not bundle.facts:
        tell((*bundle.gaps, *bundle.passed_over) if verbose or not bundle.gaps else bundle.gaps)
        raise typer.Exit(2)
    return judge(bundle, checks)


def _write(diagnosis: Diagnosis, form: Form, output: Path | None, *, verbose: bool) -> None:
    from datetime import UTC, datetime  # noqa: PLC0415  import late
    from io import StringIO  # noqa: PLC0415

    from ldapdiag.report import as_json, as_text  # noqa: PLC0415  import late, with rich

    def write(stream: TextIO) -> None:
        if form is Form.JSON:
            stream.write(as_json.render(diagnosis, datetime.now(UTC)))
        else:
            as_text.print_report(diagnosis, stream, verbose=verbose)

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
