"""What BSD's netstat cut from its addresses and ports: watched for while rows are read, marked when all are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import ANY, CUT, UNKNOWN_PORT, is_exact

if TYPE_CHECKING:
    from ldapdiag.evidence.socket_formats.rows import Rows

ADDRESS = 16
"""Characters to which an address is cut."""
NAMED_ADDRESS = 12
"""The same with -A and without -n, where the port may be a name."""
END = 18
"""Characters to which address, dot and port are cut with -A (there is a PCB)."""
SHORT = ADDRESS + 1
"""Characters of an end that needs no look without -A: its address is whole."""


class Truncation:
    """The ends of one table that may have been cut, by family: a long one of the same family clears them."""

    def __init__(self) -> None:
        self.named = False
        """A port has a name: told without -n."""
        self.wide: set[bool] = set()
        """Families (whether it is IPv6) with an end too long for a cut."""
        self.addresses: dict[bool, set[str]] = {False: set(), True: set()}
        self.named_addresses: dict[bool, set[str]] = {False: set(), True: set()}
        self.ports: dict[bool, list[int]] = {False: [], True: []}
        """Cells of ports of which digits may be missing."""

    def watch(self, end: str, port: str, address: str, cell: int, *, with_pcb: bool) -> None:
        """Look at one end: as it is written, its port as written, its address as normalised, the cell of its port."""
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
        """Mark what may have been cut, unless something shows that nothing was; tell whether ports were."""
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
