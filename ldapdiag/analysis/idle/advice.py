"""IdleAdvice: the idle timeout and keepalive time to set (docs/how-it-decides.md, "What to set")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ldapdiag.analysis.hosts.ages import seconds_since_received
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.idle.bounds import IdleBounds
from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.pairing.drop_style import Style
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.analysis.providers import provides

ROUND_SECONDS = (5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 600, 900, 1200, 1800, 3600, 5400, 7200)
ROUND_HOURS = tuple(hours * 3600 for hours in (3, 4, 6, 8, 12, 24))
ROUND_VALUES = ROUND_SECONDS + ROUND_HOURS
"""Values that administrators set, in seconds."""

SHORTEST_DRAIN = 300
LIVE_MARGIN = 1.5
MIDDLEBOX_MARGIN = 0.8
SHORTEST_SAFE = 60
"""Seconds; a shorter idle timeout closes pooled connections that are in use, however urgent the situation is."""
LONGEST_DRAIN = ROUND_VALUES[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleAdvice:
    """The values of the remedies, in seconds. None: the evidence does not allow a value."""

    kind: ClassVar[str] = "idle-advice"
    how: ClassVar[str] = IdleBounds.how

    server: str
    """The server, by the name of its instance."""
    ghosts: int
    clients_gone: bool
    """There are ghosts, and each is of a client that is gone: no middlebox is at fault, and only the server can act."""
    unclassified: int
    """Connections that are neither proven live nor ghosts."""
    recommended_seconds: int
    """Drain: the smallest round value above every idle time of a live connection."""
    shortened: bool
    """The drain value is shorter than the idle times call for: the descriptors would run out before."""
    tidy_seconds: int | None
    """An idle timeout below the middlebox's."""
    keepalive_seconds: int | None
    """Cure: at most half the middlebox's timeout; where clients are gone, soon enough to find that out."""
    longest_idle_seconds: float | None
    """The longest idle time of a live connection, as far as observed."""
    longest_idle_source: str
    would_close_now: int | None
    """Connections idle for longer than the drain value at present; None: no table shows ages."""
    would_cut_live: int | None
    """Those of them that are live; None: no age of a live connection is known."""

    @property
    def tidy_unsafe(self) -> bool:
        """Return whether the tidy value is too short for connection pools."""
        return self.tidy_seconds is not None and self.tidy_seconds < SHORTEST_SAFE


@provides(IdleAdvice)
def advise(
    server: Instance,
    host: Host,
    pairing: Pairing | None = None,
    bounds: IdleBounds | None = None,
    descriptors: Descriptors | None = None,
    traffic: Traffic | None = None,
) -> IdleAdvice:
    """Derive the values from idle times, the middlebox's timeout and the growth of the descriptors."""
    directions = pairing.directions if pairing else ()
    live_idle = [seconds for direction in directions for seconds in direction.idle_times.matched]
    longest, source = _longest_idle(live_idle, traffic)
    recommended, shortened = _drain_seconds(longest, descriptors)
    with_ghosts = [direction for direction in directions if direction.ghosts.count]
    gone = [direction for direction in with_ghosts if direction.style is Style.CLIENT_GONE]
    clients_gone = bool(gone) and len(gone) == len(with_ghosts)
    drop = bounds.silent_drop_seconds if bounds and not clients_gone else None
    ages = _ages(host, server.ports)
    live = sum(direction.live for direction in directions)
    return IdleAdvice(
        server=server.name,
        ghosts=sum(direction.ghosts.count for direction in directions),
        clients_gone=clients_gone,
        unclassified=sum(direction.undecided for direction in directions) if pairing else server.established or 0,
        recommended_seconds=recommended,
        shortened=shortened,
        tidy_seconds=at_most(MIDDLEBOX_MARGIN * drop) if drop is not None else None,
        keepalive_seconds=_keepalive_seconds(drop, clients_gone=bool(gone)),
        longest_idle_seconds=longest,
        longest_idle_source=source,
        would_close_now=sum(age > recommended for age in ages) if ages is not None else None,
        would_cut_live=sum(seconds > recommended for seconds in live_idle) if live_idle or not live else None,
    )


def _longest_idle(live_idle: list[float], traffic: Traffic | None) -> tuple[float | None, str]:
    """Return the longest idle time of a live connection, by snapshots or access log, and the source."""
    logged = max(traffic.longest_idle_seconds().values(), default=0.0) if traffic else 0.0
    sampled = max(live_idle, default=0.0)
    longest = max(sampled, logged) if live_idle or logged else None
    return longest, "access log" if logged > sampled else "socket ages"


def _drain_seconds(longest_idle: float | None, descriptors: Descriptors | None) -> tuple[int, bool]:
    """Return the drain value, and whether the growth of the descriptors shortened it."""
    drain = at_least(max(SHORTEST_DRAIN, LIVE_MARGIN * (longest_idle or 0)))
    left = _seconds_left(descriptors)
    if left is None or left >= drain:
        return drain, False
    return max(SHORTEST_SAFE, at_most(left) or 0), True


def _keepalive_seconds(drop: float | None, *, clients_gone: bool) -> int | None:
    """Return at most half of the middlebox's timeout; where clients are gone, probes also find them soon enough."""
    limits = [] if drop is None else [drop / 2]
    limits += [SHORTEST_DRAIN] if clients_gone else []
    return at_most(min(limits)) if limits else None


def at_least(seconds: float) -> int:
    """Return the smallest round value that is not below this."""
    return next((value for value in ROUND_VALUES if value >= seconds), LONGEST_DRAIN)


def at_most(seconds: float) -> int | None:
    """Return the largest round value that is not above this; None below the smallest."""
    return max((value for value in ROUND_VALUES if value <= seconds), default=None)


def _seconds_left(descriptors: Descriptors | None) -> float | None:
    """Return the seconds until the descriptors run out at the measured rate: the timeout must be shorter."""
    if descriptors is None or descriptors.hours_left is None:
        return None
    return descriptors.hours_left * 3600


def _ages(host: Host, ports: frozenset[int]) -> list[float] | None:
    """Return the idle time of each established connection at the server; None where no table shows ages."""
    if host.latest is None or host.latest.sockets.last_received is None:
        return None
    return seconds_since_received(host.latest.sockets, host.latest.sockets.established_at(ports))
