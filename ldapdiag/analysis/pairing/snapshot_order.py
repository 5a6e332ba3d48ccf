"""Snapshot order: what snapshots before and after another host's prove.

docs/how-it-decides.md, "Snapshots and skew".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.analysis.pairing.socket_index import ClientIndex, ClientSnapshots
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection

LONGEST_BRACKET_SECONDS = 120.0
"""Snapshots further apart were not taken to bracket each other."""


def is_before(one: Snapshot, other: Snapshot) -> bool:
    """Return whether a snapshot is known to have been taken before another."""
    return one.taken is not None and other.taken is not None and one.taken.end <= other.taken.start


def seconds_between(one: Snapshot, other: Snapshot) -> float | None:
    """Return the longest time between moments of two snapshots, in seconds; None when a time is unknown."""
    return one.taken.seconds_apart(other.taken) if one.taken and other.taken else None


def are_apart(one: Snapshot, other: Snapshot) -> bool:
    """Return whether two snapshots of unknown time are known to be of different times, by their numbers."""
    is_unknown = one.taken is None or other.taken is None
    return is_unknown and bool(one.number and other.number) and one.number != other.number


def surrounding(snapshots: Sequence[Snapshot], other: Snapshot) -> list[Snapshot]:
    """Return the snapshots nearest in time before and after one of another host.

    If a time is unknown, those of the same number, else the last one if all are numbered, else all.
    """
    taken = other.taken
    timed = [(snapshot, snapshot.taken) for snapshot in snapshots if snapshot.taken is not None]
    if taken is None or len(timed) < len(snapshots):
        same = [snapshot for snapshot in snapshots if other.number and snapshot.number == other.number]
        numbered = list(snapshots[-1:]) if other.number and all(one.number for one in snapshots) else list(snapshots)
        return same or numbered
    before = [snapshot for snapshot, span in timed if span.start <= taken.start]
    after = [snapshot for snapshot, span in timed if span.start > taken.start]
    return before[-1:] + after[:1]


def nearest_first(client: ClientSnapshots, snapshot: Snapshot) -> list[ClientIndex]:
    """Return the client's snapshots around one of the server, the nearest first."""
    around = surrounding([index.snapshot for index in client.indexes], snapshot)
    indexes = (index for index in client.indexes if index.snapshot in around)
    return sorted(indexes, key=lambda index: seconds_between(snapshot, index.snapshot) or 0.0)


def bracket_seconds(unjoined: UnjoinedDirection, indexes: Sequence[ClientIndex]) -> float | None:
    """Return the time from the client's snapshot before the server's to that; None unless snapshots bracket it.

    With ages at the server, such snapshots show of every connection but the youngest whether its client has it.
    """
    snapshot = unjoined.snapshot
    earlier = [
        seconds_between(index.snapshot, snapshot) or 0.0 for index in indexes if is_before(index.snapshot, snapshot)
    ]
    if unjoined.table.last_received is None or not earlier or len(earlier) == len(indexes):
        return None
    return min(earlier) if min(earlier) <= LONGEST_BRACKET_SECONDS else None


def decided_by_snapshots(unjoined: UnjoinedDirection, server: Host, indexes: Sequence[ClientIndex]) -> bool:
    """Return whether snapshots alone decide what is absent, and no bound on churn.

    Such a bound does not count connections that are aborted, which leave no TIME-WAIT.
    """
    if bracket_seconds(unjoined, indexes) is not None:
        return True
    before = [index.snapshot for index in indexes if is_before(index.snapshot, unjoined.snapshot)]
    server_twice = any(is_before(earlier, snapshot) for earlier in server.snapshots for snapshot in before)
    return server_twice and len(before) < len(indexes)


def absent_before(unjoined: UnjoinedDirection, indexes: Sequence[ClientIndex]) -> set[int]:
    """Return rows that existed, by their age, when an earlier snapshot of the client was taken that lacks them.

    A connection that the client had closed by then, with its FIN in retransmission, counts as absent.
    """
    ports, ages = unjoined.table.remote_port, unjoined.table.last_received
    found: set[int] = set()
    for index in indexes:
        if ages is None or not is_before(index.snapshot, unjoined.snapshot):
            continue
        milliseconds = (seconds_between(index.snapshot, unjoined.snapshot) or 0.0) * 1000
        rows = index.sockets.get(unjoined.direction, {})
        present = {port for port, row in rows.items() if not index.retransmits_fin(row)}
        found |= {
            row
            for row in unjoined.rows
            if ports[row] not in present and (age := ages[row]) is not None and age > milliseconds
        }
    return found


def in_earlier_snapshot(unjoined: UnjoinedDirection, server: Host, snapshots: Sequence[Snapshot]) -> set[int]:
    """Return rows that an earlier snapshot of the server contains, with one of the client's `snapshots` in between."""
    between = [snapshot for snapshot in snapshots if is_before(snapshot, unjoined.snapshot)]
    earlier = [one for one in server.snapshots if any(is_before(one, snapshot) for snapshot in between)]
    if not earlier:
        return set()
    ports, found = unjoined.table.remote_port, set()
    for snapshot in earlier:
        rows = unjoined.server_index.earlier(snapshot).sockets.get(unjoined.direction, {})
        for row in unjoined.rows:
            before = rows.get(ports[row])
            if before is None or snapshot.sockets.state[before] is not TcpState.ESTABLISHED:
                continue
            if is_same_socket(snapshot, before, unjoined.snapshot, row):
                found.add(row)
    return found


def is_same_socket(one: Snapshot, row: int, other: Snapshot, other_row: int) -> bool:
    """Return whether rows of one key are one socket, by cookie, else by inode; a port may have been reused.

    Without either the rows are assumed to be one socket.
    """
    for name in ("cookie", "inode"):
        numbers, others = getattr(one.sockets, name), getattr(other.sockets, name)
        if numbers and others and numbers[row] and others[other_row]:
            return bool(numbers[row] == others[other_row])
    return True
