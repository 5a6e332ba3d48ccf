"""server-unresponsive: servers that do not answer, and what keeps them from it.

The sentences of a finding about a server that does not answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.load.responsiveness import AGAIN, Condition, Responsiveness, condition_of
from ldapdiag.check import MainNumber, check
from ldapdiag.evidence.ldap_probe import LdapProbe, ProbeOutcome
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.evidence.threads import ProcessThreads
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Remedy
from ldapdiag.servers.commands.ldap_tools import local_uri
from ldapdiag.servers.hosts.hang_remedies import continue_process, save_state
from ldapdiag.wording import are, counted, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ldapdiag.analysis.load.thread_activity import ThreadActivity
    from ldapdiag.analysis.load.unread_requests import UnreadRequests


@check(group="server", number=MainNumber("waiting", "requests that wait"))
def judge(
    servers: tuple[Responsiveness, ...], probes: tuple[LdapProbe, ...], hosts: tuple[Host, ...]
) -> Iterator[Verdict]:
    """Servers that do not answer, and what keeps them from it.

    ## What it looks at
    Requests that stand unread at the server's end (Recv-Q of accepted and waiting connections; the byte of a FIN does
    not count): the same socket had them 2 s before or more and nothing was read since, or the newest arrived 2 s ago
    (10 s in a single table). Three such connections are needed (ten in tables without ages and byte counters, such as
    netstat's), and four times as many as the server read from meanwhile; connections with unsent data wait for their
    client and do not count. The state of its process. An LDAP target that refused the connection, or did not answer.

    Two readings of /proc/PID/task separate the reasons: stopped; blocked on a disk (uninterruptible); looping (a thread
    uses 25 % of a processor or more); blocked on a lock (a futex that is no condition); out of threads (all wait).

    - certain: the process is stopped, a target refused the connection, or byte counters or ages prove that nothing was
      read.
    - likely: only Recv-Q shows it; or a target gave no answer.

    ## Severity
    - critical: the process is stopped, or requests stand unread.
    - high: a target that was named cannot be reached.

    ## Why it matters
    All clients wait, then give up: pools are idle, connections churn, close without UNBIND or pile up. The server is
    the reason, so the checks that blame clients are not judged for it.

    ## What to do
    Save the stacks before the restart, which ends the incident and destroys its reason. A stopped process continues
    with SIGCONT. A looping thread: compare its stack with costly-search. A lock: find the thread that has it. A disk or
    a network file system: see dmesg. Out of threads: see worker-saturation and what each stack waits for.

    ## When it is harmless
    A target that is switched off for maintenance, or an address that was mistyped.
    """
    for server in servers:
        if server.is_down:
            yield _finding(server)
        else:
            yield _without_finding(server)
    claimed = {id(probe) for server in servers for probe in server.probes}
    others = {probe.target: probe for probe in probes if id(probe) not in claimed}
    for probe in others.values():
        yield _unreached(probe, condition_of(probe, hosts))
    if not servers and not others:
        yield NotJudged.without(SocketTable, None, "no directory server is in the evidence", how=AGAIN)


def severity_of(server: Responsiveness) -> Severity:
    """Return how bad it is, by the numbers of the manual page."""
    standing = server.unread is not None and server.unread.stand
    return Severity.CRITICAL if standing or server.condition is Condition.STOPPED else Severity.HIGH


def confidence_of(server: Responsiveness) -> Confidence:
    """Return how sure it is, by the words of the manual page."""
    proven = server.unread is not None and server.unread.stand and server.unread.exact
    refused = any(probe.outcome is ProbeOutcome.REFUSED for probe in server.probes)
    return Confidence.CERTAIN if proven or refused or server.condition is Condition.STOPPED else Confidence.LIKELY


def _finding(server: Responsiveness) -> Finding:
    unread, activity = server.unread, server.activity
    return Finding(
        subject=server.server,
        severity=severity_of(server),
        confidence=confidence_of(server),
        title=title(server.server, server.condition, _outcome(server)),
        detail="\n".join(sentences(server)),
        observed={
            "server": server.server,
            "state": str(server.condition),
            "target": server.probes[0].target if server.probes else None,
            "outcome": str(server.probes[0].outcome) if server.probes else None,
            "pid": activity.pid if activity else None,
            "threads": activity.threads if activity else None,
            "waiting": unread.standing if unread else None,
            "not_accepted": unread.not_accepted if unread else None,
            "served": unread.served if unread else None,
            "unread_bytes": unread.bytes if unread else None,
            "since_seconds": unread.seconds if unread else None,
        },
        server=server.server,
        hosts=(server.host,),
        remedies=tuple(_remedies(server)),
        origins=server.origins,
    )


def _outcome(server: Responsiveness) -> ProbeOutcome | None:
    """Return how the first probe failed, unless requests show more."""
    standing = server.unread is not None and server.unread.stand
    return server.probes[0].outcome if server.probes and not standing else None


def _remedies(server: Responsiveness) -> Iterator[Remedy]:
    stopped = server.condition is Condition.STOPPED
    if server.condition in {Condition.UNREACHABLE, Condition.OUT_OF_DESCRIPTORS, Condition.CLOSES}:
        return
    pid, program = (server.activity.pid, server.activity.program) if server.activity else (None, "")
    ldapi = local_uri(server.address) if server.address.said_local_uri else ""
    program = program if server.address.is_only else ""
    yield save_state(server.server, pid, program, ldapi=ldapi, stopped=stopped)
    if stopped and pid is not None:
        yield continue_process(server.server, pid)


def _without_finding(server: Responsiveness) -> Verdict:
    if (doubt := server.doubt) is not None:
        return NotJudged.lacking(doubt, subject=server.server)
    unread = server.unread
    if server.condition is Condition.UNKNOWN:
        reason = f"no table of {server.server} shows unread data (Recv-Q), and no LDAP query was answered"
        missing = (SocketTable.kind, ProcessThreads.kind)
        return NotJudged(subject=server.server, reason=reason, missing=missing, how=AGAIN)
    if unread is None or (unread.served and not unread.open):
        return Clear(subject=server.server, reason="it answered an LDAP query")
    if not unread.open:
        reason = f"no connection to {server.server} is open, and no LDAP query was answered"
        return NotJudged.without(SocketTable, server.server, reason, how=AGAIN)
    waits = f"requests stand unread on {unread.standing:,} of" if unread.standing else "no request stands unread on"
    read = f"; data of {counted(unread.served, 'connection')} was read" if unread.served else ""
    return Clear(subject=server.server, reason=f"{waits} {counted(unread.open, 'open connection')}{read}")


def _unreached(probe: LdapProbe, condition: Condition) -> Finding:
    """Return the finding of a target of which no evidence but the failed probe exists, or its host's table."""
    host = probe.origin.host
    unresolved = probe.outcome is ProbeOutcome.UNRESOLVED
    silent = unresolved or condition is Condition.NOT_LISTENING
    advice = "" if silent else "Its sockets and threads show why: name its host, too."
    unknown = ("pid", "threads", "waiting", "not_accepted", "served", "unread_bytes", "since_seconds")
    return Finding(
        subject=probe.target,
        severity=Severity.HIGH,
        confidence=Confidence.CERTAIN if probe.outcome is ProbeOutcome.REFUSED else Confidence.LIKELY,
        title=title(probe.target, condition, probe.outcome),
        detail="\n".join(filter(None, (failed_probe(probe), advice))),
        observed={
            "server": host,
            "state": str(condition),
            "target": probe.target,
            "outcome": str(probe.outcome),
            **dict.fromkeys(unknown),
        },
        server=host or None,
        hosts=(host,) if host else (),
        remedies=() if unresolved else (save_state(host or probe.target, None, "", ldapi="", stopped=False),),
        origins=(probe.origin.path,),
    )


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
