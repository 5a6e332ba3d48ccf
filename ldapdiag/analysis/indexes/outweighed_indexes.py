"""Outweighed indexes: those that would slow other searches by more than they save, which no plan may have.

    (createTimestamp<=?)                               an index would save 0.38 s
    (&(createTimestamp>=?)(createTimestamp<=?))        with it, slapd would take 2.6 s longer for these

Measured with slapd 2.5.13 and 20,000 entries: 81 ms without the index, 517 ms with it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.search_coverage import Obstacle
from ldapdiag.evidence.filter_tree import assertions
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.servers.indexes.candidates import Cause
from ldapdiag.wording import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ldapdiag.analysis.indexes.search_coverage import ProposedIndex, SearchCoverage


def without_outweighed(searches: Sequence[SearchCoverage]) -> list[SearchCoverage]:
    """Return the searches without the sets of indexes that cost others more time than they save.

    An index for lack of which searches are refused stays: slower is better than no answer.
    """
    saved, needed = _saved(searches)
    lost: dict[ProposedIndex, dict[str, int]] = defaultdict(dict)
    for search in searches:
        for index, time in _slowing(search):
            lost[index][search.group.shape] = lost[index].get(search.group.shape, 0) + time
    outweighed = {
        index: (max(shapes, key=lambda shape: shapes[shape]), sum(shapes.values()))
        for index, shapes in lost.items()
        if sum(shapes.values()) > saved.get(index, 0) and index not in needed
    }
    return [_without(search, outweighed) for search in searches]


def _saved(searches: Iterable[SearchCoverage]) -> tuple[Mapping[ProposedIndex, int], frozenset[ProposedIndex]]:
    """Return what each index saves at most, in nanoseconds, and the indexes for lack of which searches are refused."""
    saved: dict[ProposedIndex, int] = defaultdict(int)
    needed: set[ProposedIndex] = set()
    for search in searches:
        best: dict[ProposedIndex, int] = {}
        for indexes in search.sufficient_sets:
            best |= {index: max(best.get(index, 0), search.saved(indexes)) for index in indexes}
        for index, time in best.items():
            saved[index] += time
        if search.refused:
            needed |= best.keys()
    return saved, frozenset(needed)


def _slowing(search: SearchCoverage) -> Iterable[tuple[ProposedIndex, int]]:
    """Yield each index that alone makes searches slower, and the nanoseconds that they take longer in all."""
    for indexes, time in search.slower.items():
        if len(indexes) == 1:
            yield next(iter(indexes)), (time.expected - search.mean) * search.examining


def _without(search: SearchCoverage, outweighed: Mapping[ProposedIndex, tuple[str, int]]) -> SearchCoverage:
    """Return searches without the sets that have one of these indexes, and why, if none is left."""
    left = tuple(one for one in search.sufficient_sets if outweighed.keys().isdisjoint(one))
    if left == search.sufficient_sets:
        return search
    if left or search.filter is None:
        return replace(search, sufficient_sets=left, predicted={one: search.predicted[one] for one in left})
    index = min(one for several in search.sufficient_sets for one in several if one in outweighed)
    (_, change), (shape, time) = index, outweighed[index]
    names = change.attribute.lower()
    assertion = next((one for one in assertions(search.filter) if one.attribute == names), None)
    assertion = assertion or next(iter(assertions(search.filter)))
    reason = (
        f"with {change.attribute} {change.type} other searches, most for {shape}, would take {duration(time / SECOND)} "
        "longer in all than now, which is more than it saves"
    )
    obstacle = Obstacle(cause=Cause.LIMIT_PERHAPS, attribute=assertion.name, text=assertion.text, reason=reason)
    return replace(search, sufficient_sets=(), predicted={}, certain=False, obstacle=obstacle)
