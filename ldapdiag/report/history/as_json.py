"""A history as JSON, schema ldapdiag.history/1 (docs/contract.md), and the columns of its CSV."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ldapdiag.report.as_json import moment
from ldapdiag.report.history.rows import lasting
from ldapdiag.report.table import Table, only_csv, rows_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.documents.history import Document, Lasting, Run
    from ldapdiag.documents.history import RecordedFinding as FindingRow
    from ldapdiag.documents.history import ServerSummary as SummaryRow
    from ldapdiag.evidence.history import History, RecordedFinding, RecordedRun, ServerSummary

RUNS = Table(
    tuple(
        only_csv(
            "name product taken_at recorded_at exit_code crashed counts connections connections_source joined ghosts "
            "stranded severed descriptors_used used_source descriptor_limit limit_source exhausted growth_per_hour "
            "growth_source log_seconds opened binds searches search_seconds opens_per_second binds_per_second"
        )
    ),
    rows_at("servers"),
    within="runs",
)

SCHEMA: Final = "ldapdiag.history/1"


def render(document: Mapping[str, Any]) -> str:
    """Return a history as JSON; the same file gives the same bytes."""
    return f"{json.dumps(document, indent=1, sort_keys=True)}\n"


def document(history: History, server: str | None = None) -> Document:
    """Return the history of one server, or of all, as plain values."""
    return {
        "schema": SCHEMA,
        "file": history.origin.path,
        "rows": history.origin.lines,
        "rows_not_understood": history.origin.not_understood,
        "notes": list(history.origin.notes),
        "servers": [name for name in history.servers if server in {None, name}],
        "runs": [
            _run(run, server) for run in history.runs if server is None or any(s.name == server for s in run.servers)
        ],
        "lasting": list(_lasting(history, server)),
    }


def _lasting(history: History, server: str | None) -> Iterator[Lasting]:
    """Yield the findings of the last run of each server, then those of none, with the run in which they began."""
    for name in (server,) if server is not None else (*history.servers, None):
        if name is None:
            runs = [(run.taken, run.findings) for run in history.runs]
        else:
            of = (one for run in history.runs for one in run.servers if one.name == name)
            runs = sorted(((one.taken, one.findings) for one in of), key=lambda one: one[0])
        for one in lasting(runs):
            yield {
                "server": name,
                "check": one.check,
                "severity": one.severity,
                "findings": one.findings,
                "since": moment(one.since),
                "runs": one.runs,
            }


def _run(run: RecordedRun, server: str | None) -> Run:
    return {
        "taken_at": moment(run.taken),
        "recorded_at": moment(run.recorded),
        "version": run.version,
        "exit_code": run.exit_code,
        "crashed": run.crashed,
        "counts": dict(run.counts),
        "servers": [_summary(one) for one in run.servers if server in {None, one.name}],
        "findings": [_finding(finding) for finding in run.findings],
    }


def _summary(one: ServerSummary) -> SummaryRow:
    return {
        "name": one.name,
        "product": one.product,
        "connections": one.connections,
        "connections_source": one.connections_source,
        "joined": one.joined,
        "ghosts": one.ghosts,
        "stranded": one.stranded,
        "severed": one.severed,
        "descriptors_used": one.descriptors_used,
        "used_source": one.used_source,
        "descriptor_limit": one.descriptor_limit,
        "limit_source": one.limit_source,
        "exhausted": one.exhausted,
        "growth_per_hour": one.growth_per_hour,
        "growth_source": one.growth_source,
        "log_seconds": one.log_seconds,
        "opened": one.opened,
        "binds": one.binds,
        "searches": one.searches,
        "search_seconds": one.search_seconds,
        "opens_per_second": one.opens_per_second,
        "binds_per_second": one.binds_per_second,
        "taken_at": moment(one.taken),
        "volumes": [
            {
                "mount_point": volume.mount_point,
                "taken_at": moment(volume.taken),
                "total_bytes": volume.total_bytes,
                "free_bytes": volume.free_bytes,
            }
            for volume in one.volumes
        ],
        "findings": [_finding(finding) for finding in one.findings],
    }


def _finding(one: RecordedFinding) -> FindingRow:
    return {"check": one.check, "id_sha256": one.digest, "severity": one.severity}
