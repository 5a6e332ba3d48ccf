"""ghost-connections: connections that the server holds and their client no longer has."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.idle.bounds import IdleBounds
from ldapdiag.analysis.idle.wording import client_names, ghost_sentences, reason_list
from ldapdiag.analysis.load.accounts import Accounts
from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.analysis.pairing.direction import Direction, Join, PathKind
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.analysis.pairing.proof import proof_of
from ldapdiag.check import check
from ldapdiag.evidence.sockets import SS_COMMAND
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict

NEARLY_FULL = 0.8
HOURS_LEFT = 24
MANY, SOME, FEW = 200, 100, 10
HALF, SLIGHT = 0.5, 0.05


@check
def judge(
    pairing: Pairing,
    bounds: IdleBounds | None = None,
    accounts: Accounts | None = None,
    descriptors: Descriptors | None = None,
) -> Iterator[Verdict]:
    """Connections the server holds that are dead at the other end.

    ## What it looks at
    Every connection established at the server is looked up in the table of the host that owns the client's address,
    by both addresses and ports; behind address translation, in the table of the box that translates. A ghost is one
    that the other end does not have, where neither the time between the tables nor a place the table does not show
    can explain it. `certain`: the table of a box on the path lacks every one, their keepalive probes go unanswered, the
    client's host has booted since they were last heard of, or every network namespace of it was read. `likely`: the
    client's table lacks them, but a table shows one network namespace, and a container or zone may hold them.
    `possible`: their number is known, not which they are, or the table may be a selection.

    critical: 200 or more, and half of the server's connections; or any that count, while descriptors are 80 % used,
    have run out, or will within 24 h. high: 100 or more, or half of the pair's. medium: fewer. info: below 10 and below
    5 % of the server's connections.

    ## Why it matters
    Each one costs the server a descriptor until something closes it; with no idle timeout and no keepalive that is
    the next restart. A firewall that forgets resting connections makes new ones all day.

    ## What to do
    See idle-timeout: it argues the value, and prints the commands to drain them, to cure the cause, and to tidy up.

    ## When it is harmless
    Every site has a few: laptops that were closed, clients that lost power. They stay below 10 and below 5 %.
    """
    total = sum(direction.server_count for direction in pairing.directions)
    if not total:
        yield Clear(subject=pairing.host, reason="no connection is established at the server")
    for direction in pairing.directions:
        if not direction.server_count:
            continue  # only the client has some: see stranded-connections
        if direction.missing is not None:
            about = f"{direction.server_count} connections at {pairing.host}"
            yield NotJudged.lacking(direction.missing, subject=direction.subject, about=about)
        elif direction.ghosts:
            yield _finding(direction, pairing.host, total, bounds, accounts, descriptors)
        elif direction.unproven:
            yield NotJudged(
                subject=direction.subject,
                reason=f"{direction.unread} of {direction.server_count} have no living counterpart, none of them is "
                f"proven dead: {reason_list(direction.unproven)}",
                how=f"look at the client, the server and the client again: {SS_COMMAND}",
            )
        else:
            yield Clear(subject=direction.subject, reason=_living(direction, pairing.host))


def _finding(
    direction: Direction,
    server: str,
    total: int,
    bounds: IdleBounds | None,
    accounts: Accounts | None,
    descriptors: Descriptors | None,
) -> Finding:
    owners = accounts.of_ghosts(direction) if accounts else None
    ports = direction.ghost_ports
    return Finding(
        subject=direction.subject,
        key=direction.key,
        severity=severity_of(direction, total, descriptors),
        confidence=Confidence(proof_of(direction).degree),
        title=_title(direction),
        detail="\n".join(ghost_sentences(direction, server, bounds, owners)),
        observed=direction.observed
        | {
            "ghosts": direction.ghosts,
            "unproven": sum(direction.unproven.values()) + direction.closing,
            "ghost_client_ports": None if ports is None else list(ports),
            "accounts": owners,
        },
        server=server,
        hosts=tuple(sorted({*direction.client_hosts, server})),
        origins=direction.origins,
    )


def severity_of(direction: Direction, total: int, descriptors: Descriptors | None) -> Severity:
    """Return how bad it is, by the numbers of the manual page."""
    ghosts = direction.ghosts
    if ghosts < FEW and ghosts < SLIGHT * total:
        return Severity.INFO
    if ghosts >= MANY and ghosts >= HALF * total:
        return Severity.CRITICAL
    if descriptors is not None:
        left = descriptors.hours_left
        if descriptors.exhausted or (descriptors.share or 0) >= NEARLY_FULL or (left is not None and left < HOURS_LEFT):
            return Severity.CRITICAL
    if ghosts >= SOME or ghosts >= HALF * direction.server_count:
        return Severity.HIGH
    return Severity.MEDIUM


def _living(direction: Direction, server: str) -> str:
    closing = f", and {direction.closing} were opening or closing just then" if direction.closing else ""
    if direction.path is PathKind.PROXY and direction.join is Join.BOX_TABLE:
        where = f"carried by {direction.translated_by}"
    else:
        where = f"living at {client_names(direction)}"
    return f"{direction.server_count} at {server}, {direction.matched} of them {where}{closing}"


def _title(direction: Direction) -> str:
    ghosts, count = direction.ghosts, direction.server_count
    share = f"All {count}" if ghosts == count else f"{ghosts} of the {count}"
    if direction.path is PathKind.PROXY and direction.join is Join.BOX_TABLE:
        return f"{share} connections from {direction.client} no longer exist on {direction.translated_by}, a proxy"
    if direction.join is Join.BOX_TABLE:
        return (
            f"{share} connections from {direction.client} have nobody left behind it ({direction.translated_by}: NAT)"
        )
    where = client_names(direction)
    return f"{share} connections from {where} no longer exist on {where}"
