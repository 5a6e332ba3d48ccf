"""severed-connections: connections established at both ends that a middlebox on the path no longer tracks.

Severed remedies: replace the dead connections at both ends, and keep the middlebox from losing more of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from ldapdiag.analysis.idle.advice import IdleAdvice
from ldapdiag.analysis.idle.sentences import client_names, reason_list, severed_sentences, unanswered_sentences
from ldapdiag.analysis.load.accounts import Accounts
from ldapdiag.analysis.pairing.direction import Direction, Severed
from ldapdiag.analysis.pairing.drop_style import Style
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.analysis.pairing.proof import proof_of_severed
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.ruleset import Ruleset
from ldapdiag.evidence.sockets import SS_COMMAND
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import alternative
from ldapdiag.servers.hosts.closing_remedies import close_at_client, close_ghosts, prove_dead
from ldapdiag.servers.hosts.host_remedies import find_drop, find_lost_state, replace_connections, set_client_keepalive
from ldapdiag.wording import are, counted

if TYPE_CHECKING:
    from ldapdiag.analysis.pairing.proof import Proof
    from ldapdiag.remedy import Remedy

SEVERAL_USED = 3
"""So many unanswered packets at one time are no packets lost by chance."""


@check(group="connections", number=MainNumber("severed", "severed connections"))
def judge(
    pairing: Pairing,
    accounts: Accounts | None = None,
    advice: IdleAdvice | None = None,
    *,
    high_connections: Annotated[int, Threshold("connections", "so many or more are high")] = 100,
    medium_connections: Annotated[int, Threshold("connections", "so many or more are medium; fewer are low")] = 10,
    high_percent: Annotated[
        float, Threshold("%", "a client's share that is high, from medium_connections on", most=100)
    ] = 50.0,
) -> Iterator[Verdict]:
    """Connections established at both ends that a middlebox on the path no longer tracks.

    ## What it looks at
    Each connection that both ends have established is looked up in the flow table of every middlebox on its path. It
    is severed if it existed when the table was taken, nothing has arrived at either end since, and the table has no
    entry for it. Such a connection is neither a ghost nor stranded: it is dead, and neither end has noticed yet. A
    middlebox counts if its table has carried this path or the routes lead through it, and if no connection in use
    lacks an entry as well.

    Where the client's table is not in the evidence, the server's connections are looked up alone. One without an entry
    is dead, severed or a ghost: which of both only the client's table shows. It counts if the middlebox lists other
    connections of the same client to the server, and each without an entry was idle for longer than those.

    - certain: the table has entries for other connections of this path, and packets of every severed one are
      unanswered (retransmissions, keepalive probes). Or none was sent; the table, known to be whole, is of this path
      or the routes of both ends lead through it; and the rules (nft list ruleset, iptables-save) drop a packet of a
      connection without an entry.
    - likely: packets of some are unanswered; or none was sent, and the kernel makes no entry for a packet in the
      middle of a connection (nf_conntrack_tcp_loose = 0), which the rules, where they were not read, then drop.
    - possible: packets are unanswered, and the table of a middlebox by route may be a selection. Or packets of two or
      more (or of the only one) were sent four times or more, and no table read shows what drops them.

    An empty table is a table. If the rules pass a packet without an entry, because they track nothing or because the
    middlebox makes a new entry for it, a missing entry proves nothing: clear. If neither rules nor counters show
    what it does, the connections are not judged.

    ## Severity
    By default:

    - high: 100 or more, or half of the client's connections when that is 10 or more.
    - medium: 10 or more; or all connections of the client, such as the only one of a replica.
    - low: fewer.

    Where packets of three or more are unanswered and none of the client's other connections is known to work, all of
    them count; where no middlebox is proven, only if ages show that none of the others has received anything since.

    ## Why it matters
    Both socket tables look healthy, but the next request on each connection is dropped: the application waits for
    its own timeout, or for minutes of retransmissions. Then the client gives up, and a ghost remains at the server.

    ## What to do
    Make the applications replace these connections now. If they were idle for longer than the middlebox keeps an
    entry, send keepalive probes earlier (see idle-timeout). If not, find out why the middlebox lost its table:
    a restart, a failover without synchronised state, a flush, or a full table (conntrack-table-full).

    ## When it is harmless
    A middlebox that makes a new entry for the next packet loses nothing, and is no finding. An administrator who has
    just flushed the table expects it; the pools recover after one timeout.
    """
    directions = [one for one in pairing.directions if one.missing is not None or one.matched or one.hides_client]
    if not directions:
        yield Clear(subject=pairing.server, reason="no connection is shown as established at both ends")
    for direction in directions:
        severed = direction.severed
        if severed.count:
            severity = severity_of(direction, high_connections, medium_connections, high_percent / 100)
            yield _finding(direction, pairing, accounts, advice, severity)
        elif severed.unanswered_ports and (direction.missing is None or not _are_possible_ghosts(direction)):
            severity = severity_of(direction, high_connections, medium_connections, high_percent / 100)
            yield _unanswered_finding(direction, pairing, accounts, severity)
        elif (missing := direction.missing) is not None:
            lacking = f"{missing.reason}; without an entry: {reason_list(severed.unproven)}"
            missing = replace(missing, reason=lacking) if severed.unproven else missing
            yield NotJudged.lacking(missing, subject=direction.subject)
        elif severed.unproven:
            count = sum(severed.unproven.values())
            yield NotJudged(
                subject=direction.subject,
                reason=f"{count:,} of {counted(direction.matched, 'connection')} established at both ends "
                f"{are(count)} not judged: {reason_list(severed.unproven)}",
                missing=_missing(severed),
                how=f"{FlowTable.how.partition(';')[0]}; at both ends: ip route, and before and after: {SS_COMMAND}"
                if not severed.lacks_rules
                else Ruleset.how,
            )
        elif direction.hides_client:
            yield NotJudged(
                subject=direction.subject,
                reason=f"no connection is shown at both ends: {reason_list(direction.ghosts.unproven)}",
                how=f"at both ends: {SS_COMMAND}",
            )
        else:
            yield Clear(subject=direction.subject, reason=_clear(direction))


def _missing(severed: Severed) -> tuple[str, ...]:
    if severed.lacks_rules:
        return (Ruleset.kind,)
    return () if severed.middlebox else (FlowTable.kind,)


def _clear(direction: Direction) -> str:
    boxes = " and ".join(sorted(direction.path.middleboxes))
    connections = f"{counted(direction.matched, 'connection')} held at both ends"
    if passed := direction.severed.passed:
        box = direction.severed.middlebox
        return f"{connections}; {passed:,} without an entry at {box}, whose rules pass the next packet of each"
    if not boxes:
        return f"{connections}; no flow table with connections of this path was read, and no packet is unanswered"
    return f"none of {connections} is known to lack an entry at {boxes}"


def _finding(
    direction: Direction, pairing: Pairing, accounts: Accounts | None, advice: IdleAdvice | None, severity: Severity
) -> Finding:
    severed = direction.severed
    proof = proof_of_severed(severed)
    owners = accounts.of_severed_connections(direction) if accounts else None
    return Finding(
        subject=direction.subject,
        key=direction.key,
        severity=severity,
        confidence=Confidence(proof.degree),
        title=_title(direction, pairing.host),
        detail="\n".join([*_unread(direction), *_not_counted(severed), *severed_sentences(severed), proof.because]),
        observed=direction.observed
        | {
            "severed": severed.count,
            "severed_client_ports": list(severed.ports),
            "unanswered": severed.unanswered,
            "unproven": sum(severed.unproven.values()),
            "middlebox": severed.middlebox,
            "idle_seconds": severed.idle_seconds[0] if severed.idle_seconds else None,
            "style": str(Style.SILENT_DROP if severed.unanswered else Style.UNKNOWN),
            "accounts": owners,
        },
        server=pairing.server,
        hosts=tuple(sorted({*direction.client_hosts, pairing.host, severed.middlebox})),
        remedies=tuple(severed_remedies(direction, pairing.host, proof, advice)),
        origins=direction.origins,
    )


def _are_possible_ghosts(direction: Direction) -> bool:
    """Return whether ghost-connections reports the unanswered connections of a client that was not read."""
    return 2 * len(direction.ghosts.possible_ports) >= max(1, direction.server_count)


def _unanswered_finding(
    direction: Direction, pairing: Pairing, accounts: Accounts | None, severity: Severity
) -> Finding:
    """Return the finding of connections that do not work now, of which no middlebox is known to be the cause."""
    severed, of = direction.severed, _all_of(direction)
    ports, clients = severed.unanswered_ports, client_names(direction)
    shown = replace(direction, severed=replace(severed, ports=ports, unanswered=len(ports)))
    return Finding(
        subject=direction.subject,
        key=direction.key,
        severity=severity,
        confidence=Confidence.POSSIBLE,
        title=f"Packets on {len(ports):,} of {counted(of, 'connection')} of {clients} to {pairing.host} are unanswered",
        detail="\n".join([*_unread(direction), *unanswered_sentences(severed, of - len(ports))]),
        observed=direction.observed
        | {
            "severed": 0,
            "severed_client_ports": [],
            "unanswered": len(ports),
            "unproven": sum(severed.unproven.values()),
            "middlebox": None,
            "idle_seconds": None,
            "style": str(Style.UNKNOWN),
            "accounts": accounts.of_severed_connections(shown) if accounts else None,
        },
        server=pairing.server,
        hosts=tuple(sorted({*direction.client_hosts, pairing.host})),
        remedies=tuple(unanswered_remedies(direction)),
        origins=direction.origins,
    )


def _unread(direction: Direction) -> Iterator[str]:
    """Yield what is not known of connections whose client was not read."""
    if direction.missing is not None and direction.server_count:
        yield (
            f"Each is a ghost, or severed if {direction.client} still has it: dead either way. Which is not known, "
            f"because its end was not read: {direction.missing.reason}."
        )


def _not_counted(severed: Severed) -> Iterator[str]:
    """Yield how many connections without an entry are not counted, and why."""
    if count := sum(severed.unproven.values()):
        only = next(iter(severed.unproven)) if len(severed.unproven) == 1 else ""
        reasons = f" ({only})" if only else f": {reason_list(severed.unproven)}"
        yield f"Not counted: {counted(count, 'connection')} that may be live or dead{reasons}."


def _title(direction: Direction, server: str) -> str:
    """Return the title; behind a NAT, the server's end of each connection is not known."""
    unproven = sum(direction.severed.unproven.values())
    title = _counted_title(direction, server)
    return f"{title}; {unproven:,} more are not judged" if unproven > direction.severed.count else title


