"""Rows: a socket table growing while its text is read; columns nobody filled stay away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ldapdiag.evidence.sockets import SocketTable, TcpState, Timer

if TYPE_CHECKING:
    from ldapdiag.evidence.document import Document

Column = Literal[
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
]

BLANK: dict[str, Any] = {"timer": Timer.OFF, "retransmits": 0, "probes": 0, "owner": ""}
"""What a row has in an optional column that its telling shows for other rows only."""


class Rows:
    """Columns in the making. `add` begins a row, `set` fills an optional column of the newest one."""

    def __init__(self) -> None:
        self.local_address: list[str] = []
        self.local_port: list[int] = []
        self.remote_address: list[str] = []
        self.remote_port: list[int] = []
        self.state: list[TcpState] = []
        self.receive_queue: list[int] = []
        self.send_queue: list[int] = []
        self.optional: dict[str, list[Any]] = {}

    def add(  # noqa: PLR0913  a row has seven fields; a tuple for each of a million rows would cost as much as the reading
        self,
        local_address: str,
        local_port: int,
        remote_address: str,
        remote_port: int,
        state: TcpState,
        receive_queue: int = 0,
        send_queue: int = 0,
    ) -> None:
        """Begin a row."""
        self.local_address.append(local_address)
        self.local_port.append(local_port)
        self.remote_address.append(remote_address)
        self.remote_port.append(remote_port)
        self.state.append(state)
        self.receive_queue.append(receive_queue)
        self.send_queue.append(send_queue)

    def set(self, column: Column, value: object) -> None:
        """Fill an optional column of the newest row."""
        values = self.optional.setdefault(column, [])
        missing = len(self.state) - 1 - len(values)
        if missing < 0:
            values[-1] = value
            return
        values.extend([BLANK.get(column)] * missing)
        values.append(value)

    def table(
        self,
        document: Document,
        *,
        telling: str,
        queues: bool = True,
        **traits: Any,  # noqa: ANN401  SocketTable's own optional fields
    ) -> SocketTable:
        """Return the finished table; optional columns are filled up to the last row."""
        length = len(self.state)
        for column, values in self.optional.items():
            values.extend([BLANK.get(column)] * (length - len(values)))
        return SocketTable(
            origin=document.origin(),
            telling=telling,
            local_address=self.local_address,
            local_port=self.local_port,
            remote_address=self.remote_address,
            remote_port=self.remote_port,
            state=self.state,
            receive_queue=self.receive_queue if queues else None,
            send_queue=self.send_queue if queues else None,
            **self.optional,
            **traits,
        )
