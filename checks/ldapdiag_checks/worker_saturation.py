"""worker-saturation: servers whose threads are all at work while operations wait."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.servers import DirectoryServer
from ldapdiag.check import check
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Remedy

BUSY = 0.8
PUBLISHES = (
    "OpenLDAP shows its threads in cn=Threads,cn=Monitor (ask for '*' and '+'); 389-ds shows currentbusyworkers and "
    "currentworkqueue in releases after May 2026 (issue #7307: 1.4.3, 2.7, 2.8, 3.0, 3.1 and later branches)"
)


@check
def judge(server: DirectoryServer) -> Iterator[Verdict]:
    """Worker threads that are all busy while operations wait.

    ## What it looks at
    The threads of cn=monitor: how many there are, how many work on an operation at that moment, how many operations
    wait for one, and (389-ds) how many connections use as many threads as one connection may. Servers count a few
    threads that never work on operations, so 80 % busy with operations waiting is as good as all.

    critical: 80 % or more are busy, and at least as many operations wait as there are threads. high: all are busy, or
    80 % with an operation waiting. medium: 80 % are busy, or as many operations wait as there are threads. low: none
    of these, but a connection is at its limit of threads: its next operations wait for its own.

    ## Why it matters
    Every operation of every client waits until a thread is free. When the server also has no thread to read or close
    connections with, they pile up: see close-wait-backlog and accept-queue-overflow.

    ## What to do
    Look for what keeps the threads busy first: searches without an index (in 389-ds's access log notes=A, notes=U and
    a long etime), clients that do not read (stalled-reader). More threads help only where the processors are idle.

    ## When it is harmless
    A moment of it: cn=monitor is one look. Ask again a few times before anything is changed.
    """
    monitor = server.monitor
    if monitor is None:
        reason = f"no cn=monitor of {server.host}"
        yield NotJudged(subject=server.host, reason=reason, missing=(Monitor.kind,), how=Monitor.how)
        return
    threads = threads_of(server, monitor)
    severity = severity_of(monitor, threads)
    if severity is not None:
        yield _finding(server, monitor, threads, severity)
    elif monitor.busy_threads is None or not threads:
        what = "how many threads are busy" if monitor.busy_threads is None else "how many threads there are"
        reason = f"{monitor.origin.path} does not say {what}"
        yield NotJudged(subject=server.host, reason=reason, missing=(Monitor.kind,), how=PUBLISHES)
    else:
        queued = "" if monitor.queued_operations is None else f", {monitor.queued_operations} operations waiting"
        yield Clear(subject=server.host, reason=f"{monitor.busy_threads} of {threads} threads busy{queued}")


def threads_of(server: DirectoryServer, monitor: Monitor) -> int | None:
    """Return how many threads can be busy: as configured, else as counted.

    389-ds counts threads of other duties too (measured with 2.3.1: 18 with nsslapd-threadnumber 16).
    """
    configured = server.configuration.threads if server.configuration else None
    return configured if configured is not None and configured > 0 else monitor.threads


def severity_of(monitor: Monitor, threads: int | None) -> Severity | None:
    """Return how bad it is, by the numbers of the manual page; None when nothing speaks of saturation."""
    queued = monitor.queued_operations or 0
    if threads and monitor.busy_threads is not None:
        nearly_all, many_wait = monitor.busy_threads >= BUSY * threads, queued >= threads
        if nearly_all and many_wait:
            return Severity.CRITICAL
        if monitor.busy_threads >= threads or (nearly_all and queued):
            return Severity.HIGH
        if nearly_all or many_wait:
            return Severity.MEDIUM
    return Severity.LOW if monitor.connections_at_max_threads else None


def _finding(server: DirectoryServer, monitor: Monitor, threads: int | None, severity: Severity) -> Finding:
    return Finding(
        subject=server.host,
        severity=severity,
        confidence=Confidence.CERTAIN,
        title=_title(server, monitor, threads, severity),
        detail="\n".join(_sentences(monitor, severity)),
        observed={
            "server": server.host,
            "busy": monitor.busy_threads,
            "threads": threads,
            "queued": monitor.queued_operations,
            "connections_at_max_threads": monitor.connections_at_max_threads,
        },
        server=server.host,
        hosts=(server.host,),
        remedies=_remedies(server, threads, severity),
        origins=server.origins_of(monitor, server.configuration),
    )


def _title(server: DirectoryServer, monitor: Monitor, threads: int | None, severity: Severity) -> str:
    if severity is Severity.LOW:
        return f"{monitor.connections_at_max_threads} connections to {server.host} use all the threads one may have"
    waiting = "" if monitor.queued_operations is None else f", and {monitor.queued_operations} operations wait"
    return f"{monitor.busy_threads} of {threads} worker threads of {server.host} are busy{waiting}"


def _sentences(monitor: Monitor, severity: Severity) -> Iterator[str]:
    if severity is not Severity.LOW:
        yield "Every client waits for a free thread. Slow searches are the usual reason: see etime in the access log."
    if monitor.connections_at_max_threads:
        yield (
            f"{monitor.connections_at_max_threads} connections have as many operations under way as one may "
            "(nsslapd-maxthreadsperconn); what they send next waits."
        )
    yield "cn=monitor is one look: ask again before anything is changed."


def _remedies(server: DirectoryServer, threads: int | None, severity: Severity) -> tuple[Remedy, ...]:
    if severity < Severity.HIGH or server.product is None or not threads:
        return ()
    configured = server.configuration.threads if server.configuration else None
    return (server.product.remedies.raise_threads(server.host, configured, 2 * threads),)
