"""The rows a Segment counts in, and the caps of tables that are keyed by what a client sends."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from ldapdiag.evidence.log.pieces import UNTOLD, has_pieces
from ldapdiag.evidence.log.rests import Rests

if TYPE_CHECKING:
    from collections.abc import Hashable

Key = TypeVar("Key", bound="Hashable")
Row = TypeVar("Row")

OTHER = b"other"
"""Where everything beyond a cap is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """The most of each that is kept apart; what comes beyond is counted as `other`, and the totals stay exact."""

    shapes: int = 10_000
    """Of (shape, base, scope)."""
    clients: int = 20_000
    accounts: int = 20_000
    attribution: int = 60_000
    """Of (shape, client, account)."""
    owed: int = 5_000
    """Of (shape, account) of one connection whose client is not known yet."""
    failures: int = 20_000
    """Of (DN, client, result code) of failed BINDs."""
    codes: int = 200
    """Of reasons for a close: a server's own words, but a log is text."""
    notes: int = 200
    results: int = 1_000
    """Of result codes; RFC 4511 and the drafts know a hundred."""
    pending: int = 300_000
    """Requests that wait for their result, of all connections; beyond, the oldest are let go."""
    pages: int = 1_000
    """Paged searches of one connection."""
    connections: int = 100_000
    """Followed at once; beyond, those that have been quiet longest are let go."""


CAPS = Caps()


class Table(dict[Key, Row], Generic[Key, Row]):
    """A dict that takes no more new keys than its cap; `place` tells under which key to count."""

    __slots__ = ("full", "most", "other")

    def __init__(self, most: int, other: Key) -> None:
        super().__init__()
        self.most = most
        self.other = other
        self.full = False

    def place(self, key: Key) -> Key:
        """Return the key, or the one that stands for all others once the table is full."""
        if key in self or len(self) < self.most or key == self.other:
            return key
        self.full = True
        return self.other

    def __reduce__(self) -> tuple[object, ...]:
        return _table, (type(self), self.most, self.other, self.full, dict(self))


class Counts(Table[Key, int]):
    """A Table of counts."""

    __slots__ = ()

    def count(self, key: Key, times: int = 1) -> Key:
        """Count a key, and return the one it is counted as."""
        key = self.place(key)
        self[key] = self.get(key, 0) + times
        return key

    def take(self, other: Counts[Key]) -> None:
        """Count what another one counts, too."""
        for key, times in other.items():
            self.count(key, times)
        self.full |= other.full


def _table(kind: type[Table[Key, Row]], most: int, other: Key, full: bool, rows: dict[Key, Row]) -> Table[Key, Row]:  # noqa: FBT001  what pickle hands back
    table = kind(most, other)
    table.full = full
    table.update(rows)
    return table


LONGEST = 1024
"""Bytes of a filter, a base or a DN that are kept; 389-ds logs 512 of them, a client may send a megabyte."""


def shortened(text: bytes) -> bytes:
    """Return a text that is kept: what is too long is cut, and ends in an ellipsis."""
    return text if len(text) <= LONGEST else text[:LONGEST] + b"..."


OTHER_RESULT = -1
"""Results of any code, where there are too many different ones."""
MOST_ERRORS = 100
"""Result codes of one row."""
MOST_LENGTHS = 100
"""Lengths of pieces of one row: two pieces of any length are fewer."""

RESTART = b"restart"
"""The reason for the end of connections that a server's restart ended."""

ShapeKey = tuple[bytes, bytes, int]
"""Filter without its values, class of the base, scope."""

Worst = tuple[int, int, int, int, bytes]
"""Nanoseconds, then -time, -connection, -op: of two equal ones the earlier is the greater; and the filter as logged."""

NOTHING: Worst = (-1, 0, 0, 0, b"")

NONE = -1
"""Entries of the largest result where there was no such result."""


