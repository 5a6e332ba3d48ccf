"""The rows of a Segment, and the caps of tables whose keys come from clients."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from ldapdiag.evidence.log.idle_times import IdleTimes
from ldapdiag.evidence.log.sorting import Sorting
from ldapdiag.evidence.log.substrings import UNKNOWN_LENGTHS, has_substrings

if TYPE_CHECKING:
    from collections.abc import Hashable

Key = TypeVar("Key", bound="Hashable")
Row = TypeVar("Row")

OTHER = b"other"
"""The key that counts everything beyond a cap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """The maximum number of keys of each table; what exceeds it is counted as `other`, and the totals stay exact.

    The native scanner reads these names.
    """

    shapes: int = 10_000
    """Of (shape, base, scope)."""
    clients: int = 20_000
    accounts: int = 20_000
    attribution: int = 60_000
    """Of (shape, client, account)."""
    owed: int = 5_000
    """Of (shape, account) of the unattributed searches of one connection."""
    failures: int = 20_000
    """Of (DN, client, result code) of failed BINDs."""
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


LONGEST = 1024
"""Bytes kept of a filter, a base or a DN; 389-ds logs 512, but a client may send a megabyte."""


def shortened(text: bytes) -> bytes:
    """Return a text for keeping: one that is too long is cut, and ends in an ellipsis."""
    return text if len(text) <= LONGEST else text[:LONGEST] + b"..."


OTHER_RESULT = -1
"""The code that counts all others, where there are too many different ones."""
OTHER_STOP = (OTHER_RESULT, OTHER)
MOST_ERRORS = 100
"""Different result codes in one row."""
MOST_LENGTHS = 100
"""Different substring lengths in one row: more than all combinations of two substrings."""
MOST_SORTS = 100
"""Different sorts in one row; an application has a few, but a client may ask for any."""
OTHER_SORT = Sorting(OTHER)
MOST_STOPPED = 100
"""Different combinations of code and notes in one row."""
IN_MEMORY = 0
"""The candidates of a sort in memory, where sorts are counted by how they were done."""

RESTART = b"restart"
"""The close code of connections that a restart of the server ended."""

ShapeKey = tuple[bytes, bytes, int]
"""Filter shape, class of the base, scope."""

Worst = tuple[int, int, int, int, bytes]
"""Nanoseconds, -time, -connection, -op, filter as logged: of two equal durations the earlier compares greater."""

NOTHING: Worst = (-1, 0, 0, 0, b"")

NONE = -1
"""Entries of the largest result, where there is no such result."""


