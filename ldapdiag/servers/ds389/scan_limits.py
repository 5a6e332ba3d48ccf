"""ID list scan limits of 389-ds: it treats a longer ID list as `all ids`, as if there were no index.

    nsslapd-idlistscanlimit: 4000                                       for every index, also for ranges
    nsIndexIDListScanLimit: limit=0 type=eq flags=AND values=person     for one index; the most specific match applies

Source: ldap/servers/slapd/back-ldbm/index.c, index_get_allids() and index_range_read_ext().
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import RANGES, Assertion, AssertionKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.indexes import IndexDefinition, ScanLimit
    from ldapdiag.servers.indexes.candidates import Amount, Database

UNLIMITED = -1
PRACTICALLY_UNLIMITED = 1 << 30
"""The present default is 2147483646."""
FORMER_DEFAULT = 4000
"""Default of nsslapd-idlistscanlimit up to 2.3.1."""

Limits = frozenset[int]
"""The possible limits, in entries; several if the evidence does not show which applies."""

LimitsOf = Callable[..., Limits]
"""Returns the limits of a lookup, with the parameters of `limits_of`."""


def default_limits(version: Version) -> Limits:
    """Return the default of nsslapd-idlistscanlimit."""
    # Issue 2435, February 2023: 2147483646. It was backported to 1.4.3 and 2.2 (#6966 lists the branches), in releases
    # that no source names; 2.3.1 has 4000 (measured).
    if () < version < (1, 4, 3) or (2, 3) <= version <= (2, 3, 1):
        return frozenset({FORMER_DEFAULT})
    return frozenset({UNLIMITED}) if version >= (2, 4) else frozenset({FORMER_DEFAULT, UNLIMITED})


def server_limits(database: Database) -> Limits:
    """Return the limit of indexes without a limit of their own."""
    configured = database.configuration.scan_limit
    return default_limits(database.version) if configured is None else frozenset({_limit(configured)})


READ_OVER_TEST = 0.7
"""The time to read one key of a range, as a share of the time to test an entry: measured with 2.3.1, 3.7 of 5.1
microseconds. 0.2 to 2.6 thousand keys of the whole database took 3 to 12 ms below a base of a few hundred entries."""


BASE_OVER_TEST = 0.06
"""The time to read the ID of one entry below the base, as a share of the time to test an entry: measured with 2.3.1,
0.9 to 1.6 ms for the 4,000 of the limit, 0.3 of 5 microseconds each. Above 10 candidates in the whole database
(FILTER_TEST_THRESHOLD) the server intersects these with them: back-ldbm/ldbm_search.c, subtree_candidates()."""


def longest_list(database: Database) -> int | None:
    """Return the longest ID list by the server's own limit; None: any, or not known."""
    limits = server_limits(database)
    return None if UNLIMITED in limits else max(limits)


def _limit(configured: int) -> int:
    return UNLIMITED if configured < 0 or configured >= PRACTICALLY_UNLIMITED else configured


def limits_of(
    definition: IndexDefinition | None, type_: str, assertion: Assertion | None, database: Database, *, in_and: bool
) -> Limits:
    """Return the limits that may apply to the lookup of an assertion in one type of index.

    `in_and`: the assertion is in an AND of two or more members at any depth, or the search is one-level, which the
    server evaluates as such an AND.
    """
    everywhere = server_limits(database)
    if definition is None or (assertion is not None and assertion.kind in RANGES):
        return everywhere
    fitting = [limit for limit in definition.scan_limits if _fits(limit, type_, in_and=in_and)]
    possible = set(_of_values([one for one in fitting if _has_value(one, assertion) is True], everywhere))
    if any(_has_value(one, assertion) is None for one in fitting):
        possible |= set(_of_values([one for one in fitting if _has_value(one, assertion) is not False], everywhere))
    return frozenset(possible)


def exceeds(amount: Amount, limits: Limits) -> bool | None:
    """Return whether a list is longer than its limit; None if that is not known."""
    answers = {amount.exceeds(limit) for limit in limits}
    return answers.pop() if len(answers) == 1 else None


def _fits(limit: ScanLimit, type_: str, *, in_and: bool) -> bool:
    flags = {flag.lower() for flag in limit.flags}
    return (not limit.types or type_ in limit.types) and (not flags or (in_and and "and" in flags))


def _has_value(limit: ScanLimit, assertion: Assertion | None) -> bool | None:
    """Return whether a limit applies to the value of an assertion; None if the value is not known."""
    if not limit.values:
        return True
    if assertion is None or assertion.kind is AssertionKind.PRESENCE:
        return False
    if assertion.value is None:
        return None
    return assertion.value.lower() in {value.lower() for value in limit.values}


def _of_values(fitting: list[ScanLimit], everywhere: Limits) -> Iterator[int]:
    """Yield the limit of the most specific match: a value counts more than a type, a type more than a flag."""
    if not fitting:
        yield from everywhere
        return
    scores = [4 * bool(one.values) + 2 * bool(one.types) + bool(one.flags) for one in fitting]
    last = max(number for number, score in enumerate(scores) if score == max(scores))
    yield _limit(fitting[last].limit)
