"""Snapshot order: what snapshots before and after another host's prove.

docs/how-it-decides.md, "Snapshots and skew".
"""

from __future__ import annotations

from enum import Enum, auto
from itertools import permutations
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds
from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.analysis.pairing.socket_index import ClientIndex, ClientSnapshots
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
    from ldapdiag.evidence.sockets import SocketTable

LONGEST_BRACKET_SECONDS = 120.0
"""Snapshots further apart were not taken to bracket each other."""

STANDS_SECONDS = 2.0
"""A working program leaves no socket that waits for it in one state for so long."""


class Stay(Enum):
    """Whether a socket has been in its state for STANDS_SECONDS."""

    STANDS = auto()
    NEW = auto()
    UNKNOWN = auto()
    """Neither an earlier snapshot nor an age shows it."""


def _since_acknowledged(table: SocketTable, row: int) -> float | None:
    return column_seconds(table.last_acknowledged, row)


def _has_same_state(one: SocketTable, old: int, table: SocketTable, row: int) -> bool:
    return one.state[old] is table.state[row]


def stays(
    snapshots: Sequence[Snapshot],
    rows: Iterable[int],
    age_of: Callable[[SocketTable, int], float | None] = _since_acknowledged,
    is_alike: Callable[[SocketTable, int, SocketTable, int], bool] = _has_same_state,
) -> Iterator[tuple[int, Stay]]:
    """Yield rows of a host's latest snapshot, each with whether its socket stands in its state.

    Its age is the time since the last segment (`lastack`): every FIN is acknowledged, so it came then or earlier. Else
    an earlier snapshot shows the same socket in the same state. One that was taken long before shows nothing of a
    socket that it lacks. Of what is no state, `age_of` returns for how long it has been so, and `is_alike` whether an
    earlier row of the same socket shows the same.
    """
    latest, table = snapshots[-1], snapshots[-1].sockets
    earlier = [
        (snapshot, apart) for snapshot in snapshots[:-1] if (apart := seconds_before(snapshot, latest)) is not None
    ]
    earlier = [(one, apart) for one, apart in earlier if apart >= STANDS_SECONDS]
    rows_of = [{key: row for row, key in enumerate(one.sockets.keys())} for one, _ in earlier]
    recent = any(apart <= LONGEST_BRACKET_SECONDS for _, apart in earlier)
    keys = list(table.keys())
    for row in rows:
        age = age_of(table, row)
        before = [(one, at.get(keys[row])) for (one, _), at in zip(earlier, rows_of, strict=True)]
        same = ((one, old) for one, old in before if old is not None and is_same_socket(one, old, latest, row))
        if (age or 0.0) >= STANDS_SECONDS or any(is_alike(one.sockets, old, table, row) for one, old in same):
            yield row, Stay.STANDS
        else:
            yield row, Stay.NEW if recent or age is not None else Stay.UNKNOWN


def lasts(sockets: Sequence[tuple[Snapshot, int]], seconds: float) -> bool:
    """Return whether rows that show one state of one connection, at either end, show it for so long."""
    if any((column_seconds(one.sockets.last_acknowledged, row) or 0.0) >= seconds for one, row in sockets):
        return True
    return any((seconds_before(one, other) or 0.0) >= seconds for (one, _), (other, _) in permutations(sockets, 2))


def seconds_before(one: Snapshot, latest: Snapshot) -> float | None:
    """Return by how much a snapshot is earlier, at least; None if neither times nor numbers show that it is."""
    if one.taken is not None and latest.taken is not None:
        return (latest.taken.start - one.taken.end).total_seconds()
    return STANDS_SECONDS if are_apart(one, latest) else None


def is_before(one: Snapshot, other: Snapshot) -> bool:
    """Return whether a snapshot is known to have been taken before another."""
    return one.taken is not None and other.taken is not None and one.taken.is_before(other.taken)


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
        numbered = (
            list(snapshots[-1:]) if other.number and all(snapshot.number for snapshot in snapshots) else list(snapshots)
        )
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
