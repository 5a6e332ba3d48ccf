"""unreleased-connections: applications that keep far more connections open than they use."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.idle.sentences import client_names
from ldapdiag.analysis.load.accounts import Accounts
from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.analysis.load.responsiveness import Responsiveness
from ldapdiag.analysis.pairing.direction import Direction
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Exempt, Threshold
from ldapdiag.evidence.sockets import SS_COMMAND, SocketTable
from ldapdiag.exempt_accounts import NO_ACCOUNTS, ExemptAccounts
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.servers.hosts.host_remedies import release_unused
from ldapdiag.wording import counted


@check(group="connections", number=MainNumber("connections", "connections held at both ends"))
def judge(  # noqa: PLR0913  evidence, and settings
    pairing: Pairing,
    accounts: Accounts | None = None,
    descriptors: Descriptors | None = None,
    servers: tuple[Instance, ...] = (),
    responsiveness: Responsiveness | None = None,
    *,
    medium_connections: Annotated[int, Threshold("connections", "so many or more of one client are a finding")] = 100,
    medium_percent: Annotated[float, Threshold("%", "or so much of the server's descriptor limit", most=100)] = 25.0,
    high_percent: Annotated[float, Threshold("%", "so much of the descriptor limit or more is high", most=100)] = 50.0,
    idle_percent: Annotated[float, Threshold("%", "at least so many of them must be idle", most=100)] = 90.0,
    exempt_accounts: Annotated[
        ExemptAccounts, Exempt("their connections do not count; how many there are is stated")
    ] = NO_ACCOUNTS,
) -> Iterator[Verdict]:
    """Applications that keep far more connections open than they use.

    ## What it looks at
    Connections that are held at both ends, without severed ones. An application keeps too many if there are 100 or
    more, or 25 % of the server's descriptor limit, and at least 90 % of them have been idle for more than 60 s.
    Connections of a proxy are those of its clients, and are judged there.

    ## Severity
    By default:

    - high: half of the descriptor limit.
    - medium: otherwise.

    ## Why it matters
    A count at the server cannot distinguish them from ghosts, but the application still owns every one: no firewall
    is to blame, and no idle timeout repairs a program that opens connections and never unbinds.

    ## What to do
    Give the application's owner the account, the host and the number. An idle timeout on the server limits the
    damage.

    ## When it is harmless
    A pool that is sized for a peak is idle at night. Compare with the same hour of a working day.
    """
    limit = (descriptors.limit if descriptors else None) or math.inf
    many = min(medium_connections, medium_percent / 100 * limit)
    proxies = {server.host for server in servers if server.proxy}
    if responsiveness is not None and (doubt := responsiveness.doubt) is not None:
        yield NotJudged.lacking(doubt, subject=pairing.server)
        return
    directions = [direction for direction in pairing.directions if direction.server_count]
    if not directions:
        yield Clear(subject=pairing.server, reason="no connection is established at the server")
    for direction in directions:
        exempt = _exempt(direction, accounts, exempt_accounts)
        if direction.missing is not None:
            yield NotJudged.lacking(direction.missing, subject=direction.subject)
        elif exempt and direction.held - exempt < many:
            yield _of_exempt_accounts(direction, exempt)
        elif direction.held < many:
            yield Clear(subject=direction.subject, reason=f"{counted(direction.held, 'connection')} held at both ends")
        elif direction.proxy_legs is not None or proxies.intersection(direction.client_hosts):
            yield _of_a_proxy(direction)
        elif direction.idle_count is None:
            yield NotJudged(
                subject=direction.subject,
                reason=f"{counted(direction.held, 'connection')} held at both ends, but no table shows idle times",
                missing=("ages",),
                how=f"at either end: {SS_COMMAND}",
            )
        elif direction.idle_count < idle_percent / 100 * direction.held:
            busy = direction.held - direction.idle_count
            yield Clear(
                subject=direction.subject,
                reason=f"{busy:,} of {counted(direction.held, 'connection')} used in the last minute",
            )
        else:
            severity = Severity.HIGH if direction.held - exempt >= high_percent / 100 * limit else Severity.MEDIUM
            yield _finding(direction, pairing.server, accounts, severity, exempt)


def _of_a_proxy(direction: Direction) -> NotJudged:
    return NotJudged.without(
        SocketTable,
        direction.subject,
        f"{counted(direction.matched, 'connection')} of {client_names(direction)}, a proxy, which opens one for "
        "each of its clients'; whether those applications use them shows in the socket tables of the proxy and of the "
        "clients",
        how=f"on the proxy and on its clients: {SS_COMMAND}",
    )


def _exempt(direction: Direction, accounts: Accounts | None, exempt: ExemptAccounts) -> int:
    """Return how many connections are of exempt accounts; 0 where the accounts of some are not known."""
    owners = (accounts.of_all_connections(direction) if accounts else None) or {}
    return min(direction.held, sum(count for account, count in owners.items() if account in exempt))


def _of_exempt_accounts(direction: Direction, exempt: int) -> Clear:
    present = f"{counted(direction.held, 'connection')} held at both ends"
    reason = f"{present}, {exempt:,} of them of accounts that this site has exempted (exempt_accounts)"
    return Clear(subject=direction.subject, reason=reason)


def _except(exempt: int) -> str:
    return f"\n{exempt:,} of them are of accounts that this site has exempted, and do not count." if exempt else ""


def _finding(direction: Direction, server: str, accounts: Accounts | None, severity: Severity, exempt: int) -> Finding:
    clients = client_names(direction)
    owners = accounts.of_all_connections(direction) if accounts else None
    who = f"{' and '.join(owners)} on {clients}" if owners else clients
    return Finding(
        subject=direction.subject,
        key=direction.key,
        severity=severity,
        confidence=Confidence.CERTAIN if direction.idle_count == direction.held else Confidence.LIKELY,
        title=f"{who} keeps {direction.held:,} connections open and uses few of them",
        detail=(
            f"{direction.held:,} connections are held at both ends, so none is a ghost; {direction.idle_count:,} "
            f"have been idle for more than a minute, the longest for {direction.longest_idle_seconds or 0:,.0f} s.\n"
            f"The application opens connections and does not release them. No middlebox on the path is to blame."
            f"{_except(exempt)}"
        ),
        observed={
            "server": direction.server,
            "client": direction.client,
            "connections": direction.held,
            "idle": direction.idle_count,
            "accounts": owners,
        },
        server=server,
        hosts=tuple(sorted({*direction.client_hosts, server})),
        remedies=(release_unused(clients, direction.server_address),),
        origins=direction.origins,
    )
