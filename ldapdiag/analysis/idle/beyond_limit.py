"""BeyondLimit: connections that a server leaves open for longer than its idle timeout, by three sources.

- cn=monitor with activity times (slapd): what the server itself compares with its timeout; operations in progress left
  out.
- The ages of the server's sockets (lastrcv). They do not show whether an operation is in progress, as of a persistent
  search; so of each client as many sockets are left out as cn=monitor lists with one, or of an exempt account.
- The access log: idle times with nothing outstanding that a request ended, or that the idle timeout ended late. They
  count only if its shortest idle close shows that this timeout was in force.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.spellings import OTHER_NAME, UNKNOWN_NAME, display_name, folded_dn
from ldapdiag.evidence.log.idle_times import at_least_seconds
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.close_codes import close_reason
from ldapdiag.servers.close_reasons import CloseKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.instances import Instance
    from ldapdiag.analysis.log.traffic import Traffic
    from ldapdiag.analysis.log.workload import ClientActivity
    from ldapdiag.evidence.monitor import Monitor, MonitoredConnection
    from ldapdiag.evidence.sockets import SocketTable
    from ldapdiag.servers.idle.enforcement import IdleEnforcement

WHOLE_SECONDS = 2
"""Two stamps of whole seconds may differ by so much less than what they stand for."""
UNKNOWN_SHARE, UNKNOWN_SECONDS = 0.5, 10
"""A sweep that no source describes is taken to close within half of the timeout more, and 10 s."""
AT_ONE_TIME = 60
"""Seconds between cn=monitor and the socket table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleLimit:
    """The idle timeout of a server, and to which accounts it does not apply."""

    seconds: int
    closes_by: float
    """Idle seconds by which a connection is closed, as far as is known of the product."""
    exempt: frozenset[bytes]
    """Bind DNs without a limit, or with a longer one, as folded_dn."""

    def applies_to(self, account: str) -> bool:
        """Return whether connections of an account are closed by it."""
        return folded_dn(account.encode()) not in self.exempt


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBeyond:
    """The open connections that are idle for longer than the timeout, by client address."""

    source: str
    clients: Mapping[str, int]
    longest: float
    """Seconds; 0: none."""
    exempt: int
    """Connections that the timeout does not apply to, or that are in use for an operation: not counted."""
    judged: int
    """Connections whose idle time is known."""
    by_activity: bool = False
    """By the server's own activity times, not by socket ages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedBeyond:
    """The idle times in an access log that were longer than the timeout."""

    used: Mapping[str, int]
    """By client: those that a request ended."""
    late: Mapping[str, int]
    """Those that the idle timeout ended."""
    longest: float
    """Seconds."""


def limit_of(server: Instance, seconds: int, enforcement: IdleEnforcement) -> IdleLimit:
    """Return the limit of a server with this idle timeout."""
    latest = enforcement.latest(seconds)
    own = server.configuration.idle_exemptions if server.configuration else ()
    exempt = {dn for dn, own_seconds in own if own_seconds <= 0 or own_seconds > seconds} | set(enforcement.exempt)
    return IdleLimit(
        seconds=seconds,
        closes_by=latest if latest is not None else seconds * (1 + UNKNOWN_SHARE) + UNKNOWN_SECONDS,
        exempt=frozenset(folded_dn(dn.encode()) for dn in exempt),
    )


def open_beyond(server: Instance, host: Host, limit: IdleLimit) -> OpenBeyond | None:
    """Return the open connections beyond the limit; None where no source shows idle times."""
    monitor = server.monitor
    if monitor is None or monitor.connections is None:
        return None
    if any(connection.active for connection in monitor.connections) and monitor.taken_at is not None:
        return _by_activity(monitor, limit)
    return _by_ages(server, host, monitor.connections, limit)


def _by_activity(monitor: Monitor, limit: IdleLimit) -> OpenBeyond:
    """Judge by the activity times of cn=monitor; a connection without a client is the server's own (syncrepl)."""
    clients = Counter[str]()
    longest, judged, exempt = 0.0, 0, 0
    for connection in monitor.connections or ():
        if connection.active is None or monitor.taken_at is None or not connection.client:
            continue
        judged += 1
        idle = (monitor.taken_at - connection.active).total_seconds() - WHOLE_SECONDS
        if idle <= limit.closes_by:
            continue
        if is_in_use(connection) or not limit.applies_to(connection.account):
            exempt += 1
            continue
        clients[connection.client] += 1
        longest = max(longest, idle)
    return OpenBeyond(
        source="cn=monitor", clients=clients, longest=longest, exempt=exempt, judged=judged, by_activity=True
    )


