"""RemainingSearches: the searches that are not judged one by one, and the bounds of their time without an index.

The costliest kinds of search are judged, and those refused for what they would examine. A kind is a filter shape below
one base. The log knows less of the others, the less the cheaper they are:

    kinds with a row        their number, and for each its results, their time and notes
    all without a row       results, their time, and how many are noted: not the time of the noted ones

So what is noted took at least as long as the shortest times of as many results, and at most the time of all. A server
that notes nothing (slapd) may have scanned for any of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.simulated_server import notes_unindexed
from ldapdiag.analysis.log.searches import LATER_PAGE, SearchGroup, is_unindexed
from ldapdiag.analysis.log.spellings import OTHER_NAME
from ldapdiag.evidence.log.counting import REFUSED
from ldapdiag.evidence.log.durations import edges
from ldapdiag.evidence.log.segment import OTHER_SHAPE
from ldapdiag.evidence.log.stamps import MILLISECOND
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.servers.traits import traits_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ldapdiag.analysis.indexes.simulated_database import SimulatedDatabase
    from ldapdiag.analysis.log.workload import Workload
    from ldapdiag.evidence.family import Family

MOST_KINDS = 5_000
"""Kinds of search that are judged: each takes about a millisecond."""
SLOW = 5 * MILLISECOND
"""A search without a note that took less was indexed, where unindexed ones are noted."""

Audited = tuple[SearchGroup, "tuple[SimulatedDatabase, ...]"]
"""The searches of a kind, with the databases that answer them."""


class TimeBounds(NamedTuple):
    """Nanoseconds."""

    least: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RemainingSearches:
    """All searches of one server that are not judged one by one. Times in nanoseconds."""

    judged: int
    """The kinds that are."""
    kinds: int
    """The others that have a row."""
    longest: int
    """What one of these took at most in all."""
    unlisted: bool
    """There are still others, without a row."""
    count: int
    """Results."""
    etime: int
    unindexed: TimeBounds
    """The part of it without an index."""


def divide_by_cost(audited: Sequence[Audited]) -> tuple[Sequence[Audited], Sequence[Audited]]:
    """Return the kinds to judge, of kinds ordered by cost, and the others; refused searches are quick, and matter."""
    if len(audited) <= MOST_KINDS:
        return audited, ()
    ranked = sorted(audited, key=lambda one: REFUSED.isdisjoint(one[0].errors))
    return ranked[:MOST_KINDS], ranked[MOST_KINDS:]


def remaining_searches(
    judged: int, others: Iterable[SearchGroup], workload: Workload, family: Family | None
) -> RemainingSearches | None:
    """Return what remains beside the judged kinds; None: nothing."""
    kinds = list(others)
    without_row = [group for group in workload.searches if _has_no_row(group)]
    groups = [*kinds, *without_row]
    if not groups:
        return None
    times = [_unindexed(group, family, {}) for group in kinds]
    times += [_unindexed(group, family, workload.segment.shapes[OTHER_SHAPE].etimes) for group in without_row]
    return RemainingSearches(
        judged=judged,
        kinds=len(kinds),
        longest=max((group.etime for group in kinds), default=0),
        unlisted=bool(without_row),
        count=sum(group.answered for group in groups),
        etime=sum(group.etime for group in groups),
        unindexed=TimeBounds(sum(one.least for one in times), sum(one.most for one in times)),
    )


def _has_no_row(group: SearchGroup) -> bool:
    """Return whether a group has the searches that a full table counts together."""
    return group.unidentified and group.shape == OTHER_NAME


def _unindexed(group: SearchGroup, family: Family | None, etimes: Mapping[int, int]) -> TimeBounds:
    """Return the bounds of the time without an index of searches whose times are in a histogram; empty: not known."""
    if not _may_scan(group, family):
        return TimeBounds(0, 0)
    noted = _noted(group, family)
    least = group.etime if noted >= group.answered else min(group.etime, of_shortest(noted, etimes))
    return TimeBounds(least, group.etime)


def _may_scan(group: SearchGroup, family: Family | None) -> bool:
    """Return whether some of the searches may have examined every entry."""
    longest = group.slowest.etime if group.slowest else 0
    return not notes_unindexed(family) or longest >= SLOW or any(map(is_unindexed, group.notes))


def _noted(group: SearchGroup, family: Family | None) -> int:
    """Return how many of the searches the server certainly notes as fully unindexed."""
    traits = traits_of(family)
    if not traits.unindexed_note or traits.overnotes:
        return 0
    return sum(
        count
        for notes, count in group.notes.items()
        if notes != LATER_PAGE and traits.unindexed_note in notes.split(",")
    )


def of_shortest(count: int, etimes: Mapping[int, int]) -> int:
    """Return the least time that so many of the operations in a histogram took."""
    total = 0
    for number in sorted(etimes):
        these = min(count, etimes[number])
        total += these * edges(number)[0]
        count -= these
    return total
