"""Runs for histories: each made from the number of minutes after the start, so that a test can make it again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.history import SEVERITIES, RecordedFinding, RecordedRun, ServerSummary, by_severity

if TYPE_CHECKING:
    from collections.abc import Sequence

START = datetime(2024, 11, 20, 9, 0, tzinfo=UTC)


def minutes(number: float) -> datetime:
    """Return a time so many minutes after the start."""
    return START + timedelta(minutes=number)


def found(number: int, check: str = "ghost-connections", severity: str | None = None) -> RecordedFinding:
    """Return a finding."""
    return RecordedFinding(check=check, digest=f"{number:016x}", severity=severity or SEVERITIES[number % 5])


def server(number: float, name: str = "ldap", findings: Sequence[RecordedFinding] = (), **values: Any) -> ServerSummary:
    """Return the numbers of a server."""
    default: dict[str, Any] = {
        "product": "389 Directory Server 2.3.1",
        "connections": 310 + int(number),
        "connections_source": "socket table",
        "descriptors_used": 335 + int(number),
        "used_source": "/proc/PID/fd",
        "descriptor_limit": 20_000,
        "limit_source": "Max open files of the process",
    }
    return ServerSummary(
        name=name,
        taken=values.pop("taken", minutes(number)),
        findings=tuple(sorted(findings, key=by_severity)),
        **default | values,
    )


def run(number: float, *servers: ServerSummary, findings: Sequence[RecordedFinding] = (), **values: Any) -> RecordedRun:
    """Return a run whose evidence was taken so many minutes after the start, of one server by default."""
    of = servers or (server(number),)
    every = [*findings, *(one for summary in of for one in summary.findings)]
    default: dict[str, Any] = {
        "taken": max(one.taken for one in of),
        "recorded": minutes(number + 1),
        "version": "0.1.0",
        "exit_code": 1,
        "counts": {severity: sum(one.severity == severity for one in every) for severity in SEVERITIES},
    }
    return RecordedRun(servers=of, findings=tuple(sorted(findings, key=by_severity)), **default | values)


def whole_run(number: int) -> RecordedRun:
    """Return a run of several servers with findings, all of it determined by its number."""
    servers = [server(number, f"ds{one}", [found(100 * one + n) for n in range(40)]) for one in range(3)]
    return run(number, *servers, findings=[found(number, "conntrack-table-full")])
