"""Observed bounds of a middlebox's timeout: idle times that were survived, and those after which connections were lost.

Survived idle times: for how long connections were idle and then used again, by client (how-it-decides.md).

Youngest ghosts: what the idle times of a path's ghosts show of its timeout.

A middlebox has dropped each ghost after the timeout, so none is idle for less: the youngest bound the timeout from
above. That holds only if the middlebox dropped them after that time: not for what a client left behind that crashed or
was started again, nor for what a restart of the middlebox cost (docs/how-it-decides.md, "The idle timeout of a
middlebox").
"""

from __future__ import annotations

from itertools import pairwise, repeat
from typing import TYPE_CHECKING

from ldapdiag.analysis.pairing.drop_style import Style
from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.analysis.idle.keepalive import GhostLifetime
    from ldapdiag.analysis.log.traffic import Traffic
    from ldapdiag.analysis.pairing.direction import Direction
    from ldapdiag.evidence.sockets import Key


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
        before = dict(zip(_identities(first), _silences(first), strict=True))
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


def _silences(snapshot: Snapshot) -> Iterator[int | None]:
    """Yield for how many milliseconds each socket has received nothing: no data, and no acknowledgement of its own."""
    table = snapshot.sockets
    received = table.last_received or repeat(None, len(table))
    acknowledged = table.last_acknowledged or repeat(None, len(table))
    for data, answer in zip(received, acknowledged, strict=True):
        yield data if data is None or answer is None else min(data, answer)


def without_probes(survived: dict[str, float], directions: Iterable[Direction]) -> dict[str, float]:
    """Return idle times limited to those without a packet at clients that send keepalive probes, per client.

    Where a client's sockets were read without their timers, nothing shows whether it sends any: it has no idle times.
    """
    known = tuple(directions)
    hidden = {one.client for one in known if one.matched and not one.idle_times.timers_shown}
    survived = {client: seconds for client, seconds in survived.items() if client not in hidden}
    limits = {one.client: one.idle_times.probed for one in known if one.idle_times.probed is not None}
    return {client: min(seconds, limits.get(client, seconds)) for client, seconds in survived.items()}


def _identities(snapshot: Snapshot) -> Iterator[tuple[Key, int | None]]:
    """Yield each socket's key and kernel cookie: the key alone may be a later connection from the same port."""
    table = snapshot.sockets
    return zip(table.keys(), table.cookie or repeat(None, len(table)), strict=True)


BY_MIDDLEBOX = frozenset({Style.SILENT_DROP, Style.RESET_TO_CLIENT})
"""The styles that only a middlebox explains."""


def excludes_a_restart(direction: Direction) -> bool:
    """Return whether a flow table of the path was read, by which a restart or a flush of its middlebox is found."""
    return bool(direction.path.middleboxes or direction.path.carriers.by_table)


def bounding_idle_times(directions: Iterable[Direction]) -> list[float]:
    """Return the idle seconds of the ghosts that a middlebox dropped, by all evidence."""
    return [
        seconds
        for direction in directions
        if direction.style in BY_MIDDLEBOX and excludes_a_restart(direction)
        for seconds in direction.idle_times.ghosts_of_running_clients
    ]


def shortest_expired(directions: Iterable[Direction]) -> float | None:
    """Return the shortest idle time after which a middlebox had no entry for a severed connection; None without any."""
    expired = (direction.severed.expired_seconds for direction in directions)
    return min((seconds for seconds in expired if seconds is not None), default=None)


def supporting_remarks(directions: Sequence[Direction], upper_seconds: float | None) -> Iterator[str]:
    """Yield what the youngest ghost supports, where it bounds nothing, and what would make it a bound."""
    ages = [
        (seconds, direction)
        for direction in directions
        if direction.style is not Style.CLIENT_GONE
        for seconds in direction.idle_times.ghosts
    ]
    if upper_seconds is not None or not ages:
        return
    seconds, direction = min(ages, key=lambda age: age[0])
    clients = " or ".join(direction.client_hosts) or direction.client
    yield (
        f"The youngest ghost from {clients} was idle for {seconds:,.0f} s: this supports a timeout of the middlebox "
        f"below that, and proves none, {_because(direction, clients)}."
    )


def _because(direction: Direction, clients: str) -> str:
    """Return why the ghosts of a direction bound nothing."""
    history = direction.evidence.client
    unknown = [] if history.booted else [f"when {clients} booted (uptime)"]
    if not (history.started and history.owned):
        unknown.append("when the processes started that own its connections (ps -o lstart, and ss -p as root)")
    if unknown:
        return f"because it is not known {' and '.join(unknown)}"
    if direction.style not in BY_MIDDLEBOX:
        return "because it is not known whether a middlebox dropped them"
    if not excludes_a_restart(direction):
        return (
            "because a restart of the middlebox would explain it as well (its flow table, conntrack -L, was not read)"
        )
    return "because no two ghosts of clients that have run since agree"
