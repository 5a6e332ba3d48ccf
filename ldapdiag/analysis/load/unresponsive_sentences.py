"""The sentences of a finding about a server that does not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.load.responsiveness import Condition, Responsiveness
from ldapdiag.evidence.ldap_probe import LdapProbe, ProbeOutcome
from ldapdiag.wording import are, counted, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.analysis.load.thread_activity import ThreadActivity
    from ldapdiag.analysis.load.unread_requests import UnreadRequests

REASONS: Mapping[Condition, str] = {
    Condition.STOPPED: "does not answer: its process is stopped",
    Condition.LOOPING: "does not answer: a thread is looping or busy with one operation",
    Condition.OUT_OF_THREADS: "does not answer: all its worker threads are occupied",
    Condition.LOCKED: "does not answer: its threads are blocked on a lock",
    Condition.DISK: "does not answer: its threads are blocked on a disk or a network file system",
    Condition.OUT_OF_DESCRIPTORS: "cannot be reached: it is out of descriptors",
    Condition.NOT_LISTENING: "cannot be reached: nothing is listening on its port",
    Condition.UNREACHABLE: "cannot be reached from here, and answers other clients",
    Condition.CLOSES: "closes connections without an answer",
    Condition.NO_ANSWER: "does not answer",
}
UNCONNECTED: Mapping[ProbeOutcome, str] = {
    ProbeOutcome.REFUSED: "cannot be reached: connection refused",
    ProbeOutcome.UNREACHABLE: "cannot be reached: no route to it",
    ProbeOutcome.UNRESOLVED: "cannot be reached: its name has no address",
    ProbeOutcome.TIMED_OUT: "cannot be reached: no answer to the request for a connection",
}
OUTCOMES: Mapping[ProbeOutcome, str] = {
    ProbeOutcome.REFUSED: "refused the connection: nothing listens there, or a firewall rejects it",
    ProbeOutcome.UNREACHABLE: "cannot be reached: there is no route to it",
    ProbeOutcome.UNRESOLVED: "cannot be reached: its name has no address here, or the name service did not answer",
    ProbeOutcome.TIMED_OUT: "did not answer the request for a connection: its host is down, or packets are dropped",
    ProbeOutcome.NO_ANSWER: "accepted the connection and did not answer",
    ProbeOutcome.CLOSED: "accepted the connection and closed it without an answer: a proxy without a server, a port "
    "that requires TLS, or a server without descriptors",
}
NAMES_SHOWN = 4


def title(name: str, condition: Condition, outcome: ProbeOutcome | None) -> str:
    """Return the title of a finding; without any other reason, how the connection failed."""
    by_outcome = condition is Condition.NO_ANSWER or outcome is ProbeOutcome.UNRESOLVED
    reason = UNCONNECTED.get(outcome) if outcome and by_outcome else None
    return f"{name} {reason or REASONS[condition]}"


def sentences(server: Responsiveness) -> Iterator[str]:
    """Yield what shows that a server does not answer, since when, and what its threads do."""
    if server.unread is not None:
        yield from _unread(server.unread)
    if server.log_ended_seconds is not None:
        yield f"Its access log ends {server.log_ended_seconds:,.0f} s before that (buffered logs end earlier)."
    for probe in server.probes:
        yield failed_probe(probe)
    if server.activity is not None:
        yield from _threads(server.activity, server.condition)
    else:
        yield "The reason is in its threads (/proc/PID/task), which are not in the evidence."
    if server.condition is Condition.OUT_OF_DESCRIPTORS:
        yield "See descriptor-headroom."
    if server.condition is Condition.UNREACHABLE:
        yield "Check the address, the firewalls and the route between this host and the server."


def failed_probe(probe: LdapProbe) -> str:
    """Return what was attempted, and how it failed."""
    where = f" ({probe.address} port {probe.port})" if probe.port and probe.address else ""
    return f"{probe.target}{where} {OUTCOMES[probe.outcome]} (after {probe.seconds:.1f} s)."


def _unread(unread: UnreadRequests) -> Iterator[str]:
    if unread.standing:
        since = f", the oldest for {unread.seconds:,.0f} s or more" if unread.seconds else ""
        bytes_ = counted(unread.bytes, "byte")
        yield f"Requests wait unread on {counted(unread.standing, 'connection')} ({bytes_}){since}."
        yield f"Meanwhile it read from {counted(unread.served, 'connection') if unread.served else 'no connection'}."
    if waiting := max(unread.queued, unread.not_accepted):
        yield f"{counted(waiting, 'connection')} {are(waiting)} not even accepted (Recv-Q of the listening socket)."
    if unread.blocked:
        blocked = counted(unread.blocked, "connection")
        have = "has" if unread.blocked == 1 else "have"
        yield f"{blocked} {have} data that the client has not acknowledged (Send-Q): a thread may wait for each."


def _threads(activity: ThreadActivity, condition: Condition) -> Iterator[str]:
    who = f"Process {activity.pid} ({activity.program}), {counted(activity.threads, 'thread')}"
    match condition:
        case Condition.STOPPED:
            yield f"{who}: stopped by a signal, a debugger, or its control group (docker pause)."
        case Condition.LOOPING:
            yield f"{who}: {_running(activity)}."
        case Condition.OUT_OF_THREADS if activity.running:
            yield f"{who}: {_running(activity)}. All workers are busy with operations: see costly-search."
        case Condition.DISK:
            yield f"{who}: {number(activity.on_disk)} in uninterruptible sleep (state D)."
        case Condition.LOCKED:
            locks = counted(activity.locks, "lock")
            yield f"{who}: {number(activity.locked)} {'waits' if activity.locked == 1 else 'wait'} for {locks} (futex)."
        case _ if not activity.reads_waits:
            yield f"{who}: what they wait for is readable by root only."
        case _:
            yield f"{who}: none runs. A futex is a condition or a read-write lock here; their stacks show which."
    if activity.transferring:
        yield f"{counted(activity.transferring, 'thread')} in a read or write of a file, another program or a client."
    if activity.waits:
        waits = ", ".join(f"{name} {count}" for name, count in activity.waits[:NAMES_SHOWN])
        yield f"They wait in: {waits}."
    if activity.readings < 2:
        yield "This is a single reading: a second one, 5 s later, shows whether the threads move."


def _running(activity: ThreadActivity) -> str:
    used = activity.processor_seconds
    share = f", {used:,.1f} s of processor time in {activity.seconds:,.1f} s" if used and activity.seconds else ""
    return f"{number(activity.running)} running{share}"
