"""AcceptQueue: the connections waiting at a server's port to be accepted, and their limit (listen(2), ss(8))."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds
from ldapdiag.analysis.pairing.snapshot_order import STANDS_SECONDS
from ldapdiag.evidence.sockets import TcpState
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.evidence.sockets import SocketTable


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptQueue:
    """The accept queue of one port; of several listening sockets on it (one per address) the fullest."""

    port: int
    waiting: int
    backlog: int | None
    """None: the table does not show it. netstat and /proc/net/tcp show 0 in its place."""
    full_before: bool = False
    """An earlier snapshot shows it full."""
    not_accepted: int | None = None
    """Established connections without an inode, so not yet accepted; None: the table shows no inodes."""
    waited_seconds: float = 0.0
    """How long the first of them has been waiting, at least: the server has accepted none since."""

    @property
    def full(self) -> bool:
        """Return whether the kernel drops new connections."""
        # sk_acceptq_is_full() in include/net/sock.h: one more than the backlog may wait.
        return self.backlog is not None and self.waiting > self.backlog

    @property
    def stands(self) -> bool:
        """Return whether it is full for longer than a burst of new connections is."""
        return self.full and (self.full_before or self.waited_seconds >= STANDS_SECONDS)

    @property
    def excess(self) -> int:
        """Return by how many connections the queue exceeds its backlog; negative while there is room."""
        return self.waiting - (self.backlog or 0)


def accept_queues(host: Host, ports: Collection[int]) -> Iterator[AcceptQueue]:
    """Yield the queue of each of these ports that is listening in the latest snapshot."""
    if host.latest is None:
        return
    for queue in _fullest(host.latest.sockets, ports):
        earlier = [old for snapshot in host.snapshots[:-1] for old in _fullest(snapshot.sockets, {queue.port})]
        waiting = _not_accepted(host.latest.sockets, queue.port)
        yield replace(
            queue,
            full_before=any(old.full for old in earlier),
            not_accepted=None if waiting is None else len(waiting),
            waited_seconds=max(_ages(host.latest.sockets, waiting or ()), default=0.0),
        )


def not_accepted(host: Host, ports: Collection[int]) -> int:
    """Return how many of the established connections at these ports wait to be accepted, at most."""
    if host.latest is None:
        return 0
    table = host.latest.sockets
    if table.inode is not None:
        return sum(table.inode[row] == 0 for row in table.established_at(ports))
    rows = zip(table.state, table.local_port, table.receive_queue or (), strict=False)
    return sum(waiting for state, port, waiting in rows if state is TcpState.LISTEN and port in ports)


def _fullest(table: SocketTable, ports: Collection[int]) -> list[AcceptQueue]:
    if table.receive_queue is None or table.send_queue is None:
        return []
    queues: dict[int, AcceptQueue] = {}
    for row, (state, port) in enumerate(zip(table.state, table.local_port, strict=True)):
        if state is TcpState.LISTEN and port in ports:
            queue = AcceptQueue(port=port, waiting=table.receive_queue[row], backlog=table.send_queue[row] or None)
            queues[port] = max(queues.get(port, queue), queue, key=lambda queue: queue.excess)
    return [queues[port] for port in sorted(queues)]


def _not_accepted(table: SocketTable, port: int) -> list[int] | None:
    if table.inode is None:
        return None
    return [row for row in table.established_at({port}) if table.inode[row] == 0]


def _ages(table: SocketTable, rows: Iterable[int]) -> Iterator[float]:
    """Yield how long ago something arrived on each of these rows."""
    for row in rows:
        ages = (column_seconds(column, row) for column in (table.last_received, table.last_acknowledged))
        yield max((age for age in ages if age is not None), default=0.0)
