"""ldapdiag diagnose: evidence in, verdicts out."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from ldapdiag.cli import INTERRUPTED, moments
from ldapdiag.cli.interruptible import interruptible
from ldapdiag.cli.judging import FailOn, Form, Output, Since, Strict, Worst, deliver, exit_code, judged
from ldapdiag.cli.options import Asked, asks_targets
from ldapdiag.cli.output import complain, on_one_screen, tell
from ldapdiag.errors import LdapdiagError

if TYPE_CHECKING:
    from ldapdiag.catalogue import AnyCheck
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.sources.collection_options import Terms


@asks_targets
def diagnose(  # noqa: PLR0913  one parameter per option of the command
    evidence: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EVIDENCE",
            help="Files, folders, captures; - is standard input. Or, live: ldap://HOST, ldaps://HOST, ldapi://%2FPATH, "
            "ssh://HOST, ssh://HOST/PATH (one file there), netns:NAME, local: (this host, which is what no EVIDENCE "
            "means).",
            show_default=False,
        ),
    ] = None,
    *,
    form: Annotated[Form, typer.Option("--format", help="What to write.")] = Form.TEXT,
    output: Output = None,
    fail_on: Worst = FailOn.HIGH,
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
    since: Since = None,
    strict: Strict = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every finding in full, with origins and files passed over.")
    ] = False,
    terms: Asked,
) -> None:
    """Judge what both ends say of their connections: live, or captured.

    Live: name the directory server and the hosts of its clients, as in

        ldapdiag diagnose ldaps://ds1 ssh://ds1 ssh://app1 ssh://fw -D "cn=Directory Manager" -W

    They are asked side by side, looked at twice, and nothing is changed or left there. On the server itself, as root:
    ldapdiag diagnose.

    Captured: name what collect saved, or put what you captured on the directory server, on the application hosts and on
    the firewall or proxy between into one folder, one sub-folder per host. Files are known by their content: netstat of
    any system, Get-NetTCPConnection as CSV, ss, /proc/net/tcp, lsof (also -F), conntrack (also as XML), HAProxy's show
    sess and haproxy.cfg, F5's show sys connection and profiles, sysctl, nstat, /proc/net/netstat, /proc/PID/limits,
    /proc/PID/fd listed or counted, cn=monitor and cn=config as LDIF, slapd.conf, what dsconf and dsconfig show, Active
    Directory's LDAP policies, the errors log of 389-ds, the log of slapd, access logs (rotated sets, too); archives of
    these (tar, gz, bz2, xz, zst).
    Only bare numbers (fd) and times (captured-at) need a name.

    Exit code: 0 nothing at or above --fail-on, 1 there is (or a check crashed), 2 nothing could be read, 130 Ctrl-C.
    """
    try:
        with interruptible(evidence or []) as stop:
            asked = partial(_terms, terms, ldap_port or [])
            since_when = moments.since("--since", since)
            checks = cache(partial(_checks, check or []))
            if check:
                checks()  # whoever names one that does not exist need not wait
            diagnosis = judged(evidence or [], checks, asked, stop, since=since_when, verbose=verbose)
        if form is Form.JSON or output or not on_one_screen():
            tell(diagnosis.bundle.gaps)
        deliver(lambda stream: _write(diagnosis, form, stream, verbose=verbose), output)
    except LdapdiagError as error:
        complain(error)
        raise typer.Exit(2) from None
    raise typer.Exit(INTERRUPTED if stop.is_set() else exit_code(diagnosis, fail_on, strict=strict))


def _terms(asked: Asked, ldap_ports: list[int]) -> Terms:
    return replace(asked(), ldap_ports=frozenset(ldap_ports))


def _checks(ids: list[str]) -> tuple[AnyCheck, ...]:
    from ldapdiag.catalogue import chosen, installed_checks  # noqa: PLC0415  import late: --help must be quick

    return chosen(installed_checks(), ids)


def _write(diagnosis: Diagnosis, form: Form, stream: TextIO, *, verbose: bool) -> None:
    from datetime import UTC, datetime  # noqa: PLC0415  import late

    from ldapdiag.report import as_json, as_text  # noqa: PLC0415  import late, with rich

    if form is Form.JSON:
        stream.write(as_json.render(diagnosis, datetime.now(UTC)))
    else:
        as_text.print_report(diagnosis, stream, verbose=verbose)
