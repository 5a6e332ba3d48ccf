"""The JSON of all operations but searches, of failures, TLS, refusals and worker threads (docs/contract.md)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.log.omissions import omissions
from ldapdiag.analysis.log.workers import busiest_workers
from ldapdiag.evidence.log.stamps import SECOND, moment
from ldapdiag.report.log.quantities import seconds

if TYPE_CHECKING:
    from ldapdiag.analysis.log.operations import OperationGroup
    from ldapdiag.analysis.log.searches import Requester, SlowestOperation
    from ldapdiag.analysis.log.workload import Workload


def operations_of(work: Workload) -> dict[str, Any]:
    """Return these keys of the document."""
    security = work.security
    return {
        "targets": [_group(one, work.segment.resolution) for one in work.targets],
        "failures": [
            {
                "operation": one.operation,
                "target": one.target,
                "client": one.client,
                "account": one.account,
                "err": one.err,
                "count": one.count,
                "etime_seconds": seconds(one.etime),
            }
            for one in work.failures
        ],
        "tls": {
            "connections": [
                {"version": version, "cipher": cipher, "count": count}
                for (version, cipher), count in security.secured.items()
            ],
            "starttls": security.start_tls,
            "binds_in_clear": [
                {"client": one.client, "dn": one.what, "count": one.count} for one in security.clear_binds
            ],
            "binds_within_host": security.local_binds,
            "connections_not_judged": security.maybe_clear,
        },
        "refused": [{"client": one.client, "reason": one.what, "count": one.count} for one in security.refused],
        "workers": _workers(work),
        "unlisted": [
            {
                "table": one.table,
                "most_seconds": None if one.unit else seconds(one.most),
                "most": one.most if one.unit else None,
            }
            for one in omissions(work.segment)
        ],
    }


def _workers(work: Workload) -> dict[str, Any] | None:
    busiest = busiest_workers(work.segment)
    if busiest is None:
        return None
    return asdict(busiest) | {
        "busy_since": moment(busiest.busy_since * SECOND, SECOND),
        "queued_since": moment(busiest.queued_since * SECOND, SECOND),
    }


def _group(group: OperationGroup, resolution: int) -> dict[str, Any]:
    return {
        "operation": group.operation,
        "target": group.target,
        "name": group.name,
        "count": group.count,
        "answered": group.answered,
        "abandoned": group.abandoned,
        "unanswered": group.unanswered,
        "etime_seconds": seconds(group.etime),
        "wait_seconds": seconds(group.wait),
        "share": round(group.share, 6),
        "p50_seconds": seconds(group.p50),
        "p95_seconds": seconds(group.p95),
        "p99_seconds": seconds(group.p99),
        "entries": group.entries,
        "errors": {str(err): count for err, count in group.errors.items()},
        "askers": [requester_of(one) for one in group.requesters],
        "worst": None if group.slowest is None else worst_of(group.slowest, resolution, "dn"),
    }


def requester_of(requester: Requester) -> dict[str, Any]:
    """Return a client and an account with their results."""
    return {
        "client": requester.client,
        "account": requester.account,
        "count": requester.count,
        "etime_seconds": seconds(requester.etime),
        "noted": requester.noted,
        **({"refused": requester.refused} if requester.refused else {}),
    }


def worst_of(worst: SlowestOperation, resolution: int, subject: str) -> dict[str, Any]:
    """Return the slowest operation; `subject` is the key of its filter or DN."""
    return {
        "etime_seconds": seconds(worst.etime),
        "time": moment(worst.time, resolution),
        "connection": worst.connection,
        "operation": worst.operation,
        subject: worst.subject,
    }
