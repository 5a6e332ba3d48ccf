"""accept-queue-overflow: more connections waiting to be accepted than the backlog allows."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.load.accept_queue import AcceptQueue, accept_queues
from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.check import MainNumber, check
from ldapdiag.evidence.host_facts import TcpCounters
from ldapdiag.evidence.sockets import SS_COMMAND, SocketTable
from ldapdiag.finding import NEXT, NO_COMMAND, Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Remedy
from ldapdiag.wording import are, counted

OVERFLOWS = "TcpExtListenOverflows"
LEAST_BACKLOG = 1024
HOW = f"on the server: {SS_COMMAND}; nstat -az > nstat.txt"

HOW_WHILE = f"while connections fail, on the server: {SS_COMMAND}"


@check(group="server", number=MainNumber("waiting", "connections that wait to be accepted"))
def judge(server: Instance, host: Host, descriptors: Descriptors | None = None) -> Iterator[Verdict]:
    """More connections waiting to be accepted than the backlog allows.

    ## What it looks at
    Each listening LDAP socket in ss: Recv-Q is the number of connections that wait to be accepted, Send-Q the
    backlog; the queue is full when Recv-Q exceeds Send-Q. netstat and /proc do not show the backlog. nstat counts
    TcpExtListenOverflows since boot, for the listeners of all programs together. Established sockets without an
    inode are connections that wait to be accepted.

    ## Severity
    - critical: full, and it stands: an earlier snapshot shows it full, too, or a connection has waited for 2 s (ss -i).
    - high: full now, and nstat counted overflows.
    - medium: full now, which a burst of new connections looks like as well (likely); or some wait, it is not seen
      full, and nstat counted overflows.
    - low: none waits, and nstat counted overflows (possible: they may be those of another program). Not judged
      where the host has several directory servers.

    Connections that wait for a server without free descriptors are a part of descriptor-headroom, unless the queue is
    full.

    ## Why it matters
    A client in the queue is connected from its point of view, and its bind gets no answer. When the queue is full,
    the kernel drops the SYN of new clients, which time out. cn=monitor shows none of them.

    ## What to do
    Find out why the server does not accept: see descriptor-headroom (a server without descriptors stops accepting)
    and worker-saturation. A longer backlog helps only a server that keeps up and receives bursts of new
    connections.

    ## When it is harmless
    An overflow long ago: after a restart every client connects at once.
    """
    overflows = _counted(server, OVERFLOWS)
    queues = tuple(accept_queues(host, server.ports))
    for queue in queues:
        subject, severity = f"{server.name}:{queue.port}", severity_of(queue, overflows)
        exhausted = descriptors is not None and descriptors.accepts_few
        if exhausted and queue.waiting and not queue.full:
            reason = f"{_waiting(queue)} to be accepted by a server without free descriptors: see descriptor-headroom"
            yield Clear(subject=subject, reason=reason)
        elif severity is Severity.LOW and not server.is_only:
            reason = f"{_overflowed(server)}, and it has several servers: nstat does not tell their queues apart"
            yield NotJudged.without(SocketTable, subject, reason, how=HOW_WHILE)
        elif severity is not None:
            yield _finding(server, host, queue, severity, exhausted=exhausted)
        elif queue.backlog is None:
            reason = f"{_waiting(queue)} to be accepted, and the table does not show the backlog"
            yield NotJudged(subject=subject, reason=reason, missing=(SocketTable.kind, TcpCounters.kind), how=HOW)
        else:
            yield Clear(subject=subject, reason=f"{_waiting(queue)} to be accepted, the backlog is {queue.backlog:,}")
    if not queues:
        overflowed = (
            f", and nstat counted {counted(overflows, 'overflow')} of listeners since boot" if overflows else ""
        )
        reason = f"no table shows {server.name}'s listening LDAP sockets with their queues{overflowed}"
        yield NotJudged.without(SocketTable, server.name, reason, how=HOW)


def severity_of(queue: AcceptQueue, overflows: int) -> Severity | None:
    """Return how bad it is, by the numbers of the manual page; None without a sign of an overflow."""
    if queue.full:
        return Severity.CRITICAL if queue.stands else Severity.HIGH if overflows else Severity.MEDIUM
    if not overflows:
        return None
    return Severity.MEDIUM if queue.waiting else Severity.LOW


def _counted(server: Instance, name: str) -> int:
    return server.counters.values.get(name, 0) if server.counters else 0


def _finding(server: Instance, host: Host, queue: AcceptQueue, severity: Severity, *, exhausted: bool) -> Finding:
    unseen = Confidence.LIKELY if queue.waiting else Confidence.POSSIBLE
    return Finding(
        subject=f"{server.name}:{queue.port}",
        severity=severity,
        confidence=Confidence.CERTAIN if queue.stands else unseen,
        title=_title(server, queue),
        detail="\n".join(_sentences(server, queue, exhausted=exhausted)),
        observed={"server": server.name, "waiting": queue.waiting, "backlog": queue.backlog},
        server=server.name,
        hosts=(server.host,),
        remedies=() if exhausted else _remedies(server, queue),
        origins=tuple(sorted({*(host.latest.origins if host.latest else ()), *server.origins_of(server.counters)})),
    )


def _title(server: Instance, queue: AcceptQueue) -> str:
    wait = f"{_waiting(queue)} to be accepted on {server.name}:{queue.port}"
    if queue.full:
        return f"{wait}, the backlog is {queue.backlog:,}: the SYN of new clients is dropped"
    return f"{wait}, and {_overflowed(server)}"


def _overflowed(server: Instance) -> str:
    overflows = counted(_counted(server, OVERFLOWS), "time")
    return f"an accept queue of {server.host} has overflowed {overflows} since boot"


def _waiting(queue: AcceptQueue) -> str:
    return f"{counted(queue.waiting, 'connection')} {'waits' if queue.waiting == 1 else 'wait'}"


def _sentences(server: Instance, queue: AcceptQueue, *, exhausted: bool) -> Iterator[str]:
    if queue.full or queue.waiting:
        yield "A waiting client is connected from its point of view, and its bind gets no answer."
    if queue.not_accepted:
        established = counted(queue.not_accepted, "established connection")
        yield f"{established} {are(queue.not_accepted)} not accepted yet (inode 0)."
    if queue.full_before:
        yield "An earlier snapshot shows the queue full, too: this is not a burst."
    elif queue.stands:
        yield f"The first of them has waited for {queue.waited_seconds:,.0f} s or more: this is not a burst."
    elif queue.full:
        yield f"A burst of new connections fills it for a moment, too: see it again 5 s later ({SS_COMMAND})."
    if overflows := _counted(server, OVERFLOWS):
        drops = counted(_counted(server, "TcpExtListenDrops"), "new connection")
        yield f"nstat: a queue was full {counted(overflows, 'time')}, {drops} dropped (all programs together)."
    if exhausted:
        yield (
            f"{NO_COMMAND}the server has no free descriptor, so no backlog is long enough; ghost-connections and "
            "descriptor-headroom free some."
        )
        return
    if server.product is None or not queue.full:
        yield f"{NEXT}see the queue again while clients wait, it is not full now: {SS_COMMAND}."
    yield "See descriptor-headroom and worker-saturation for why the server does not accept them."


def _remedies(server: Instance, queue: AcceptQueue) -> tuple[Remedy, ...]:
    if server.product is None or not queue.full:
        return ()
    current = server.configuration.listen_backlog if server.configuration else None
    wanted = max(LEAST_BACKLOG, 2 * queue.waiting)
    raised = server.product.remedies.raise_backlog(server.address, current, wanted, server.version)
    return (server.address.adapt(raised),)
