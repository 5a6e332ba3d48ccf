"""stranded-connections: connections established at a client that no longer exist at the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from ldapdiag.analysis.idle.sentences import client_names, reason_list
from ldapdiag.analysis.load.accounts import Accounts
from ldapdiag.analysis.pairing.direction import Direction
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.sockets import SS_COMMAND
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.servers.hosts.host_remedies import replace_connections
from ldapdiag.wording import are, counted


@check(group="connections", number=MainNumber("stranded", "stranded connections"))
def judge(
    pairing: Pairing,
    accounts: Accounts | None = None,
    *,
    high_connections: Annotated[int, Threshold("connections", "so many or more are high")] = 100,
    medium_connections: Annotated[int, Threshold("connections", "so many or more are medium; fewer are low")] = 10,
    high_percent: Annotated[
        float, Threshold("%", "a client's share that is high, from medium_connections on", most=100)
    ] = 50.0,
) -> Iterator[Verdict]:
    """Connections established at a client that no longer exist at the server.

    ## What it looks at
    Each connection established from the client to a server is looked up in the server's table. It is stranded if
    the server does not have it and the time between the tables cannot explain that.

    ## Severity
    By default:

    - high: 100 or more, or half of the client's connections to the server when that is 10 or more.
    - medium: 10 or more.
    - low: fewer.

    ## Why it matters
    The server closed them (restart, idle timeout, out of descriptors) and the close did not reach the client: the
    next request on each one waits for a TCP timeout of minutes before the application notices.

    ## What to do
    Configure the application's pool to test a connection before use, with a maximum idle time below every timeout
    on the path. See idle-timeout for the values.

    ## When it is harmless
    Right after a restart of the server, a few remain until the application uses them.
    """
    if not pairing.directions:
        yield Clear(subject=pairing.server, reason="no connection is established at either end")
    for direction in pairing.directions:
        if direction.missing is not None:
            yield NotJudged.lacking(direction.missing, subject=direction.subject)
        elif direction.stranded.count:
            severity = severity_of(direction, high_connections, medium_connections, high_percent / 100)
            yield _finding(direction, pairing.server, accounts, severity)
        elif direction.stranded.unproven:
            count = sum(direction.stranded.unproven.values())
            yield NotJudged(
                subject=direction.subject,
                reason=f"{counted(count, 'connection')} of the client {are(count)} absent at {pairing.server}, "
                f"but not proven lost: {reason_list(direction.stranded.unproven)}",
                how=f"take snapshots of the server, the client and the server again: {SS_COMMAND}",
            )
        elif direction.hides_client:
            yield NotJudged(
                subject=direction.subject,
                reason=f"no connection of the client is shown: {reason_list(direction.ghosts.unproven)}",
                how=f"at the client: {SS_COMMAND}",
            )
        else:
            number = "" if direction.client_count is None else f" ({direction.client_count:,})"
            reason = f"every connection of the client exists at {pairing.server}{number}"
            yield Clear(subject=direction.subject, reason=reason)


def _share(direction: Direction) -> str:
    count = counted(direction.stranded.count, "connection")
    return (
        count
        if direction.client_count is None
        else f"{direction.stranded.count:,} of the {direction.client_count:,} connections"
    )


def _finding(direction: Direction, server: str, accounts: Accounts | None, severity: Severity) -> Finding:
    clients, stranded = client_names(direction), direction.stranded
    one = stranded.count == 1
    exact = stranded.ports is not None
    return Finding(
        subject=direction.subject,
        key=direction.key,
        severity=severity,
        confidence=Confidence.LIKELY if exact and not direction.tables.headerless else Confidence.POSSIBLE,
        title=f"{_share(direction)} of {clients} no longer {'exists' if one else 'exist'} on {server}",
        detail=(
            f"{server} has closed or lost {'it' if one else 'them'} without notice to {clients}; the next request on "
            f"{'it' if one else 'each'} waits for a TCP timeout.\n"
            "Not certain, because a table shows one network namespace: the server may run in another one."
        ),
        observed=direction.observed
        | {
            "stranded": stranded.count,
            "unproven": sum(stranded.unproven.values()),
            "stranded_client_ports": list(stranded.ports or ()) if exact else None,
            "accounts": accounts.of_all_connections(direction) if accounts else None,
        },
        server=server,
        hosts=tuple(sorted({*direction.client_hosts, server})),
        remedies=(replace_connections(clients, direction.server_address, stranded.count),),
        origins=direction.origins,
    )


def severity_of(direction: Direction, high: int, medium: int, share: float) -> Severity:
    """Return how bad it is, by the connections that are high and medium, and the share of the client's that is high."""
    stranded = direction.stranded.count
    if stranded >= high or (stranded >= medium and stranded >= share * (direction.client_count or 0)):
        return Severity.HIGH
    return Severity.MEDIUM if stranded >= medium else Severity.LOW
