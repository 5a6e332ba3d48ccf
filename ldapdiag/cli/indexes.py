"""ldapdiag indexes: access logs and index configuration in, the smallest set of indexes out."""

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
from ldapdiag.errors import LdapdiagError, UsageError

if TYPE_CHECKING:
    from ldapdiag.catalogue import AnyCheck
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.sources.collection_options import Terms


@asks_targets
def indexes(  # noqa: PLR0913  one parameter per option of the command
    evidence: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EVIDENCE",
            help="Access logs and index configuration: files, folders, captures; - is standard input. Or, live: "
            "ldap://HOST, ldaps://HOST, ldapi://%2FPATH (its configuration), ssh://HOST (its log, too), local: (this "
            "host, which is what no EVIDENCE means).",
            show_default=False,
        ),
    ] = None,
    *,
    form: Annotated[Form, typer.Option("--format", help="What to write.")] = Form.TEXT,
    ldif: Annotated[bool, typer.Option("--ldif", help="Write the remedies alone, as LDIF for ldapmodify.")] = False,
    script: Annotated[bool, typer.Option("--script", help="Write the remedies alone, as a shell script.")] = False,
    output: Output = None,
    fail_on: Worst = FailOn.HIGH,
    since: Since = None,
    strict: Strict = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every filter, and every finding in full.")
    ] = False,
    terms: Asked,
) -> None:
    """Find the indexes that are missing: which searches scan, why, and the smallest set of indexes that ends it.

    Name the access logs of a server and its index configuration, as in

        ldapdiag indexes /var/log/dirsrv/slapd-ds1/access* /etc/dirsrv/slapd-ds1/dse.ldif

    or let a live server say how its indexes are set:

        ldapdiag indexes ldaps://ds1 access* -D "cn=Directory Manager" -W

    The configuration is 389-ds' or DSEE's dse.ldif, OpenLDAP's cn=config (slapcat -n0) or slapd.conf, OpenDJ's or
    PingDirectory's config.ldif, or what dsconfig list-backend-indexes prints. The schema helps (cn=schema as LDIF),
    and so does what says which lists are over a limit: OpenDJ's debugsearchindex, its filter-use, backendstat
    show-index-status, and the STAT lines of 389-ds.

    Each filter is put through the server's own way of finding candidates. Told are the indexes to add, with the
    commands that add and build them, and what no index can help. Nothing is changed.

    Exit code: 0 nothing at or above --fail-on, 1 there is (or a check crashed), 2 nothing could be read, 130 Ctrl-C.
    """
    try:
        if ldif + script + (form is Form.JSON) > 1:
            raise UsageError("--ldif, --script and --format json each write something else: choose one")
        with interruptible(evidence or []) as stop:
            since_when = moments.since("--since", since)
            asked = partial(_terms, terms)
            diagnosis = judged(evidence or [], cache(_checks), asked, stop, since=since_when, verbose=verbose)
        if form is Form.JSON or ldif or script or output or not on_one_screen():
            tell(diagnosis.bundle.gaps)
        deliver(partial(_write, diagnosis, form, ldif=ldif, script=script, verbose=verbose), output)
    except LdapdiagError as error:
        complain(error)
        raise typer.Exit(2) from None
    raise typer.Exit(INTERRUPTED if stop.is_set() else exit_code(diagnosis, fail_on, strict=strict))


def _terms(asked: Asked) -> Terms:
    """Return how targets are asked: once is enough for what does not change from one look to the next."""
    return replace(asked(), apart=0.0, logs=True)


def _checks() -> tuple[AnyCheck, ...]:
    """Return the checks whose signature asks for indexes, ours and anybody's."""
    from ldapdiag.analysis.providers import INDEX_FACTS  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.catalogue import installed_checks  # noqa: PLC0415

    def asks(check: AnyCheck) -> bool:
        return any(need.fact in INDEX_FACTS for need in check.needs if need.every or not need.optional)

    return tuple(filter(asks, installed_checks()))


def _write(diagnosis: Diagnosis, form: Form, stream: TextIO, *, ldif: bool, script: bool, verbose: bool) -> None:
    from datetime import UTC, datetime  # noqa: PLC0415  import late

    from ldapdiag.report import as_json  # noqa: PLC0415  import late
    from ldapdiag.report.indexes import as_data, as_text, remedies  # noqa: PLC0415  import late, with rich

    if ldif:
        stream.write(remedies.as_ldif(diagnosis))
    elif script:
        stream.write(remedies.as_script(diagnosis))
    elif form is Form.JSON:
        stream.write(as_json.render(diagnosis, datetime.now(UTC), indexes=as_data.plans(diagnosis)))
    else:
        as_text.print_indexes(diagnosis, stream, verbose=verbose)
