"""Searches without a result: how long they took is not in the log, so they are neither slow nor quick.

The worst searches are among them: those that the client abandons, or whose connection it closes, because they take too
long. A few are in progress whenever a log ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.analysis.log.searches import SearchGroup

SEVERAL = 3
"""Fewer may have been in progress when the log ended."""
PART = 10
"""One in so many of a kind of search."""


def without_result(searches: Iterable[SearchGroup]) -> str:
    """Return how many searches lack a result where that is a tenth of their kind or more; empty: none."""
    lacking = [one for one in searches if one.scope != "base" and one.no_result >= max(SEVERAL, one.count / PART)]
    if not lacking:
        return ""
    most = max(lacking, key=lambda one: (one.no_result, one.shape))
    below = f"{most.shape} below {most.base or 'the root'}"
    total = counted(sum(one.no_result for one in lacking), "search", "searches")
    which = f"most {below} ({most.no_result:,})" if len(lacking) > 1 else below
    return (
        f"{total} without result, {which}: abandoned, or their connection or the log ended first; "
        "how long they took is not in the log"
    )