def _counted_title(direction: Direction, server: str) -> str:
    severed, clients = direction.severed, client_names(direction)
    exist = "exists" if severed.count == 1 else "exist"
    if direction.missing is not None and direction.server_count:
        connections = f"{severed.count:,} of the {counted(direction.server_count, 'connection')} from {clients}"
        return f"{connections} no longer {exist} at {severed.middlebox} between {clients} and {server}"
    if direction.missing is not None:
        connections = f"{severed.count:,} of the {direction.client_count:,} connections of {clients} to {server}"
        return f"{connections} no longer {exist} at {severed.middlebox}, which translates their address"
    connections = f"{severed.count:,} of the {direction.matched:,} connections that {clients} and {server} both have"
    return f"{connections} no longer {exist} at {severed.middlebox} between them"


def _all_of(direction: Direction) -> int:
    """Return how many connections the client has, as far as both ends, or the one that was read, show."""
    return direction.matched or direction.client_count or direction.server_count


def _none_works(severed: Severed, of: int) -> bool:
    """Return whether those that were used are unanswered, and no other connection is known to work."""
    return severed.unanswered >= SEVERAL_USED and severed.count + sum(severed.unproven.values()) >= of


def severity_of(direction: Direction, high: int, medium: int, share: float) -> Severity:
    """Return how bad it is, by the connections that are high and medium, and the share of the client's that is high."""
    severed, of = direction.severed, _all_of(direction)
    unanswered = len(severed.unanswered_ports)
    if severed.count:
        count = of if _none_works(severed, of) else severed.count
    else:
        count = of if severed.none_works and unanswered >= SEVERAL_USED else unanswered
    if count < medium:
        return Severity.MEDIUM if count == of else Severity.LOW
    return Severity.HIGH if count >= high or count >= share * of else Severity.MEDIUM


