"""ghost-connections: connections established at the server that no longer exist at the client.

Titles of findings about a direction's ghosts, and the counts of a direction without any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.idle.advice import IdleAdvice
from ldapdiag.analysis.idle.bounds import IdleBounds
from ldapdiag.analysis.idle.drain_remedies import (
    close_now,
    drain_remedies,
    exempt_ghosts,
    proof_to_collect,
    reaches_open,
    step,
)
from ldapdiag.analysis.idle.idle_ages import IdleAges, idle_ages
from ldapdiag.analysis.idle.keepalive import GhostLifetime
from ldapdiag.analysis.idle.sentences import client_names, ghost_sentences, reason_list
from ldapdiag.analysis.load.accounts import Accounts
from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.analysis.pairing.direction import Direction, JoinKey, PathKind
from ldapdiag.analysis.pairing.half_open import possible_sentences
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.analysis.pairing.proof import proof_of
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.sockets import SS_COMMAND, SocketTable
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.wording import are, counted

HALF, SLIGHT = 0.5, 0.05


@check(group="connections", number=MainNumber("ghosts", "ghost connections"))
def judge(  # noqa: PLR0913, PLR0917  evidence, and settings
    pairing: Pairing,
    bounds: IdleBounds | None = None,
    accounts: Accounts | None = None,
    descriptors: Descriptors | None = None,
    server: Instance | None = None,
    lifetime: GhostLifetime | None = None,
    advice: IdleAdvice | None = None,
    hosts: tuple[Host, ...] = (),
    *,
    critical_ghosts: Annotated[
        int, Threshold("connections", "so many or more, and half of the server's connections, are critical")
    ] = 200,
    high_ghosts: Annotated[int, Threshold("connections", "so many or more of one client are high")] = 100,
    medium_ghosts: Annotated[
        int, Threshold("connections", "fewer, and below 5 % of the server's connections, are info")
    ] = 10,
    used_percent: Annotated[
        float, Threshold("%", "so much of the descriptors used makes any that count critical", most=100)
    ] = 80.0,
    hours_left: Annotated[
        float, Threshold("h", "less until the descriptors run out makes any that count critical")
    ] = 24.0,
) -> Iterator[Verdict]:
    """Connections established at the server that no longer exist at the client.

    ## What it looks at
    Each connection established at the server is looked up in the socket table of the host that owns the client
    address, by both addresses and both ports; behind address translation, in the flow table of the device that
    translates. A ghost is a connection that is absent there and that neither the time between the tables nor a
    container, a namespace or an incomplete table can explain.

    - certain: for every ghost, the firewall's flow table has no entry, or keepalive probes are unanswered, or the
      client host has booted since the last segment, or every network namespace of the client host was read.
    - likely: the client's table lacks them, but a table covers one network namespace; a container or zone may own
      them.
    - possible: only their number is known, or a table may be a selection of rows; or the client's table lacks them,
      and a container or zone that was not read may have them; or the client was not read and half of its
      connections do not answer the server's keepalive probes. Neither counts as a ghost.

    ## Severity
    By default:

    - critical: 200 or more, and half of the server's connections; or any that count, while descriptors are 80 %
      used, have run out, or will run out within 24 h.
    - high: 100 or more, or half of the connections from this client.
    - medium: fewer.
    - info: below 10 and below 5 % of the server's connections.
    - of those that do not count as ghosts: medium if a firewall still lists them or probes are unanswered, and they
      are 10 or more, and half of the connections from this client; low or info otherwise.

    ## Why it matters
    Each ghost uses a descriptor of the server until something closes it; without idle timeout and keepalive, until
    the next restart. A firewall that drops the state of idle connections creates new ones all day.

    ## What to do
    Free the descriptors: ss -K closes those that are certain, and nothing else. Those that are not certain are never
    closed so: collect what proves them, or restart the server, at its price. Where a new idle timeout reaches open
    connections (slapd), that is the first step. See idle-timeout for what keeps new ones away: it explains the
    recommended value, removes the cause, and tidies up.

    ## When it is harmless
    Every site has a few: closed laptops, clients that lost power. They stay below 10 and below 5 %.
    """
    total = sum(direction.server_count for direction in pairing.directions)
    scarce = _are_scarce(descriptors, used_percent / 100, hours_left)
    if not total:
        yield Clear(subject=pairing.server, reason="no connection is established at the server")
    for direction in pairing.directions:
        if not direction.server_count:
            continue  # only the client has some: see stranded-connections
        few_signs = len(direction.ghosts.possible_ports) < HALF * direction.server_count
        if direction.missing is not None and few_signs:
            about = f"{counted(direction.server_count, 'connection')} at {pairing.server}"
            yield NotJudged.lacking(direction.missing, subject=direction.subject, about=about)
        elif direction.ghosts.count:
            severity = severity_of(direction, total, (critical_ghosts, high_ghosts, medium_ghosts), scarce=scarce)
            found = _finding(direction, pairing.server, bounds, accounts, severity)
            if server is not None and lifetime is not None and advice is not None:
                exhausted = descriptors is not None and descriptors.exhausted
                exempt = exempt_ghosts(server, [direction], accounts) if accounts else 0
                found = _with_remedies(found, direction, server, lifetime, advice, hosts, exhausted, exempt)
            yield found
        elif direction.ghosts.possible_ports:
            yield _possible_finding(direction, pairing.server, total, bounds, medium_ghosts)
        elif direction.ghosts.unproven:
            yield NotJudged(
                subject=direction.subject,
                reason=f"{direction.undecided:,} of {counted(direction.server_count, 'connection')} "
                f"{are(direction.undecided)} absent at the client, but not proven dead: "
                f"{reason_list(direction.ghosts.unproven)}",
                how=f"take a snapshot of the client, the server and the client again: {SS_COMMAND}",
            )
        elif (legs := direction.proxy_legs) is not None and legs.program and legs.orphaned.unproven:
            count = sum(legs.orphaned.unproven.values())
            yield NotJudged.without(
                SocketTable,
                direction.subject,
                f"{count:,} of {counted(direction.server_count, 'connection')} end at {legs.name}, which "
                "forwards those of other programs: whether a client is behind each is not known "
                "(see proxy-held-connections)",
                how=f"as root on {legs.proxy}, and on the hosts that its clients connect from: {SS_COMMAND}",
            )
        else:
            yield Clear(subject=direction.subject, reason=live_counts(direction, pairing.server))


def _finding(
    direction: Direction,
    server: str,
    bounds: IdleBounds | None,
    accounts: Accounts | None,
    severity: Severity,
) -> Finding:
    owners = accounts.of_ghost_connections(direction) if accounts else None
    ports, ages = direction.ghosts.ports, _ages(direction, bounds)
    return Finding(
        subject=direction.subject,
        key=direction.key,
        severity=severity,
        confidence=Confidence(proof_of(direction).degree),
        title=ghost_title(direction),
        detail="\n".join(ghost_sentences(direction, server, bounds, owners)),
        observed=direction.observed
        | {
            "ghosts": direction.ghosts.count,
            "unproven": sum(direction.ghosts.unproven.values()) + direction.closing,
            "ghost_client_ports": None if ports is None else list(ports),
            "accounts": owners,
            "ghosts_possible": len(direction.ghosts.possible_ports),
            "ghost_client_ports_possible": list(direction.ghosts.possible_ports),
            "ghost_samples": [sample.observed for sample in direction.samples],
            "idle_ages": ages and ages.observed,
        },
        server=server,
        hosts=tuple(sorted({*direction.client_hosts, server})),
        origins=direction.origins,
    )


def _with_remedies(  # noqa: PLR0913, PLR0917  what chooses the remedies
    found: Finding,
    direction: Direction,
    server: Instance,
    lifetime: GhostLifetime,
    advice: IdleAdvice,
    hosts: tuple[Host, ...],
    exhausted: bool,  # noqa: FBT001  a fact of the server, as the others
    exempt: int,
) -> Finding:
    """Return a finding with what frees the descriptors of its ghosts now; idle-timeout has what keeps others away."""
    if exhausted or not reaches_open(server):
        ways = close_now(server, lifetime, advice, [direction], hosts, may_wait=not exhausted, exempt=exempt)
        return replace(found, remedies=tuple(ways))
    remedies = tuple(drain_remedies(server, lifetime, advice, [direction], hosts, exempt=exempt))
    if remedies or not lifetime.idle_timeout_seconds:
        return replace(found, remedies=remedies)
    latest = server.idle_enforcement.latest(lifetime.idle_timeout_seconds)
    by = "" if latest is None else f", by {latest:,.0f} s of idle time"
    closed = f"No command is needed: the idle timeout of {lifetime.idle_timeout_seconds:,} s closes them{by}."
    return replace(found, detail=f"{closed}\n{found.detail}")


def _ages(direction: Direction, bounds: IdleBounds | None) -> IdleAges | None:
    """Return for how long its connections had been idle, beside the bounds of the timeout on its path."""
    return idle_ages([direction], bounds.for_client(direction.client) if bounds else None)


def _possible_finding(direction: Direction, server: str, total: int, bounds: IdleBounds | None, least: int) -> Finding:
    """Return the finding about connections that the client's table lacks, and that nothing proves dead."""
    ages = _ages(direction, bounds)
    possible, count = direction.ghosts.possible_ports, direction.server_count
    signs = bool(direction.path.middleboxes) or direction.missing is not None
    many = signs and len(possible) >= least and len(possible) >= HALF * count
    few = len(possible) < least and len(possible) < SLIGHT * total
    return Finding(
        subject=direction.subject,
        key=direction.key,
        severity=Severity.MEDIUM if many else Severity.INFO if few else Severity.LOW,
        confidence=Confidence.POSSIBLE,
        title=possible_title(direction),
        detail="\n".join(possible_sentences(direction, reason_list(direction.ghosts.unproven))),
        observed=direction.observed
        | {
            "ghosts": 0,
            "unproven": direction.undecided + direction.closing,
            "ghost_client_ports": [],
            "accounts": None,
            "ghosts_possible": len(possible),
            "ghost_client_ports_possible": list(possible),
            "ghost_samples": [],
            "idle_ages": ages and ages.observed,
        },
        server=server,
        hosts=tuple(sorted({*direction.client_hosts, server})),
        remedies=(step("prove", proof_to_collect(direction)),),
        origins=direction.origins,
    )


