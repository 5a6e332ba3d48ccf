"""ldapdiag indexes: the smallest set of missing indexes, from access logs and the index configuration."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from ldapdiag.cli.cluster_option import ClusterOption, cluster_executor
from ldapdiag.cli.commands import Panel
from ldapdiag.cli.destinations import ReportFormat, check_table
from ldapdiag.cli.exit_codes import INTERRUPTED
from ldapdiag.cli.interruptible import interruptible, stoppable
from ldapdiag.cli.judging import deliver_report, exit_code, report_of, run_diagnosis
from ldapdiag.cli.judging_options import Judging
from ldapdiag.cli.option_groups import command
from ldapdiag.cli.rendering import writer
from ldapdiag.cli.site_options import target_names
from ldapdiag.errors import UsageError
from ldapdiag.evidence.report_kind import ReportKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ldapdiag.cli.destinations import Destination
    from ldapdiag.diagnosis import Diagnosis


EvidenceArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="EVIDENCE...",
        help="Access logs and index configuration: files, folders, captures; - for standard input; "
        "s3://BUCKET/PREFIX/. Or live "
        "targets: ldap://HOST, ldaps://HOST, ldapi://%2FPATH (configuration), ssh://HOST (and access logs), local: "
        "(this host, the default), @NAME of ldapdiag.toml.",
        show_default=False,
        autocompletion=target_names,
    ),
]
LdifOption = Annotated[
    bool, Panel.OUTPUT.option("--ldif", help="Write only the remedies, as LDIF for ldapmodify or ldifde.")
]
ScriptOption = Annotated[bool, Panel.OUTPUT.option("--script", help="Write only the remedies, as a shell script.")]


class IndexTable(StrEnum):
    """Tables of `indexes`."""

    PLAN = "plan"
    SEARCHES = "searches"
    UNUSED = "unused"
    FINDINGS = "findings"
    VERDICTS = "verdicts"
    GAPS = "gaps"
    EVIDENCE = "evidence"


TableOption = Annotated[
    IndexTable | None, Panel.OUTPUT.option("--table", help="Write this table as CSV; default plan.")
]


@command
def indexes(
    evidence: EvidenceArgument = None,
    *,
    asked: Judging,
    ldif: LdifOption = False,
    script: ScriptOption = False,
    table: TableOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Find missing indexes, and the smallest set to add.

    Name the access logs of a server and its index configuration. Each filter is evaluated as the server does it. The
    report lists the indexes to add, with the commands that add and build them, and the searches that no index would
    help. Nothing is changed.

    Files that are read:
        Access logs as ldapdiag log reads them. Configuration: dse.ldif of 389-ds or DSEE, cn=config of OpenLDAP
        (slapcat -n0) or slapd.conf, config.ldif of OpenDJ or PingDirectory, or the output of dsconfig
        list-backend-indexes. Of Active Directory: events 1644, and the schema by ldifde or Get-ADObject. Also useful:
        the schema (cn=schema as LDIF), and output on ID lists over their limit: OpenDJ's debugsearchindex, its
        filter-use, backendstat show-index-status, and the STAT lines of 389-ds.

    Exit code:
        0  no finding at or above --fail-on
        1  such a finding, or a crashed check
        2  no evidence, or most of it passed over
        130  Ctrl-C

    Examples:
        From files:
            ldapdiag indexes /var/log/dirsrv/slapd-ds1/access* dse.ldif
        Configuration and access logs of a running server:
            ldapdiag indexes ldaps://ds1 ssh://ds1 -D "cn=Directory Manager" -W
        The commands alone, to read before they run:
            ldapdiag indexes access* dse.ldif --script > plan.sh
    """
    written = _written(asked, table, ldif=ldif, script=script)
    with (
        stoppable() if cluster else interruptible(evidence or []) as stop,
        cluster_executor(cluster, asked.notices, stop) as executor,
    ):
        diagnosis = run_diagnosis(
            evidence or [],
            asked,
            stop,
            kind=ReportKind.INDEXES,
            collecting={"sample_interval_seconds": 0.0, "logs": True},  # indexes do not change between snapshots
            executor=executor,
        )
    report = report_of(diagnosis)
    write = _remedies(diagnosis, ldif=ldif) if ldif or script else _writer(report, table, asked)
    deliver_report(asked, report, write, written, commands=ldif or script)
    raise typer.Exit(INTERRUPTED if stop.is_set() else exit_code(diagnosis, asked.gate))


def _written(asked: Judging, table: IndexTable | None, *, ldif: bool, script: bool) -> tuple[Destination, ...]:
    """Return where to write; remedies alone are text, whatever the name of their file."""
    if not ldif and not script:
        return asked.written(table)
    if (ldif and script) or asked.output.form not in {None, ReportFormat.TEXT}:
        raise UsageError("--ldif, --script and --format exclude each other: use one of them")
    asked.gate.check()
    check_table(table, ())
    return asked.output._replace(form=ReportFormat.TEXT).destinations(offered=(ReportFormat.TEXT,))


def _remedies(diagnosis: Diagnosis, *, ldif: bool) -> Callable[[ReportFormat, TextIO], object]:
    from ldapdiag.report.indexes import remedies  # noqa: PLC0415  import late

    render = remedies.as_ldif if ldif else remedies.as_script
    return lambda _, stream: stream.write(render(diagnosis))


def _writer(
    report: Callable[[], Mapping[str, Any]], table: IndexTable | None, asked: Judging
) -> Callable[[ReportFormat, TextIO], object]:
    from ldapdiag.report import as_json  # noqa: PLC0415  import late
    from ldapdiag.report.indexes import as_text  # noqa: PLC0415  import late, with rich
    from ldapdiag.report.tables.of_indexes import TABLES  # noqa: PLC0415

    text = partial(as_text.IndexScreen.write, **asked.text())
    return writer(report, text, as_json.render, TABLES[table or IndexTable.PLAN], asked.formats())