class ShapeRow:
    """The searches of one shape, base class and scope. Times in nanoseconds."""

    __slots__ = (
        "answered",
        "entries",
        "errors",
        "etime",
        "has_substrings",
        "histogram",
        "key",
        "most_entries",
        "most_limited",
        "noted",
        "searches",
        "sorts",
        "stopped",
        "substring_lengths",
        "wait",
        "worst",
    )

    def __init__(self, key: ShapeKey) -> None:
        self.key = key
        self.searches = 0
        """Requests."""
        self.answered = 0
        self.etime = 0
        self.wait = 0
        self.entries = 0
        self.most_entries = NONE
        """Of the largest complete result: code 0, no page."""
        self.most_limited = NONE
        """Of the largest result that a limit or a page ended: at least so many entries match."""
        self.noted: dict[bytes, int] = {}
        self.errors: dict[int, int] = {}
        """Results by code, without success."""
        self.histogram: defaultdict[int, int] = defaultdict(int)
        """Results by the bit length of their etime: bucket b holds those below 2**b nanoseconds."""
        self.worst = NOTHING
        self.has_substrings = has_substrings(key[0])
        self.substring_lengths: CappedTable[bytes, list[int]] = CappedTable(MOST_LENGTHS, UNKNOWN_LENGTHS)
        """By the lengths of the filter's substrings, behind `STOPPED_LENGTHS` where a limit or a refusal stopped the
        search: [results, nanoseconds, results with notes, most entries]."""
        self.stopped: CappedTable[tuple[int, bytes], list[int]] = CappedTable(MOST_STOPPED, OTHER_STOP)
        """Results that a limit or a refusal stopped, by code and notes: [results, nanoseconds, waiting, entries, most
        entries]. They are in the other counts, too."""
        self.sorts: CappedTable[Sorting, list[int]] = CappedTable(MOST_SORTS, OTHER_SORT)
        """By their SORT and VLV lines, candidates only as far as they are special: [results, nanoseconds, unindexed
        results, candidates sorted, most of them at once]."""

    def failed(self, err: int, count: int = 1) -> None:
        """Count results with a code other than success."""
        if err not in self.errors and len(self.errors) >= MOST_ERRORS:
            err = OTHER_RESULT
        self.errors[err] = self.errors.get(err, 0) + count

    def measured(self, lengths: bytes, answered: int, etime: int, noted: int, most: int) -> None:
        """Count results by the lengths of their filter's substrings."""
        cell = self.substring_lengths.get(lengths)
        if cell is None:
            cell = self.substring_lengths.setdefault(self.substring_lengths.place(lengths), [0, 0, 0, NONE])
        cell[0] += answered
        cell[1] += etime
        cell[2] += noted
        cell[3] = max(cell[3], most)

    def stop(self, key: tuple[int, bytes], counts: list[int]) -> None:
        """Count results that a limit or a refusal stopped."""
        cell = self.stopped.get(key)
        if cell is None:
            cell = self.stopped.setdefault(self.stopped.place(key), [0, 0, 0, 0, 0])
        answered, etime, wait, entries, most = counts
        cell[0] += answered
        cell[1] += etime
        cell[2] += wait
        cell[3] += entries
        cell[4] = max(cell[4], most)

    def sorted(self, sorting: Sorting, answered: int, etime: int, unindexed: int, candidates: int, most: int) -> None:
        """Count results by their SORT and VLV lines."""
        key = sorting if sorting.candidates < IN_MEMORY else sorting._replace(candidates=IN_MEMORY)
        cell = self.sorts.get(key)
        if cell is None:
            cell = self.sorts.setdefault(self.sorts.place(key), [0, 0, 0, 0, 0])
        cell[0] += answered
        cell[1] += etime
        cell[2] += unindexed
        cell[3] += candidates
        cell[4] = max(cell[4], most)

    def merge(self, other: ShapeRow, notes: CappedTable[bytes, int]) -> None:
        """Add the counts of another row; notes that are not in `notes` are counted as other."""
        self.searches += other.searches
        self.answered += other.answered
        self.etime += other.etime
        self.wait += other.wait
        self.entries += other.entries
        add(self.noted, among(other.noted, notes))
        for err, count in other.errors.items():
            self.failed(err, count)
        add(self.histogram, other.histogram)
        self.worst = max(self.worst, other.worst)
        self.most_entries = max(self.most_entries, other.most_entries)
        self.most_limited = max(self.most_limited, other.most_limited)
        if self.has_substrings:
            for lengths, cell in other.substring_lengths.items():
                self.measured(lengths, *cell)
            self.substring_lengths.full |= other.substring_lengths.full
        for (err, noted), cell in other.stopped.items():
            self.stop((err, noted if noted in notes or not noted else OTHER), cell)
        self.stopped.full |= other.stopped.full
        for sorting, cell in other.sorts.items():
            self.sorted(sorting, *cell)
        self.sorts.full |= other.sorts.full


class ClientRow:
    """The connections of one client address."""

    __slots__ = (
        "codes",
        "idle_before_close",
        "idle_times",
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
        self.idle_times = IdleTimes()
        """Idle times that a request ended."""
        self.idle_before_close: dict[bytes, IdleTimes] = {}
        """Idle times that a close ended, by close code."""

    def merge(self, other: ClientRow, codes: CappedTable[bytes, int]) -> None:
        """Add the counts of another row; close codes that are not in `codes` are counted as other."""
        self.opened += other.opened
        self.operations += other.operations
        add(self.codes, among(other.codes, codes))
        add(self.silent, among(other.silent, codes))
        add(self.lifetimes, other.lifetimes)
        add(self.per_connection, other.per_connection)
        self.idle_times.merge(other.idle_times)
        for code, idle_times in other.idle_before_close.items():
            self.idle_before_close.setdefault(code if code in codes or code == RESTART else OTHER, IdleTimes()).merge(
                idle_times
            )


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