def _are_scarce(descriptors: Descriptors | None, used: float, hours_left: float) -> bool:
    """Return whether the server has run out of descriptors, or soon may: by the used share, or the forecast."""
    if descriptors is None:
        return False
    left = descriptors.hours_left
    return descriptors.exhausted or (descriptors.share or 0) >= used or (left is not None and left < hours_left)


def severity_of(direction: Direction, total: int, limits: tuple[int, int, int], *, scarce: bool) -> Severity:
    """Return how bad it is, by the ghosts that are critical, high and medium; `scarce`: so are the descriptors."""
    ghosts, (critical, high, medium) = direction.ghosts.count, limits
    if ghosts < medium and ghosts < SLIGHT * total:
        return Severity.INFO
    if scarce or (ghosts >= critical and ghosts >= HALF * total):
        return Severity.CRITICAL
    if ghosts >= high or ghosts >= HALF * direction.server_count:
        return Severity.HIGH
    return Severity.MEDIUM


def live_counts(direction: Direction, server: str) -> str:
    """Return how many connections of a direction both ends hold, and how many of these are live, as a clause."""
    closing = f", and {direction.closing:,} opening or closing at that moment" if direction.closing else ""
    if direction.path.kind is PathKind.PROXY and direction.join is JoinKey.BOX_TABLE:
        where = f"carried by {direction.path.translated_by}"
    else:
        where = f"held at both ends{_live(direction)}"
    unproven = sum(direction.severed.unproven.values())
    unanswered = direction.severed.count + unproven
    others = f", {unanswered:,} of these severed or not judged (see severed-connections)" if unanswered else ""
    return f"{direction.server_count:,} at {server}, {direction.matched:,} of them {where}{others}{closing}"


