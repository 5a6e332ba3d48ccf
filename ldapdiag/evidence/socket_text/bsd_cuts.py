"""What BSD's netstat cut from its addresses and ports: watched for while rows are read, marked when all are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import ANY, CUT, UNKNOWN_PORT, is_exact

if TYPE_CHECKING:
    from ldapdiag.evidence.socket_text.rows import Rows

ADDRESS = 16
"""Characters to which an address is cut."""
NAMED_ADDRESS = 12
"""The same with -A and without -n, where the port may be a name."""
END = 18
"""Characters to which address, dot and port are cut with -A."""


class Cuts:
    """The ends of one table that may have been cut, by family: a long one of the same family clears them."""

    def __init__(self) -> None:
        self.has_pcb = False
        """The table was told with -A."""
        self.named = False
        """It shows a name: told without -n."""
        self.wide: set[bool] = set()
        """Families (whether it is IPv6) with an end too long for a cut."""
        self.addresses: dict[bool, set[str]] = {False: set(), True: set()}
        self.named_addresses: dict[bool, set[str]] = {False: set(), True: set()}
        self.ports: dict[bool, list[int]] = {False: [], True: []}
        """Cells of ports of which digits may be missing."""

    def watch(self, end: str, text: str, address: str, cell: int) -> None:
        """Look at one end: as it is written, its address as written and as normalised, the cell of its port."""
        six = ":" in text
        if len(text) > ADDRESS or (self.has_pcb and len(end) > END):
            self.wide.add(six)
        elif len(text) == ADDRESS and is_exact(address):
            self.addresses[six].add(address)
        if not self.has_pcb:
            return
        if len(end) == END:
            self.ports[six].append(cell)
        port = end[len(text) + 1 :]
        if not (port.isdigit() or port == ANY) or not (six or is_exact(address)):
            self.named = True
        if len(text) == NAMED_ADDRESS and is_exact(address):
            self.named_addresses[six].add(address)

    def mark(self, rows: Rows) -> None:
        """Mark what may have been cut, unless something shows that nothing was."""
        doubtful: set[str] = set()
        for six in (False, True):
            if six in self.wide:
                continue
            doubtful |= self.addresses[six]
            if self.named:
                doubtful |= self.named_addresses[six]
            for cell in self.ports[six]:
                rows.cells[cell] = UNKNOWN_PORT
        if doubtful:
            rows.respell({text: text + CUT if text in doubtful else text for text in rows.addresses()})
