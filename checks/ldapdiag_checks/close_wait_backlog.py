"""close-wait-backlog: connections that the peer has closed and this end keeps open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.hosts.ldap_sockets import End, Peer, endpoints_of, rows_by_peer, why_incomplete
from ldapdiag.analysis.hosts.listeners import is_relay
from ldapdiag.analysis.hosts.snapshots import Snapshot
from ldapdiag.analysis.pairing.snapshot_order import STANDS_SECONDS, Stay, stays
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.sockets import SS_COMMAND, SocketTable, TcpState
from ldapdiag.finding import NO_COMMAND, Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Remedy
from ldapdiag.servers.client_settings.client_advice import close_at_end_of_file
from ldapdiag.servers.hosts.hang_remedies import save_state
from ldapdiag.wording import are, counted, number

Groups = Mapping[Peer, Sequence[int]]
OPEN = frozenset({TcpState.ESTABLISHED, TcpState.CLOSE_WAIT})
HOW = f"{SS_COMMAND} (it shows ages; netstat, /proc: twice, 5 s apart)"


@check(group="server", number=MainNumber("connections", "connections in CLOSE_WAIT"))
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
    LDAP sockets that stand in CLOSE-WAIT: the peer has closed, and the program at this end has not. Each socket is in
    this state for a moment, so one counts if its last segment arrived 2 s ago or more (lastack of ss -i), or if a
    snapshot 2 s earlier or more shows the same socket in CLOSE-WAIT. Where neither an age nor a second snapshot was
    read, 10 or more are not judged. At the server they are counted by client address (clients with fewer than 10 each
    are counted together when they have 10 or more in total), at the client by the server's endpoint.

    - certain: the table shows ages or socket numbers (ss -tanoiep).
    - likely: otherwise, because a client may have used a port again.

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
    Fewer than 10, for seconds.
    """
    known = endpoints_of(servers, hosts)
    snapshots = [(host, host.latest) for host in hosts if host.latest is not None]
    for host, snapshot in snapshots:
        here = [server for server in servers if server.host == host.host]
        connections = rows_by_peer(snapshot.sockets, OPEN, here, known)
        limits = (high_connections, medium_connections, stuck_percent / 100)
        yield from _judge_host(host, snapshot, connections, here, limits)
    if not snapshots:
        yield NotJudged.without(SocketTable, None, "the evidence contains no socket table", how=Host.how)


def _judge_host(
    host: Host, snapshot: Snapshot, connections: Groups, servers: Sequence[Instance], limits: tuple[int, int, float]
) -> Iterator[Verdict]:
    high, medium, share = limits
    closed = {peer: waiting for peer, rows in connections.items() if (waiting := _waiting(snapshot, rows))}
    stay = dict(stays(host.snapshots, (row for rows in closed.values() for row in rows)))
    standing = _only(Stay.STANDS, closed, stay)
    for peer, rows in sorted(_taken_together(standing, medium).items()):
        proxy = _is_of_proxy(snapshot, peer, rows, servers)
        stuck = _at_server(standing, peer.server) >= share * _at_server(connections, peer.server)
        worse = stuck and peer.end is End.SERVER and not proxy
        severity = severity_of(len(rows), high, medium, worse=worse)
        yield _finding(host, snapshot, peer, rows, severity, proxy=proxy)
    others = {peer: rows for peer, rows in closed.items() if peer not in standing}
    undecided = _taken_together(_only(Stay.UNKNOWN, others, stay), medium)
    undecided = {peer: rows for peer, rows in undecided.items() if len(rows) >= medium}
    for peer, rows in sorted(undecided.items()):
        yield _not_judged(host, peer, len(rows))
    passed_over = {row for rows in undecided.values() for row in rows}
    decided = {
        peer: rows
        for peer, rows in connections.items()
        if peer not in standing and passed_over.isdisjoint(closed.get(peer, ()))
    }
    yield from _without_finding(host, snapshot, decided, closed, is_empty=not connections)


def _only(wanted: Stay, groups: Groups, stay: Mapping[int, Stay]) -> Groups:
    """Return the groups of the rows that stay like this."""
    chosen = {peer: [row for row in rows if stay[row] is wanted] for peer, rows in groups.items()}
    return {peer: rows for peer, rows in chosen.items() if rows}


def _without_finding(
    host: Host, snapshot: Snapshot, connections: Groups, closed: Groups, *, is_empty: bool
) -> Iterator[Verdict]:
    """Yield the verdict of each peer without a finding; of the host itself when it has no connection at all."""
    missing = why_incomplete(snapshot, host.host)
    subjects = {
        _subject(host, peer): _passing(rows, closed.get(peer, ())) for peer, rows in sorted(connections.items())
    }
    for subject, reason in ({host.host: _passing((), ())} if is_empty else subjects).items():
        if missing is not None:
            yield NotJudged.lacking(missing, subject=subject)
        else:
            yield Clear(subject=subject, reason=reason)


def _passing(rows: Sequence[int], closed: Sequence[int]) -> str:
    some = f"{len(closed):,} in CLOSE-WAIT, not seen to stay there for {STANDS_SECONDS:.0f} s"
    return f"{counted(len(rows), 'open LDAP connection')}, {some if closed else 'none in CLOSE-WAIT'}"


def _not_judged(host: Host, peer: Peer, count: int) -> NotJudged:
    return NotJudged.without(
        SocketTable,
        _subject(host, peer),
        f"{counted(count, 'socket')} in CLOSE-WAIT in one snapshot without ages, which does not show whether "
        "they stand: every connection is in this state for a moment when its peer closes it",
        how=f"on {host.host}: {HOW}",
    )


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
        confidence=Confidence.CERTAIN if _shows_identity(snapshot.sockets) else Confidence.LIKELY,
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
        remedies=_remedies(host, peer, owner, proxy=proxy),
        origins=snapshot.origins,
    )


def _remedies(host: Host, peer: Peer, owner: str | None, *, proxy: bool) -> tuple[Remedy, ...]:
    """Return what shows why the server does not close, or what its client has to do; a proxy waits for others."""
    if proxy:
        return ()
    if peer.end is End.SERVER:
        return (save_state(peer.server, None, owner or "", ldapi="", stopped=False),)
    return (close_at_end_of_file(host.host, peer.name or "the servers"),)


def _shows_identity(table: SocketTable) -> bool:
    return any(column is not None for column in (table.last_acknowledged, table.cookie, table.inode))


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
        yield f"{NO_COMMAND}see the sockets of the {side} in CLOSE-WAIT, and proxy-held-connections."
    elif peer.end is End.SERVER:
        yield "The server does not close them (CLOSE-WAIT): its threads are blocked, or too few."
        waiting = sum(snapshot.sockets.inode[row] == 0 for row in rows) if snapshot.sockets.inode else 0
        if waiting:
            yield f"{number(waiting)} of them {are(waiting)} not even accepted (inode 0): see accept-queue-overflow."
    else:
        yield "The server or a proxy closed them, and the application has not noticed (CLOSE-WAIT)."
        yield "Let its pool test a connection before use; keep its maximum idle time below the server's idle timeout."