class ShapeRow:
    """The searches of one shape, base class and scope. Times in nanoseconds."""

    __slots__ = (
        "answered",
        "entries",
        "errors",
        "etime",
        "has_pieces",
        "histogram",
        "key",
        "most_entries",
        "most_limited",
        "noted",
        "pieces",
        "searches",
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
        """Of one result that was complete: code 0, no page."""
        self.most_limited = NONE
        """Of one result that a limit ended, or a page: as many there were at least."""
        self.noted: dict[bytes, int] = {}
        self.errors: dict[int, int] = {}
        """Results by code, but for success."""
        self.histogram: defaultdict[int, int] = defaultdict(int)
        """Results by the bit length of their etime: bucket b holds those below 2**b nanoseconds."""
        self.worst = NOTHING
        self.has_pieces = has_pieces(key[0])
        self.pieces: Table[bytes, list[int]] = Table(MOST_LENGTHS, UNTOLD)
        """Of a shape that has pieces, by their lengths: results, nanoseconds, results with a note, most entries."""

    def failed(self, err: int, count: int = 1) -> None:
        """Count results with a code other than success."""
        if err not in self.errors and len(self.errors) >= MOST_ERRORS:
            err = OTHER_RESULT
        self.errors[err] = self.errors.get(err, 0) + count

    def measured(self, lengths: bytes, answered: int, etime: int, noted: int, most: int) -> None:
        """Count results by the lengths of the pieces they were of."""
        cell = self.pieces.get(lengths)
        if cell is None:
            cell = self.pieces.setdefault(self.pieces.place(lengths), [0, 0, 0, NONE])
        cell[0] += answered
        cell[1] += etime
        cell[2] += noted
        cell[3] = max(cell[3], most)

    def take(self, other: ShapeRow, notes: Table[bytes, int]) -> None:
        """Count the searches of another row, too; `notes` are those that are kept apart."""
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
        if self.has_pieces:
            for lengths, cell in other.pieces.items():
                self.measured(lengths, *cell)
            self.pieces.full |= other.pieces.full


class ClientRow:
    """The connections of one client address."""

    __slots__ = ("codes", "lifetimes", "opened", "operations", "per_connection", "rests", "silent", "tails")

    def __init__(self) -> None:
        self.opened = 0
        self.operations = 0
        """On connections that have ended, or were open at the end of the log."""
        self.codes: dict[bytes, int] = {}
        """Closes by the server's word for why."""
        self.silent: dict[bytes, int] = {}
        """Those of them on connections without any operation: probes."""
        self.lifetimes: defaultdict[int, int] = defaultdict(int)
        """Closed connections by the bit length of their life in nanoseconds."""
        self.per_connection: defaultdict[int, int] = defaultdict(int)
        """Closed connections by the bit length of their number of operations."""
        self.rests = Rests()
        """Followed by a request."""
        self.tails: dict[bytes, Rests] = {}
        """Before a close, by its reason."""

    def take(self, other: ClientRow, codes: Table[bytes, int]) -> None:
        """Count the connections of another row, too; `codes` are those that are kept apart."""
        self.opened += other.opened
        self.operations += other.operations
        add(self.codes, among(other.codes, codes))
        add(self.silent, among(other.silent, codes))
        add(self.lifetimes, other.lifetimes)
        add(self.per_connection, other.per_connection)
        self.rests.take(other.rests)
        for code, rests in other.tails.items():
            self.tails.setdefault(code if code in codes or code == RESTART else OTHER, Rests()).take(rests)


def among(counts: dict[bytes, int], kept: Table[bytes, int]) -> dict[bytes, int]:
    """Return counts with what a table does not keep apart as `other`."""
    if all(key in kept for key in counts):
        return counts
    told: dict[bytes, int] = {}
    for key, count in counts.items():
        place = key if key in kept or key == RESTART else kept.other
        told[place] = told.get(place, 0) + count
    return told


def add(into: dict[Key, int], counts: dict[Key, int]) -> None:
    """Add counts to those that are there."""
    for key, count in counts.items():
        into[key] = into.get(key, 0) + count
