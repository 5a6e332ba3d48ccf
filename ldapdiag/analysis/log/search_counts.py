"""The searches of a log as numbers alone, which a live view subtracts: a SearchGroup takes ten times as much memory.

Of an earlier time only what was different then is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.searches import names_of, unindexed_of
from ldapdiag.analysis.log.spellings import SpellingCounts, caseless, display_name, folded_dn, ranked_by_text
from ldapdiag.analysis.log.workload import account_spellings
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.evidence.log.tables import add, among
from ldapdiag.lazy_dataclass import NamedTuple

if TYPE_CHECKING:
    from ldapdiag.evidence.log.operation_row import ShapeKey
    from ldapdiag.evidence.log.segment import Segment

Counts = Mapping[tuple[str, str, str], tuple[int, ...]]
Changed = Mapping[tuple[str, str, str], tuple[int, ...] | None]
"""What keys had before; None: they were absent."""


class SearchCounts(NamedTuple):
    """The searches of a log. Times in nanoseconds."""

    searches: Counts
    """By filter shape, base and scope: results, time, entries, unindexed ones."""
    requesters: Counts
    """By filter shape, client and account: results, time, those with a note."""


def search_counts(segment: Segment) -> SearchCounts:
    """Return the searches as search_groups names and counts them."""
    shapes, bases = SpellingCounts(caseless), SpellingCounts(folded_dn)
    sums: dict[ShapeKey, list[int]] = {}
    noted: dict[ShapeKey, dict[bytes, int]] = {}
    for (shape, base, scope), row in segment.shapes.items():
        key = (shapes.add(shape, row.requests), bases.add(base, row.requests), scope)
        total = sums.setdefault(key, [0, 0, 0])
        for column, number in enumerate((row.answered, row.etime, row.entries)):
            total[column] += number
        if row.noted:
            add(noted.setdefault(key, {}), among(row.noted, segment.noted))
    names = {key: names_of(key, shapes, bases) for key in sums}
    unindexed = {key: unindexed_of(ranked_by_text(notes.items())) for key, notes in noted.items()}
    searches = {names[key]: (*total, unindexed.get(key, 0)) for key, total in sums.items()}
    return SearchCounts(searches, _requesters(segment, {key[0]: name[0] for key, name in names.items()}))


def _requesters(segment: Segment, shapes: Mapping[bytes, str]) -> Counts:
    """Return who sent the searches; `shapes` has the names of the folded filter shapes."""
    accounts = account_spellings(segment)
    sums: dict[tuple[str, str, str], list[int]] = {}
    for (kind, shape, client, account, _), counts in segment.attribution.items():
        if kind == SEARCH and (name := shapes.get(caseless(shape))):
            who = (name, display_name(client), display_name(accounts.respelled(account)))
            total = sums.setdefault(who, [0, 0, 0])
            for column, number in enumerate(counts):
                total[column] += number
    return {who: tuple(total) for who, total in sums.items()}


def changed(later: Counts, earlier: Counts) -> Changed:
    """Return what the keys that differ had earlier."""
    return {key: earlier.get(key) for key in {**earlier, **later} if later.get(key) != earlier.get(key)}


def restored(later: Counts, *steps: Changed) -> Counts:
    """Return what was counted before steps, the latest of which is the first."""
    counts = dict(later)
    for step in steps:
        for key, before in step.items():
            if before is None:
                counts.pop(key, None)
            else:
                counts[key] = before
    return counts
