"""Descriptors: how many a server has open, how many it may, and who testifies that it ran out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.evidence.host_facts import DescriptorCount
from ldapdiag.servers.defaults import ProductDefaults

MOST_CONNECTIONS = "the most connections it is set to take"
"""A limit's name that is no limit on descriptors; Windows has none."""
SHORTEST_TREND = 60.0
"""Seconds; looks closer together say nothing of growth."""
SHORTEST_LOGGED_TREND = 86_400.0
"""Seconds; a log must cover a day: each morning gains connections that the evening gives back."""
SETTLED = 0.25
"""Of the connections at the end of a log, so many must have been there at its beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptors:
    """The descriptors of one server's process. None: not in the evidence."""

    kind: ClassVar[str] = "descriptors"
    how: ClassVar[str] = DescriptorCount.how

    host: str
    used: int | None
    used_source: str
    exact: bool
    """False: `used` counts connections only, and the process has more open than that."""
    limit: int | None
    limit_source: str
    connections: int | None = None
    served: int | None = None
    """The most connections that the limit leaves room for, where the server keeps some for itself."""
    rate_per_hour: float | None
    """Growth of the connections between two looks a minute apart, else over an access log; None without either."""
    rate_source: str = ""
    exhaustion_reports: tuple[str, ...]
    """What testifies that the server has run out, in words."""
    recovered: bool
    """Every log's last word is that the server listens again."""
    origins: tuple[str, ...]

    @property
    def counts_only_connections(self) -> bool:
        """Tell whether nothing but connections was counted and limited."""
        return self.limit_source == MOST_CONNECTIONS and not self.exact

    @property
    def share(self) -> float | None:
        """Return the part of the limit in use, 0 to 1; of the connections served, if that is more."""
        shares = [
            used / most for used, most in ((self.used, self.limit), (self.connections, self.served)) if most and used
        ]
        return max(shares, default=0.0 if self.used is not None and self.limit else None)

    @property
    def exhausted(self) -> bool:
        """Tell whether it can take no more now: it said so and has not recovered, or the limit is reached."""
        return bool(self.exhaustion_reports and not self.recovered) or (self.share or 0.0) >= 1.0

    @property
    def hours_left(self) -> float | None:
        """Return the hours until the limit at the measured rate; None when not growing or unknown."""
        if not self.rate_per_hour or self.rate_per_hour <= 0 or self.used is None or self.limit is None:
            return None
        return max(0.0, (self.limit - self.used) / self.rate_per_hour)


def count_descriptors(server: Instance, host: Host, traffic: Traffic | None = None) -> Descriptors:
    """Gather what limits a server's descriptors, and how many it uses."""
    used, used_source = _used(server, traffic)
    limit, limit_source = _limit(server)
    served = _served(server, limit)
    rate, rate_source = _growth(server, host, traffic)
    return Descriptors(
        host=server.host,
        used=used,
        used_source=used_source,
        exact=server.descriptors is not None,
        limit=limit,
        limit_source=limit_source,
        connections=server.established,
        served=served,
        rate_per_hour=rate,
        rate_source=rate_source,
        exhaustion_reports=(*_witnesses(server), *_logged_peak(traffic, served, limit)),
        recovered=_recovered(server, traffic, served, limit),
        origins=server.origins_of(
            server.descriptors, server.limits, server.configuration, server.monitor, *server.logs, *server.access_logs
        ),
    )


def _used(server: Instance, traffic: Traffic | None) -> tuple[int | None, str]:
    if server.descriptors is not None:
        return server.descriptors.open, "/proc/PID/fd"
    least = [(server.established, "at least: its established connections")]
    if server.monitor is not None:
        least.append((server.monitor.current_connections, "at least: the connections in cn=monitor"))
    known = [(count, source) for count, source in least if count is not None]
    if not known and traffic is not None and traffic.segment.opened and not traffic.segment.lost:
        return traffic.segment.open_at_end, "at least: the connections open where its access log ends"
    return max(known, default=(None, "unknown"))


