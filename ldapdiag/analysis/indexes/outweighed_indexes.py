"""Outweighed indexes: those that would slow other searches by more than they save, or hide entries from them.

No plan may have them.

    (createTimestamp<=?)                               an index would save 0.38 s
    (&(createTimestamp>=?)(createTimestamp<=?))        with it, slapd would take 2.6 s longer for these

Measured with slapd 2.5.13 and 20,000 entries: 81 ms without the index, 517 ms with it.

    (employeeNumber=?)                                 an index would save 0.38 s
    (employeeNumber>=?) below ou=b                     with it, 389-ds finds 334 of 900 entries, without an error

389-ds ends the list of a range at the size limit of the search (2,000 by default), wherever its entries are; in an AND
it does not. Measured with 2.3.1 and 6,000 entries, 1,000 of them below ou=b.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.search_coverage import Obstacle
from ldapdiag.evidence.filter_tree import RANGES, Assertion, Node, Or, assertions
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.servers.indexes.candidates import Cause
from ldapdiag.wording import duration, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ldapdiag.analysis.indexes.search_coverage import ProposedIndex, SearchCoverage

EQUALITY = "eq"


def without_hiding(searches: Sequence[SearchCoverage], largest: Sequence[float], limit: int) -> list[SearchCoverage]:
    """Return the searches without the indexes with which others would find fewer entries, without an error.

    `largest`: of each search, how many entries may be in its ranges; `limit`: where the server ends a list of them.
    """
    ranges = {
        one.attribute: (one, search.group.base)
        for search, size in zip(searches, largest, strict=True)
        if size > limit and search.filter is not None
        for one in _alone(search.filter)
    }
    hiding: dict[ProposedIndex, str] = {}
    for database, change in {index for one in searches for indexes in one.sufficient_sets for index in indexes}:
        found = ranges.get(change.attribute.lower()) if change.type == EQUALITY else None
        if found is not None:
            hiding[database, change] = (
                f"with {change.attribute} {EQUALITY} the server ends the list of {found[0].text} at the size limit "
                f"({number(limit)} by default): below {found[1]} it may find fewer entries, without an error; "
                "ask the owner of the client to put this part into an AND with another condition, which is not affected"
            )
    return [_without(search, hiding) for search in searches]


def _alone(node: Node) -> Iterator[Assertion]:
    """Yield the ranges that are in no AND."""
    if isinstance(node, Or):
        for member in node.members:
            yield from _alone(member)
    elif isinstance(node, Assertion) and node.kind in RANGES:
        yield node


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
        index: f"with {index[1].attribute} {index[1].type} other searches, most for "
        f"{max(shapes, key=lambda shape: shapes[shape])}, would take {duration(sum(shapes.values()) / SECOND)} "
        "longer in all than now, which is more than it saves"
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


def _without(search: SearchCoverage, outweighed: Mapping[ProposedIndex, str]) -> SearchCoverage:
    """Return searches without the sets that have one of these indexes, and why, if none is left."""
    left = tuple(one for one in search.sufficient_sets if outweighed.keys().isdisjoint(one))
    if left == search.sufficient_sets:
        return search
    if left or search.filter is None:
        return replace(search, sufficient_sets=left, predicted={one: search.predicted[one] for one in left})
    index = min(one for several in search.sufficient_sets for one in several if one in outweighed)
    names = index[1].attribute.lower()
    assertion = next((one for one in assertions(search.filter) if one.attribute == names), None)
    assertion = assertion or next(iter(assertions(search.filter)))
    found = Obstacle(cause=Cause.LIMIT_PERHAPS, attribute=assertion.name, text=assertion.text, reason=outweighed[index])
    return replace(search, sufficient_sets=(), predicted={}, certain=False, obstacle=found)
