"""IdleBounds: bounds of the idle timeout on each path (docs/how-it-decides.md, "The idle timeout of a middlebox")."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any, ClassVar

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.idle.box_timeouts import MiddleboxTimeout, middlebox_timeouts
from ldapdiag.analysis.idle.keepalive import GhostLifetime
from ldapdiag.analysis.idle.middleboxes import suspects
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.evidence.flows import BoxTimeouts, FlowTable
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.analysis.pairing.direction import Direction
    from ldapdiag.evidence.sockets import Key

AGREEMENT = 0.1
"""Two measurements agree when they differ by at most this share, or by a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathBounds:
    """Bounds of the middlebox's idle timeout on the path from one client network. Seconds; None: no bound."""

    client_network: str
    lower_seconds: float | None
    upper_seconds: float | None
    source: str
    middlebox: str | None = None
    """The middlebox whose own setting this is."""
    closes_both_ends: bool = False
    """A proxy: on timeout it closes both ends, so no ghost is left, and keepalive probes do not prolong the time."""
    suspects: tuple[str, ...] = ()

    @property
    def observed(self) -> dict[str, Any]:
        """Return what a finding observes of one path, by the keys of docs/contract.md."""
        return {
            "client_network": self.client_network,
            "lower_seconds": self.lower_seconds,
            "upper_seconds": self.upper_seconds,
            "source": self.source,
            "suspects": list(self.suspects),
        }

    @property
    def range_text(self) -> str:
        """Return the bounds for a sentence, as in '300 to 350 s'."""
        lower, upper = self.lower_seconds, self.upper_seconds
        if lower is None:
            return "an unknown time" if upper is None else f"at most {upper:g} s"
        if upper is None:
            return f"more than {lower:g} s"
        return f"{upper:g} s" if lower == upper else f"{lower:g} to {upper:g} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleBounds:
    """The bounds for every path that ends at one server."""

    kind: ClassVar[str] = "idle-bounds"
    how: ClassVar[str] = (
        "on the middlebox: sysctl -a | grep nf_conntrack > sysctl.txt, and its table: conntrack -L; of a proxy: "
        "haproxy.cfg; of F5: tmsh list ltm profile tcp idle-timeout"
    )

    server: str
    """The server, by the name of its instance."""
    paths: tuple[PathBounds, ...]

    def for_client(self, client: str) -> PathBounds | None:
        """Return the bounds of the path from a client's address."""
        return next((path for path in self.paths if path.client_network == network(client)), None)

    @property
    def tightest(self) -> PathBounds | None:
        """Return the path with the shortest upper bound."""
        return _shortest(self.paths)

    @property
    def soonest_silent_drop(self) -> PathBounds | None:
        """Return the path with the shortest upper bound whose middlebox drops its state without closing the ends."""
        return _shortest(path for path in self.paths if not path.closes_both_ends)

    @property
    def silent_drop_seconds(self) -> float | None:
        """Return the shortest idle time after which a middlebox may drop its state silently; None: not bounded."""
        path = self.soonest_silent_drop
        if path is None:
            return None
        return path.lower_seconds if path.lower_seconds is not None else path.upper_seconds

    @property
    def lower_seconds(self) -> float | None:
        """Return the lower bound that belongs to the tightest upper one; without an upper bound, the highest."""
        if self.tightest is not None:
            return self.tightest.lower_seconds
        return max((path.lower_seconds for path in self.paths if path.lower_seconds is not None), default=None)


def bound_idle(
    pairing: Pairing,
    host: Host,
    lifetime: GhostLifetime,
    kernels: tuple[KernelSettings, ...],
    flows: tuple[FlowTable, ...],
    timeouts: tuple[BoxTimeouts, ...] = (),
    traffic: Traffic | None = None,
) -> IdleBounds:
    """Bound the timeout on each path by the middlebox's own setting, else by what survived and what was dropped."""
    configured = middlebox_timeouts(pairing, kernels, flows, timeouts)
    sampled, logged = survived_idle_times(host, lifetime), logged_idle_times(traffic, lifetime)
    survived = {client: max(sampled.get(client, 0.0), logged.get(client, 0.0)) for client in sampled | logged}
    from_log = {client for client, seconds in logged.items() if seconds >= survived[client]}
    networks: dict[str, list[Direction]] = defaultdict(list)
    for direction in pairing.directions:
        networks[network(direction.client)].append(direction)
    paths = [
        _configured_path(name, networks[name], configured) or _measured_path(name, networks[name], survived, from_log)
        for name in sorted(networks)
    ]
    return IdleBounds(server=pairing.server, paths=tuple(paths))


