"""Descriptors: how many a server has open, its limit, and the log messages which report that it ran out.

Times at which a server had reached its limit: how often and when, by its logs and its access log.

The time of one line of a server's log, where its stamp names one.

[20/Nov/2026:08:45:18.529737884 +0000] - ERR - accept_thread - Not listening for new connections
6b00111c.32864e18 0x7f9c26e20200 fd=127 DENIED from unknown (127.0.0.70)
<167>1 2026-11-20T08:54:04.365207+00:00 vm slapd 3989 - -  daemon: accept(8) failed errno=24
Nov 20 09:21:35 vm slapd[25675]: fd=127 DENIED from unknown (127.0.0.70)             no year: no time
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.hosts.listeners import programs_at
from ldapdiag.analysis.load.accept_queue import not_accepted
from ldapdiag.analysis.load.forecast import InUse, LimitForecast, forecast
from ldapdiag.analysis.load.readings import (
    Reading,
    logged_readings,
    other_servers,
    recorded_readings,
    snapshot_readings,
)
from ldapdiag.analysis.log.time_axis import time_axis
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.history import History
from ldapdiag.evidence.host_facts import DescriptorCount
from ldapdiag.evidence.log.stamps import ISO, NETSCAPE, SECOND, when
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.servers.defaults import ProductDefaults
from ldapdiag.servers.products import product_of
from ldapdiag.servers.traits import families_of_programs
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.server_log import ServerLog

MOST_CONNECTIONS = "its configured maximum of connections"
"""The source of a limit on connections rather than on descriptors, which Windows does not limit."""
FULL = 0.95
"""Share of the limit from which a server may be unable to accept a connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptors:
    """The descriptors of one server's process. None: not collected."""

    kind: ClassVar[str] = "descriptors"
    how: ClassVar[str] = DescriptorCount.how

    server: str
    """The server, by the name of its instance."""
    used: int | None
    used_source: str
    exact: bool
    """False: `used` counts connections only; the process has other files open as well."""
    misfit: str = ""
    """Why the descriptor count cannot be that of the process with these connections; empty: it may be."""
    limit: int | None
    limit_source: str
    connections: int | None = None
    """Established connections that the server has accepted: those in the accept queue have no descriptor."""
    waiting: int = 0
    """Connections that wait in the accept queue."""
    served: int | None = None
    """The connections that the limit allows, where the server reserves descriptors for itself; else None."""
    served_by_program: int | None = None
    """The same by the name of its program, which reserves some by default, where the product is not known."""
    forecast: LimitForecast
    """When they run out."""
    readings: tuple[Reading, ...] = ()
    """The connections that were open at several times, by source."""
    reached: tuple[LimitReached, ...]
    """Messages and measurements which show that the server ran out."""
    recovered: bool
    """The last entry of every log shows that the server listens again."""
    origins: tuple[str, ...]

    @property
    def counts_only_connections(self) -> bool:
        """Return whether both `used` and `limit` are connections, not descriptors."""
        return self.limit_source == MOST_CONNECTIONS and not self.exact

    @property
    def share(self) -> float | None:
        """Return the used share of the limit, or of the connections served if that is larger; 1.0 is full."""
        shares = [
            used / most for used, most in ((self.used, self.limit), (self.connections, self.served)) if most and used
        ]
        return max(shares, default=0.0 if self.used is not None and self.limit else None)

    @property
    def has_run_out(self) -> bool:
        """Return whether no connection is accepted by the numbers: none is free, or one while connections wait.

        slapd with tcp wrappers opens a second file for each new connection (/etc/hosts.allow), and closes those for
        which it cannot: of 260 descriptors it has 259 open at the limit (measured, 2.5.13).
        """
        counts = ((self.limit, self.used), (self.served, self.connections))
        free = [most - used for most, used in counts if most is not None and used is not None]
        return min(free, default=2) <= (1 if self.waiting else 0)

    @property
    def exhausted(self) -> bool:
        """Return whether it accepts no more now: it reported so and has not recovered, or the limit is reached."""
        return bool(self.exhaustion_reports and not self.recovered) or self.has_run_out

    @property
    def accepts_few(self) -> bool:
        """Return whether it accepts no more, or may be unable to: what waits to be accepted waits for a descriptor."""
        return self.exhausted or (self.share or 0.0) >= FULL

    @property
    def hours_left(self) -> float | None:
        """Return the hours until the limit, more likely before than after; None: not forecast."""
        return self.forecast.median

    @property
    def earliest_hours_left(self) -> float | None:
        """Return the hours before which the limit is hardly reached; None: not forecast."""
        return self.forecast.earliest

    @property
    def exhaustion_reports(self) -> tuple[str, ...]:
        """Return what shows that the server ran out, as clauses."""
        return tuple(sign.clause for sign in self.reached)


