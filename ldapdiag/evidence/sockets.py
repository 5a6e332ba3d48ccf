"""SocketTable: the TCP sockets of one host, as one tool printed them, in columns."""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass

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
    """The running timer of a socket, numbered as in inet_diag."""

    OFF = 0
    RETRANSMIT = 1
    KEEPALIVE = 2
    TIME_WAIT = 3
    PERSIST = 4


PROBING = frozenset({Timer.KEEPALIVE, Timer.PERSIST})
"""Timers that count unanswered probes."""

WITHOUT_PEER = frozenset({TcpState.LISTEN, TcpState.SYN_SENT})
"""States that have received nothing: the ages in their tcp_info are the time since boot (measured: lastrcv:2284292)."""

SYN_AND_FIN = 2
"""tcp_info's bytes_acked counts SYN and FIN as a byte each, so it may be above 0 where bytes_sent is 0."""

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
"""The optional columns, which not every tool prints."""

BLANK: Mapping[str, Any] = {
    "timer": Timer.OFF,
    "retransmits": 0,
    "probes": 0,
    "receive_queue": 0,
    "send_queue": 0,
    "owner": "",
}
"""The value of an optional column in rows for which the tool printed none; None in the other columns."""

SS_COMMAND = "ss -tanoiep > sockets.txt"
"""The recommended command for a socket table: it prints every column that a check reads. `-e` and `-p` show more to
root."""

OF_WINDOWS = frozenset({"netstat.exe", "powershell"})
"""Tools of Windows alone."""
UNFILTERED = frozenset({"inet_diag"})
"""Tools whose tables are never limited to some states, nor edited by hand."""


def unanswered_for(doublings: int, timeout: int, last_sent: int) -> int:
    """Return for how many milliseconds, at least, a socket has retransmitted: its timeout was doubled so often.

    tcp_info's busy_time adds up all times with unacknowledged data since the connection began.
    """
    return timeout - (timeout >> min(doublings, 64)) + last_sent


Key = tuple[str, int, str, int]
"""Local address, local port, remote address, remote port."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SocketTable:
    """The TCP sockets of one host, as columns of equal length; None: the tool does not print the column.

    Addresses are normalised (evidence.addresses). Ages are in milliseconds. Queues are in bytes; in a LISTEN row they
    are the number of connections waiting and the backlog.
    """

    kind: ClassVar[str] = "socket-table"
    how: ClassVar[str] = f"on that host: {SS_COMMAND} (or netstat -an)"

    origin: Origin
    tool: str
    """The tool that printed the table: ss, netstat, proc, lsof…"""
    local_address: Sequence[str]
    local_port: Sequence[int]
    remote_address: Sequence[str]
    remote_port: Sequence[int]
    state: Sequence[TcpState]
    receive_queue: Sequence[int] | None = None
    send_queue: Sequence[int] | None = None
    timer: Sequence[Timer | None] | None = None
    retransmits: Sequence[int] | None = None
    """Retransmissions so far, in rows whose timer is RETRANSMIT."""
    probes: Sequence[int] | None = None
    """Unanswered keepalive or window probes, in rows whose timer is KEEPALIVE or PERSIST."""
    last_received: Sequence[int | None] | None = None
    """Milliseconds since data was last received (tcp_info lastrcv)."""
    last_acknowledged: Sequence[int | None] | None = None
    """Milliseconds since the last ACK was received (tcp_info lastack); answers to keepalive probes reset it."""
    busy: Sequence[int | None] | None = None
    """Milliseconds in which the socket had unacknowledged data; if it is sent again, or the window is closed, at most
    `unanswered_for`."""
    bytes_sent: Sequence[int | None] | None = None
    bytes_received: Sequence[int | None] | None = None
    owner: Sequence[str] | None = None
    """The program that owns the socket; empty: unknown."""
    pid: Sequence[int | None] | None = None
    inode: Sequence[int | None] | None = None
    """0: no file refers to the socket (not accepted yet, or closed by its program)."""
    cookie: Sequence[int | None] | None = None
    """The kernel's identifier of the socket, equal in all snapshots."""
    shows_time_wait: bool | None = None
    """Whether the table would contain TIME-WAIT sockets if there were any; None: unknown."""
    shows_all_programs: bool = True
    """False: the table may contain the sockets of some programs only (lsof, without root)."""
    ports_truncated: bool = False
    """Some ports may have lost their last digits (BSD's netstat -A) and are UNKNOWN_PORT."""
    is_cut: bool = False
    """The text ends within a line, so any number of rows may be missing."""
    families: frozenset[int] = frozenset({4, 6})
    """Address families covered: /proc/net/tcp is {4}; tcp6 is {6}, which includes IPv4-mapped addresses."""
    has_header: bool = True
    """False: the text may be a selection of rows, for example by grep."""

    def __len__(self) -> int:
        return len(self.state)

    def __repr__(self) -> str:
        return f"<{len(self)} sockets of {self.tool}, from {self.origin.path}>"

    @property
    def shows_connections(self) -> bool:
        """Return whether the table would contain connections; one of listeners only may come from `ss -l`.

        The commands of ldapdiag and its script list all states.
        """
        only_listeners = bool(self.state) and set(self.state) == {TcpState.LISTEN}
        return not only_listeners or self.tool in UNFILTERED or bool(self.origin.asked)

    def keys(self) -> Iterator[Key]:
        """Yield (local address, local port, remote address, remote port) of every row."""
        return zip(self.local_address, self.local_port, self.remote_address, self.remote_port, strict=True)

    def established_at(self, ports: Collection[int]) -> list[int]:
        """Return the row numbers of established connections whose local port is one of these."""
        rows = enumerate(zip(self.local_port, self.state, strict=True))
        return [row for row, (port, state) in rows if port in ports and state is TcpState.ESTABLISHED]

    def owner_of(self, rows: Iterable[int]) -> str | None:
        """Return the program that owns most of these sockets; None if the table shows no programs."""
        owners = Counter(owner for row in rows if self.owner and (owner := self.owner[row]))
        return max(sorted(owners), key=owners.__getitem__, default=None)

    def count(self, state: TcpState) -> int:
        """Return the number of rows in this state."""
        return Counter(self.state)[state]
