"""unclean-closes: connections that end without UNBIND, or because data no longer passes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.load.responsiveness import Responsiveness
from ldapdiag.analysis.log.close_reasons import CloseReasons, close_reasons_of
from ldapdiag.analysis.log.spellings import UNKNOWN_NAME
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.servers.client_settings.client_advice import unbind_first
from ldapdiag.servers.close_codes import close_reason
from ldapdiag.servers.close_reasons import CloseKind
from ldapdiag.wording import counted

SOME = 10
HALF, TENTH = 0.5, 0.1
ALL_BUT_FEW = 0.9
MOST = 20
"""Findings for single clients; the rest is a count."""


@check(
    group="connections",
    number=MainNumber(
        "unclean",
        "closes without UNBIND",
        "share",
        of="closes",
        up_to="medium",
        otherwise=MainNumber("probes", "probes", "logged"),
    ),
)
def judge(
    server: Instance,
    traffic: Traffic,
    responsiveness: Responsiveness | None = None,
    *,
    medium_closes: Annotated[
        int, Threshold("connections", "so many or more, and half of the client's closes, are medium")
    ] = 100,
    low_closes: Annotated[int, Threshold("connections", "so many or more, and one in ten, are low")] = 10,
) -> Iterator[Verdict]:
    """Connections that end without UNBIND, or because data no longer passes.

    ## What it looks at
    The close reason of each connection in the access log, by client. Unclean: the client closed or reset it without
    UNBIND (389-ds: B1; slapd: connection lost), or data no longer passed (389-ds: T2, B4; slapd: writetimeout)
    because the client does not read or the network fails. An idle timeout is the server's doing, and not unclean.
    Connections without any operation are counted separately: 10 or more, and 9 of 10 of a client's, are a load
    balancer's probes or failed TLS handshakes.

    ## Severity
    By default:

    - medium: 100 or more and half of the client's closes; or 10 or more through which data no longer passed.
    - low: 10 or more and one in ten.
    - info: probes.

    ## Why it matters
    A client that crashes, a firewall that resets, a path that drops packets: each looks like this. So does a
    program that exits without unbinding, which is harmless but hides the others.

    ## What to do
    Where data no longer passed, look for a client that does not read (stalled-reader), a path with a smaller MTU, a
    firewall that drops idle connections (idle-timeout). Else ask the application's owner whether it closes through
    its library.

    ## When it is harmless
    Probes of a load balancer, and interrupted command-line tools. Behind a NAT or a proxy the address is the
    middlebox's.
    """
    if responsiveness is not None and (doubt := responsiveness.doubt) is not None:
        yield NotJudged.lacking(doubt, subject=server.name)
        return
    family = traffic.workload.family
    every = [close_reasons_of(client, family) for client in traffic.workload.clients]
    judged = [(one, severity) for one in every if (severity := severity_of(one, medium_closes, low_closes)) is not None]
    judged.sort(key=lambda pair: (-pair[1], -pair[0].unclean, -pair[0].probes, pair[0].client))
    for number, (ends, severity) in enumerate(judged[:MOST]):
        yield _finding(server, traffic, ends, severity, 0 if number else len(judged) - MOST)
    named = {ends.client for ends, _ in judged}
    others = [ends for ends in every if ends.client not in named]
    if others or not judged:
        yield _of_other_clients(server, traffic, others, all_clients=not judged)


def severity_of(ends: CloseReasons, medium: int, low: int) -> Severity | None:
    """Return how bad it is, by the numbers of the manual page; None when nothing is wrong."""
    unclean, closes = ends.unclean, ends.close_count
    if ends.by_kind[CloseKind.NETWORK] >= SOME or (unclean >= medium and unclean >= HALF * closes):
        return Severity.MEDIUM
    if unclean >= low and unclean >= TENTH * closes:
        return Severity.LOW
    return Severity.INFO if ends.probes >= SOME and ends.probes >= ALL_BUT_FEW * (closes + ends.probes) else None


def _of_other_clients(server: Instance, traffic: Traffic, others: list[CloseReasons], *, all_clients: bool) -> Verdict:
    """Return the verdict on all clients without a finding."""
    closes, unclean = sum(ends.close_count for ends in others), sum(ends.unclean for ends in others)
    vague = sum(ends.by_kind[CloseKind.UNKNOWN] for ends in others)
    subject = f"other clients of {server.name}" if not all_clients else server.name
    if not closes and all_clients:
        reason = "no connection was closed in the access log"
        return NotJudged.without(AccessLog, subject, reason, how="an access log of a busy hour")
    if vague >= SOME and vague >= HALF * closes:
        reason = f"for {vague:,} of {counted(closes, 'close')} the log does not show whether the client sent UNBIND"
        how = "nothing shows it: the log of this server has one close reason for both, or none"
        return NotJudged(subject=subject, reason=reason, missing=("close-codes",), how=how)
    clients = traffic.segment.clients
    if clients.full and clients.omitted >= SOME:
        reason = f"more clients than are counted separately: one not listed had at most {clients.omitted:,} connections"
        return NotJudged.without(AccessLog, subject, reason, how="the log of a shorter period")
    timeouts = sum(ends.by_kind[CloseKind.IDLE] for ends in others)
    idle = f"; the server's idle timeout ended {timeouts:,}" if timeouts else ""
    return Clear(subject=subject, reason=f"{counted(closes, 'close')}, {unclean:,} without UNBIND{idle}")


def _finding(server: Instance, traffic: Traffic, ends: CloseReasons, severity: Severity, more: int) -> Finding:
    probes = severity is Severity.INFO
    return Finding(
        subject=f"{ends.client} -> {server.name}",
        severity=severity,
        confidence=Confidence.LIKELY if probes else Confidence.CERTAIN,
        title=_title(server, ends, probes=probes),
        detail="\n".join(_sentences(traffic, ends, more, probes=probes)),
        observed={
            "server": server.name,
            "client": ends.client,
            "closes": ends.close_count,
            "unclean": ends.unclean,
            "network": ends.by_kind[CloseKind.NETWORK],
            "idle": ends.by_kind[CloseKind.IDLE],
            "probes": ends.probes,
            "codes": ends.codes,
        },
        server=server.name,
        hosts=(server.host,),
        remedies=() if probes or ends.client == UNKNOWN_NAME else (unbind_first(ends.client, server.name),),
        origins=traffic.origins,
    )


def _title(server: Instance, ends: CloseReasons, *, probes: bool) -> str:
    if probes:
        return (
            f"{ends.client} opened {counted(ends.probes, 'connection')} to {server.name} without sending an operation"
        )
    if (network := ends.by_kind[CloseKind.NETWORK]) >= SOME:
        return f"Data no longer passed on {network:,} of {counted(ends.close_count, 'connection')} of {ends.client}"
    return f"{ends.client} ended {ends.unclean:,} of {counted(ends.close_count, 'connection')} without UNBIND"


def _sentences(traffic: Traffic, ends: CloseReasons, more: int, *, probes: bool) -> Iterator[str]:
    if probes:
        yield "Most likely probes of a load balancer; or a client whose TLS handshake fails."
    for code, count in ends.codes.items():
        yield f"{code or 'no code'}, {counted(count, 'time')}: {close_reason(traffic.workload.family, code).text}."
    if ends.by_kind[CloseKind.NETWORK]:
        yield "Look for a client that does not read, a path with a smaller MTU, a firewall that drops idle connections."
    if ends.probes and not probes:
        probes_only = counted(ends.probes, "connection")
        yield f"Excluded: {probes_only} without any operation, most likely probes of a load balancer."
    yield "Behind a NAT or a proxy, this is the middlebox's address."
    if more > 0:
        yield f"{counted(more, 'more client')} {'does' if more == 1 else 'do'} the same: see ldapdiag log --by client."
