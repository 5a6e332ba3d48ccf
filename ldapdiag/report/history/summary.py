"""The summary of a diagnosis that a history keeps: numbers per server, and which findings there were."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING

from ldapdiag import __version__
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.analysis.storage.server_storage import ServerStorage
from ldapdiag.evidence.history import (
    SEVERITIES,
    RecordedFinding,
    RecordedRun,
    RecordedVolume,
    ServerSummary,
    by_severity,
)
from ldapdiag.evidence.log.stamps import SECOND, when
from ldapdiag.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from ldapdiag.analysis.pairing.direction import Direction
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.finding import Finding

MOST_FINDINGS = 1000
"""Findings of one run that are kept, the most severe ones; all are counted."""
DIGITS = 16


def summarise(diagnosis: Diagnosis, recorded: datetime, exit_code: int) -> RecordedRun | None:
    """Return the summary of a diagnosis; None if no evidence about a server shows its time."""
    servers = diagnosis.facts.every(Instance)
    names = {server.name for server in servers}
    findings: dict[str, list[RecordedFinding]] = {name: [] for name in ("", *names)}
    for check, finding in diagnosis.found[:MOST_FINDINGS]:
        about = finding.server if finding.server in names else ""
        findings[about or ""].append(_recorded(check, finding))
    summaries = [one for server in servers if (one := _of_server(diagnosis, server, findings[server.name]))]
    if not summaries:
        return None
    counts = Counter(str(finding.severity) for finding in diagnosis.findings)
    return RecordedRun(
        taken=max(summary.taken for summary in summaries),
        recorded=recorded,
        version=__version__,
        exit_code=exit_code,
        crashed=len(diagnosis.crashed),
        counts={severity: counts[severity] for severity in SEVERITIES},
        servers=tuple(summaries),
        findings=tuple(sorted(findings[""], key=by_severity)),
    )


def digest_of(finding_id: str) -> str:
    """Return what a history has in place of a finding's id, which may contain the address or the DN of a client."""
    return sha256(finding_id.encode("utf-8", "surrogateescape")).hexdigest()[:DIGITS]


def _recorded(check: str, finding: Finding) -> RecordedFinding:
    digest = digest_of(f"{check}|{finding.key or finding.subject}")
    name = next(severity for severity in SEVERITIES if severity == str(Severity(finding.severity)))
    return RecordedFinding(check=check, digest=digest, severity=name)


def _of_server(diagnosis: Diagnosis, server: Instance, findings: Sequence[RecordedFinding]) -> ServerSummary | None:
    facts = diagnosis.facts
    host, traffic = facts.of(Host, server.name), facts.of(Traffic, server.name)
    taken = _taken(server, host, traffic)
    if taken is None:
        return None
    descriptors, pairing = facts.of(Descriptors, server.name), facts.of(Pairing, server.name)
    directions = pairing.directions if pairing else ()
    judged = [direction for direction in directions if direction.missing is None]
    is_joined = pairing is not None and (bool(judged) or not directions)
    work = traffic.workload if traffic and traffic.seconds else None
    connections, source = _connections(server, traffic)
    growth, growth_source = _growth(descriptors)
    return ServerSummary(
        name=server.name,
        product=str(server.identity or ""),
        taken=taken,
        connections=connections,
        connections_source=source,
        joined=sum(one.server_count for one in judged) if pairing else None,
        descriptors_used=descriptors.used if descriptors else None,
        used_source=descriptors.used_source if descriptors and descriptors.used is not None else "",
        descriptor_limit=descriptors.limit if descriptors else None,
        limit_source=descriptors.limit_source if descriptors and descriptors.limit is not None else "",
        exhausted=len(descriptors.exhaustion_reports) if descriptors else None,
        ghosts=sum(one.ghosts.count for one in judged) if is_joined else None,
        stranded=sum(one.stranded.count for one in judged) if is_joined else None,
        severed=_severed(directions),
        growth_per_hour=growth,
        growth_source=growth_source,
        log_seconds=traffic.seconds if work and traffic else None,
        opened=work.segment.opened if work else None,
        binds=work.operations["bind"] if work else None,
        searches=work.logical_searches if work else None,
        search_seconds=work.search_etime / SECOND if work else None,
        volumes=_volumes(facts.of(ServerStorage, server.name)),
        findings=tuple(sorted(findings, key=by_severity)),
    )


def _volumes(storage: ServerStorage | None) -> tuple[RecordedVolume, ...]:
    """Return the space of the volumes of a server, of those whose listing shows its time."""
    spaces = [(one.mount_point, one.space) for one in storage.volumes if one.space] if storage else []
    return tuple(
        RecordedVolume(
            mount_point=mount_point,
            taken=space.taken,
            total_bytes=space.total_bytes,
            free_bytes=max(space.free_bytes, 0),
        )
        for mount_point, space in spaces
        if space.taken is not None and space.total_bytes is not None and space.free_bytes is not None
    )


def _connections(server: Instance, traffic: Traffic | None) -> tuple[int | None, str]:
    """Return the open connections and their source, at the time that `_taken` returns."""
    if server.established is not None:
        return server.established, "socket table"
    if server.monitor is not None and server.monitor.current_connections is not None:
        return server.monitor.current_connections, "cn=monitor"
    if traffic is not None and traffic.segment.opened and not traffic.segment.lost:
        return traffic.segment.open_at_end, "end of the access log"
    return None, ""


def _growth(descriptors: Descriptors | None) -> tuple[float | None, str]:
    """Return the connections gained per hour, the median of the forecast, and their source."""
    if descriptors is None or descriptors.forecast.rates is None:
        return None, ""
    return descriptors.forecast.rates[1], descriptors.forecast.source


def _severed(directions: Iterable[Direction]) -> int | None:
    """Return how many connections are severed; None where no table of a middlebox was read."""
    tracked = [direction for direction in directions if direction.severed.count or direction.path.middleboxes]
    return sum(one.severed.count for one in tracked) if tracked else None


def _taken(server: Instance, host: Host | None, traffic: Traffic | None) -> datetime | None:
    """Return when the connections of a server were counted: by its sockets, its descriptors, cn=monitor, or its log."""
    sockets, monitor = host.latest if host else None, server.monitor
    spans = [
        sockets.taken if sockets and server.established is not None else None,
        server.descriptors.origin.taken if server.descriptors else None,
        monitor.origin.taken if monitor else None,
    ]
    known = [span.end for span in spans if span is not None]
    if known:
        return known[0]
    if monitor is not None and monitor.taken_at is not None:
        return monitor.taken_at
    period = traffic.workload.period if traffic else None
    return when(period[1]) if period else None
