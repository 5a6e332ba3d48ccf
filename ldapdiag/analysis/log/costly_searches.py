"""Costly searches: those that take a large share of all search time and are slow, alone or below all bases together."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.searches import is_unindexed
from ldapdiag.evidence.log.stamps import SECOND

if TYPE_CHECKING:
    from ldapdiag.analysis.log.searches import SearchGroup, SlowestOperation
    from ldapdiag.analysis.log.workload import Workload

LEAST_SHARE = 0.01
ONCE = SECOND
SLOW, CHEAP = SECOND // 10, SECOND // 200
"""The average time of slow searches, and of those that the server notes as unindexed."""
SEVERAL = 2


def costly_searches(workload: Workload) -> list[tuple[SearchGroup, SlowestOperation]]:
    """Return the searches that are findings, each with its slowest, the most expensive first.

    A filter is one finding where its bases are costly only together; else each costly base is one.
    """
    alone = [search for search in workload.searches if search.slowest and is_costly(search, search.slowest)]
    others: dict[str, list[SearchGroup]] = defaultdict(list)
    reported = set(map(id, alone))
    for search in workload.searches:
        if id(search) not in reported and search.scope != "base":
            others[search.shape].append(search)
    together = [one for one in workload.filter_totals if _are_costly(others[one.shape], workload.search_etime)]
    covered = {one.shape for one in together}
    found = [*together, *(one for one in alone if one.shape not in covered)]
    found.sort(key=lambda one: (-one.etime, one.shape, one.base, one.scope))
    return [(one, one.slowest) for one in found if one.slowest]


def _are_costly(searches: list[SearchGroup], total: int) -> bool:
    """Return whether searches of one filter, each below another base, are a finding together."""
    etime, answered = sum(one.etime for one in searches), sum(one.answered for one in searches)
    if len(searches) < SEVERAL or etime < max(LEAST_SHARE * total, 1) or any(one.unidentified for one in searches):
        return False
    worst = max(one.slowest.etime for one in searches if one.slowest)
    return is_long(etime // answered, worst, blamed=any(map(_is_blamed, searches)))


def is_costly(search: SearchGroup, worst: SlowestOperation) -> bool:
    """Return whether a search is a finding, by the numbers of the manual page."""
    return search.scope != "base" and not search.unidentified and is_slow(search, worst)


def is_slow(search: SearchGroup, worst: SlowestOperation) -> bool:
    """Return whether a search takes enough time, whatever its filter is."""
    return search.share >= LEAST_SHARE and is_long(search.mean, worst.etime, blamed=_is_blamed(search))


def is_long(mean: int, worst: int, *, blamed: bool) -> bool:
    """Return whether searches take long: on average, once, or for a reason that the server notes (`blamed`)."""
    return mean >= SLOW or worst >= ONCE or (blamed and mean >= CHEAP)


def _is_blamed(search: SearchGroup) -> bool:
    """Return whether the server notes that the searches are unindexed, and not for an attribute it does not know."""
    noted = any(is_unindexed(notes) and "F" not in notes.split(",") for notes in search.notes)
    return search.unindexed > 0 and noted
