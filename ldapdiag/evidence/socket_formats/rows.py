"""Rows: the rows of a socket table while its text is read.

FlowRows: the rows of a flow table while its text is read.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.addresses import Addresses, Ports
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.sockets import BLANK, Column, SocketTable, TcpState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.sockets import Key

STATES = {
    "ESTABLISHED": TcpState.ESTABLISHED,
    "VERBUNDEN": TcpState.ESTABLISHED,  # net-tools in German, the only state it translates
    "SYN_SENT": TcpState.SYN_SENT,
    "SYN_RECV": TcpState.SYN_RECEIVED,
    "SYN_RCVD": TcpState.SYN_RECEIVED,
    "SYN_RECEIVED": TcpState.SYN_RECEIVED,
    "FIN_WAIT1": TcpState.FIN_WAIT_1,
    "FIN_WAIT_1": TcpState.FIN_WAIT_1,
    "FIN_WAIT2": TcpState.FIN_WAIT_2,
    "FIN_WAIT_2": TcpState.FIN_WAIT_2,
    "TIME_WAIT": TcpState.TIME_WAIT,
    "CLOSE": TcpState.CLOSED,
    "CLOSED": TcpState.CLOSED,
    "CLOSE_WAIT": TcpState.CLOSE_WAIT,
    "LAST_ACK": TcpState.LAST_ACK,
    "LISTEN": TcpState.LISTEN,
    "LISTENING": TcpState.LISTEN,
    "CLOSING": TcpState.CLOSING,
    "UNKNOWN": TcpState.UNKNOWN,
}
"""State names with underscores, of netstat and lsof on all systems."""

LONGEST_OWNER = 64
"""Characters of a program's name that are kept; Linux' names have up to 15 (TASK_COMM_LEN)."""

Row = tuple[str, int, str, int, TcpState, int, int]
"""Local address and port, remote address and port, state, receive queue, send queue."""
LOCAL, REMOTE, STATE, WIDTH = 0, 2, 4, 7


def count_of(text: str) -> int | None:
    """Return the integer of a text of at most 20 digits; None for any other text."""
    return int(text) if len(text) <= 20 and text.isascii() and text.isdigit() else None


class Rows:
    """The rows of a socket table. `add` adds a row, `set` fills an optional column of the last one.

    The cells of all rows are in one list, row after row: a list per column would take seven calls for each of a million
    rows, a tuple per row too much memory.
    """

    def __init__(self) -> None:
        self.cells: list[Any] = []
        self.add: Callable[[Row], None] = self.cells.extend
        self.optional: defaultdict[str, list[Any]] = defaultdict(list)

    def __len__(self) -> int:
        return len(self.cells) // WIDTH

    def states(self) -> set[TcpState]:
        """Return all states in the table."""
        return set(self.cells[STATE::WIDTH])

    def show_time_wait(self) -> bool | None:
        """Return True if the rows show that all states were listed: TIME-WAIT, or listeners beside connections.

        None: unknown.
        """
        states = self.states()
        return True if TcpState.TIME_WAIT in states or (TcpState.LISTEN in states and len(states) > 1) else None

    def newest_state(self) -> TcpState:
        """Return the state of the last row."""
        state: TcpState = self.cells[STATE - WIDTH]
        return state

    def remote_ports(self, state: TcpState) -> set[int]:
        """Return the remote ports of the rows in this state."""
        states = self.cells[STATE::WIDTH]
        return {port for port, each in zip(self.cells[REMOTE + 1 :: WIDTH], states, strict=True) if each is state}

    def addresses(self) -> set[str]:
        """Return all local and remote addresses."""
        return {*self.cells[LOCAL::WIDTH], *self.cells[REMOTE::WIDTH]}

    def respell(self, spelled: Mapping[str, str]) -> None:
        """Replace all addresses by their values in this mapping."""
        for column in (LOCAL, REMOTE):
            self.cells[column::WIDTH] = [spelled[address] for address in self.cells[column::WIDTH]]

    def set(self, column: Column, value: object) -> None:
        """Fill an optional column of the last row."""
        values = self.optional[column]
        missing = len(self.cells) // WIDTH - 1 - len(values)
        if missing > 0:
            values.extend([BLANK.get(column)] * missing)
        if missing < 0:
            values[-1] = value
        else:
            values.append(value)

    def table(
        self,
        document: Document,
        *,
        tool: str,
        queues: bool = True,
        **traits: Any,  # noqa: ANN401  SocketTable's own optional fields
    ) -> SocketTable:
        """Return the finished table; `queues`: the tool prints them, `traits`: other fields of SocketTable."""
        length = len(self)
        if self.states() == {TcpState.LISTEN}:
            document.note(
                f"{document.path} contains listening sockets only: printed with -l, or there was no connection."
            )
        for column, values in self.optional.items():
            values.extend([BLANK.get(column)] * (length - len(values)))
        columns: dict[str, Any] = dict(self.optional)
        cells = self.cells
        return SocketTable(
            origin=document.origin(),
            tool=tool,
            local_address=cells[LOCAL::WIDTH],
            local_port=cells[LOCAL + 1 :: WIDTH],
            remote_address=cells[REMOTE::WIDTH],
            remote_port=cells[REMOTE + 1 :: WIDTH],
            state=cells[STATE::WIDTH],
            receive_queue=cells[STATE + 1 :: WIDTH] if queues else None,
            send_queue=cells[STATE + 2 :: WIDTH] if queues else None,
            **columns,
            **traits,
        )


class FlowRows:
    """The rows of a flow table; equal addresses and states are one object in memory."""

    def __init__(self) -> None:
        self.addresses, self.ports = Addresses(), Ports()
        self._words: dict[str, str] = {}
        self.client: list[Key] = []
        self.server: list[Key | None] = []
        self.state: list[str] = []
        self.seconds_left: list[float | None] = []
        self.idle: list[float | None] = []

    def key(self, address: str, port: str, other: str, other_port: str) -> Key:
        """Return the key of two endpoints, given as text."""
        return self.addresses[address], self.ports[port], self.addresses[other], self.ports[other_port]

    def add(
        self, client: Key, server: Key | None, state: str, left: float | None = None, idle: float | None = None
    ) -> None:
        """Add a flow; `left` and `idle` are seconds."""
        self.client.append(client)
        self.server.append(server)
        self.state.append(self._words.setdefault(state, state))
        self.seconds_left.append(left)
        self.idle.append(idle)

    def table(self, document: Document, *, tool: str, **traits: Any) -> FlowTable:  # noqa: ANN401  FlowTable's own
        """Return the finished table."""
        return FlowTable(
            origin=document.origin(),
            client=self.client,
            server=self.server,
            state=self.state,
            seconds_left=self.seconds_left,
            idle_seconds=self.idle if any(seconds is not None for seconds in self.idle) else None,
            tool=tool,
            **traits,
        )
