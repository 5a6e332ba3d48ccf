"""IdleAdvice: which idle timeout and keepalive to set, argued from what was measured (DESIGN, pairing, rule 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ldapdiag.analysis.hosts.ages import seconds_since_received
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.idle.bounds import IdleBounds
from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.pairing.pairing import Pairing

ROUND_SECONDS = (5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 600, 900, 1200, 1800, 3600, 5400, 7200)
ROUND_HOURS = tuple(hours * 3600 for hours in (3, 4, 6, 8, 12, 24))
ROUND_VALUES = ROUND_SECONDS + ROUND_HOURS
"""Values a person would set, in seconds."""

SHORTEST_DRAIN = 300
LIVE_MARGIN = 1.5
MIDDLEBOX_MARGIN = 0.8
SHORTEST_SAFE = 60
"""Seconds; a shorter idle timeout cuts pools that rest now and then, however pressing the hour is."""
LONGEST_DRAIN = ROUND_VALUES[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleAdvice:
    """The three remedies as numbers of seconds. None: cannot be argued from this evidence."""

    kind: ClassVar[str] = "idle-advice"
    how: ClassVar[str] = IdleBounds.how

    host: str
    ghosts: int
    unclassified: int
    """Connections of which nobody can say whether they are ghosts."""
    recommended_seconds: int
    """Drain: the smallest round value above every living rest."""
    shortened: bool
    """The drain value is lower than a pool would like, because the descriptors would run out first."""
    tidy_seconds: int | None
    """An idle timeout below the box's."""
    keepalive_seconds: int | None
    """Cure: at most half the box's timeout."""
    longest_idle_seconds: float | None
    """The longest a living connection was seen to rest."""
    longest_idle_source: str
    """Who says so."""
    would_close_now: int | None
    """Connections that rest longer than the drain value at this moment; None: no table tells ages."""
    would_cut_live: int | None
    """Those of them that are alive at both ends."""

    @property
    def tidy_unsafe(self) -> bool:
        """Tell whether the tidy value is too short for a pool that rests now and then."""
        return self.tidy_seconds is not None and self.tidy_seconds < SHORTEST_SAFE


def advise(
    server: Instance,
    host: Host,
    pairing: Pairing | None = None,
    bounds: IdleBounds | None = None,
    descriptors: Descriptors | None = None,
    traffic: Traffic | None = None,
) -> IdleAdvice:
    """Argue the values."""
    directions = pairing.directions if pairing else ()
    rests = [rest for direction in directions for rest in direction.rests]
    logged = max(traffic.longest_idle_seconds().values(), default=0.0) if traffic else 0.0
    seen = max(rests, default=0.0)
    longest = max(seen, logged) if rests or logged else None
    drain = at_least(max(SHORTEST_DRAIN, LIVE_MARGIN * (longest or 0)))
    soon = _before_running_out(descriptors)
    hurried = soon is not None and soon < drain
    recommended = max(SHORTEST_SAFE, at_most(soon) or 0) if hurried and soon is not None else drain
    forgets = bounds.silent_drop_seconds if bounds else None
    ages = _ages(host, server.ports)
    matched = sum(direction.matched for direction in directions)
    return IdleAdvice(
        host=server.host,
        ghosts=sum(direction.ghosts for direction in directions),
        unclassified=sum(direction.unread for direction in directions) if pairing else server.established or 0,
        recommended_seconds=recommended,
        shortened=hurried,
        tidy_seconds=at_most(MIDDLEBOX_MARGIN * forgets) if forgets is not None else None,
        keepalive_seconds=at_most(forgets / 2) if forgets is not None else None,
        longest_idle_seconds=longest,
        longest_idle_source="access log" if logged > seen else "socket ages",
        would_close_now=sum(age > recommended for age in ages) if ages is not None else None,
        would_cut_live=sum(rest > recommended for rest in rests) if rests or not matched else None,
    )


def at_least(seconds: float) -> int:
    """Return the smallest value a person would set that is not below this."""
    return next((value for value in ROUND_VALUES if value >= seconds), LONGEST_DRAIN)


def at_most(seconds: float) -> int | None:
    """Return the largest value a person would set that is not above this; None below the smallest."""
    return max((value for value in ROUND_VALUES if value <= seconds), default=None)


def _before_running_out(descriptors: Descriptors | None) -> float | None:
    """Return the seconds until the descriptors run out at the measured rate: rate times timeout must stay below."""
    if descriptors is None or descriptors.hours_left is None:
        return None
    return descriptors.hours_left * 3600


def _ages(host: Host, ports: frozenset[int]) -> list[float] | None:
    """Return for how long each established connection at the server rests; None when no table tells."""
    if host.latest is None or host.latest.sockets.last_received is None:
        return None
    return seconds_since_received(host.latest.sockets, host.latest.sockets.established_at(ports))