@provides(Descriptors)
def count_descriptors(
    server: Instance, host: Host, traffic: Traffic | None = None, histories: tuple[History, ...] = ()
) -> Descriptors | Missing:
    """Combine the limits on a server's descriptors and the number in use."""
    if (inapplicable := server.not_a_directory) is not None:
        return inapplicable
    waiting = not_accepted(server.own_sockets(host), server.ports)
    accepted = None if server.established is None else max(0, server.established - waiting)
    misfit = _misfit(server, host)
    used, used_source = _used(replace(server, descriptors=None) if misfit else server, accepted, traffic)
    limit, limit_source = _limit(server)
    served = _served(server, limit)
    readings = tuple(_readings(server, host, traffic, histories))
    first_limit, first_used = _first_limit((limit, used), (served, accepted))
    in_use = None if first_used is None else InUse(count=first_used, at=_moment(server, host))
    growth = forecast(readings, first_limit, in_use)
    counted_now = Descriptors(
        server=server.name,
        used=used,
        used_source=used_source,
        exact=server.descriptors is not None and not misfit,
        misfit=misfit,
        limit=limit,
        limit_source=limit_source,
        connections=accepted,
        waiting=waiting,
        served=served,
        served_by_program=_served_by_program(server, host, limit),
        forecast=replace(growth, remarks=(*growth.remarks, *other_servers(histories, server.name))),
        readings=readings,
        reached=limit_reached(server.logs, traffic, served, limit),
        recovered=_recovered(server, traffic, served, limit),
        origins=server.origins_of(
            server.descriptors, server.limits, server.configuration, server.monitor, *server.logs, *server.access_logs
        ),
    )
    return replace(counted_now, forecast=counted_now.forecast.over) if counted_now.has_run_out else counted_now


def _misfit(server: Instance, host: Host) -> str:
    """Return why a count is another process's: it is lower than the connections, where no table shows the process."""
    if server.descriptors is None or server.pids or server.established is None:
        return ""
    own = server.own_sockets(host)
    fewest = min((len(snapshot.sockets.established_at(server.ports)) for snapshot in own.snapshots), default=0)
    accepted = fewest - not_accepted(own, server.ports)
    if server.descriptors.open >= accepted:
        return ""
    count = counted(server.descriptors.open, "open descriptor")
    connections = f"{counted(accepted, 'connection')} on the ports of {server.name}"
    return f"{count} in {server.descriptors.origin.path}, and {connections}: they are those of several processes"


def _used(server: Instance, accepted: int | None, traffic: Traffic | None) -> tuple[int | None, str]:
    """Return the descriptors in use, or at least the connections, and the source of the number."""
    if server.descriptors is not None:
        return server.descriptors.open, "/proc/PID/fd"
    least = [(accepted if server.owns_ports else None, "at least: its established connections")]
    if server.monitor is not None:
        least.append((server.monitor.current_connections, "at least: the connections in cn=monitor"))
    known = [(count, source) for count, source in least if count is not None]
    if not known and traffic is not None and traffic.segment.opened and not traffic.segment.lost:
        return traffic.segment.open_at_end, "at least: the connections open where its access log ends"
    return max(known, default=(None, "unknown"))


