"""Youngest ghosts: what the idle times of a path's ghosts show of its timeout.

A middlebox has dropped each ghost after the timeout, so none is idle for less: the youngest bound the timeout from
above. That holds only if the middlebox dropped them after that time: not for what a client left behind that crashed or
was started again, nor for what a restart of the middlebox cost (docs/how-it-decides.md, "The idle timeout of a
middlebox").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.pairing.drop_style import Style

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.analysis.pairing.direction import Direction

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
