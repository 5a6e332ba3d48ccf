"""UnreadRequests: the connections whose requests a server has not read, and whether it read others meanwhile.

Data that has arrived and that the server's process has not read is in Recv-Q. On a server that works it is there for
milliseconds. So it counts only where it stands: the same socket had it in an earlier snapshot and nothing was read
since (bytes_received and Recv-Q grew alike), or the newest of it arrived seconds ago (lastrcv). A FIN is one byte of
Recv-Q (net/ipv4/tcp_diag.c) and no request. A socket with unsent data waits for its client, not for the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds
from ldapdiag.analysis.load.accept_queue import accept_queues
from ldapdiag.evidence.sockets import Key, TcpState
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.evidence.sockets import SocketTable

STANDS = 2.0
"""Seconds without a read after which data stands, where an earlier snapshot shows the server, too."""
STANDS_ALONE = 10.0
"""Seconds after which it does in a single snapshot."""
MOMENT = 1.0
"""Seconds; data of a single snapshot that is younger is in transit."""
SEVERAL = 3
"""Connections; on fewer, one long operation with further requests behind it looks the same."""
MANY = 10
"""Connections that are needed where only Recv-Q shows it: requests of one size look like one request."""
FEW = 4
"""Of so many connections with standing data, the server read from one other at most."""

RECENT = 60.0
"""Seconds; an older read is no evidence of what the server does now."""

OPEN = frozenset({TcpState.ESTABLISHED, TcpState.CLOSE_WAIT})


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadRequests:
    """The requests at one server that its process has not read, in the latest snapshot."""

    open: int
    """Open connections on its ports."""
    connections: int
    """Of these, those with unread data, whatever its age."""
    bytes: int
    standing: int
    """Of these, those on which nothing was read for STANDS seconds (STANDS_ALONE in a single snapshot)."""
    served: int
    """Connections from which data was read in the meantime."""
    not_accepted: int
    """Connections with standing data that the server has not accepted either."""
    queued: int
    """Connections in the accept queues, whatever they have sent."""
    blocked: int
    """Connections with unsent data: their clients do not read."""
    doubtful: int
    """Connections with unread data that may stand: neither their age nor an earlier snapshot shows it."""
    seconds: float | None
    """How long the oldest of it has been waiting, at least; None: unknown."""
    snapshots: int
    exact: bool
    """Byte counters or ages prove that nothing was read; else only Recv-Q, which did not fall."""

    @property
    def stand(self) -> bool:
        """Return whether the server does not read: requests stand on several connections, and it reads few others."""
        return self.standing >= (SEVERAL if self.exact else MANY) and self.served * FEW <= self.standing

    @property
    def all_wait_to_be_accepted(self) -> bool:
        """Return whether the server reads all connections that it has accepted."""
        return self.standing - self.not_accepted < SEVERAL

    @property
    def may_stand(self) -> bool:
        """Return whether that cannot be excluded."""
        few = self.standing > 0 and self.served * FEW <= self.standing
        return not self.stand and (few or (self.doubtful >= SEVERAL and self.served * FEW <= self.doubtful))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One connection at the server's end; the age in seconds."""

    queue: int
    """Recv-Q, a FIN included, as bytes_received includes it."""
    unread: int
    received: int | None
    age: float | None
    blocked: bool
    """It has unsent data."""
    accepted: bool


