"""Responsiveness: whether one server reads its requests and answers, and if not, what keeps it from that.

A process that is stopped, requests that stand unread, and a probe that was refused or not answered show that a server
does not answer. What its threads do is then the reason, never a proof of its own: an idle server waits, too.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import ClassVar

from ldapdiag.analysis.hosts.hints import processes_named
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance, readings_of
from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.analysis.load.thread_activity import STOPPED, ThreadActivity, thread_activity
from ldapdiag.analysis.load.unread_requests import UnreadRequests, unread_requests
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.ldap_probe import LdapProbe, ProbeOutcome
from ldapdiag.evidence.ldap_session import session_of
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.processes import ProcessTable
from ldapdiag.evidence.sockets import SS_COMMAND, SocketTable, TcpState
from ldapdiag.evidence.threads import ProcessThreads
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.commands.server_address import ServerAddress
from ldapdiag.servers.traits import directory_programs
from ldapdiag.wording import counted

AGAIN = f"on the server, twice, 5 s apart: {SS_COMMAND}"


class Condition(StrEnum):
    """What a server does."""

    ANSWERS = "answers"
    UNKNOWN = "unknown"
    DOUBTFUL = "doubtful"
    STOPPED = "stopped"
    LOOPING = "looping"
    OUT_OF_THREADS = "out-of-threads"
    LOCKED = "blocked-on-lock"
    DISK = "blocked-on-disk"
    OUT_OF_DESCRIPTORS = "out-of-descriptors"
    NOT_LISTENING = "not-listening"
    UNREACHABLE = "unreachable"
    """It reads the requests of others: the path to it, or the address, is the reason."""
    CLOSES = "closes-connections"
    """It accepts a connection and closes it without an answer."""
    NO_ANSWER = "no-answer"
    """The reason is unknown."""


NOT_FOUND_DOWN = frozenset({Condition.ANSWERS, Condition.UNKNOWN, Condition.DOUBTFUL})
CLIENTS_ARE_JUDGED = frozenset(
    {Condition.ANSWERS, Condition.UNKNOWN, Condition.OUT_OF_DESCRIPTORS, Condition.UNREACHABLE, Condition.CLOSES}
)
"""Clients are served on their open connections: what they do with them is their own doing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Responsiveness:
    """Whether one server answers, with the evidence. None: not in the evidence."""

    kind: ClassVar[str] = "responsiveness"
    how: ClassVar[str] = AGAIN

    server: str
    host: str
    address: ServerAddress
    condition: Condition
    unread: UnreadRequests | None = None
    activity: ThreadActivity | None = None
    probes: tuple[LdapProbe, ...] = ()
    """Those of its own ports that failed."""
    log_ended_seconds: float | None = None
    """Seconds from the last record of its access logs to the latest snapshot."""
    origins: tuple[str, ...] = ()

    @property
    def is_down(self) -> bool:
        """Return whether it is found not to answer."""
        return self.condition not in NOT_FOUND_DOWN

    @property
    def doubt(self) -> Missing | None:
        """Return why its clients are not judged: they may only wait for it. None where it serves them."""
        if self.condition in CLIENTS_ARE_JUDGED:
            return None
        if self.condition is not Condition.DOUBTFUL:
            reason = f"the server may not answer: see server-unresponsive of {self.server}"
            return Missing(host=self.server, reason=reason, lacks=(self.kind,), how="repeat it when the server answers")
        unread = counted(self.unread.connections if self.unread else 0, "connection")
        reason = f"the server may not answer: unread requests on {unread} of {self.server}"
        return Missing(host=self.server, reason=reason, lacks=(SocketTable.kind,), how=AGAIN)


@provides(Responsiveness)
def assess(
    server: Instance,
    host: Host,
    threads: tuple[ProcessThreads, ...],
    processes: tuple[ProcessTable, ...],
    probes: tuple[LdapProbe, ...],
    descriptors: Descriptors | None = None,
    traffic: Traffic | None = None,
) -> Responsiveness | Missing:
    """Judge whether a server answers, from its sockets, its threads, and the probes of its ports."""
    if (inapplicable := server.not_a_directory) is not None:
        return inapplicable
    own = tuple(probe for probe in probes if _is_of(probe, server))
    unread = _with_answer(unread_requests(host, server.ports), server, host)
    activity = thread_activity(readings_of(server, threads))
    stopped = activity.stopped if activity else _listed_as_stopped(server, processes)
    return Responsiveness(
        server=server.name,
        host=server.host,
        address=server.address,
        condition=_condition(server, unread, activity, own, descriptors, stopped=stopped),
        unread=unread,
        activity=activity,
        probes=own,
        log_ended_seconds=_log_ended(host, traffic),
        origins=tuple(
            sorted(
                {
                    *(host.latest.origins if host.latest else ()),
                    *(activity.origins if activity else ()),
                    *(probe.origin.path for probe in own),
                }
            )
        ),
    )