def _limit(server: Instance) -> tuple[int | None, str]:
    """Return the lowest limit in force, and its source."""
    limits: list[tuple[int, str]] = []
    if server.limits and server.limits.open_files_soft is not None:
        limits.append((server.limits.open_files_soft, "Max open files of the process"))
    configuration, defaults = server.configuration, server.product and server.product.defaults
    if configuration and configuration.max_descriptors is not None:
        limits.append((configuration.max_descriptors, "nsslapd-maxdescriptors"))
    elif configuration and configuration.complete and defaults and (own := defaults.max_descriptors.at(server.version)):
        limits.append((own, f"the default of {server.identity}"))
    if configuration and configuration.max_connections:
        limits.append((configuration.max_connections, MOST_CONNECTIONS))
    if server.monitor and server.monitor.descriptor_limit is not None:
        limits.append((server.monitor.descriptor_limit, "cn=Max File Descriptors,cn=Monitor"))
    if not limits and server.monitor and defaults and (size := server.monitor.connection_table_size):
        # 389-ds subtracts the reserved descriptors from its limit to size the table (daemon.c): 19,936 of 20,000.
        reserved = _reserved(server, defaults)
        limits.append((size + reserved, f"dtablesize and the {reserved} reserved"))
    if limits and defaults and (cap := defaults.descriptor_cap.at(server.version)):
        limits.append((cap, "the server's built-in cap"))
    if not limits:
        return None, "unknown"
    lowest = min(value for value, _ in limits)
    return lowest, " and ".join(name for value, name in limits if value == lowest)


def _served(server: Instance, limit: int | None) -> int | None:
    """Return how many connections a descriptor limit allows; None where the server reserves none."""
    defaults = server.product and server.product.defaults
    if limit is None or not defaults or not defaults.times_reserved:
        return None
    return max(1, limit - defaults.times_reserved * _reserved(server, defaults))


def _served_by_program(server: Instance, host: Host, limit: int | None) -> int | None:
    """Return the same for the product that the name of its program stands for, where no evidence names the product."""
    if server.product is not None or limit is None:
        return None
    tables = [snapshot.sockets for snapshot in server.own_sockets(host).snapshots]
    programs = set[str]().union(*(programs_at(port, table) for port in server.ports for table in tables))
    known = families_of_programs()
    families = {known[program] for program in programs if program in known}
    product = product_of(min(families)) if len(families) == 1 else None
    if product is None or not product.defaults.times_reserved:
        return None
    return max(1, limit - product.defaults.times_reserved * product.defaults.reserved_descriptors)


def _reserved(server: Instance, defaults: ProductDefaults) -> int:
    """Return how many descriptors the server reserves for itself, as configured or by default."""
    configured = server.configuration.reserved_descriptors if server.configuration else None
    return defaults.reserved_descriptors if configured is None else configured


def _readings(
    server: Instance, host: Host, traffic: Traffic | None, histories: tuple[History, ...]
) -> Iterator[Reading]:
    """Yield its connections over time, from all sources."""
    seen = tuple(snapshot_readings(server.own_sockets(host), server.ports))
    yield from seen
    if traffic is not None:
        yield from logged_readings(traffic)
    for history in histories:
        yield from recorded_readings(history, server.name, seen[-1] if seen else None)


def _first_limit(*limits: tuple[int | None, int | None]) -> tuple[int | None, int | None]:
    """Return the limit that is reached first, with what is in use of it."""
    return min(limits, key=lambda one: math.inf if one[0] is None or one[1] is None else one[0] - one[1])


def _moment(server: Instance, host: Host) -> datetime | None:
    """Return when the descriptors or connections in use were counted; None: by the log, or it is not known."""
    sockets = host.latest.taken if host.latest and server.established is not None else None
    spans = [
        sockets,
        server.descriptors.origin.taken if server.descriptors else None,
        server.monitor.origin.taken if server.monitor else None,
    ]
    known = [span.start for span in spans if span is not None]
    taken_at = server.monitor.taken_at if server.monitor else None
    return known[0] if known else taken_at