def network(address: str) -> str:
    """Return the network an address is reported under: /24 for IPv4, /64 for IPv6."""
    try:
        bits = 24 if ipaddress.ip_address(address).version == 4 else 64
    except ValueError:
        return address
    return str(ipaddress.ip_network(f"{address}/{bits}", strict=False))


def _shortest(paths: Iterable[PathBounds]) -> PathBounds | None:
    bounded = [path for path in paths if path.upper_seconds is not None]
    return min(bounded, key=lambda path: path.upper_seconds or 0.0, default=None)


def survived_idle_times(host: Host, lifetime: GhostLifetime) -> dict[str, float]:
    """Return, per client, the longest idle time in seconds that was followed by traffic, from the server's snapshots.

    A connection that was idle for x seconds in one snapshot, and in the next for less than the time between them, was
    used again. Its idle time counts up to the keepalive interval only: probes may have kept the path open.
    """
    longest: dict[str, float] = {}
    for first, second in pairwise(host.snapshots):
        if not (first.taken and second.taken and first.sockets.last_received and second.sockets.last_received):
            continue
        interval = (second.taken.start - first.taken.end).total_seconds()
        before = dict(zip(_identities(first), first.sockets.last_received, strict=True))
        now = zip(_identities(second), second.sockets.last_received, second.sockets.state, strict=True)
        for identity, age, state in now:
            idle = before.get(identity)
            if state is TcpState.ESTABLISHED and idle is not None and age is not None and age < interval * 1000:
                client = identity[0][2]
                survived = min(idle / 1000, lifetime.keepalive_seconds or idle / 1000)
                longest[client] = max(longest.get(client, 0.0), survived)
    return longest


def logged_idle_times(traffic: Traffic | None, lifetime: GhostLifetime) -> dict[str, float]:
    """Return the same from the access log: the longest idle time, nothing outstanding, that a request ended.

    Idle times across a gap in the log or a restart are excluded where the log is read (ldapdiag/evidence/log).
    """
    longest = traffic.longest_idle_seconds() if traffic else {}
    return {client: min(seconds, lifetime.keepalive_seconds or seconds) for client, seconds in longest.items()}


def _identities(snapshot: Snapshot) -> Iterator[tuple[Key, int | None]]:
    """Yield each socket's key and kernel cookie: the key alone may be a later connection from the same port."""
    table = snapshot.sockets
    return zip(table.keys(), table.cookie or repeat(None, len(table)), strict=True)


def agreed(measured: Sequence[float]) -> float | None:
    """Return the smallest measurement that another one confirms; None where no two agree."""
    ordered = sorted(measured)
    for smaller, larger in pairwise(ordered):
        if larger - smaller <= max(1.0, smaller * AGREEMENT):
            return smaller
    return None


def _configured_path(
    name: str, directions: Sequence[Direction], configured: Sequence[MiddleboxTimeout]
) -> PathBounds | None:
    """Return the bounds that a middlebox's own setting gives; None where no setting applies to the path."""
    subjects = {direction.subject for direction in directions}
    timeout = next((timeout for timeout in configured if timeout.directions & subjects), None)
    if timeout is None:
        return None
    return PathBounds(
        client_network=name,
        lower_seconds=timeout.lower_seconds,
        upper_seconds=timeout.upper_seconds,
        source=timeout.source,
        middlebox=timeout.middlebox,
        closes_both_ends=timeout.closes_both_ends,
    )


def _measured_path(
    name: str, directions: Sequence[Direction], survived: dict[str, float], from_log: set[str]
) -> PathBounds:
    """Return the bounds that were measured: idle times that connections survived, and those after which they died."""
    idle_times = [
        (survived[direction.client], direction.client in from_log)
        for direction in directions
        if direction.client in survived
    ]
    lower, logged = max(idle_times, default=(None, False))
    upper = agreed([seconds for direction in directions for seconds in direction.idle_times.before_loss])
    if upper is not None and lower is not None and upper < lower:
        source = "two measurements that contradict each other: several middleboxes, or lost packets"
        return PathBounds(client_network=name, lower_seconds=lower, upper_seconds=None, source=source)
    sources = []
    if lower is not None:
        sources.append(f"the longest idle time followed by traffic{' in the access log' * logged}")
    if upper is not None:
        sources.append("clients whose first packet after an idle time is not answered")
    return PathBounds(
        client_network=name,
        lower_seconds=lower,
        upper_seconds=upper,
        source=" and ".join(sources) or "no evidence bounds it",
        suspects=suspects(lower, upper),
    )
