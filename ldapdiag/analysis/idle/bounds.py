"""IdleBounds: bounds of the idle timeout on each path (docs/how-it-decides.md, "The idle timeout of a middlebox").

Contradictions: the setting of a middlebox, checked against what its connections did (docs/how-it-decides.md).

A setting can be wrong for a path although it was read correctly: another device drops first, a rule or zone has a
timeout of its own, or the value was changed. What was measured counts.

Middleboxes: vendors' default idle timeouts, to name suspects for a measured bound.

Sources: the vendors' own documentation (AWS, Azure, GCP, Cisco, Palo Alto, Juniper, F5; Linux
Documentation/networking/nf_conntrack-sysctl.rst). Administrators change these values, so a match names a suspect,
never the cause.
"""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.idle.box_timeouts import MiddleboxTimeout, middlebox_timeouts
from ldapdiag.analysis.idle.keepalive import GhostLifetime
from ldapdiag.analysis.idle.observed_bounds import (
    bounding_idle_times,
    excludes_a_restart,
    logged_idle_times,
    shortest_expired,
    supporting_remarks,
    survived_idle_times,
    without_probes,
)
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.pairing.drop_style import Style
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.flows import BoxTimeouts
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import between, bound, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ldapdiag.analysis.pairing.direction import Direction

SELDOM = 86_400
"""Seconds; connections are rarely idle for that long, so a longer timeout that was not seen to drop any is no cause."""


