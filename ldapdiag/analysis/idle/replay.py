"""Replay: what a server with an idle timeout would have done to the connections of an access log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from ldapdiag.analysis.idle.idle_profile import DAY, IdleGroup, IdleProfile
from ldapdiag.evidence.log.idle_times import edge_above, edge_below
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ldapdiag.analysis.idle.idle_profile import LoggedLoad
    from ldapdiag.evidence.log.idle_times import IdleTimes

CHECKS_EACH = 2.0
"""Seconds: how late at most a server that needs activity closes an idle connection after the next record: it counts
whole seconds, and the record may be written before it looks."""


class Enforcement(Protocol):
    """How a server enforces its idle timeout: servers.idle_enforcement.IdleEnforcement."""

    @property
    def needs_activity(self) -> bool | None:
        """Idle connections are looked for only when another connection is active; None: not known."""

    @property
    def exempt(self) -> tuple[str, ...]:
        """Bind DNs that no idle timeout applies to."""

    def earliest(self, timeout: float) -> float | None:
        """Return the idle time before which no connection is closed; None: not known."""

    def latest(self, timeout: float) -> float | None:
        """Return the idle time by which a connection is closed, whatever the others do; None: not known, or never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The connections of one client and account that a timeout would have cut although they were used later."""

    client: str
    account: str
    cut: int
    undecided: int
    per_day: float
    """Of `cut`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What a server with this idle timeout would have done to the connections of the log."""

    timeout: int
    """Seconds."""
    earliest: int
    """Idle seconds before which it closes no connection: an edge of the histogram."""
    latest: int | None
    """Idle seconds by which it has closed a connection: an edge. None: not known; each idle time is undecided."""
    cut: int
    """Idle times of at least `latest` that a request ended: each cuts a connection and causes a reconnect."""
    undecided: int
    """Idle times from `earliest` to `latest` that a request ended: the moment of the sweep decides about them."""
    exempt: int
    """Idle times of at least `earliest` that a request ended, of accounts that no idle timeout applies to."""
    cut_per_day: float
    most_cut_per_day: float
    """Of `cut` and `undecided`."""
    by: tuple[Cut, ...]
    """The most cuts first; those without any are left out."""
    unused: int
    """Idle times of at least `latest` that no request ended: connections closed without harm."""
    freed_seconds: float
    """Descriptor-seconds freed, at least: the rest of each idle time after `latest`; exact for this edge."""
    held_seconds: float
    """Descriptor-seconds of the log's connections less those freed."""
    peak: int | None
    """At most so many connections at once, at the resolution of the time axis and never above the log's own peak; None
    for a timeout that is not one of evidence.log.idle_times.TIMEOUTS."""


def replay(profile: IdleProfile, timeouts: Sequence[int], enforcement: Enforcement) -> tuple[Replayed, ...]:
    """Return what each candidate timeout, in seconds, would have done; empty without an access log.

    The candidates are edges of the histogram (as all of ROUND_VALUES), so the counts are exact. The time during which
    the sweep may close a connection is widened to edges, and by the resolution of the log's stamps.
    """
    load = profile.load
    if load is None:
        return ()
    groups: dict[bool, list[IdleGroup]] = {True: [], False: []}
    for group in profile.groups:
        groups[group.belongs_to(enforcement.exempt)].append(group)
    days = (profile.log_seconds or 0.0) / DAY
    return tuple(
        _replayed(groups[False], groups[True], load, days, timeout, _window(load, timeout, enforcement))
        for timeout in timeouts
    )


def _replayed(
    reached: Sequence[IdleGroup],
    untouched: Sequence[IdleGroup],
    load: LoggedLoad,
    days: float,
    timeout: int,
    window: tuple[int, int | None],
) -> Replayed:
    earliest, latest = window
    by = tuple(sorted(_cuts(reached, days, earliest, latest), key=lambda one: (-one.cut, -one.undecided, one.client)))
    cut, undecided = sum(one.cut for one in by), sum(one.undecided for one in by)
    closed = [times for group in reached for times in group.unused]
    # A record with a wild time stamp, which the axis leaves out, may make an idle time longer than the whole log.
    freed = min(load.connection_seconds, _freed([*closed, *(group.used for group in reached)], latest))
    beyond = sum(times.from_seconds(timeout) for group in untouched for times in (group.used, *group.unused))
    return Replayed(
        timeout=timeout,
        earliest=earliest,
        latest=latest,
        cut=cut,
        undecided=undecided,
        exempt=sum(group.used.from_seconds(earliest) for group in untouched),
        cut_per_day=_per_day(cut, days),
        most_cut_per_day=_per_day(cut + undecided, days),
        by=by,
        unused=0 if latest is None else sum(times.from_seconds(latest) for times in closed),
        freed_seconds=freed,
        held_seconds=load.connection_seconds - freed,
        peak=None if latest is None else load.peak_under(timeout, latest - timeout, beyond),
    )


def _window(load: LoggedLoad, timeout: int, enforcement: Enforcement) -> tuple[int, int | None]:
    """Return the edges between which an idle time may or may not be long enough for the server to close it."""
    rounding = load.resolution if load.resolution >= 1 else 0.0
    earliest, latest = enforcement.earliest(timeout), enforcement.latest(timeout)
    if latest is None and enforcement.needs_activity is not False:
        latest = timeout + load.quiet_seconds + CHECKS_EACH
    return (
        edge_below((timeout if earliest is None else earliest) - rounding),
        None if latest is None else edge_above(latest + rounding),
    )


def _cuts(groups: Iterable[IdleGroup], days: float, earliest: int, latest: int | None) -> Iterator[Cut]:
    for group in groups:
        cut = 0 if latest is None else group.used.from_seconds(latest)
        undecided = group.used.from_seconds(earliest) - cut
        if cut or undecided:
            per_day = _per_day(cut, days)
            yield Cut(client=group.client, account=group.account, cut=cut, undecided=undecided, per_day=per_day)


def _per_day(cut: int, days: float) -> float:
    return cut / days if days else 0.0


def _freed(idle_times: Iterable[IdleTimes], latest: int | None) -> float:
    return 0.0 if latest is None else sum(times.beyond(latest) for times in idle_times) / SECOND
