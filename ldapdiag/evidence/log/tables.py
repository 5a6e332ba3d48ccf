"""The tables of a Segment whose keys come from a log, which is text and may contain anything, and their caps.

A RankedTable keeps the costliest keys: it is complete within one piece of a log, which bounds it, and pruned
after each (pruning.py). A CappedTable keeps the first keys: of values of which a server has few, such as close codes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Key = TypeVar("Key", bound="Hashable")
Row = TypeVar("Row")

OTHER = b"other"
"""The key that counts everything beyond a cap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """The maximum number of keys of each table; what exceeds it is counted as `other`, and the totals stay exact.

    The native scanner reads some of these names.
    """

    shapes: int = 10_000
    """Of (shape, base, scope)."""
    targets: int = 10_000
    """Of (kind of operation, class of its target)."""
    clients: int = 20_000
    accounts: int = 20_000
    attribution: int = 60_000
    """Of (kind, shape or target, client, account, result code)."""
    idle_times: int = 20_000
    """Of (client, account)."""
    owed: int = 5_000
    """Of (kind, shape or target, account, result code) of the unattributed operations of one connection, and of the
    accounts of its idle times."""
    codes: int = 200
    """Of close codes: a server has few, but a log is text and may contain anything."""
    notes: int = 200
    results: int = 1_000
    """Of result codes; RFC 4511 and the drafts define about a hundred."""
    pending: int = 300_000
    """Pending requests of all connections; beyond, the oldest are dropped."""
    pages: int = 1_000
    """Paged searches of one connection."""
    connections: int = 100_000
    """Connections followed at once; beyond, those idle longest are dropped."""


CAPS = Caps()


class CappedTable(dict[Key, Row], Generic[Key, Row]):
    """A dict that accepts no more keys than its cap; `place` returns the key to count under."""

    __slots__ = ("full", "most", "other")

    def __init__(self, most: int, other: Key) -> None:
        super().__init__()
        self.most = most
        self.other = other
        self.full = False

    def place(self, key: Key) -> Key:
        """Return the key, or the key of all others once the table is full."""
        if key in self or len(self) < self.most or key == self.other:
            return key
        self.full = True
        return self.other

    def __reduce__(self) -> tuple[object, ...]:
        return _table, (type(self), self.most, self.other, self.full, dict(self))


class CappedCounts(CappedTable[Key, int]):
    """A CappedTable of counts."""

    __slots__ = ()

    def count(self, key: Key, times: int = 1) -> Key:
        """Count a key, and return the key it is counted under."""
        key = self.place(key)
        self[key] = self.get(key, 0) + times
        return key

    def merge(self, other: CappedCounts[Key]) -> None:
        """Add the counts of another table."""
        for key, times in other.items():
            self.count(key, times)
        self.full |= other.full


class RankedTable(dict[Key, Row], Generic[Key, Row]):
    """A dict that keeps its costliest rows when it is pruned, and adds the others to more general ones."""

    __slots__ = ("full", "generalised", "most", "omitted")

    def __init__(self, most: int, generalised: Callable[[Key], Key]) -> None:
        super().__init__()
        self.most = most
        self.generalised = generalised
        """Returns the key that counts a row once it is removed: a more general one, in the end itself."""
        self.full = False
        self.omitted = 0
        """The cost that a key may have had, at most, in addition to that of its row; or without a row."""

    def removed(self, cost: Callable[[Row], tuple[int, int]], *, final: bool) -> list[tuple[Key, Row]]:
        """Remove the cheapest rows, where there are too many, and return them by the keys that count them from now on.

        There are too many at twice the cap, so that this is rare; at the end (`final`) above it. At least a quarter of
        the cap is removed, because each removed row may need a row of its own under its more general key.
        """
        excess = len(self) - self.most
        if excess <= (0 if final else self.most):
            return []
        most = max(excess, self.most // 4)
        removed: list[tuple[Key, Row]] = []
        highest = 0
        for first, _, key in sorted((*cost(row), key) for key, row in self.items()):
            if (general := self.generalised(key)) != key:
                removed.append((general, self.pop(key)))
                highest = first
                if len(removed) == most:
                    break
        if removed:
            self.full = True
            self.omitted += highest
        return removed

    def __reduce__(self) -> tuple[object, ...]:
        return _ranked, (type(self), self.most, self.generalised, self.full, self.omitted, dict(self))


class RankedCounts(RankedTable[Key, int]):
    """A RankedTable of counts."""

    __slots__ = ()

    def count(self, key: Key, times: int = 1) -> None:
        """Count a key."""
        self[key] = self.get(key, 0) + times

    def merge(self, other: RankedCounts[Key]) -> None:
        """Add the counts of another table."""
        for key, times in other.items():
            self[key] = self.get(key, 0) + times
        self.full |= other.full
        self.omitted += other.omitted


def _table(
    kind: type[CappedTable[Key, Row]],
    most: int,
    other: Key,
    full: bool,  # noqa: FBT001  called by pickle
    rows: dict[Key, Row],
) -> CappedTable[Key, Row]:
    table = kind(most, other)
    table.full = full
    table.update(rows)
    return table


def _ranked(
    kind: type[RankedTable[Key, Row]],
    most: int,
    generalised: Callable[[Key], Key],
    full: bool,  # noqa: FBT001  called by pickle
    omitted: int,
    rows: dict[Key, Row],
) -> RankedTable[Key, Row]:
    table = kind(most, generalised)
    table.full, table.omitted = full, omitted
    table.update(rows)
    return table


LONGEST = 1024
"""Bytes kept of a filter, a base or a DN; 389-ds logs 512, but a client may send a megabyte."""


def shortened(text: bytes) -> bytes:
    """Return a text for keeping: one that is too long is cut, and ends in an ellipsis."""
    return text if len(text) <= LONGEST else text[:LONGEST] + b"..."


OTHER_RESULT = -1
"""The code that counts all others, where there are too many different ones."""
RESTART = b"restart"
"""The close code of connections that a restart of the server ended."""


def among(counts: dict[bytes, int], kept: CappedTable[bytes, int]) -> dict[bytes, int]:
    """Return counts with the keys that a table does not have counted as `other`."""
    if all(key in kept for key in counts):
        return counts
    capped: dict[bytes, int] = {}
    for key, count in counts.items():
        place = key if key in kept or key == RESTART else kept.other
        capped[place] = capped.get(place, 0) + count
    return capped


def add(into: dict[Key, int], counts: dict[Key, int]) -> None:
    """Add `counts` to the counts in `into`."""
    for key, count in counts.items():
        into[key] = into.get(key, 0) + count