def _limit(server: Instance) -> tuple[int | None, str]:
    """Return the lowest of the limits that hold, and its name."""
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
        # 389-ds takes the reserved ones off its limit and makes the rest its table (daemon.c): 19936 of 20000.
        reserved = _reserved(server, defaults)
        limits.append((size + reserved, f"dtablesize and the {reserved} reserved"))
    if limits and defaults and (cap := defaults.descriptor_cap.at(server.version)):
        limits.append((cap, "the server's built-in cap"))
    if not limits:
        return None, "unknown"
    lowest = min(value for value, _ in limits)
    return lowest, " and ".join(name for value, name in limits if value == lowest)


def _served(server: Instance, limit: int | None) -> int | None:
    """Return how many connections a limit of descriptors leaves room for; None where all are for them."""
    defaults = server.product and server.product.defaults
    if limit is None or not defaults or not defaults.times_reserved:
        return None
    return max(1, limit - defaults.times_reserved * _reserved(server, defaults))


def _reserved(server: Instance, defaults: ProductDefaults) -> int:
    """Return how many descriptors the server keeps for itself, as configured or by default."""
    configured = server.configuration.reserved_descriptors if server.configuration else None
    return defaults.reserved_descriptors if configured is None else configured


def _growth(server: Instance, host: Host, traffic: Traffic | None) -> tuple[float | None, str]:
    """Return how many connections an hour the server gains, and who says so."""
    seen = growth_per_hour(host, server.ports)
    if seen is not None:
        return seen, "between the looks at its sockets"
    logged = logged_growth_per_hour(traffic) if traffic is not None else None
    return logged, "" if logged is None else "over its access log"


def logged_growth_per_hour(traffic: Traffic) -> float | None:
    """Return how many connections an hour the server gained while its log was written.

    A server that began anew in the log, or shortly before, filled its clients' pools: that growth ends by itself.
    """
    segment = traffic.segment
    settled = segment.lives == 1 and segment.open_before >= SETTLED * segment.open_at_end > 0
    if traffic.seconds < SHORTEST_LOGGED_TREND or not settled or segment.lost:
        return None
    return (segment.open_at_end - segment.open_before) * 3600 / traffic.seconds


def growth_per_hour(host: Host, ports: frozenset[int]) -> float | None:
    """Return how many established connections an hour the server gains, from the first look to the last."""
    timed = [look for look in host.snapshots if look.taken]
    if len(timed) < 2 or timed[0].taken is None or timed[-1].taken is None:
        return None
    elapsed = (timed[-1].taken.start - timed[0].taken.start).total_seconds()
    if elapsed < SHORTEST_TREND:
        return None
    gained = len(timed[-1].sockets.established_at(ports)) - len(timed[0].sockets.established_at(ports))
    return gained * 3600 / elapsed


def _witnesses(server: Instance) -> tuple[str, ...]:
    """Return the testimony of logs and counters; two tellings of one log are one witness, the one that saw most."""
    told: dict[str, int] = {}
    for log in server.logs:
        for witness in log.exhaustion_messages:
            told[witness.meaning] = max(told.get(witness.meaning, 0), witness.count)
    return tuple(f"{meaning} ({count} times)" for meaning, count in told.items())


def _logged_peak(traffic: Traffic | None, served: int | None, limit: int | None) -> tuple[str, ...]:
    """Return the testimony of an access log that all connections there can be were open at once.

    A log that lost lines may have lost closes; one that has more than there can be did, or the limit was another.
    """
    peak = traffic.segment.peak if traffic and not traffic.segment.lost else 0
    room = served or limit
    if not room or not limit or not room <= peak <= limit:
        return ()
    return (f"{peak} connections at once in its access log, and there is room for {room}",)


def _recovered(server: Instance, traffic: Traffic | None, served: int | None, limit: int | None) -> bool:
    """Tell whether the last word of each log that testifies is that there is room again."""
    last = [log.recovered for log in server.logs if log.exhaustion_messages or log.recovered]
    if traffic is not None and _logged_peak(traffic, served, limit):
        last.append(traffic.segment.open_at_end < (served or limit or 0))
    return all(last) and bool(last or server.logs)