def _live(direction: Direction) -> str:
    """Return how many of the connections held at both ends are known to be live."""
    if not direction.live:
        return ""
    return " and live" if direction.live >= direction.matched else f" ({direction.live:,} live)"


def ghost_title(direction: Direction) -> str:
    """Return the title of a finding about ghosts."""
    ghosts = direction.ghosts.count
    share, exist = _share(ghosts, direction.server_count), "exists" if ghosts == 1 else "exist"
    if direction.path.kind is PathKind.PROXY and direction.join is JoinKey.BOX_TABLE:
        return f"{share} from {direction.client} no longer {exist} on {direction.path.translated_by}, a proxy"
    if direction.join is JoinKey.BOX_TABLE:
        nat = f"the NAT ({direction.path.translated_by})"
        have = "has" if ghosts == 1 else "have"
        return f"{share} from {direction.client} no longer {have} a client behind {nat}"
    where = client_names(direction)
    return f"{share} from {where} no longer {exist} on {where}"


def possible_title(direction: Direction) -> str:
    """Return the title of a finding about connections that nothing proves dead."""
    where = client_names(direction)
    share = _share(len(direction.ghosts.possible_ports), direction.server_count)
    return f"{share} from {where} may no longer exist on {where}"


def _share(part: int, count: int) -> str:
    if part != count:
        return f"{part:,} of the {count:,} connections"
    return "The only connection" if count == 1 else f"All {count:,} connections"