def _with_answer(unread: UnreadRequests | None, server: Instance, host: Host) -> UnreadRequests | None:
    """Count an LDAP answer as one connection more that was served, if it came while the requests waited."""
    answer = server.monitor or server.configuration
    answered = answer.origin.taken if answer and (server.monitor or session_of(answer.origin.asked)) else None
    taken = host.latest.taken if host.latest else None
    if unread is None or answered is None or taken is None:
        return unread
    waited = (taken.start - answered.end).total_seconds() <= (unread.seconds or 0.0)
    return replace(unread, served=unread.served + 1) if waited else unread


def _is_of(probe: LdapProbe, server: Instance) -> bool:
    """Return whether a probe is of a server: by its port, or its process; of an only server also by a local socket."""
    if probe.origin.host != server.host or probe.outcome is ProbeOutcome.UNRESOLVED:
        return False
    if probe.port:
        return server.serves(probe.address, probe.port)
    pids = processes_named(probe.origin)
    return not pids.isdisjoint(server.pids) if pids and server.pids else server.is_only


def _listed_as_stopped(server: Instance, tables: tuple[ProcessTable, ...]) -> bool:
    """Return whether a list of processes shows the server as stopped: by its number, else its host's only one."""
    listed = [process for table in tables if table.origin.host == server.host for process in table.processes]
    own = [one for one in listed if one.pid in server.pids]
    if not own and server.is_only:
        own = [one for one in listed if one.program in directory_programs()]
    return len({one.pid for one in own}) == 1 and all(one.state in STOPPED for one in own if one.state)


def condition_of(probe: LdapProbe, hosts: tuple[Host, ...]) -> Condition:
    """Return what a failed probe shows of a port at which no server is known."""
    if probe.outcome is ProbeOutcome.CLOSED:
        return Condition.CLOSES
    if probe.outcome is ProbeOutcome.UNRESOLVED:
        return Condition.UNREACHABLE
    table = next((host.latest.sockets for host in hosts if host.host == probe.origin.host and host.latest), None)
    if table is None or not probe.port or TcpState.LISTEN not in set(table.state):
        return Condition.NO_ANSWER
    listening = {port for port, state in zip(table.local_port, table.state, strict=True) if state is TcpState.LISTEN}
    return Condition.NO_ANSWER if probe.port in listening else Condition.NOT_LISTENING


def _condition(
    server: Instance,
    unread: UnreadRequests | None,
    activity: ThreadActivity | None,
    probes: tuple[LdapProbe, ...],
    descriptors: Descriptors | None,
    *,
    stopped: bool,
) -> Condition:
    if stopped:
        return Condition.STOPPED
    exhausted = descriptors is not None and descriptors.accepts_few
    if unread is not None and unread.stand and not (exhausted and unread.all_wait_to_be_accepted):
        return _reason(activity, server)
    if probes:
        return _reason_of_failed_probe(server, unread, activity, probes, exhausted=exhausted)
    if unread is not None and unread.may_stand and not exhausted:
        return Condition.DOUBTFUL
    answered = server.monitor is not None or server.session is not None  # Active Directory has no cn=monitor
    return Condition.ANSWERS if unread is not None or answered else Condition.UNKNOWN


def _reason(activity: ThreadActivity | None, server: Instance) -> Condition:
    """Return why a server does not read, from what its threads do."""
    if activity is None:
        return Condition.NO_ANSWER
    if (workers := _workers(server)) and activity.running >= max(2, workers):
        return Condition.OUT_OF_THREADS
    reasons = {
        Condition.DISK: activity.on_disk,
        Condition.LOOPING: activity.running,
        Condition.LOCKED: activity.locked,
        Condition.OUT_OF_THREADS: activity.reads_waits,
    }
    return next((reason for reason, applies in reasons.items() if applies), Condition.NO_ANSWER)


def _workers(server: Instance) -> int | None:
    """Return how many threads work on operations, as configured, else as cn=monitor counts them."""
    configured = server.configuration.threads if server.configuration else None
    return configured or (server.monitor.threads if server.monitor else None)


def _reason_of_failed_probe(
    server: Instance,
    unread: UnreadRequests | None,
    activity: ThreadActivity | None,
    probes: tuple[LdapProbe, ...],
    *,
    exhausted: bool,
) -> Condition:
    if exhausted:
        return Condition.OUT_OF_DESCRIPTORS
    if unread is not None and unread.served:
        return Condition.UNREACHABLE
    if all(probe.outcome is ProbeOutcome.CLOSED for probe in probes):
        return Condition.CLOSES
    silent = any(probe.outcome is ProbeOutcome.NO_ANSWER for probe in probes)
    doubtful = unread is not None and unread.may_stand
    shown = activity is not None and (activity.on_disk or activity.running or activity.locked or activity.transferring)
    return _reason(activity, server) if silent and (shown or doubtful) else Condition.NO_ANSWER


def _log_ended(host: Host, traffic: Traffic | None) -> float | None:
    """Return how long before the latest snapshot the access logs end; None where either time is unknown."""
    last = traffic.segment.last_time if traffic else None
    if last is None or host.latest is None or host.latest.taken is None:
        return None
    seconds = host.latest.taken.start.timestamp() - last / SECOND
    return seconds if seconds >= 0 else None
