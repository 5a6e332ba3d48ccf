"""The row of the connections of one client address in a Segment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ldapdiag.evidence.log.operation_row import NEVER
from ldapdiag.evidence.log.tables import CappedTable, add, among


class ClientRow:
    """The connections of one client address."""

    __slots__ = (
        "codes",
        "first",
        "last",
        "lifetimes",
        "opened",
        "operations",
        "per_connection",
        "silent",
    )

    def __init__(self) -> None:
        self.opened = 0
        self.operations = 0
        """On connections that have ended, or are open at the end of the log."""
        self.codes: dict[bytes, int] = {}
        """Closes by close code."""
        self.silent: dict[bytes, int] = {}
        """Closes of connections without any operation, such as health checks."""
        self.lifetimes: defaultdict[int, int] = defaultdict(int)
        """Closed connections by the bit length of their lifetime in nanoseconds."""
        self.per_connection: defaultdict[int, int] = defaultdict(int)
        """Closed connections by the bit length of their number of operations."""
        self.first = NEVER
        self.last = -NEVER
        """From the first opening to the last use of its connections, of those that `operations` counts."""

    def used(self, begun: int, ended: int) -> None:
        """Count the time in which one of its connections was used."""
        self.first = min(self.first, begun)
        self.last = max(self.last, begun, ended)

    def merge(self, other: ClientRow, codes: CappedTable[bytes, int]) -> None:
        """Add the counts of another row; close codes that are not in `codes` are counted as other."""
        self.opened += other.opened
        self.operations += other.operations
        add(self.codes, among(other.codes, codes))
        add(self.silent, among(other.silent, codes))
        add(self.lifetimes, other.lifetimes)
        add(self.per_connection, other.per_connection)
        self.first = min(self.first, other.first)
        self.last = max(self.last, other.last)


def below(histogram: Mapping[int, int], percent: int) -> int:
    """Return the power of two below which `percent` of the numbers lie; 0 if all are 0. Histogram by bit length."""
    wanted = sum(histogram.values()) * percent
    covered = 0
    for bits in sorted(histogram):
        covered += histogram[bits] * 100
        if covered >= wanted:
            return 1 << bits if bits else 0
    return 0
