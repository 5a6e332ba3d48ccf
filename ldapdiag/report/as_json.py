"""The report of a diagnosis as JSON: schema ldapdiag.report/1 (docs/contract.md).

The connections of each client at both ends, as plain values: also of those paths that nothing is wrong with.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from ldapdiag import __version__
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.log.logged_share import unplaced, what_is_logged
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.host_facts import EventThresholds
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.exempt_accounts import ExemptAccounts
from ldapdiag.finding import Clear, Crashed, Finding, NotJudged, finding_id
from ldapdiag.report.as_data import cluster_as_data, remedy_as_data
from ldapdiag.report.changes import change_of, changes_as_data
from ldapdiag.report.series import series

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.pairing.direction import Direction
    from ldapdiag.analysis.pairing.pairing import Pairing
    from ldapdiag.catalogue import AnyCheck
    from ldapdiag.check_setting import Value
    from ldapdiag.diagnosis import Diagnosis, Facts
    from ldapdiag.finding import Acceptance, Judged

SCHEMA = "ldapdiag.report/1"

PIECES = 10_000
"""Pieces of text joined at a time: a list of all of them takes ten times the memory of the report."""


def render(document: Mapping[str, Any]) -> str:
    """Return the report as JSON; equal evidence gives equal bytes except `taken_at`."""
    pieces = json.JSONEncoder(indent=1, sort_keys=True).iterencode(document)
    return "".join([*iter(lambda: "".join(islice(pieces, PIECES)), ""), "\n"])


def document(diagnosis: Diagnosis, taken_at: datetime) -> dict[str, Any]:
    """Return the report as plain values, of indexes or storage with what their commands add."""
    roles = diagnosis.roles()
    return {
        **_of_kind(diagnosis),
        "schema": SCHEMA,
        "taken_at": moment(taken_at.replace(microsecond=0)),
        "tool": {
            "version": __version__,
            "scanner": _scanner(diagnosis),
            "config": _config(diagnosis),
            "arguments": diagnosis.typed,
        },
        "cluster": cluster_as_data(diagnosis.bundle.cluster),
        "hosts": [_host(host, roles[host.host]) for host in diagnosis.hosts],
        "servers": [_server(instance, diagnosis) for instance in diagnosis.facts.every(Instance)],
        "evidence": sorted(
            (_evidence(fact) for fact in diagnosis.bundle.inputs),
            key=lambda one: (one["origin"], one["host"] or "", one["fact"]),
        ),
        "gaps": _sorted({"target": gap.target, "reason": gap.reason, "how": gap.how} for gap in diagnosis.bundle.gaps),
        "passed_over": _sorted({"target": one.target, "reason": one.reason} for one in diagnosis.bundle.passed_over),
        "shortfall": _shortfall(diagnosis),
        "verdicts": [_verdict(one) for one in diagnosis.judged],
        "disabled": [{"check": check, "reason": reason} for check, reason in diagnosis.disabled.items()],
        "baseline": changes_as_data(diagnosis.changes),
        "findings": [_finding(one, check) | change_of(diagnosis.changes, check, one) for check, one in diagnosis.found],
        **directions(diagnosis.pairings),
        "plans": _plans(diagnosis),
        "series": series(diagnosis.facts, of_logs_alone=diagnosis.kind is not ReportKind.ALL),
    }


def _of_kind(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return what the report of one kind has besides."""
    if diagnosis.kind is ReportKind.INDEXES:
        from ldapdiag.report.indexes.as_data import plans  # noqa: PLC0415  import late: of one command

        return {"indexes": plans(diagnosis)}
    if diagnosis.kind is ReportKind.STORAGE:
        from ldapdiag.report.storage.as_data import storage  # noqa: PLC0415  import late: of one command

        return storage(diagnosis)
    return {}


def _sorted(rows: Iterable[dict[str, str | None]]) -> list[dict[str, str | None]]:
    """Return rows about targets in an order that does not depend on that of the evidence."""
    return sorted(rows, key=lambda one: (one["target"] or "", one["reason"] or ""))


