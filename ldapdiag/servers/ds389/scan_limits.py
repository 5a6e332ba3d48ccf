"""How long a list of ids 389-ds takes from an index: of a longer one it makes `all ids`, as if there were no index.

    nsslapd-idlistscanlimit: 4000                                       for every index, also for ranges
    nsIndexIDListScanLimit: limit=0 type=eq flags=AND values=person     for one; where several fit, the most specific

Source: ldap/servers/slapd/back-ldbm/index.c, index_get_allids() and index_range_read_ext().
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import Assertion, AssertionKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.indexes import IndexDefinition, ScanLimit
    from ldapdiag.servers.candidates import Amount, Database

UNLIMITED = -1
PRACTICALLY_UNLIMITED = 1 << 30
"""The default is 2147483646 now."""
FORMER_DEFAULT = 4000
"""Of nsslapd-idlistscanlimit, from the beginning to 2.3.1."""
RANGES = frozenset({AssertionKind.GREATER, AssertionKind.LESS})

Limits = frozenset[int]
"""Entries; where there are several, nobody has told which holds."""

LimitsOf = Callable[..., Limits]
"""Tells the limits of a lookup, as `limits_of` does."""


def default_limits(version: Version) -> Limits:
    """Return what nsslapd-idlistscanlimit is where it is not set."""
    # Issue 2435, February 2023: 2147483646. It was carried back to 1.4.3 and 2.2 (#6966 lists its branches), without a
    # version that tells; 2.3.1 has 4000 (measured).
    if () < version < (1, 4, 3) or (2, 3) <= version <= (2, 3, 1):
        return frozenset({FORMER_DEFAULT})
    return frozenset({UNLIMITED}) if version >= (2, 4) else frozenset({FORMER_DEFAULT, UNLIMITED})


def server_limits(database: Database) -> Limits:
    """Return the limit of every index that has none of its own."""
    told = database.configuration.scan_limit
    return default_limits(database.version) if told is None else frozenset({_limit(told)})


def _limit(told: int) -> int:
    return UNLIMITED if told < 0 or told >= PRACTICALLY_UNLIMITED else told


def limits_of(
    definition: IndexDefinition | None, word: str, assertion: Assertion | None, database: Database, *, in_and: bool
) -> Limits:
    """Return the limits that may hold for the lookup of an assertion by one type of index.

    `in_and`: it stands in an AND of two or more, however deep, or the search is one-level, which is such an AND.
    """
    everywhere = server_limits(database)
    if definition is None or (assertion is not None and assertion.kind in RANGES):
        return everywhere
    fitting = [limit for limit in definition.scan_limits if _fits(limit, word, in_and=in_and)]
    possible = set(_of_values([one for one in fitting if _has_value(one, assertion) is True], everywhere))
    if any(_has_value(one, assertion) is None for one in fitting):
        possible |= set(_of_values([one for one in fitting if _has_value(one, assertion) is not False], everywhere))
    return frozenset(possible)


def exceeds(amount: Amount, limits: Limits) -> bool | None:
    """Tell whether a list is too long; None: that is not known."""
    answers = {amount.exceeds(limit) for limit in limits}
    return answers.pop() if len(answers) == 1 else None


def _fits(limit: ScanLimit, word: str, *, in_and: bool) -> bool:
    flags = {flag.lower() for flag in limit.flags}
    return (not limit.types or word in limit.types) and (not flags or (in_and and "and" in flags))


def _has_value(limit: ScanLimit, assertion: Assertion | None) -> bool | None:
    """Tell whether a limit is for the value of an assertion; None: its value is not told."""
    if not limit.values:
        return True
    if assertion is None or assertion.kind is AssertionKind.PRESENCE:
        return False
    if assertion.value is None:
        return None
    return assertion.value.lower() in {value.lower() for value in limit.values}


def _of_values(fitting: list[ScanLimit], everywhere: Limits) -> Iterator[int]:
    """Yield the limit of the most specific ones: a value counts more than a type, that more than a flag."""
    if not fitting:
        yield from everywhere
        return
    scores = [4 * bool(one.values) + 2 * bool(one.types) + bool(one.flags) for one in fitting]
    last = max(number for number, score in enumerate(scores) if score == max(scores))
    yield _limit(fitting[last].limit)
