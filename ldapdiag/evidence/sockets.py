"""SocketTable: one telling of one host's TCP sockets, as columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ldapdiag.evidence.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence


class TcpState(IntEnum):
    """The states of RFC 9293, numbered as Linux does (include/net/tcp_states.h)."""

    UNKNOWN = 0
    ESTABLISHED = 1
    SYN_SENT = 2
    SYN_RECEIVED = 3
    FIN_WAIT_1 = 4
    FIN_WAIT_2 = 5
    TIME_WAIT = 6
    CLOSED = 7
    CLOSE_WAIT = 8
    LAST_ACK = 9
    LISTEN = 10
    CLOSING = 11


class Timer(IntEnum):
    """Which timer of a socket is running, numbered as inet_diag does."""

    OFF = 0
    RETRANSMIT = 1
    KEEPALIVE = 2
    TIME_WAIT = 3
    PERSIST = 4


Column = Literal[
    "receive_queue",
    "send_queue",
    "timer",
    "retransmits",
    "probes",
    "last_received",
    "last_acknowledged",
    "busy",
    "bytes_sent",
    "bytes_received",
    "owner",
    "pid",
    "inode",
    "cookie",
]
"""The columns that not every telling has."""

BLANK: Mapping[str, Any] = {
    "timer": Timer.OFF,
    "retransmits": 0,
    "probes": 0,
    "receive_queue": 0,
    "send_queue": 0,
    "owner": "",
}
"""What a row has in an optional column that its telling shows for other rows only; None in the others."""

SS_COMMAND = "ss -tanoiep > sockets.txt"
"""The one command to ask for a table with: every column that any check reads. `-e` and `-p` tell more to root."""

COMPLETE = frozenset({"inet_diag"})
"""Tellings that are never asked for a selection of states, nor cut by hand."""

Key = tuple[str, int, str, int]
"""Local address, local port, remote address, remote port."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SocketTable:
    """One telling of a host's TCP sockets. All columns have one length; None where the telling lacks a column.

    Addresses are normalised (evidence.addresses); ages are milliseconds, queues bytes (of a LISTEN row:
    connections waiting and the backlog).
    """

    kind: ClassVar[str] = "socket-table"
    how: ClassVar[str] = f"on that host: {SS_COMMAND} (or netstat -an)"

    origin: Origin
    tool: str
    """Which tool told it: ss, netstat, proc, lsof."""
    local_address: Sequence[str]
    local_port: Sequence[int]
    remote_address: Sequence[str]
    remote_port: Sequence[int]
    state: Sequence[TcpState]
    receive_queue: Sequence[int] | None = None
    send_queue: Sequence[int] | None = None
    timer: Sequence[Timer | None] | None = None
    retransmits: Sequence[int] | None = None
    """Retransmissions so far, of rows whose timer is RETRANSMIT."""
    probes: Sequence[int] | None = None
    """Keepalive or window probes sent and not answered, of rows whose timer is KEEPALIVE or PERSIST."""
    last_received: Sequence[int | None] | None = None
    """Milliseconds since the last data came in (tcp_info lastrcv)."""
    last_acknowledged: Sequence[int | None] | None = None
    """Milliseconds since the last ACK came in (tcp_info lastack); keepalive answers refresh it."""
    busy: Sequence[int | None] | None = None
    """Milliseconds this socket has spent with unacknowledged data."""
    bytes_sent: Sequence[int | None] | None = None
    bytes_received: Sequence[int | None] | None = None
    owner: Sequence[str] | None = None
    """The program that holds the socket; empty when the telling does not know."""
    pid: Sequence[int | None] | None = None
    inode: Sequence[int | None] | None = None
    """0: no file holds it (not accepted yet, or closed by its program)."""
    cookie: Sequence[int | None] | None = None
    """The kernel's number of the socket, the same in every look."""
    shows_time_wait: bool | None = None
    """Whether TIME-WAIT rows would be here if there were any; None: the text does not tell."""
    shows_all_programs: bool = True
    """False for a telling of one program's sockets, or one that a user without rights took (lsof)."""
    ports_truncated: bool = False
    """Some ports lost their last digits (BSD's netstat -A): UNKNOWN_PORT here, and any port in truth."""
    families: frozenset[int] = frozenset({4, 6})
    """Address families covered: /proc/net/tcp is {4}; tcp6 is {6}, with the mapped IPv4 of dual-stack listeners."""
    has_header: bool = True
    """False: the text may be somebody's selection of rows."""

    def __len__(self) -> int:
        return len(self.state)

    def __repr__(self) -> str:
        return f"<{len(self)} sockets told by {self.tool}, from {self.origin.path}>"

    @property
    def shows_connections(self) -> bool:
        """Tell whether a connection would be here: a text of listeners alone may have been asked for no others."""
        return not self.state or set(self.state) != {TcpState.LISTEN} or self.tool in COMPLETE

    def keys(self) -> Iterator[Key]:
        """Yield (local address, local port, remote address, remote port) of every row."""
        return zip(self.local_address, self.local_port, self.remote_address, self.remote_port, strict=True)

    def established_at(self, ports: Collection[int]) -> list[int]:
        """Return the rows of the established connections whose local port is one of these."""
        rows = enumerate(zip(self.local_port, self.state, strict=True))
        return [row for row, (port, state) in rows if port in ports and state is TcpState.ESTABLISHED]

    def owner_of(self, rows: Iterable[int]) -> str | None:
        """Return the program that holds most of these sockets; None when the telling shows none."""
        owners = Counter(owner for row in rows if self.owner and (owner := self.owner[row]))
        return max(sorted(owners), key=owners.__getitem__, default=None)

    def count(self, state: TcpState) -> int:
        """Return how many rows are in this state."""
        return Counter(self.state)[state]
