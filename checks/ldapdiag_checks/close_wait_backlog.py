"""close-wait-backlog: connections that one end has closed while the other end does not notice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ldapdiag.analysis.hosts import Host
from ldapdiag.analysis.rows import End, endpoints_of, hidden, ldap_rows
from ldapdiag.analysis.servers import DirectoryServer
from ldapdiag.check import check
from ldapdiag.evidence.sockets import SocketTable, TcpState
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict

MANY, SOME = 100, 10
SHARE = 0.1
SEVERAL = "several clients"


@check
def judge(host: Host, servers: tuple[DirectoryServer, ...], hosts: tuple[Host, ...]) -> Iterator[Verdict]:
    """Connections that the peer has closed and this end keeps.

    ## What it looks at
    LDAP sockets in the state CLOSE-WAIT: the peer has sent its last word, and the program at this end has not closed.
    At the server they are counted by client (clients with fewer than 10 each are taken together when they add up to
    10 or more: `peer` is null), at the client by the endpoint they lead to.

    high: 100 or more. medium: 10 or more. info: fewer. At the server one step worse (critical, high, low) when those
    of all clients are 10 % or more of its open connections.

    ## Why it matters
    Each holds a descriptor, and no timeout of TCP ends it. At the server it means that the server does not close:
    its threads are stuck, or too few (389-ds issue #5576). At the client it means that the server or a proxy has
    closed, most often for idleness, and the application has not noticed: its pool will hand out dead connections.

    ## What to do
    At the server: take a stack trace of the process before anybody restarts it, and see worker-saturation. At the
    client: let the pool test a connection before it hands it out, and give it a maximum idle time below the idle
    timeout of the server and of every proxy between.

    ## When it is harmless
    Fewer than 10, for seconds: each socket is in this state from the peer's FIN until its program calls close.
    """
    missing = hidden(host.now, host.host)
    if host.now is None:
        yield NotJudged(
            subject=host.host, reason=f"no table of {host.host}'s sockets", missing=(SocketTable.kind,), how=Host.how
        )
        return
    own = frozenset[int]().union(*(server.ports for server in servers if server.host == host.host))
    known = endpoints_of(servers, hosts)
    living = ldap_rows(host.now.sockets, (TcpState.ESTABLISHED,), own, known)
    closed = ldap_rows(host.now.sockets, (TcpState.CLOSE_WAIT,), own, known)
    stuck = _of_server(closed) >= SHARE * (_of_server(closed) + _of_server(living))
    for (end, peer), rows in _taken_together(closed):
        yield _finding(host, end, peer, rows, worse=stuck and end is End.SERVER)
    for end, peer in sorted({*living, *closed} - {*closed}) or ([] if closed else [(None, host.host)]):
        subject = _subject(host, end, peer) if end else host.host
        if missing is not None:
            yield NotJudged(subject=subject, reason=missing.reason, missing=missing.lacks, how=missing.how)
        else:
            yield Clear(subject=subject, reason=f"none of {len(living.get((end, peer), ()))} is in CLOSE-WAIT")
