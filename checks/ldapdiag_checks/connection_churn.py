"""connection-churn: clients that open a connection for nearly every operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.load.responsiveness import Responsiveness
from ldapdiag.analysis.log.spellings import UNKNOWN_NAME, display_name
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.log.client_row import ClientRow, below
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.tables import OTHER
from ldapdiag.finding import NEXT, Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.client_settings.client_advice import pool_connections
from ldapdiag.wording import counted, rounded

FEW = 7
"""Operations, BIND and UNBIND included; the log's histogram has an edge there."""
SHORT_LIFE = 69.0
"""Seconds, an edge of the log's histogram; longer connections end for other reasons, most often an idle timeout."""
SHORTEST = 60.0
"""Seconds; in a shorter log, the start of an application looks the same."""
BURST = 500
"""Connections of one client that are too many for the start of an application, however short the log is."""
MOST = 20
"""Findings for single clients; the rest is a count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The settings: connections a second that are high, medium and low, and connections in all."""

    rates: tuple[float, float, float]
    medium: int
    low: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Churn:
    """The closed connections of one client that had an operation."""

    client: str
    connections: int
    per_second: float
    at_most: int
    """Operations of at least half of them."""
    life_below: float
    """Seconds; at least half of its connections lasted less, those without operation included."""


@check(group="connections", number=MainNumber("connections", "connections", "logged", up_to="high"))
def judge(  # noqa: PLR0913  evidence, and settings
    server: Instance,
    traffic: Traffic,
    responsiveness: Responsiveness | None = None,
    *,
    high_per_second: Annotated[float, Threshold("/s", "so many connections of one client or more are high")] = 20.0,
    medium_per_second: Annotated[float, Threshold("/s", "so many or more are medium")] = 1.0,
    low_per_second: Annotated[float, Threshold("/s", "so many or more are low")] = 0.1,
    medium_connections: Annotated[int, Threshold("connections", "fewer in all are neither high nor medium")] = 1000,
    low_connections: Annotated[int, Threshold("connections", "fewer in all are clear")] = 100,
) -> Iterator[Verdict]:
    """Clients that open a connection for nearly every operation.

    ## What it looks at
    The closed connections in the access log, by client: how many there were, and how many operations each had. A
    client counts if half of its connections had at most 7 operations (BIND and UNBIND included) and half of them
    lasted less than 69 s. Connections without any operation are probes and do not count. The rate is that over the
    whole log, at least a minute: a short log never proves a high rate by few connections.

    - certain: the log covers a minute or more.
    - possible: it covers less, and the client opened 500 or more in it. Whether that continues is unknown, so
      nothing is advised. Fewer connections in less than a minute look like the start of an application, and are not
      judged.

    ## Severity
    By default:

    - high: 20 or more a second, 1,000 or more in all.
    - medium: 1 or more a second, 1,000 or more in all.
    - low: 6 or more a minute, 100 or more in all.

    ## Why it matters
    Each connection costs the server an accept, a descriptor and a BIND, and with ldaps a TLS handshake, which is
    far more work than the search it is opened for; at the client it leaves a port in TIME-WAIT for a minute.

    ## What to do
    Use a connection pool in the application. No server setting corrects this.

    ## When it is harmless
    Scripts and log-ins on many small hosts, or behind a NAT or a proxy: then the address is the middlebox's, and
    each application behind it may be modest.
    """
    if responsiveness is not None and (doubt := responsiveness.doubt) is not None:
        yield NotJudged.lacking(doubt, subject=server.name)
        return
    limits = Limits(
        rates=(high_per_second, medium_per_second, low_per_second), medium=medium_connections, low=low_connections
    )
    churning = list(_ranked(traffic, limits))
    for number, (severity, churn) in enumerate(churning[:MOST]):
        yield _finding(server, traffic, churn, severity, 0 if number else len(churning) - MOST)
    if churning:
        return
    yield _of_other_clients(server, traffic, limits)


