"""Searches: what the searches of a log cost, by filter without values, base and scope, and who asks them.

Which searches are slow, on which attribute, from whom: the costliest come first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.spellings import (
    UNKNOWN_NAME,
    SpellingCounts,
    caseless,
    display_name,
    folded_dn,
    ranked_by_text,
    text,
)
from ldapdiag.evidence.log.counting import UNSEEN_SEARCH
from ldapdiag.evidence.log.tables import OTHER, ShapeRow

if TYPE_CHECKING:
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.evidence.log.tables import ShapeKey

SCOPES = {0: "base", 1: "one", 2: "sub", 3: "subordinate"}
"""As `ldapsearch -s` has them, but for the last one's whole name (RFC 4511, 4.5.1.2, and its draft for the fourth)."""

LATER_PAGE, FIRST_PAGE = "U,P", "P,A"
"""389-ds notes both on one unindexed paged search: the first page so, every later one so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """Who asks: a client and an account. Times in nanoseconds."""

    client: str
    account: str
    count: int
    """Results."""
    etime: int
    noted: int
    """Results with a note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowestSearch:
    """The one search that took longest. Times in nanoseconds."""

    etime: int
    time: int
    """When its result was logged; since 1970."""
    connection: int | None
    operation: int | None
    """None where the log has no such numbers."""
    filter: str
    """As logged; empty where its request is not in the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchGroup:
    """The searches of one filter without values, base and scope. Times in nanoseconds."""

    shape: str
    base: str
    scope: str
    count: int
    """Requests, pages included."""
    answered: int
    etime: int
    wait: int
    entries: int
    most_entries: int
    """The most that one complete answer had; -1: there was none."""
    most_limited: int
    """The most that one answer had which a limit cut off, or that was a page of a longer one; -1: there was none."""
    by_piece_lengths: Mapping[str, tuple[int, int, int, int]]
    """Of substrings, by the lengths of their pieces (evidence/filter_tree.py): results, nanoseconds, results with a
    note, most entries of one; empty text: not told."""
    notes: Mapping[str, int]
    errors: Mapping[int, int]
    share: float
    """Of the time of all searches."""
    median_below: int
    """Half of the results took less; a power of two. 0: no time at all."""
    p95_below: int
    """19 of 20 results took less."""
    slowest: SlowestSearch | None
    """None where nothing was answered."""
    requesters: tuple[Requester, ...]
    """Of this filter, whatever the base and the scope; the costliest first."""

    @property
    def unindexed(self) -> int:
        """How many of them the server says it had no index for, in full or in part; later pages left out."""
        later = self.notes.get(LATER_PAGE, 0) if FIRST_PAGE in self.notes else 0
        return sum(count for notes, count in self.notes.items() if is_unindexed(notes)) - later

    @property
    def unidentified(self) -> bool:
        """Tell whether their requests are not in the log, or they are the rest of too many to be kept apart."""
        return self.shape == self.base == self.scope

    @property
    def mean(self) -> int:
        """Nanoseconds that one took on average."""
        return self.etime // self.answered if self.answered else 0


def is_unindexed(notes: str) -> bool:
    """Tell whether the notes of a result say that an index was lacking (389-ds U and A; OpenDJ and Ping unindexed)."""
    return not {"A", "U", "unindexed"}.isdisjoint(notes.split(","))


def search_groups(segment: Segment, accounts: SpellingCounts) -> tuple[SearchGroup, ...]:
    """Return the searches of a log, the costliest first, ties by text; `accounts` knows how those are spelled."""
    shapes, bases = SpellingCounts(caseless), SpellingCounts(folded_dn)
    rows: dict[ShapeKey, ShapeRow] = {}
    for (shape, base, scope), row in segment.shapes.items():
        key = (shapes(shape, row.searches), bases(base, row.searches), scope)
        rows.setdefault(key, ShapeRow(key)).take(row, segment.noted)
    asking: dict[bytes, dict[tuple[str, str], list[int]]] = {}
    for (shape, client, account), counts in segment.attribution.items():
        who = (display_name(client), display_name(accounts.most(account)))
        asker = asking.setdefault(shapes(shape, 0), {}).setdefault(who, [0, 0, 0])
        for place, count in enumerate(counts):
            asker[place] += count
    total = sum(row.etime for row in rows.values())
    told = (
        _search(row, total, _names(key, shapes, bases), _askers(asking.get(key[0], {}))) for key, row in rows.items()
    )
    return tuple(sorted(told, key=lambda one: (-one.etime, -one.count, one.shape, one.base, one.scope)))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnindexedNotice:
    """Unindexed searches of one filter without values, base and scope, as an errors log tells of them.

    A second witness of what the access log may tell, too: the two are never to be added.
    """

    shape: str
    base: str
    scope: str
    internal: bool
    """The server asked itself."""
    count: int


def unindexed_notices(segment: Segment) -> tuple[UnindexedNotice, ...]:
    """Return what an errors log tells of unindexed searches, the most frequent first."""
    shapes, bases = SpellingCounts(caseless), SpellingCounts(folded_dn)
    counts: dict[tuple[ShapeKey, bool], int] = {}
    for ((shape, base, scope), internal), count in segment.noticed.items():
        key = ((shapes(shape, count), bases(base, count), scope), internal)
        counts[key] = counts.get(key, 0) + count
    told = []
    for (search, internal), count in counts.items():
        names = _names(search, shapes, bases)
        told.append(UnindexedNotice(shape=names[0], base=names[1], scope=names[2], internal=internal, count=count))
    return tuple(sorted(told, key=lambda one: (-one.count, one.shape, one.base, one.scope, one.internal)))


def _names(key: ShapeKey, shapes: SpellingCounts, bases: SpellingCounts) -> tuple[str, str, str]:
    if key == UNSEEN_SEARCH:
        return (UNKNOWN_NAME,) * 3
    if key == (OTHER, OTHER, -1):
        return (text(OTHER),) * 3
    shape, base, scope = key
    return text(shapes.of(shape)), text(bases.of(base)), SCOPES.get(scope, UNKNOWN_NAME)


def _search(row: ShapeRow, total: int, names: tuple[str, str, str], askers: tuple[Requester, ...]) -> SearchGroup:
    shape, base, scope = names
    return SearchGroup(
        shape=shape,
        base=base,
        scope=scope,
        count=row.searches,
        answered=row.answered,
        etime=row.etime,
        wait=row.wait,
        entries=row.entries,
        most_entries=row.most_entries,
        most_limited=row.most_limited,
        by_piece_lengths={
            lengths.decode(): (told[0], told[1], told[2], told[3]) for lengths, told in row.pieces.items()
        },
        notes=ranked_by_text(row.noted.items()),
        errors=dict(sorted(row.errors.items())),
        share=row.etime / total if total else 0.0,
        median_below=below(row.histogram, 50),
        p95_below=below(row.histogram, 95),
        slowest=_worst(row) if row.answered else None,
        requesters=askers,
    )


def _worst(row: ShapeRow) -> SlowestSearch:
    etime, earlier, number, op, filter_ = row.worst
    return SlowestSearch(
        etime=etime,
        time=-earlier,
        connection=-number if number <= 0 else None,
        operation=-op if op <= 0 else None,
        filter=text(filter_),
    )


def _askers(askers: Mapping[tuple[str, str], list[int]]) -> tuple[Requester, ...]:
    told = (
        Requester(client=client, account=account, count=count, etime=etime, noted=noted)
        for (client, account), (count, etime, noted) in askers.items()
    )
    return tuple(sorted(told, key=lambda one: (-one.etime, -one.count, one.account, one.client)))


def below(histogram: Mapping[int, int], percent: int) -> int:
    """Return the edge below which so many percent of durations lie, by their bit length; 0 where all are 0, or none."""
    wanted = sum(histogram.values()) * percent
    seen = 0
    for bits in sorted(histogram):
        seen += histogram[bits] * 100
        if seen >= wanted:
            return 1 << bits if bits else 0
    return 0
