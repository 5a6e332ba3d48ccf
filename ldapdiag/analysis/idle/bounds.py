"""IdleBounds: after how many idle seconds the path forgets a connection (DESIGN, pairing, rule 6)."""

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
    """What is known of the box on the path from one client network. Seconds; None: no bound."""

    client_network: str
    lower_seconds: float | None
    upper_seconds: float | None
    source: str
    box: str | None = None
    """The box whose own setting this is."""
    closes_both_ends: bool = False
    """The box closes at both ends (a proxy): nobody is left behind, and keepalive does not prolong it."""
    suspects: tuple[str, ...] = ()

    @property
    def observed(self) -> dict[str, Any]:
        """Return what a finding observes of one path, by the contract's keys."""
        return {
            "client_network": self.client_network,
            "lower_seconds": self.lower_seconds,
            "upper_seconds": self.upper_seconds,
            "source": self.source,
            "suspects": list(self.suspects),
        }

    @property
    def range_text(self) -> str:
        """Return the bounds as a person says them."""
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
        "on the box: sysctl -a | grep nf_conntrack > sysctl.txt, and its table: conntrack -L; of a proxy: haproxy.cfg; "
        "of F5: tmsh list ltm profile tcp idle-timeout"
    )

    host: str
    paths: tuple[PathBounds, ...]

    def for_client(self, client: str) -> PathBounds | None:
        """Return the bounds of the path that a client's address is on."""
        return next((path for path in self.paths if path.client_network == network(client)), None)

    @property
    def tightest(self) -> PathBounds | None:
        """Return the path whose box forgets soonest."""
        return _soonest(self.paths)

    @property
    def soonest_silent_drop(self) -> PathBounds | None:
        """Return the path whose box forgets soonest without telling the ends: what keepalive and tidying are for."""
        return _soonest(path for path in self.paths if not path.closes_both_ends)

    @property
    def silent_drop_seconds(self) -> float | None:
        """Return after how many seconds at the soonest a box may forget, as far as the evidence bounds it."""
        path = self.soonest_silent_drop
        if path is None:
            return None
        return path.lower_seconds if path.lower_seconds is not None else path.upper_seconds

    @property
    def lower_seconds(self) -> float | None:
        """Return the lower bound that goes with the tightest upper one; with no upper bound, the highest."""
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
    """Bracket the timeout of the box on each path: its own setting where readable, else what survived and what died."""
    settings = middlebox_timeouts(pairing, kernels, flows, timeouts)
    seen, logged = survived_idle_times(host, lifetime), logged_idle_times(traffic, lifetime)
    survived = {client: max(seen.get(client, 0.0), logged.get(client, 0.0)) for client in seen | logged}
    by_log = {client for client, seconds in logged.items() if seconds >= survived[client]}
    networks: dict[str, list[Direction]] = defaultdict(list)
    for direction in pairing.directions:
        networks[network(direction.client)].append(direction)
    paths = [_path(name, networks[name], settings, survived, by_log) for name in sorted(networks)]
    return IdleBounds(host=pairing.host, paths=tuple(paths))


def network(address: str) -> str:
    """Return the network an address is reported under: /24 for IPv4, /64 for IPv6."""
    try:
        bits = 24 if ipaddress.ip_address(address).version == 4 else 64
    except ValueError:
        return address
    return str(ipaddress.ip_network(f"{address}/{bits}", strict=False))


def _soonest(paths: Iterable[PathBounds]) -> PathBounds | None:
    known = [path for path in paths if path.upper_seconds is not None]
    return min(known, key=lambda path: path.upper_seconds or 0.0, default=None)


def survived_idle_times(host: Host, lifetime: GhostLifetime) -> dict[str, float]:
    """Return per client the longest rest that was followed by traffic, from two looks at the server's own ages.

    A connection that had rested x seconds at the first look, and at the second for less than the time between them,
    has been used again. Its rest counts no further than the keepalive interval, which may have kept the path open.
    """
    longest: dict[str, float] = {}
    for first, second in pairwise(host.snapshots):
        if not (first.taken and second.taken and first.sockets.last_received and second.sockets.last_received):
            continue
        apart = (second.taken.start - first.taken.end).total_seconds()
        before = dict(zip(_identities(first), first.sockets.last_received, strict=True))
        now = zip(_identities(second), second.sockets.last_received, second.sockets.state, strict=True)
        for identity, age, state in now:
            rested = before.get(identity)
            if state is TcpState.ESTABLISHED and rested is not None and age is not None and age < apart * 1000:
                gap = min(rested / 1000, lifetime.keepalive_seconds or rested / 1000)
                client = identity[0][2]
                longest[client] = max(longest.get(client, 0.0), gap)
    return longest


def logged_idle_times(traffic: Traffic | None, lifetime: GhostLifetime) -> dict[str, float]:
    """Return the same from the access log: the longest rest that a request ended, with nothing outstanding.

    Rests across a hole in the log or a restart are not among them (evidence/log/rests.py).
    """
    rests = traffic.longest_idle_seconds() if traffic else {}
    return {client: min(seconds, lifetime.keepalive_seconds or seconds) for client, seconds in rests.items()}


def _identities(look: Snapshot) -> Iterator[tuple[Key, int | None]]:
    """Yield what tells each socket from all others: its key, and the kernel's cookie, for a port may be used again."""
    table = look.sockets
    return zip(table.keys(), table.cookie or repeat(None, len(table)), strict=True)


def agreed(measured: Sequence[float]) -> float | None:
    """Return the smallest of the measurements that another one confirms."""
    ordered = sorted(measured)
    for one, following in pairwise(ordered):
        if following - one <= max(1.0, one * AGREEMENT):
            return one
    return None


def _path(
    name: str,
    directions: Sequence[Direction],
    settings: Sequence[MiddleboxTimeout],
    survived: dict[str, float],
    by_log: set[str],
) -> PathBounds:
    subjects = {direction.subject for direction in directions}
    own = next((one for one in settings if one.directions & subjects), None)
    if own is not None:
        return PathBounds(
            client_network=name,
            lower_seconds=own.lower_seconds,
            upper_seconds=own.upper_seconds,
            source=own.source,
            box=own.box,
            closes_both_ends=own.closes_both_ends,
        )
    gaps = [(survived[one.client], one.client in by_log) for one in directions if one.client in survived]
    lower, logged = max(gaps, default=(None, False))
    upper = agreed([seconds for one in directions for seconds in one.retransmitting_for])
    if upper is not None and lower is not None and upper < lower:
        source = "two measurements that contradict each other: more than one box, or packets lost"
        return PathBounds(client_network=name, lower_seconds=lower, upper_seconds=None, source=source)
    told = [
        *([f"the longest rest followed by traffic{' in the access log' * logged}"] if lower is not None else []),
        *(["clients whose first packet after a rest goes unanswered"] if upper is not None else []),
    ]
    return PathBounds(
        client_network=name,
        lower_seconds=lower,
        upper_seconds=upper,
        source=" and ".join(told) or "nothing in the evidence bounds it",
        suspects=suspects(lower, upper),
    )