def moment(at: datetime) -> str:
    """Return a time in ISO 8601, UTC, with the precision it has."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _scanner(diagnosis: Diagnosis) -> str:
    logs = (fact for fact in diagnosis.bundle.facts if isinstance(fact, AccessLog))
    return str(Scanner.of(stream.scanner for log in logs for stream in log.streams))


def _config(diagnosis: Diagnosis) -> dict[str, Any] | None:
    """Return the site configuration that was in force, and the settings of checks that it changed."""
    in_force = diagnosis.in_force
    if in_force is None or (site := in_force.configuration) is None:
        return None
    return {
        "path": site.path,
        "sha256": site.sha256,
        "notes": list(diagnosis.notes),
        "thresholds": {check.id: _thresholds(check) for check in in_force.checks if check.configuration},
    }


def _thresholds(check: AnyCheck) -> dict[str, Any]:
    """Return the settings that a site has changed, by name."""
    defaults = {setting.name: setting.default for setting in check.settings}
    return {
        name: {"value": _plain(value), "default": _plain(defaults[name])} for name, value in check.configuration.items()
    }


def _plain(value: Value) -> float | list[str]:
    return list(value.accounts) if isinstance(value, ExemptAccounts) else value


def _shortfall(diagnosis: Diagnosis) -> dict[str, Any] | None:
    missing = diagnosis.shortfall
    return {"reason": missing.reason, "how": missing.how} if missing else None


def _host(host: Host, roles: Sequence[str]) -> dict[str, Any]:
    return {
        "name": host.host,
        "addresses": sorted(host.addresses),
        "roles": list(roles),
        "looks": len(host.snapshots),
        "origins": list(host.origins),
        "merged_because": host.merge_reason,
    }


def _server(one: Instance, diagnosis: Diagnosis) -> dict[str, Any]:
    """Return a directory server or proxy."""
    thresholds = diagnosis.facts.of(EventThresholds, one.name)
    logged = dict.fromkeys(what_is_logged(log.segment, log.family, thresholds) for log in one.access_logs)
    if thresholds is None and any(logged):
        hosts = {server.host for server in diagnosis.facts.every(Instance)}
        every = diagnosis.facts.every(EventThresholds)
        logged |= dict.fromkeys(unplaced(found.origin.path) for found in every if found.origin.host not in hosts)
    return {
        **({"logged": sentences} if (sentences := list(filter(None, logged))) else {}),
        "name": one.name,
        "family": str(one.family) if one.family else None,
        "description": one.description,
        "numbers": _numbers(one, diagnosis.facts) if diagnosis.kind is ReportKind.ALL else None,
    }


def _numbers(one: Instance, facts: Facts) -> dict[str, Any]:
    """Return the connections, descriptors, accept queue and idle timeout of a server, where they are judged."""
    from ldapdiag.analysis.hosts.host import Host  # noqa: PLC0415  import late
    from ldapdiag.analysis.idle.keepalive import GhostLifetime  # noqa: PLC0415  import late: of connections alone
    from ldapdiag.analysis.load.accept_queue import accept_queues  # noqa: PLC0415
    from ldapdiag.analysis.load.descriptors import Descriptors  # noqa: PLC0415

    host = facts.of(Host, one.name)
    queue = max(accept_queues(host, one.ports) if host else (), key=lambda queue: queue.excess, default=None)
    descriptors, lifetime = facts.of(Descriptors, one.name), facts.of(GhostLifetime, one.name)
    return {
        "accept_queue": queue.waiting if queue else None,
        "accept_queue_limit": queue.backlog if queue else None,
        "connections": one.established,
        "descriptors_used": descriptors.used if descriptors else None,
        "descriptors_limit": descriptors.limit if descriptors else None,
        "limits_connections": descriptors is not None and descriptors.counts_only_connections,
        "idle_timeout_seconds": lifetime.idle_timeout_seconds if lifetime else None,
    }


def _evidence(fact: Any) -> dict[str, Any]:  # noqa: ANN401  facts of all kinds
    origin = fact.origin
    return {
        "fact": fact.kind,
        "host": origin.host or None,
        "server": origin.server or None,
        "origin": origin.path,
        "taken_at": moment(origin.taken.start) if origin.taken else None,
        "lines": origin.lines,
        "lines_not_understood": origin.not_understood,
        "sample_not_understood": origin.samples[0] if origin.samples else None,
        "notes": list(origin.notes),
        "sha256": origin.sha256 or None,
    }


def _verdict(one: Judged) -> dict[str, Any]:
    verdict = one.verdict
    shared: dict[str, Any] = {
        "check": one.check,
        "about": one.about or None,
        "subject": verdict.subject,
        "reason": None,
        "missing": [],
        "how": None,
    }
    match verdict:
        case Finding():
            return shared | {"outcome": "finding"}
        case Clear():
            return shared | {"outcome": "clear", "reason": verdict.reason}
        case NotJudged():
            return shared | {
                "outcome": "not-judged",
                "reason": verdict.reason,
                "missing": list(verdict.missing),
                "how": verdict.how,
            }
        case Crashed():
            where = f" at {verdict.where}" if verdict.where else ""
            return shared | {"outcome": "crashed", "reason": verdict.reason + where}


def _finding(finding: Finding, check: str) -> dict[str, Any]:
    return {
        "id": finding_id(check, finding),
        "check": check,
        "severity": str(finding.severity),
        "confidence": str(finding.confidence),
        "server": finding.server,
        "hosts": list(finding.hosts),
        "subject": finding.subject,
        "title": finding.title,
        "detail": finding.detail,
        "observed": dict(finding.observed),
        "acceptance": _acceptance(finding.acceptance),
        "origins": list(finding.origins),
        "remedies": [remedy_as_data(remedy) for remedy in finding.remedies],
    }


def _plans(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """Return the plans with an index to add; none where no plan is judged, or it is compared with a baseline."""
    is_planned = any(check == "missing-index" for check, _ in diagnosis.found)
    if diagnosis.kind is not ReportKind.ALL or diagnosis.changes is not None or not is_planned:
        return []
    from ldapdiag.report.indexes.as_data import blocks  # noqa: PLC0415  import late: few reports have a plan

    return list(blocks(diagnosis))


def _acceptance(acceptance: Acceptance | None) -> dict[str, str] | None:
    if acceptance is None:
        return None
    return {
        "standing": str(acceptance.standing),
        "reason": acceptance.reason,
        "until": acceptance.until.isoformat(),
        "up_to": str(acceptance.up_to),
    }


MOST = 200
SUMMED = ("server_count", "ghosts", "stranded", "severed")


def directions(pairings: Iterable[Pairing]) -> dict[str, list[dict[str, Any]]]:
    """Return the directions with the most half-open and severed connections first, then those with the most.

    `directions_beyond`: the sums of those that are not listed, by server.
    """
    rows = [_row(pairing.server, direction) for pairing in pairings for direction in pairing.directions]
    rows.sort(key=lambda row: (row["server"], row["endpoint"], row["client"]))
    rows.sort(key=lambda row: (-(row["ghosts"] + row["stranded"] + row["severed"]), -row["server_count"]))
    beyond: dict[str, Counter[str]] = {}
    for row in rows[MOST:]:
        sums = beyond.setdefault(row["server"], Counter())
        sums.update({"directions": 1} | {key: row[key] for key in SUMMED})
    sums_by_server = [
        {"server": server, "directions": 0} | dict.fromkeys(SUMMED, 0) | sums for server, sums in beyond.items()
    ]
    return {"directions": rows[:MOST], "directions_beyond": sums_by_server}


def _row(server: str, direction: Direction) -> dict[str, Any]:
    return {
        "server": server,
        "endpoint": direction.server,
        "client": direction.client,
        "client_hosts": list(direction.client_hosts),
        "server_count": direction.server_count,
        "client_count": None if direction.missing is not None else direction.client_count,
        "held": direction.held,
        "live": direction.live,
        "middleboxes": sorted(direction.path.middleboxes),
        "ghosts": direction.ghosts.count,
        "stranded": direction.stranded.count,
        "severed": direction.severed.count,
    }
