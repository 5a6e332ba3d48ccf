"""worker-saturation: worker threads that are all busy while operations wait."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.log.workload import BusiestWorkers, busiest_workers
from ldapdiag.check import MainNumber, check
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND, moment
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Remedy
from ldapdiag.wording import counted, percent

BUSY = 0.8
PUBLISHES = (
    "OpenLDAP: cn=Threads,cn=Monitor, with '*' and '+'; 389-ds: releases after May 2026 have currentbusyworkers and "
    "currentworkqueue in cn=monitor (issue #7307: 1.4.3, 2.7, 2.8, 3.0, 3.1 and later branches)"
)

LONG = 1 << 27
"""Nanoseconds for a worker: 134 ms, an edge of the log's histogram."""
MANY_WAITED, MOST_WAITED = 0.01, 0.1
FEWEST = 100
"""Operations; a share of fewer is not significant."""


@check(
    group="server",
    number=MainNumber(
        "queued",
        "operations that wait for a thread",
        otherwise=MainNumber("logged_waits", "operations that waited for a thread", "share", of="logged_operations"),
    ),
)
def judge(server: Instance, traffic: Traffic | None = None) -> Iterator[Verdict]:
    """Worker threads that are all busy while operations wait.

    ## What it looks at
    The threads in cn=monitor: how many there are, how many work on an operation at that moment, how many operations
    wait for one, and (389-ds) how many connections use as many threads as one connection may. Servers count a few
    threads that never work on operations, so 80 % busy with operations waiting counts as all busy. In the access
    log: how many operations waited 134 ms or more for a thread (wtime of 389-ds since 1.4.3, qtime of slapd since
    2.5 and of PingDirectory); and the longest queue, with the busy threads of that time (wqdepth, wbusy of 389-ds of
    2026).

    likely: the finding rests on the log alone; it describes the time of the log and may be over.

    ## Severity
    - critical: 80 % or more are busy, and at least as many operations wait as there are threads.
    - high: all are busy, or 80 % with an operation waiting; or 10 % or more of the operations in the log waited.
    - medium: 80 % are busy, or as many operations wait as there are threads; or 1 % or more of those in the log
      waited; or its longest queue was as long as there are threads, with 80 % of them busy. That is a peak, and may
      have lasted a moment.
    - low: none of these, but a connection is at its limit of threads: its next operations wait for its own.

    ## Why it matters
    Every operation of every client waits until a thread is free. When the server also has no thread to read or
    close connections, they accumulate: see close-wait-backlog and accept-queue-overflow.

    ## What to do
    First find what occupies the threads: slow searches (costly-search), clients that do not read (stalled-reader).
    More threads help only where the processors are idle.

    ## When it is harmless
    A moment of it: cn=monitor is one sample. Read it again a few times before you change anything.
    """
    if server.proxy:
        yield Clear(subject=server.host, reason=f"it is a {server.description}, which has no threads for operations")
        return
    monitor = server.monitor
    threads = threads_of(server, monitor)
    now, logged = severity_of(monitor, threads), severity_in_log(traffic)
    clear = _clear(monitor, threads, traffic)
    if now is not None or logged is not None:
        yield _finding(server, traffic, threads, now, logged)
    elif clear:
        yield Clear(subject=server.name, reason=clear)
    elif monitor is None:
        reason = f"no cn=monitor of {server.name}, and no access log with wait times or busy threads"
        yield NotJudged.without(Monitor, server.name, reason)
    else:
        what = "the number of busy threads" if monitor.busy_threads is None else "the number of threads"
        yield NotJudged.without(Monitor, server.name, f"{monitor.origin.path} does not contain {what}", how=PUBLISHES)


def threads_of(server: Instance, monitor: Monitor | None) -> int | None:
    """Return how many threads can be busy: as configured, else as counted.

    389-ds counts threads of other duties too (measured with 2.3.1: 18 with nsslapd-threadnumber 16).
    """
    configured = server.configuration.threads if server.configuration else None
    return configured if configured is not None and configured > 0 else monitor.threads if monitor else None


def severity_of(monitor: Monitor | None, threads: int | None) -> Severity | None:
    """Return how bad it is now, by the numbers of the manual page; None without a sign of saturation."""
    if monitor is None:
        return None
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


def severity_in_log(traffic: Traffic | None) -> Severity | None:
    """Return how bad it was while the log was written; None without a sign of saturation."""
    found = [one for one in (severity_of_waits(traffic), severity_of_peak(busiest_of(traffic))) if one is not None]
    return max(found, default=None)


def busiest_of(traffic: Traffic | None) -> BusiestWorkers | None:
    """Return the worst of the worker threads in the log; None where it does not report them."""
    return None if traffic is None else busiest_workers(traffic.segment)


def severity_of_peak(busiest: BusiestWorkers | None) -> Severity | None:
    """Return how bad the longest queue was; None for one that the threads finish in one round."""
    if busiest is None or busiest.queued < busiest.threads:
        return None
    return Severity.MEDIUM if busiest.busy_meanwhile >= BUSY * busiest.threads else None


def severity_of_waits(traffic: Traffic | None) -> Severity | None:
    """Return how bad the waits in the log were; None if few waited."""
    if traffic is None or traffic.timed_waits < FEWEST:
        return None
    share = traffic.waited_at_least(LONG) / traffic.timed_waits
    return Severity.HIGH if share >= MOST_WAITED else Severity.MEDIUM if share >= MANY_WAITED else None