CONTRADICTION = (
    "A contradiction: a connection was used again after {lower} of idle time, and others were lost after "
    "{upper}. Neither bounds the timeout. Possible: a restart of a middlebox, an outage, several middleboxes, or "
    "keepalive probes of a client that has ended."
)
ONE_EVENT = (
    "Connections were lost after {timeout} of idle time, all of which were idle at one moment: a restart of a "
    "middlebox, or an outage, would explain that, so it bounds nothing. What shows more: its flow table (conntrack "
    "-L), or the tables of the clients while connections are lost at other times."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathBounds:
    """Bounds of the middlebox's idle timeout on the path from one client network. Seconds; None: no bound."""

    client_network: str
    lower_seconds: float | None
    upper_seconds: float | None
    source: str
    middlebox: str | None = None
    """The middlebox whose own setting this is."""
    shortest_setting: float | None = None
    """The shortest of its settings that may apply; `upper_seconds` is the longest."""
    closes_both_ends: bool = False
    """A proxy: on timeout it closes both ends, so no ghost is left, and keepalive probes do not prolong the time."""
    suspects: tuple[str, ...] = ()
    loose: bool = False
    """The upper bound is the idle time of dead connections, which may have been dropped long before."""
    drop_seen: bool = False
    """Connections were dropped after an idle time that agrees with these bounds."""
    explains_ghosts: bool = True
    """False: all ghosts on this path were idle for less than the setting, which did not cause them."""
    remarks: tuple[str, ...] = ()
    """What contradicts a setting on this path, or supports a timeout without bounding it, as sentences."""

    @property
    def is_cause(self) -> bool:
        """Return whether connections that are idle for this time are, or may well be, dropped here."""
        return self.explains_ghosts and (self.drop_seen or (self.upper_seconds or 0) < SELDOM)

    @property
    def is_set_only(self) -> bool:
        """Return whether this is a setting after whose time no connection was seen to be dropped."""
        return self.middlebox is not None and not self.drop_seen

    @property
    def bracket(self) -> tuple[float | None, float | None]:
        """Return the bounds to report: of a setting its own, and of one that explains no ghost no upper bound."""
        return (self._least_seconds, self.upper_seconds) if self.explains_ghosts else (self.lower_seconds, None)

    @property
    def _least_seconds(self) -> float | None:
        return self.shortest_setting if self.is_set_only else self.lower_seconds

    @property
    def action(self) -> str:
        """Return what the middlebox does, before `range_text`: a setting is not an observation."""
        if self.bracket[1] is None:
            return "keeps its state for"
        if self.closes_both_ends:
            return "is set to close both ends after" if self.is_set_only else "closes both ends after"
        return "is set to drop its state after" if self.is_set_only else "drops its state after"

    @property
    def observed(self) -> dict[str, Any]:
        """Return what a finding observes of one path, by the keys of docs/contract.md."""
        return {
            "client_network": self.client_network,
            "lower_seconds": self.lower_seconds,
            "upper_seconds": self.bracket[1],
            "source": self.source,
            "suspects": list(self.suspects),
            "box": self.middlebox,
            "loose": self.loose,
            "drop_seen": self.drop_seen,
            "remarks": list(self.remarks),
        }

    @property
    def range_text(self) -> str:
        """Return the bounds for a sentence, as in '300 to 350 s'."""
        return between(self._least_seconds, self.upper_seconds)


@dataclass(frozen=True, kw_only=True)
class IdleBounds:
    """The bounds for every path that ends at one server."""

    kind: ClassVar[str] = "idle-bounds"
    how: ClassVar[str] = (
        "on the middlebox: sysctl -a | grep nf_conntrack > sysctl.txt, its table: conntrack -L, and ip route; of a "
        "proxy: haproxy.cfg; of F5: tmsh list ltm profile tcp idle-timeout"
    )

    server: str
    """The server, by the name of its instance."""
    paths: tuple[PathBounds, ...]
    elsewhere: tuple[MiddleboxTimeout, ...] = ()
    """Settings of middleboxes that are not known to carry any of these connections."""
    direct: bool = False
    """There are connections, and each has both ends on one host or in one subnet: no middlebox is between them."""

    def for_client(self, client: str) -> PathBounds | None:
        """Return the bounds of the path from a client's address."""
        return self._by_network.get(network(client))

    @cached_property
    def _by_network(self) -> dict[str, PathBounds]:
        return {path.client_network: path for path in self.paths}

    @property
    def tightest(self) -> PathBounds | None:
        """Return the path with the shortest upper bound, without settings that explain none of their ghosts."""
        return _shortest(path for path in self.paths if path.explains_ghosts)

    @property
    def soonest_silent_drop(self) -> PathBounds | None:
        """Return the path with the shortest upper bound whose middlebox drops its state without closing the ends."""
        return _shortest(path for path in self.paths if not path.closes_both_ends)

    @property
    def soonest_seen(self) -> PathBounds | None:
        """Return that path, of those whose middlebox was seen to drop connections."""
        return _shortest(path for path in self.paths if not path.closes_both_ends and path.drop_seen)

    @property
    def soonest_cause(self) -> PathBounds | None:
        """Return that path, of those whose middlebox may be the cause of dead connections."""
        return _shortest(path for path in self.paths if not path.closes_both_ends and path.is_cause)

    @property
    def silent_drop_seconds(self) -> float | None:
        """Return the shortest idle time after which a middlebox may drop its state silently; None: not bounded."""
        path = self.soonest_cause
        if path is None:
            return None
        if path.middlebox is not None and not path.drop_seen:
            return path.shortest_setting or path.upper_seconds
        return path.lower_seconds if path.lower_seconds is not None or path.loose else path.upper_seconds

    @property
    def dropped_by_seconds(self) -> float | None:
        """Return the shortest idle time by which a middlebox has dropped its state silently; None: not known."""
        path = self.soonest_cause
        return None if path is None or path.loose else path.upper_seconds

    def dropped_by(self, client: str) -> float | None:
        """Return the same of the path from a client's address."""
        path = self.for_client(client)
        return None if path is None else replace(self, paths=(path,)).dropped_by_seconds

    @property
    def lower_seconds(self) -> float | None:
        """Return the lower bound that belongs to the tightest upper one; without an upper bound, the highest."""
        if self.tightest is not None:
            return self.tightest.lower_seconds
        return max((path.lower_seconds for path in self.paths if path.lower_seconds is not None), default=None)


@provides(IdleBounds)
def bound_idle(
    pairing: Pairing,
    host: Host,
    lifetime: GhostLifetime,
    kernels: tuple[KernelSettings, ...],
    timeouts: tuple[BoxTimeouts, ...] = (),
    traffic: Traffic | None = None,
) -> IdleBounds:
    """Bound the timeout on each path by the middlebox's own setting, if nothing contradicts it, else as measured."""
    configured = middlebox_timeouts(pairing, kernels, timeouts)
    sampled, logged = survived_idle_times(host, lifetime), logged_idle_times(traffic, lifetime)
    survived = {client: max(sampled.get(client, 0.0), logged.get(client, 0.0)) for client in sampled | logged}
    from_log = {client for client, seconds in logged.items() if seconds >= survived[client]}
    networks: dict[str, list[Direction]] = defaultdict(list)
    for direction in pairing.directions:
        if not direction.path.carriers.direct or direction.idle_times.before_loss:
            networks[network(direction.client)].append(direction)
    measure = partial(_measured_path, survived=without_probes(survived, pairing.directions), from_log=from_log)
    paths = [_path(name, networks[name], configured, measure) for name in sorted(networks)]
    direct = bool(pairing.directions) and not paths
    elsewhere = tuple(timeout for timeout in configured if not timeout.directions) if paths else ()
    return IdleBounds(server=pairing.server, paths=_agreed_by_all(paths), elsewhere=elsewhere, direct=direct)


def _agreed_by_all(paths: Sequence[PathBounds]) -> tuple[PathBounds, ...]:
    """Return the paths; a drop that was seen on one shows that the same setting applies on the others.

    A setting that was seen to drop none, and does not explain the ghosts of one, is no cause on the others either.
    """
    seen = {(path.middlebox, path.source) for path in paths if path.middlebox and path.drop_seen}
    refuted = {(path.middlebox, path.source) for path in paths if not path.explains_ghosts} - seen
    return tuple(
        replace(
            path,
            drop_seen=path.drop_seen or (path.explains_ghosts and (path.middlebox, path.source) in seen),
            explains_ghosts=path.explains_ghosts and (path.middlebox, path.source) not in refuted,
        )
        for path in paths
    )


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


def agreed(measured: Sequence[float]) -> float | None:
    """Return the smallest measurement that another one confirms; None where no two agree."""
    ordered = sorted(measured)
    for smaller, larger in pairwise(ordered):
        if not exceeds(larger, smaller):
            return smaller
    return None


def _path(
    name: str,
    directions: Sequence[Direction],
    configured: Iterable[MiddleboxTimeout],
    measure: Callable[[str, Sequence[Direction]], PathBounds],
) -> PathBounds:
    """Return the bounds by the shortest setting on the path that nothing measured contradicts, else as measured."""
    remarks: list[str] = []
    for setting in configured:
        carried = [direction for direction in directions if direction.subject in setting.directions]
        if not carried:
            continue
        measured = measure(name, carried)
        bounded = _with_youngest(measured, carried, ())
        contradicted = contradiction(setting, bounded.lower_seconds, bounded.upper_seconds)
        if contradicted is None:
            return _configured_path(setting, carried, measured, remarks)
        remarks.append(contradicted)
    return _with_youngest(measure(name, directions), directions, remarks)


def _with_youngest(path: PathBounds, directions: Sequence[Direction], remarks: Sequence[str]) -> PathBounds:
    """Return measured bounds with what the youngest dead connections add: an upper bound where nothing else has one."""
    ghosts, expired = agreed(bounding_idle_times(directions)), shortest_expired(directions)
    known = agreed([seconds for direction in directions for seconds in direction.idle_times.before_loss]) is not None
    youngest = min((seconds for seconds in (ghosts, expired) if seconds is not None), default=None)
    if youngest is None or known or (path.lower_seconds is not None and youngest < path.lower_seconds):
        return replace(path, remarks=(*remarks, *path.remarks, *supporting_remarks(directions, path.upper_seconds)))
    source = "the youngest ghosts, whose clients have run since"
    if youngest != ghosts:
        source = "the youngest of the severed connections, whose entries have expired"
    return replace(
        path,
        upper_seconds=youngest,
        loose=True,
        source=source if path.lower_seconds is None else f"{path.source} and {source}",
        suspects=suspects(path.lower_seconds, youngest) if path.lower_seconds is not None else (),
        remarks=(*remarks, *path.remarks),
    )


def _configured_path(
    setting: MiddleboxTimeout, directions: Sequence[Direction], measured: PathBounds, remarks: Sequence[str]
) -> PathBounds:
    """Return the bounds by a setting, and whether it was seen to drop connections of these directions.

    Another middlebox may drop connections sooner: the setting is a lower bound only where the drops that were seen
    agree with it.
    """
    dropped = [direction for direction in directions if direction.style is not Style.CLIENT_GONE]
    ages = [seconds for direction in dropped for seconds in direction.idle_times.ghosts]
    lost = any(direction.evidence.without_flow for direction in dropped)
    without_flow = lost and not ages and setting.upper_seconds < SELDOM
    leaves_ghosts = not setting.closes_both_ends and measured.upper_seconds is None
    not_caused = unexplained(setting, ages) if leaves_ghosts else None
    drop_seen = (
        measured.upper_seconds is not None
        or younger_than(setting, ages) < len(ages)
        or without_flow
        or shortest_expired(direction for direction in dropped if direction.severed.unanswered) is not None
    )
    sooner = any(direction.idle_times.lost_sooner for direction in directions)
    return PathBounds(
        client_network=measured.client_network,
        lower_seconds=setting.lower_seconds if drop_seen and not sooner else measured.lower_seconds,
        upper_seconds=setting.upper_seconds,
        source=setting.source,
        middlebox=setting.middlebox,
        shortest_setting=setting.lower_seconds,
        closes_both_ends=setting.closes_both_ends,
        drop_seen=drop_seen,
        explains_ghosts=not_caused is None,
        remarks=(*remarks, not_caused) if not_caused else tuple(remarks),
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
        remark = CONTRADICTION.format(lower=bound(lower), upper=bound(upper))
        return PathBounds(client_network=name, lower_seconds=None, upper_seconds=None, source=source, remarks=(remark,))
    remarks: tuple[str, ...] = ()
    if upper is not None and all(map(_may_be_one_event, directions)):
        remarks = (ONE_EVENT.format(timeout=bound(upper)),)
        upper = None
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
        drop_seen=upper is not None,
        remarks=remarks,
    )


def _may_be_one_event(direction: Direction) -> bool:
    """Return whether a restart of a middlebox, or an outage, explains all losses of a direction; true without any."""
    times = direction.idle_times
    return not times.before_loss or (times.one_event and not excludes_a_restart(direction))


AGREEMENT = 0.1
"""Two durations agree when they differ by at most this share of the smaller, or by a second."""


def exceeds(longer: float, shorter: float) -> bool:
    """Return whether a duration in seconds is longer than another, and does not agree with it."""
    return longer - shorter > max(1.0, shorter * AGREEMENT)


def contradiction(setting: MiddleboxTimeout, lower: float | None, upper: float | None) -> str | None:
    """Return how the measured bounds contradict a setting; None where they do not. Seconds."""
    name = f"{setting.source} is {bound(setting.upper_seconds)}"
    if upper is not None and exceeds(setting.lower_seconds, upper):
        name = f"{setting.source} is {bound(setting.lower_seconds)}"
        return (
            f"A contradiction: {name}, but connections were dropped after at most {bound(upper)} of idle time. The "
            "measurement counts. Possible: another middlebox on the path, a restart of this one, a timeout of its own "
            "for this rule or zone, or a setting that was changed since."
        )
    if lower is not None and exceeds(lower, setting.upper_seconds):
        return (
            f"A contradiction: {name}, but a connection was used again after {bound(lower)} of idle time. The "
            "measurement counts. Possible: keepalive probes of the client, a middlebox that takes up a connection in "
            "its middle (nf_conntrack_tcp_loose = 1), a timeout of its own for this rule or zone, or a setting that "
            "was changed since."
        )
    return None


def younger_than(setting: MiddleboxTimeout, ghost_ages: Sequence[float]) -> int:
    """Return how many ghosts, by their idle seconds, this timeout cannot have caused."""
    return sum(exceeds(setting.lower_seconds, age) for age in ghost_ages)


def unexplained(setting: MiddleboxTimeout, ghost_ages: Sequence[float]) -> str | None:
    """Return that a timeout does not explain the ghosts of its path; None where it explains any, or there are none."""
    if not ghost_ages or younger_than(setting, ghost_ages) < len(ghost_ages):
        return None
    ghosts = counted(len(ghost_ages), "ghost connection")
    return (
        f"{setting.source} ({bound(setting.lower_seconds)}) does not explain the {ghosts}: the longest idle time is "
        f"{bound(max(ghost_ages))}. Possible: another middlebox on the path, a restart of this one, or a client that "
        "ended without closing its connections."
    )


DEFAULT_TIMEOUTS: dict[int, tuple[str, ...]] = {
    60: ("AWS Classic Load Balancer", "HAProxy as most distributions configure it"),
    240: ("Azure Load Balancer or NAT gateway",),
    300: ("F5 BIG-IP (tcp, fastL4)", "Docker Desktop"),
    350: ("AWS Network Load Balancer", "AWS NAT gateway"),
    600: ("Google Cloud VPC firewall",),
    900: ("IPVS (kube-proxy)",),
    1800: ("Juniper SRX",),
    3600: ("Cisco ASA/FTD", "Palo Alto", "Check Point", "Fortinet"),
    86400: ("pf (OpenBSD, pfSense)",),
    432000: ("Linux conntrack",),
}
"""Seconds to products."""


def suspects(lower: float | None, upper: float | None) -> tuple[str, ...]:
    """Return the products whose default timeout lies in (lower, upper], if exactly one default does. Seconds."""
    if upper is None:
        return ()
    inside = [seconds for seconds in DEFAULT_TIMEOUTS if (lower or 0) < seconds <= upper * 1.01]
    return DEFAULT_TIMEOUTS[inside[0]] if len(inside) == 1 else ()
