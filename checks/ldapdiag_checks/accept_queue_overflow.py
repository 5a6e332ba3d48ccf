"""accept-queue-overflow: connections that wait to be accepted, more than the backlog holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ldapdiag.analysis.hosts import Host
from ldapdiag.analysis.looks import Look
from ldapdiag.analysis.servers import DirectoryServer
from ldapdiag.check import check
from ldapdiag.evidence.host_facts import TcpCounters
from ldapdiag.evidence.sockets import SocketTable, TcpState
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict

HOW = "on the server: ss -tane > sockets.txt; nstat -az > nstat.txt"


@check
def judge(server: DirectoryServer, host: Host) -> Iterator[Verdict]:
    """Connections waiting to be accepted, more than the backlog holds.

    ## What it looks at
    Each listening LDAP socket as ss shows it: Recv-Q is the number of connections that wait to be accepted, Send-Q
    the backlog; the queue is full when Recv-Q is the larger. netstat and /proc show no backlog. Since the last start
    of the machine nstat counts TcpExtListenOverflows, for the listeners of all programs together. Established sockets
    without an inode are connections that wait to be accepted.

    critical: full now, and nstat has counted overflows or an earlier look shows it full, too. high: full now.
    medium: some wait, fewer than the queue holds or an unknown part of it, and nstat has counted overflows. low: none
    waits, and nstat has counted overflows (`possible`: another program's listener may be meant).

    ## Why it matters
    A client in the queue believes that it is connected, and its bind gets no answer. When the queue is full, the
    kernel drops the packets of new clients, who time out. cn=monitor shows none of them.

    ## What to do
    Find out why the server does not accept: see descriptor-headroom (out of descriptors it stops accepting) and
    worker-saturation. Only where a server that keeps up meets bursts of new connections does a longer backlog help.

    ## When it is harmless
    An overflow long ago: after a restart every client connects at once.
    """
    queues = [_queue(host, port) for port in sorted(server.ports)] if host.now else []
    if host.now is None or not (known := [queue for queue in queues if queue is not None]):
        reason = f"no table with {server.host}'s listening LDAP sockets"
        yield NotJudged(subject=server.host, reason=reason, missing=(SocketTable.kind,), how=HOW)
        return
    overflows = _count(server.counters, "TcpExtListenOverflows")
    for queue in known:
        subject = f"{server.host}:{queue.port}"
        if (severity := severity_of(queue, overflows)) is not None:
            yield _finding(server, host.now, queue, severity)
        elif queue.backlog is None:
            reason = f"{queue.waiting} wait; {'+'.join(host.now.tellings)} does not show how many may"
            yield NotJudged(subject=subject, reason=reason, missing=(SocketTable.kind, TcpCounters.kind), how=HOW)
        else:
            yield Clear(subject=subject, reason=f"{queue.waiting} wait to be accepted, {queue.backlog} may")


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The accept queue of one port."""

    port: int
    waiting: int
    backlog: int | None
    """None: the table does not show it."""
    full_before: bool = False
    """An earlier look shows it full."""

    @property
    def full(self) -> bool:
        """Tell whether the kernel turns new connections away: it queues one more than the backlog."""
        return self.backlog is not None and self.waiting > self.backlog


def severity_of(queue: Queue, overflows: int) -> Severity | None:
    """Return how bad it is, by the numbers of the manual page; None when nothing speaks of an overflow."""
    if queue.full:
        return Severity.CRITICAL if overflows or queue.full_before else Severity.HIGH
    if not overflows:
        return None
    return Severity.MEDIUM if queue.waiting else Severity.LOW


def _queue(host: Host, port: int) -> Queue | None:
    """Return the fullest queue of a port (a port may have a socket for each address), in the latest look."""
    looks = [max(_listeners(look, port), key=lambda queue: queue.waiting - (queue.backlog or 0), default=None) for look in host.looks]
    if not looks or looks[-1] is None:
        return None
    return Queue(port=port, waiting=looks[-1].waiting, backlog=looks[-1].backlog, full_before=any(queue.full for queue in looks[:-1] if queue))


def _listeners(look: Look, port: int) -> Iterator[Queue]:
    table = look.sockets
    if table.receive_queue is None or table.send_queue is None:
        return
    for row, (state, local) in enumerate(zip(table.state, table.local_port, strict=True)):
        if state is TcpState.LISTEN and local == port:
            yield Queue(port=port, waiting=table.receive_queue[row], backlog=table.send_queue[row] or None)


def _count(counters: TcpCounters | None, name: str) -> int:
    return counters.values.get(name, 0) if counters else 0


def _finding(server: DirectoryServer, look: Look, queue: Queue, severity: Severity) -> Finding:
    counted = [f"{name} {count}" for name in ("ListenOverflows", "ListenDrops") if (count := _count(server.counters, f"TcpExt{name}"))]
    may = "an unknown number" if queue.backlog is None else str(queue.backlog)
    ...