def _recovered(server: Instance, traffic: Traffic | None, served: int | None, limit: int | None) -> bool:
    """Return whether each log that reports exhaustion ends with the server accepting connections again."""
    last = [log.recovered for log in server.logs if log.exhaustion_messages or log.recovered]
    if traffic is not None and logged_peak(traffic, served, limit) is not None:
        last.append(traffic.segment.open_at_end < (served or limit or 0))
    return all(last) and bool(last or server.logs)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached:
    """One kind of sign that the limit was reached."""

    meaning: str
    """As in `accepted and closed at once: no descriptor left`."""
    count: int
    """How often: lines, or times that the connections rose to the limit."""
    first: datetime | None
    last: datetime | None
    """None: the lines have no year."""
    source: str
    """The file."""
    clause: str
    """The same for the report, without times."""


def limit_reached(
    logs: Sequence[ServerLog], traffic: Traffic | None, served: int | None, limit: int | None
) -> tuple[LimitReached, ...]:
    """Return what shows that the limit was reached; of two copies of one log the larger count is used."""
    signs: dict[str, LimitReached] = {}
    for log in logs:
        for message in log.exhaustion_messages:
            if message.meaning in signs and signs[message.meaning].count >= message.count:
                continue
            signs[message.meaning] = LimitReached(
                meaning=message.meaning,
                count=message.count,
                first=logged_time(message.first),
                last=logged_time(message.last),
                source=log.origin.path,
                clause=f"{message.meaning} ({counted(message.count, 'time')})",
            )
    return (*signs.values(), *_peaks(traffic, served, limit))


def logged_peak(traffic: Traffic | None, served: int | None, limit: int | None) -> int | None:
    """Return the most connections at once in an access log if they are as many as the limit allows; else None.

    A log with lost lines may lack closes. So does one that shows more connections than the limit, unless the limit was
    a different one at the time.
    """
    peak = traffic.segment.peak if traffic and not traffic.segment.lost else 0
    room = served or limit
    return peak if room and limit and room <= peak <= limit else None


def _peaks(traffic: Traffic | None, served: int | None, limit: int | None) -> tuple[LimitReached, ...]:
    peak, room = logged_peak(traffic, served, limit), served or limit or 0
    if traffic is None or peak is None:
        return ()
    axis = time_axis(traffic.segment)
    # The limit may be reached and left within one interval; the peak is known then, and its time is not.
    full = [place for place, count in enumerate(axis.open) if count >= room] if axis else []
    rises = sum(place - 1 not in full for place in full)
    return (
        LimitReached(
            meaning="as many connections open as the limit allows",
            count=max(1, rises),
            first=when(axis.at(full[0])) if axis and full else None,
            last=when(min(axis.at(full[-1] + 1), axis.end + SECOND)) if axis and full else None,
            source=", ".join(traffic.origins),
            clause=f"{counted(peak, 'connection')} open at once in its access log, of {number(room)} possible",
        ),
    )


CONTAINER = r"(?:[^\s=\"\[]{1,255} {1,80}\| ?)?"
STAMP = pattern(
    CONTAINER + r"(?:\[(?P<netscape>\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d)(?:\.\d{1,9})?(?P<zone> [+-]\d{4})\]"
    r"|(?:<\d{1,3}>)?(?:1 )?(?P<iso>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?(?P<offset>Z|[+-]\d\d:\d\d)"
    r"|(?P<hexadecimal>[4-7][0-9a-f]{7})(?:\.[0-9a-f]{8})? )",
    re.ASCII,
)


def logged_time(line: str) -> datetime | None:
    """Return the time of a line, to the second; None where its stamp has no year, no zone, or is not one."""
    stamp = STAMP.match(line)
    if stamp is None:
        return None
    if stamp["hexadecimal"]:
        return when(int(stamp["hexadecimal"], 16) * SECOND)
    try:
        if stamp["netscape"]:
            return when(NETSCAPE[f"{stamp['netscape']}{stamp['zone']}".encode()])
        return when(ISO[f"{stamp['iso']}{stamp['offset']}".encode()])
    except ValueError:
        return None