Rows = Mapping[Key, Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """An earlier snapshot, and how many seconds before the latest it was taken, at least."""

    rows: Rows
    seconds: float


def unread_requests(host: Host, ports: Collection[int]) -> UnreadRequests | None:
    """Return the unread requests on these ports; None where the latest table does not show Recv-Q."""
    shown = [snapshot for snapshot in host.snapshots if snapshot.sockets.receive_queue is not None]
    if not shown or not ports or shown[-1] is not host.latest:
        return None
    latest, before = _rows(shown[-1], ports), _reference(shown, ports)
    waits = {key: _waits(row, before, key) for key, row in latest.items() if row.unread and not row.blocked}
    standing = {key: (seconds, exact) for key, (seconds, exact) in waits.items() if _stands(seconds, before)}
    return UnreadRequests(
        open=len(latest),
        connections=len(waits),
        bytes=sum(latest[key].unread for key in waits),
        standing=len(standing),
        served=len({*_recently_read(latest, before), *_drained(latest, before)}),
        not_accepted=sum(not latest[key].accepted for key in standing),
        queued=sum(queue.waiting for queue in accept_queues(host, ports)),
        blocked=sum(row.blocked for row in latest.values()),
        doubtful=sum(_is_doubtful(seconds, before) for key, (seconds, _) in waits.items() if key not in standing),
        seconds=max((seconds for seconds, _ in standing.values() if seconds is not None), default=None),
        snapshots=len(shown),
        exact=all(exact for _, exact in standing.values()),
    )


def _rows(snapshot: Snapshot, ports: Collection[int]) -> Rows:
    table = snapshot.sockets
    return {
        key: _row(table, row) for row, key in enumerate(table.keys()) if key[1] in ports and table.state[row] in OPEN
    }


def _row(table: SocketTable, row: int) -> Row:
    queue = table.receive_queue[row] if table.receive_queue else 0
    # Kernels before 4.1 have no such counter: ss prints nothing, which is read as 0.
    received = table.bytes_received[row] if table.bytes_received else None
    return Row(
        queue=queue,
        unread=max(0, queue - (table.state[row] is TcpState.CLOSE_WAIT)),
        received=received if received is not None and received >= queue else None,
        age=column_seconds(table.last_received, row),
        blocked=bool(table.send_queue and table.send_queue[row]),
        accepted=table.inode is None or table.inode[row] != 0,
    )


def _reference(shown: list[Snapshot], ports: Collection[int]) -> Reference | None:
    """Return the latest snapshot that is STANDS seconds before the last one, else the first."""
    latest, *earlier = reversed(shown)
    if not earlier:
        return None
    chosen = next((one for one in earlier if _apart(one, latest) >= STANDS), earlier[-1])
    return Reference(rows=_rows(chosen, ports), seconds=_apart(chosen, latest))


def _apart(snapshot: Snapshot, latest: Snapshot) -> float:
    """Return the seconds between two snapshots, at least; STANDS where their order is known and their times are not."""
    if snapshot.taken is None or latest.taken is None:
        return STANDS
    return max(0.0, (latest.taken.start - snapshot.taken.end).total_seconds())


def _waits(row: Row, before: Reference | None, key: Key) -> tuple[float | None, bool]:
    """Return how long a socket's data has been waiting at least, and whether that is exact; None: unknown."""
    earlier = before.rows.get(key) if before else None
    if before is not None and earlier is not None and earlier.unread and before.seconds >= (row.age or 0.0):
        read = _read_between(earlier, row)
        if read == 0 or (read is None and _may_be_unread(earlier, row, before.seconds)):
            return before.seconds, read == 0
    return row.age, row.age is not None


def _read_between(before: Row, after: Row) -> int | None:
    """Return how many bytes the process read from a socket between two snapshots; None where no counter shows it."""
    if before.received is None or after.received is None:
        return None
    return (after.received - before.received) - (after.queue - before.queue)


def _may_be_unread(before: Row, after: Row, seconds: float) -> bool:
    """Return whether a queue did not fall; one that stayed equal while data arrived was read."""
    arrived = after.age is not None and after.age < seconds
    return after.queue > before.queue or (after.queue == before.queue and not arrived)


def _stands(seconds: float | None, before: Reference | None) -> bool:
    return seconds is not None and seconds >= (STANDS_ALONE if before is None else STANDS)


def _is_doubtful(seconds: float | None, before: Reference | None) -> bool:
    return before is None if seconds is None else seconds >= MOMENT


def _recently_read(latest: Rows, before: Reference | None) -> Iterator[Key]:
    """Yield the connections whose last data arrived in that time and was read."""
    since = min(before.seconds, STANDS_ALONE) if before else STANDS_ALONE
    for key, row in latest.items():
        if not row.unread and row.accepted and row.age is not None and row.age <= since:
            yield key


def _drained(latest: Rows, before: Reference | None) -> Iterator[Key]:
    """Yield the connections of a recent snapshot from which data was read since."""
    if before is None or before.seconds > RECENT:
        return
    for key, row in before.rows.items():
        after = latest.get(key)
        if after is not None and (after.queue < row.queue or (_read_between(row, after) or 0) > 0):
            yield key