def severed_remedies(direction: Direction, server: str, proof: Proof, advice: IdleAdvice | None) -> Iterator[Remedy]:
    """Yield the remedies for the severed connections of a direction, in order.

    Sockets are closed by command only where each is proven dead.
    """
    severed, clients = direction.severed, client_names(direction)
    replacing = replace_connections(clients, direction.server_address, severed.count)
    unread = direction.missing is not None and direction.server_count > 0
    if unread and proof.degree != "certain":
        proving = prove_dead(direction.client, severed.count, is_read=False)
        yield replace(proving, title=f"prove: {proving.title[0].lower()}{proving.title[1:]}")
        yield replacing
    elif proof.degree == "certain" and not direction.path.translated_by:
        endpoint = direction.server_address, direction.server_port
        # Behind a NAT the server's end of each is not known.
        known = direction.missing is None
        at_client = close_at_client(clients, direction.client if known else "", endpoint, severed.ports)
        at_server = close_ghosts(server, endpoint, direction.client, severed.ports) if known or unread else None
        if at_client is not None:
            yield at_client
            replacing = alternative(replacing)
        yield replacing
        if at_server is not None:
            yield at_server
    else:
        yield replacing
    if severed.expired_seconds is None:
        yield find_lost_state(severed.middlebox)
    elif advice is not None and advice.keepalive_seconds is not None:
        for host in direction.client_hosts:
            yield set_client_keepalive(host, advice.keepalive_seconds)


def unanswered_remedies(direction: Direction) -> Iterator[Remedy]:
    """Yield the remedies for connections whose packets are unanswered, where no middlebox is proven to be the cause."""
    clients, address = client_names(direction), direction.server_address
    yield replace_connections(clients, address, len(direction.severed.unanswered_ports))
    yield find_drop(clients, address, direction.server_port)
