"""A history as JSON: schema ldapdiag.history/1 (docs/contract.md)."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from ldapdiag.report.as_json import moment
from ldapdiag.report.history.rows import lasting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.evidence.history import History, RecordedFinding, RecordedRun, ServerSummary

SCHEMA = "ldapdiag.history/1"


def render(document: Mapping[str, Any]) -> str:
    """Return a history as JSON; the same file gives the same bytes."""
    return f"{json.dumps(document, indent=1, sort_keys=True)}\n"


def document(history: History, server: str | None = None) -> dict[str, Any]:
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


def _lasting(history: History, server: str | None) -> Iterator[dict[str, Any]]:
    """Yield the findings of the last run of each server, then those of none, with the run in which they began."""
    for name in (server,) if server is not None else (*history.servers, None):
        if name is None:
            runs = [(run.taken, run.findings) for run in history.runs]
        else:
            of = (one for run in history.runs for one in run.servers if one.name == name)
            runs = sorted(((one.taken, one.findings) for one in of), key=lambda one: one[0])
        for one in lasting(runs):
            yield {"server": name} | asdict(one) | {"since": moment(one.since)}


def _run(run: RecordedRun, server: str | None) -> dict[str, Any]:
    return {
        "taken_at": moment(run.taken),
        "recorded_at": moment(run.recorded),
        "version": run.version,
        "exit_code": run.exit_code,
        "crashed": run.crashed,
        "counts": dict(run.counts),
        "servers": [_summary(one) for one in run.servers if server in {None, one.name}],
        "findings": [_finding(one) for one in run.findings],
    }


def _summary(one: ServerSummary) -> dict[str, Any]:
    values = {column.name: getattr(one, column.name) for column in fields(one) if column.name != "taken"}
    return values | {
        "taken_at": moment(one.taken),
        "opens_per_second": one.opens_per_second,
        "binds_per_second": one.binds_per_second,
        "findings": [_finding(finding) for finding in one.findings],
    }


def _finding(one: RecordedFinding) -> dict[str, Any]:
    return {"check": one.check, "id_sha256": one.digest, "severity": one.severity}