def _of_other_clients(server: Instance, traffic: Traffic, limits: Limits) -> Verdict:
    """Return the verdict where no client is a finding."""
    segment, how = traffic.segment, "an access log of a busy hour"
    if not any(sum(row.per_connection.values()) for row in segment.clients.values()):
        reason = "no connection was closed in the access log"
        return NotJudged.without(AccessLog, server.name, reason, how=how)
    if traffic.seconds < SHORTEST:
        reason = f"the access log covers only {traffic.seconds:.0f} s, like the start of an application"
        reason += _busiest(traffic, limits)
        return NotJudged.without(AccessLog, server.name, reason, how=f"an access log of at least {SHORTEST:.0f} s")
    if segment.clients.full and segment.clients.omitted >= limits.low // 2:
        bound = f"one that is not listed had at most {segment.clients.omitted:,} connections and operations"
        reason = f"the access log has more clients than are counted separately; {bound}"
        return NotJudged.without(AccessLog, server.name, reason, how="the log of a shorter time")
    opened = counted(segment.opened, "connection")
    reason = f"{opened} in {traffic.seconds:,.0f} s: no client opens one for nearly every operation"
    return Clear(subject=server.name, reason=reason)


def _busiest(traffic: Traffic, limits: Limits) -> str:
    """Return the client that would be a finding in a longer log, as a clause; empty if there is none."""
    found = [churn for _, churn in _of_clients(traffic, limits)]
    most = max(found, key=lambda one: (one.connections, one.client), default=None)
    return f"; {most.client} opened {counted(most.connections, 'short connection')} in it" if most else ""


def severity_of(churn: Churn, limits: Limits) -> Severity | None:
    """Return how bad it is, by the numbers of the manual page; None for a client that keeps its connections."""
    storm, steady, slow = limits.rates
    if churn.connections >= limits.medium and churn.per_second >= steady:
        return Severity.HIGH if churn.per_second >= storm else Severity.MEDIUM
    return Severity.LOW if churn.connections >= limits.low and churn.per_second >= slow else None


def _ranked(traffic: Traffic, limits: Limits) -> Iterator[tuple[Severity, Churn]]:
    fewest = BURST if traffic.seconds < SHORTEST else 0
    found = [(severity, churn) for severity, churn in _of_clients(traffic, limits) if churn.connections >= fewest]
    yield from sorted(found, key=lambda one: (-one[0], -one[1].connections, one[1].client))


def _of_clients(traffic: Traffic, limits: Limits) -> Iterator[tuple[Severity, Churn]]:
    seconds = max(traffic.seconds, SHORTEST)
    for address, row in traffic.segment.clients.items():
        churn = _churn(display_name(address), row, seconds)
        if churn is not None and address != OTHER and (severity := severity_of(churn, limits)) is not None:
            yield severity, churn


def _churn(client: str, row: ClientRow, seconds: float) -> Churn | None:
    used = {bits: count for bits, count in row.per_connection.items() if bits}
    at_most = below(used, 50) - 1
    life_below = below(row.lifetimes, 50) / SECOND
    if client == UNKNOWN_NAME or not 0 < at_most <= FEW or life_below > SHORT_LIFE:
        return None
    return Churn(
        client=client,
        connections=sum(used.values()),
        per_second=sum(used.values()) / seconds,
        at_most=at_most,
        life_below=life_below,
    )


def _finding(server: Instance, traffic: Traffic, churn: Churn, severity: Severity, more: int) -> Finding:
    rate = f"{churn.per_second:.1f} a second" if churn.per_second >= 1 else f"{60 * churn.per_second:.0f} a minute"
    short = traffic.seconds < SHORTEST
    span = f"{traffic.seconds:,.0f} s" if short else f"{traffic.seconds:,.0f} s, {rate}"
    operations = counted(churn.at_most, "operation")
    sentences = [
        f"Half of them had at most {operations}, and half lasted less than {rounded(churn.life_below)} s.",
        "Behind a NAT or a proxy, several applications may share this address.",
    ]
    if short:
        sentences.append(
            f"{NEXT}read an access log of at least a minute, which shows whether this continues: ldapdiag log."
        )
    if more > 0:
        sentences.append(
            f"{counted(more, 'more client')} {'does' if more == 1 else 'do'} the same: see ldapdiag log --by client."
        )
    return Finding(
        subject=f"{churn.client} -> {server.name}",
        severity=severity,
        confidence=Confidence.POSSIBLE if short else Confidence.CERTAIN,
        title=f"{churn.client} opened {counted(churn.connections, 'connection')} in {span}, for a few operations each",
        detail="\n".join(sentences),
        observed={
            "server": server.name,
            "client": churn.client,
            "connections": churn.connections,
            "per_second": round(churn.per_second, 6),
            "median_operations": churn.at_most,
            "median_life_seconds": churn.life_below,
        },
        server=server.name,
        hosts=(server.host,),
        remedies=() if short else (pool_connections(churn.client, server.name),),
        origins=traffic.origins,
    )