def is_in_use(connection: MonitoredConnection) -> bool:
    """Return whether an operation may be in progress: the server does not take such a connection for idle."""
    started, completed = connection.operations_started, connection.operations_completed
    return started is None or completed is None or started > completed or bool(connection.persistent_searches)


def _by_ages(
    server: Instance, host: Host, listed: Iterable[MonitoredConnection], limit: IdleLimit
) -> OpenBeyond | None:
    """Judge by the ages of sockets, less the connections that the monitor lists as exempt or in use."""
    if host.latest is None or (ages := host.latest.sockets.last_received) is None or not _at_one_time(server, host):
        return None
    idle, kept, hidden = Counter[str](), Counter[str](), 0
    for one in listed:
        if is_in_use(one) or not limit.applies_to(one.account):
            kept[one.client] += 1
            hidden += not one.client
        else:
            idle[one.client] += 1
    table = server.own_sockets(host).snapshots[-1].sockets
    ages = table.last_received or ages
    old: dict[str, list[float]] = {}
    rows = [row for row in table.established_at(server.ports) if _is_quiet(table, row) and ages[row] is not None]
    for row in rows:
        if (age := (ages[row] or 0) / 1000 - 1) > limit.closes_by:
            old.setdefault(table.remote_address[row], []).append(age)
    clients = {client: min(len(found) - kept[client] - hidden, idle[client]) for client, found in old.items()}
    counted = {client: count for client, count in clients.items() if count > 0}
    # Which of a client's sockets are exempt is not known, so its oldest ones may be.
    longest = max((sorted(old[client])[count - 1] for client, count in counted.items()), default=0.0)
    return OpenBeyond(
        source="socket ages and cn=monitor",
        clients=counted,
        longest=longest,
        exempt=sum(map(len, old.values())) - sum(counted.values()),
        judged=len(rows),
    )


def _is_quiet(table: SocketTable, row: int) -> bool:
    """Return whether a socket is accepted, and neither a request nor a result is under way in it."""
    under_way = any(queue[row] for queue in (table.receive_queue, table.send_queue) if queue)
    return not under_way and not (table.inode and table.inode[row] == 0)


def _at_one_time(server: Instance, host: Host) -> bool:
    """Return whether monitor and table may be of one moment: of an older one, the operations have ended since."""
    moment = server.monitor.taken_at if server.monitor else None
    span = host.latest.taken if host.latest else None
    if moment is None or span is None:
        return True
    return abs((moment - span.start).total_seconds()) <= AT_ONE_TIME


def logged_beyond(traffic: Traffic, limit: IdleLimit) -> LoggedBeyond | None:
    """Return the idle times of a log beyond the limit; None where it does not show that this limit was in force."""
    if traffic.segment.lost:
        return None
    beyond = ceil(limit.closes_by + (1 if traffic.segment.resolution >= SECOND else 0))
    clients = traffic.workload.clients
    shortest = min((seconds for client in clients for seconds in _idle_closes(traffic, client)), default=None)
    if shortest is None or not limit.seconds - WHOLE_SECONDS <= shortest <= beyond:
        return None
    used, late, longest = dict[str, int](), dict[str, int](), 0.0
    kept = _clients_of_exempt_accounts(traffic, limit)
    for one in (client for client in clients if client.address not in kept):
        if requests := one.idle_times.from_seconds(beyond):
            used[one.address] = requests
            longest = max(longest, one.idle_times.longest[0] / SECOND)
        for code, times in one.idle_before_close.items():
            if _is_idle_close(traffic, code) and (closed := times.from_seconds(beyond)):
                late[one.address] = late.get(one.address, 0) + closed
                longest = max(longest, times.longest[0] / SECOND)
    return LoggedBeyond(used=used, late=late, longest=longest)


def _is_idle_close(traffic: Traffic, code: str) -> bool:
    return close_reason(traffic.workload.family, code).kind is CloseKind.IDLE


def _idle_closes(traffic: Traffic, client: ClientActivity) -> Iterable[int]:
    """Return the edges below the idle times that the server's idle timeout ended."""
    for code, times in client.idle_before_close.items():
        if _is_idle_close(traffic, code):
            yield from map(at_least_seconds, times.buckets)


def _clients_of_exempt_accounts(traffic: Traffic, limit: IdleLimit) -> frozenset[str]:
    """Return the clients that bound as an account without this limit, or as one that the log does not show."""
    if traffic.segment.attribution.full:
        return frozenset(client.address for client in traffic.workload.clients)
    unknown = {OTHER_NAME, UNKNOWN_NAME}
    accounts = {(display_name(client), account) for _, _, client, account, _ in traffic.segment.attribution}
    return frozenset(unknown) | {
        client for client, account in accounts if display_name(account) in unknown or folded_dn(account) in limit.exempt
    }