def _clear(monitor: Monitor | None, threads: int | None, traffic: Traffic | None) -> str:
    """Return why nothing is wrong; empty when the evidence does not suffice."""
    reasons = []
    if monitor is not None and monitor.busy_threads is not None and threads:
        queued = (
            "" if monitor.queued_operations is None else f", {counted(monitor.queued_operations, 'operation')} waiting"
        )
        reasons.append(f"{monitor.busy_threads:,} of {counted(threads, 'thread')} busy{queued}")
    if traffic is not None and traffic.timed_waits >= FEWEST:
        reasons.append(
            f"{traffic.waited_at_least(LONG):,} of {traffic.timed_waits:,} operations in the log waited 134 ms or more"
        )
    if (busiest := busiest_of(traffic)) is not None:
        reasons.append(
            f"in the log at most {busiest.busy:,} of {counted(busiest.threads, 'thread')} busy and "
            f"{counted(busiest.queued, 'operation')} waiting"
        )
    return "; ".join(reasons)


def _finding(
    server: Instance,
    traffic: Traffic | None,
    threads: int | None,
    now: Severity | None,
    logged: Severity | None,
) -> Finding:
    monitor, severity = server.monitor, max(one for one in (now, logged) if one is not None)
    waits = traffic if traffic is not None and traffic.timed_waits else None
    busiest = busiest_of(traffic)
    by_log = now is None or (logged is not None and logged > now)
    return Finding(
        subject=server.name,
        severity=severity,
        confidence=Confidence.LIKELY if by_log else Confidence.CERTAIN,
        title=_title(server, traffic if by_log else None, threads, severity),
        detail="\n".join(_sentences(monitor, waits if logged else None, busiest, now)),
        observed={
            "server": server.name,
            "busy": monitor.busy_threads if monitor else None,
            "threads": threads,
            "queued": monitor.queued_operations if monitor else None,
            "connections_at_max_threads": monitor.connections_at_max_threads if monitor else None,
            "logged_operations": waits.timed_waits if waits else None,
            "logged_waits": waits.waited_at_least(LONG) if waits else None,
            "longest_wait_seconds": round(waits.segment.longest_wait[0] / SECOND, 9) if waits else None,
            "logged_busy": busiest.busy if busiest else None,
            "logged_queue": busiest.queued if busiest else None,
            "logged_queue_time": _moment(busiest.queued_since) if busiest else None,
        },
        server=server.name,
        hosts=(server.host,),
        remedies=_remedies(server, threads, severity) if now is not None else (),
        origins=tuple(
            sorted(
                {
                    *server.origins_of(monitor, server.configuration),
                    *(traffic.origins if traffic is not None and (waits or busiest) else ()),
                }
            )
        ),
    )


def _title(server: Instance, traffic: Traffic | None, threads: int | None, severity: Severity) -> str:
    monitor, busiest = server.monitor, busiest_of(traffic)
    if traffic is not None and busiest is not None and severity_of_waits(traffic) is not severity:
        return (
            f"{counted(busiest.queued, 'operation')} waited at once for the "
            f"{counted(busiest.threads, 'worker thread')} of {server.name}, at {_moment(busiest.queued_since)}"
        )
    if traffic is not None:
        waited = traffic.waited_at_least(LONG) / traffic.timed_waits
        return f"{percent(waited)} of the operations in the access log waited for a worker thread of {server.name}"
    if monitor is None or severity is Severity.LOW:
        at_most = monitor.connections_at_max_threads if monitor else 0
        return f"{counted(at_most or 0, 'connection')} to {server.name} with as many threads as one connection may use"
    waiting = (
        "" if monitor.queued_operations is None else f", with {counted(monitor.queued_operations, 'operation')} waiting"
    )
    return f"{monitor.busy_threads} of {threads} worker threads of {server.name} are busy{waiting}"


def _sentences(
    monitor: Monitor | None, traffic: Traffic | None, busiest: BusiestWorkers | None, now: Severity | None
) -> Iterator[str]:
    if now is not Severity.LOW or traffic is not None:
        yield "Every client waits for a free thread. The usual reason is slow searches: see costly-search."
    if traffic is not None:
        longest, earlier = traffic.segment.longest_wait
        yield (
            f"{traffic.waited_at_least(LONG):,} of {traffic.timed_waits:,} operations waited 134 ms or more, "
            f"the longest {longest / SECOND:.1f} s, at {moment(-earlier, MILLISECOND)}."
        )
    if busiest is not None:
        yield (
            f"In the log at most {busiest.busy:,} of {counted(busiest.threads, 'thread')} were busy, at "
            f"{_moment(busiest.busy_since)}; at most {counted(busiest.queued, 'operation')} waited, at "
            f"{_moment(busiest.queued_since)} (within {counted(busiest.seconds, 'second')})."
        )
    if monitor is not None and monitor.connections_at_max_threads:
        yield (
            f"At the limit of operations in progress (nsslapd-maxthreadsperconn): "
            f"{counted(monitor.connections_at_max_threads, 'connection')}. Further requests on them wait."
        )
    if now is None:
        yield "This is the period of the log; cn=monitor shows the present."
    else:
        yield "cn=monitor is one sample: read it again before you change anything."


def _moment(seconds: int) -> str:
    return moment(seconds * SECOND, SECOND)


def _remedies(server: Instance, threads: int | None, severity: Severity) -> tuple[Remedy, ...]:
    if severity < Severity.HIGH or server.product is None or not threads:
        return ()
    configured = server.configuration.threads if server.configuration else None
    raised = server.product.remedies.raise_threads(server.address, configured, 2 * threads)
    return (server.address.adapt(raised),)
