"""close-wait-backlog: connections that the peer has closed and this end keeps open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.hosts.ldap_sockets import End, Peer, endpoints_of, rows_by_peer, why_incomplete
from ldapdiag.analysis.hosts.listeners import is_relay
from ldapdiag.analysis.hosts.snapshots import Snapshot
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.sockets import SocketTable, TcpState
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.wording import are, counted, number

Groups = Mapping[Peer, Sequence[int]]
OPEN = frozenset({TcpState.ESTABLISHED, TcpState.CLOSE_WAIT})


@check(number=MainNumber("connections"))
def judge(
    hosts: tuple[Host, ...],
    servers: tuple[Instance, ...],
    *,
    high_connections: Annotated[int, Threshold("connections", "so many of one peer or more are high")] = 100,
    medium_connections: Annotated[int, Threshold("connections", "so many or more are medium; fewer are info")] = 10,
    stuck_percent: Annotated[
        float, Threshold("%", "so much of a server's open connections or more is one step higher there", most=100)
    ] = 10.0,
) -> Iterator[Verdict]:
    """Connections that the peer has closed and this end keeps open.

    ## What it looks at
    LDAP sockets in CLOSE-WAIT: the peer has closed, and the program at this end has not. At the server they are
    counted by client address (clients with fewer than 10 each are counted together when they have 10 or more in
    total), at the client by the server's endpoint.

    ## Severity
    By default:

    - high: 100 or more.
    - medium: 10 or more.
    - info: fewer.

    At the server one step higher (critical, high, low) when those of all clients are 10 % or more of its open
    connections.

    ## Why it matters
    Each uses a descriptor, and no TCP timeout closes it. At the server it means that the server does not close: its
    threads are blocked, or too few (389-ds issue #5576). At the client it means that the server or a proxy closed
    the connection, most often because it was idle, and the application has not noticed: its pool will hand out dead
    connections.

    ## What to do
    At the server: take a stack trace of the process before it is restarted, and see worker-saturation. At the
    client: configure the pool to test a connection before use, with a maximum idle time below the idle timeout of
    the server and of every proxy on the path. A proxy waits for its other side: see the sockets there.

    ## When it is harmless
    Fewer than 10, for seconds: each socket is in this state from the peer's FIN until its program calls close.
    """
    known = endpoints_of(servers, hosts)
    snapshots = [(host, host.latest) for host in hosts if host.latest is not None]
    for host, snapshot in snapshots:
        here = [server for server in servers if server.host == host.host]
        connections = rows_by_peer(snapshot.sockets, OPEN, here, known)
        limits = (high_connections, medium_connections, stuck_percent / 100)
        yield from _judge_host(host, snapshot, connections, here, limits)
    if not snapshots:
        reason = "the evidence contains no socket table"
        yield NotJudged(subject=None, reason=reason, missing=(SocketTable.kind,), how=Host.how)


def _judge_host(
    host: Host, snapshot: Snapshot, connections: Groups, servers: Sequence[Instance], limits: tuple[int, int, float]
) -> Iterator[Verdict]:
    high, medium, share = limits
    closed = {peer: waiting for peer, rows in connections.items() if (waiting := _waiting(snapshot, rows))}
    for peer, rows in sorted(_taken_together(closed, medium).items()):
        proxy = _is_of_proxy(snapshot, peer, rows, servers)
        stuck = _at_server(closed, peer.server) >= share * _at_server(connections, peer.server)
        worse = stuck and peer.end is End.SERVER and not proxy
        severity = severity_of(len(rows), high, medium, worse=worse)
        yield _finding(host, snapshot, peer, rows, severity, proxy=proxy)
    missing = why_incomplete(snapshot, host.host)
    for subject, count in _without_finding(host, connections, closed):
        if missing is None:
            yield Clear(subject=subject, reason=f"{counted(count, 'open LDAP connection')}, none in CLOSE-WAIT")
        else:
            yield NotJudged.lacking(missing, subject=subject)


def _is_of_proxy(snapshot: Snapshot, peer: Peer, rows: Sequence[int], servers: Sequence[Instance]) -> bool:
    """Return whether these sockets are a proxy's: by the ports that it serves, or by their program."""
    if peer.end is End.SERVER:
        return any(server.proxy for server in servers if server.name == peer.server)
    owner = snapshot.sockets.owner_of(rows)
    return is_relay(owner) if owner else bool(servers) and all(server.proxy for server in servers)


def severity_of(count: int, high: int, medium: int, *, worse: bool) -> Severity:
    """Return how bad it is, by the connections that are high and medium; `worse`: one step higher."""
    severity = Severity.HIGH if count >= high else Severity.MEDIUM if count >= medium else Severity.INFO
    return Severity(severity + worse)


def _without_finding(host: Host, connections: Groups, closed: Groups) -> Iterator[tuple[str, int]]:
    """Yield the subjects without a finding, and their connections; the host itself when it has none at all."""
    if not connections:
        yield host.host, 0
    for peer in sorted(set(connections) - set(closed)):
        yield _subject(host, peer), len(connections[peer])


def _waiting(snapshot: Snapshot, rows: Sequence[int]) -> list[int]:
    return [row for row in rows if snapshot.sockets.state[row] is TcpState.CLOSE_WAIT]


def _at_server(groups: Groups, server: str) -> int:
    return sum(len(rows) for peer, rows in groups.items() if peer.end is End.SERVER and peer.server == server)


def _taken_together(closed: Groups, some: int) -> Groups:
    """Return the groups; a server's clients with few connections each become one group if they have some in total."""
    taken = dict(closed)
    for server in {peer.server for peer in closed if peer.end is End.SERVER}:
        few = [peer for peer in closed if peer.end is End.SERVER and peer.server == server and len(closed[peer]) < some]
        if len(few) >= 2 and sum(len(closed[peer]) for peer in few) >= some:
            taken[Peer(End.SERVER, "", server)] = [row for peer in few for row in taken.pop(peer)]
    return taken


def _subject(host: Host, peer: Peer) -> str:
    name = peer.name or "several clients"
    return f"{name} -> {peer.server}" if peer.end is End.SERVER else f"{host.host} -> {name}"


def _finding(
    host: Host, snapshot: Snapshot, peer: Peer, rows: Sequence[int], severity: Severity, *, proxy: bool
) -> Finding:
    owner = snapshot.sockets.owner_of(rows)
    return Finding(
        subject=_subject(host, peer),
        key=f"{peer.server if peer.end is End.SERVER else host.host}|{peer.end}|{peer.name or 'several clients'}",
        severity=severity,
        confidence=Confidence.CERTAIN,
        title=_title(host, peer, len(rows), owner, proxy=proxy),
        detail="\n".join(_sentences(snapshot, peer, rows, proxy=proxy)),
        observed={
            "host": host.host,
            "end": str(peer.end),
            "peer": peer.name or None,
            "connections": len(rows),
            "owner": owner,
        },
        server=peer.server or None,
        hosts=(host.host,),
        origins=snapshot.origins,
    )


def _title(host: Host, peer: Peer, count: int, owner: str | None, *, proxy: bool) -> str:
    at_server = peer.end is End.SERVER
    program = owner or ("The proxy" if proxy else "The server" if at_server else "An application")
    place = peer.server if at_server else host.host
    closed = f"{program} on {place} keeps {counted(count, 'connection')} that {peer.name or 'its clients'} closed"
    return f"{closed}, until its {'server' if at_server else 'client'} does" if proxy else closed


def _sentences(snapshot: Snapshot, peer: Peer, rows: Sequence[int], *, proxy: bool) -> Iterator[str]:
    if proxy:
        side = "server behind it" if peer.end is End.SERVER else "clients"
        yield "A proxy passes a close on, and keeps its own socket open (CLOSE-WAIT) until the other side has closed."
        yield f"See the sockets of the {side} in CLOSE-WAIT, and proxy-held-connections."
    elif peer.end is End.SERVER:
        yield "The server does not close them (CLOSE-WAIT): its threads are blocked, or too few."
        waiting = sum(snapshot.sockets.inode[row] == 0 for row in rows) if snapshot.sockets.inode else 0
        if waiting:
            yield f"{number(waiting)} of them {are(waiting)} not even accepted (inode 0): see accept-queue-overflow."
    else:
        yield "The server or a proxy closed them, and the application has not noticed (CLOSE-WAIT)."
        yield "Let its pool test a connection before use; keep its maximum idle time below the server's idle timeout."
