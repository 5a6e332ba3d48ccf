"""IdleAdvice: the idle timeout and keepalive time to set (docs/how-it-decides.md, "What to set")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ldapdiag.analysis.hosts.ages import seconds_since_received
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.idle.bounds import IdleBounds
from ldapdiag.analysis.idle.drain_choice import SHORTEST, DrainChoice, at_most, choose_drain
from ldapdiag.analysis.idle.idle_profile import LIMITS, IdleProfile
from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.pairing.drop_style import Style
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.analysis.providers import provides
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import counted

MIDDLEBOX_MARGIN = 0.8
FIND_GHOSTS = 300
"""Seconds of idle time after which probes find soon enough that a client is gone."""
COUNTED_TOGETHER = {"idle_times", "clients"}
"""Caps above which idle times are still counted, but not by client."""


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
    drain: DrainChoice
    """The idle timeout to set, and the evidence for it."""
    tidy_seconds: int | None
    """An idle timeout below the middlebox's."""
    keepalive_seconds: int | None
    """Cure: at most half the middlebox's timeout; where clients are gone, soon enough to find that out."""
    would_close_now: int | None
    """Connections idle for longer than the drain value at present; None: no table shows ages."""
    would_cut_live: int | None
    """Those of them that are live; None: no age of a live connection is known."""

    @property
    def recommended_seconds(self) -> int:
        """Return the idle timeout to set."""
        return self.drain.seconds

    @property
    def longest_idle_seconds(self) -> float | None:
        """Return the longest idle time of a live connection, as far as observed."""
        return self.drain.longest.seconds if self.drain.longest else None

    @property
    def tidy_cuts_live(self) -> bool:
        """Return whether live connections are idle for longer than the tidy value."""
        return self.tidy_seconds is not None and (self.longest_idle_seconds or 0) >= self.tidy_seconds

    @property
    def tidy_unsafe(self) -> bool:
        """Return whether the tidy value is too short for connection pools, by what was seen or by experience."""
        return self.tidy_seconds is not None and (self.tidy_seconds < SHORTEST or self.tidy_cuts_live)


@provides(IdleAdvice)
def advise(
    server: Instance,
    host: Host,
    profile: IdleProfile,
    pairing: Pairing | None = None,
    bounds: IdleBounds | None = None,
    descriptors: Descriptors | None = None,
    traffic: Traffic | None = None,
) -> IdleAdvice:
    """Derive the values from idle times, the middlebox's timeout and the growth of the descriptors."""
    directions = pairing.directions if pairing else ()
    live_idle = [seconds for direction in directions for seconds in direction.idle_times.live]
    with_ghosts = [direction for direction in directions if direction.ghosts.count]
    gone = [direction for direction in with_ghosts if direction.style is Style.CLIENT_GONE]
    clients_gone = bool(gone) and len(gone) == len(with_ghosts)
    drop = bounds.silent_drop_seconds if bounds and not clients_gone else None
    drain = choose_drain(
        profile,
        live_idle,
        server.idle_enforcement,
        seconds_left=_seconds_left(descriptors),
        drops_after=drop,
        gaps=tuple(_gaps(traffic)),
    )
    ages = _ages(host, server.ports)
    live = sum(direction.held for direction in directions)
    return IdleAdvice(
        server=server.name,
        ghosts=sum(direction.ghosts.count for direction in directions),
        clients_gone=clients_gone,
        unclassified=sum(direction.undecided for direction in directions) if pairing else server.established or 0,
        drain=drain,
        tidy_seconds=at_most(MIDDLEBOX_MARGIN * drop) if drop is not None else None,
        keepalive_seconds=_keepalive_seconds(drop, clients_gone=bool(gone)),
        would_close_now=sum(age > drain.seconds for age in ages) if ages is not None else None,
        would_cut_live=sum(seconds > drain.seconds for seconds in live_idle) if live_idle or not live else None,
    )


def _gaps(traffic: Traffic | None) -> Iterator[str]:
    """Yield why the log may lack idle times, as clauses."""
    if traffic is None:
        return
    if traffic.segment.lost:
        yield f"the access log reports {counted(traffic.segment.lost, 'lost line')}"
    yield from (LIMITS[cap] for cap in traffic.segment.caps_hit if cap in LIMITS and cap not in COUNTED_TOGETHER)


def _keepalive_seconds(drop: float | None, *, clients_gone: bool) -> int | None:
    """Return at most half of the middlebox's timeout; where clients are gone, probes also find them soon enough."""
    limits = [] if drop is None else [drop / 2]
    limits += [FIND_GHOSTS] if clients_gone else []
    return at_most(min(limits)) if limits else None


def _seconds_left(descriptors: Descriptors | None) -> float | None:
    """Return the seconds before which the descriptors hardly run out: the timeout must be shorter."""
    if descriptors is None or descriptors.earliest_hours_left is None:
        return None
    return descriptors.earliest_hours_left * 3600


def _ages(host: Host, ports: frozenset[int]) -> list[float] | None:
    """Return the idle time of each established connection at the server; None where no table shows ages."""
    if host.latest is None or host.latest.sockets.last_received is None:
        return None
    return seconds_since_received(host.latest.sockets, host.latest.sockets.established_at(ports))
