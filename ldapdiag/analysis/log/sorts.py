"""Sorts: how the searches of one kind were sorted, by the keys that clients asked for (389-ds)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.spellings import SpellingCounts, caseless, text
from ldapdiag.evidence.log.sorting import ALL, NO_VLV, UNLISTED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ldapdiag.evidence.log.sorting import Sorting


@dataclass(slots=True, kw_only=True)
class SortCount:
    """The results that were to be sorted by the same keys. Times in nanoseconds."""

    count: int = 0
    etime: int = 0
    unindexed: int = 0
    """Noted as wholly or partly unindexed; every virtual list view without an index is."""
    candidates: int = 0
    """Entries sorted in memory."""
    most_candidates: int = 0
    """Of one search."""
    unsorted: int = 0
    """Every entry was a candidate, so the server did not sort."""
    vlv: int = 0
    """Virtual list views."""
    by_index: int = 0
    """Virtual list views that a VLV index answered."""
    by_index_etime: int = 0
    vlv_errors: dict[int, int]
    """Virtual list views by their own result code, without success; a limit shows only here (11), not in the result."""

    def add(self, sorting: Sorting, cell: list[int]) -> None:
        """Add results of one way of sorting."""
        count, etime, unindexed, candidates, most = cell
        self.count += count
        self.etime += etime
        self.unindexed += unindexed
        self.candidates += candidates
        self.most_candidates = max(self.most_candidates, most)
        self.unsorted += count if sorting.candidates == ALL else 0
        if sorting.vlv == NO_VLV:
            return
        self.vlv += count
        if sorting.vlv:
            self.vlv_errors[sorting.vlv] = self.vlv_errors.get(sorting.vlv, 0) + count
        elif sorting.candidates == UNLISTED:
            self.by_index += count - unindexed
            self.by_index_etime += 0 if unindexed else etime


def sort_counts(sorts: Mapping[Sorting, list[int]]) -> dict[str, SortCount]:
    """Return the sorts of a row by their keys, the most expensive first; keys empty: a view without result."""
    spellings = SpellingCounts(caseless)
    counts: dict[bytes, SortCount] = {}
    for sorting, cell in sorts.items():
        keys = spellings.add(sorting.keys, cell[0])
        counts.setdefault(keys, SortCount(vlv_errors={})).add(sorting, cell)
    ranked = sorted(counts.items(), key=lambda one: (-one[1].etime, -one[1].count, one[0]))
    return {text(spellings.commonest(keys)): count for keys, count in ranked}
