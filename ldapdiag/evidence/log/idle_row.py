"""The idle times of the connections of one client that were bound as one account."""

from __future__ import annotations

from ldapdiag.evidence.log.idle_times import IdleTimes
from ldapdiag.evidence.log.tables import OTHER, RESTART, CappedTable


class IdleRow:
    """Idle times by what ended them. Shorter ones than a second are not counted."""

    __slots__ = ("before_close", "open", "used")

    def __init__(self) -> None:
        self.used = IdleTimes()
        """Those that a request ended."""
        self.before_close: dict[bytes, IdleTimes] = {}
        """Those that a close ended, by close code."""
        self.open = IdleTimes()
        """Those that nothing ended before the end of the log."""

    def closed(self, code: bytes) -> IdleTimes:
        """Return those that closes with this code ended."""
        return self.before_close.setdefault(code, IdleTimes())

    def merge(self, other: IdleRow, codes: CappedTable[bytes, int]) -> None:
        """Add the idle times of another row; close codes that are not in `codes` are counted as other."""
        self.used.merge(other.used)
        self.open.merge(other.open)
        for code, idle_times in other.before_close.items():
            self.closed(code if code in codes or code == RESTART else OTHER).merge(idle_times)

    @property
    def count(self) -> int:
        """The number of idle times."""
        return self.used.count + self.open.count + sum(one.count for one in self.before_close.values())

    @property
    def longest(self) -> int:
        """The longest, in nanoseconds."""
        return max(one.longest[0] for one in (self.used, self.open, *self.before_close.values()))
