"""FlowRows: the rows of a flow table while its text is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.addresses import Addresses, Ports
from ldapdiag.evidence.flows import FlowTable

if TYPE_CHECKING:
    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.sockets import Key


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
