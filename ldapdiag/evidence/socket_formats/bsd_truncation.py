"""Addresses and ports that BSD's netstat truncated: collected while rows are read, marked after the last row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import ANY, CUT, UNKNOWN_PORT, is_exact

if TYPE_CHECKING:
    from ldapdiag.evidence.socket_formats.rows import Rows

ADDRESS = 16
"""Characters to which an address is truncated."""
NAMED_ADDRESS = 12
"""The same with -A and without -n, where the port may be a name."""
END = 18
"""Characters to which address, dot and port are truncated with -A (the row begins with a PCB)."""
SHORT = ADDRESS + 1
"""Without -A, an endpoint of at most this many characters is complete."""


class Truncation:
    """The endpoints of one table that may be truncated.

    A longer endpoint of the same address family shows that the table truncates none.
    """

    def __init__(self) -> None:
        self.named = False
        """A port is a service name: the table was printed without -n."""
        self.wide: set[bool] = set()
        """Families (True: IPv6) with an endpoint that is longer than the limit."""
        self.addresses: dict[bool, set[str]] = {False: set(), True: set()}
        self.named_addresses: dict[bool, set[str]] = {False: set(), True: set()}
        self.ports: dict[bool, list[int]] = {False: [], True: []}
        """Indexes in Rows.cells of ports that may lack digits."""

    def add(self, end: str, port: str, address: str, cell: int, *, with_pcb: bool) -> None:
        """Add an endpoint: its text, the text of its port, its normalised address, the index of its port's cell."""
        length = len(end)
        shown = length - len(port) - 1
        if shown > ADDRESS or (with_pcb and length > END):
            self.wide.add(":" in end)
        elif shown == ADDRESS and is_exact(address):
            self.addresses[":" in end].add(address)
        if with_pcb:
            if length == END:
                self.ports[":" in end].append(cell)
            if shown == NAMED_ADDRESS and is_exact(address):
                self.named_addresses[":" in end].add(address)
            if not port.isdigit() and port != ANY:
                self.named = True

    def mark(self, rows: Rows) -> bool:
        """Mark addresses and ports that may be truncated in `rows`; return whether any ports were marked."""
        doubtful: set[str] = set()
        ports = 0
        for six in (False, True):
            if six in self.wide:
                continue
            doubtful |= self.addresses[six]
            if self.named:
                doubtful |= self.named_addresses[six]
            for cell in self.ports[six]:
                rows.cells[cell] = UNKNOWN_PORT
            ports += len(self.ports[six])
        if doubtful:
            rows.respell({text: text + CUT if text in doubtful else text for text in rows.addresses()})
        return ports > 0
