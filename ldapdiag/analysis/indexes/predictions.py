"""Predictions: the time that a scan would take with new indexes, by its candidates and the costs in the log.

    fixed + returned * (cost of returning one) + (candidates - returned) * (cost of testing one) + reading the index

The last is worth mentioning for the ranges of slapd, which copies the list found so far for each further key, and below
a base on 389-ds, which reads the list of all entries there.

Predicted times in words: always with their bounds, and never quicker than the fastest search of the log.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.reported_use import examined_each
from ldapdiag.analysis.indexes.search_costs import Estimate, FilterCounts, returns_nearly_nothing
from ldapdiag.analysis.indexes.search_coverage import PredictedTime
from ldapdiag.analysis.indexes.simulated_database import WHOLE_TREE, ConfiguredDatabase
from ldapdiag.evidence.filter_tree import RANGES, And, Assertion, AssertionKind, Not, Or, assertions
from ldapdiag.evidence.ldif import comparable
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.indexes.candidates import Amount, Cause, IndexUse
from ldapdiag.servers.products import product_of
from ldapdiag.wording import duration, durations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.indexes.search_costs import SearchCosts
    from ldapdiag.analysis.indexes.search_coverage import ProposedIndex, SearchCoverage
    from ldapdiag.analysis.indexes.simulated_database import SimulatedDatabase
    from ldapdiag.evidence.filter_tree import Node
    from ldapdiag.servers.indexes.candidates import Leaf
    from ldapdiag.servers.product import Product

UNBOUNDED = inf
OBJECT_CLASS = "objectclass"
LISTED = frozenset({Cause.NONE, Cause.LIMIT_PERHAPS, Cause.TOO_SHORT, Cause.UNKNOWN_ATTRIBUTE})
"""Causes of an assertion that has a list, or may have one."""
VARIES = 1.5
"""How many times as long, or as short, the same searches take at another hour; and how many times as long as others it
takes to test some attributes. Measured on slapd 2.5.13: DNs (memberOf) and types with subtypes (name) 1.2 to 1.5."""
LIST_OF_BOUND = 0.58
"""The root mean square of the shares of an index that are on one side of a bound anywhere in it."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted work of one scan with one set of new indexes."""

    time: PredictedTime
    candidates: Estimate
    total: float
    """Entries that the scan examines."""
    copied: float
    """IDs that the server copies to unite the keys of ranges; or keys of ranges that it reads, and IDs in that time."""
    returning: bool
    """What is left is what the scan takes beyond others, which test every entry and return next to nothing."""


PART = 100
"""How many times as many entries as a part of a database the whole one has, where it is not known."""


def entries_in_scope(scan: SearchCoverage, databases: Sequence[SimulatedDatabase]) -> float | None:
    """Return how many entries a scan examines; None: not known."""
    if (reported := examined_each(scan.group)) is not None:
        return reported
    counts = [_in_scope(scan, database) for database in databases]
    known = [count for count in counts if count]
    return float(sum(known)) if len(known) == len(counts) else None


def _in_scope(scan: SearchCoverage, database: SimulatedDatabase) -> int | None:
    """Return how many entries of a database are in the scope of a scan; of a part of the database only if shown."""
    if not isinstance(database, ConfiguredDatabase):
        return None
    below = database.database.frequencies.below(scan.group.base, scan.group.scope)
    if below.most is not None and below.least == below.most:
        return below.most
    return None if _is_part(scan, database) else _in_all(database)


def largest_range(search: SearchCoverage, within: float | None, databases: Sequence[SimulatedDatabase]) -> float:
    """Return how many entries of all are in the ranges of a search below a part of the database, if as many as there.

    0: it is below all of them. `within`: the entries below its base; where the numbers are not known, the part may be
    a hundredth.
    """
    if not any(_is_part(search, database) for database in databases):
        return 0
    whole = [_in_all(database) or 0 for database in databases]
    return max(search.most_entries, 1) * (sum(whole) / within if within and all(whole) else PART)


def _is_part(scan: SearchCoverage, database: SimulatedDatabase) -> bool:
    """Return whether a database has entries outside the scope of a scan."""
    suffixes = database.database.backend.suffixes if isinstance(database, ConfiguredDatabase) else ()
    base = comparable(scan.group.base)
    return scan.group.scope == "one" or any(base.endswith(f",{comparable(suffix)}") for suffix in suffixes)


def _in_all(database: SimulatedDatabase) -> int | None:
    """Return how many entries a database has; None: not known."""
    if not isinstance(database, ConfiguredDatabase):
        return None
    frequencies = database.database.frequencies
    whole = [frequencies.below(suffix, WHOLE_TREE).most for suffix in database.database.backend.suffixes]
    return max((count for count in whole if count), default=None)


def _examined(
    scan: SearchCoverage, shown: float | None, databases: Sequence[SimulatedDatabase], costs: SearchCosts
) -> float:
    """Return how many entries a scan examines: those `shown` in its scope, else by its time."""
    if shown is None:
        every = [_in_all(database) or UNBOUNDED for database in databases]
        shown = min(sum(every), costs.scanned_by(scan))
    return max(scan.returned, 1.0, shown)


def predict(
    scan: SearchCoverage, databases: Sequence[SimulatedDatabase], costs: SearchCosts, indexes: frozenset[ProposedIndex]
) -> Prediction:
    """Predict the time of a scan with new indexes."""
    shown = entries_in_scope(scan, databases)
    total = _examined(scan, shown, databases, costs)
    returned = costs.of_returned(scan, total)
    tested = costs.of_tested(scan, total, returned.expected)
    candidates, copied = Estimate(0, 0, 0), Estimate(0, 0, 0)
    elsewhere = max(1.0, costs.scanned_above(scan, tested) / total)  # the list of a key has entries of every base
    for database in databases:
        part = (_in_scope(scan, database) or total) / total if len(databases) > 1 else 1.0
        found, ids = _in_database(scan, database, indexes, total * part, scan.returned * part, elsewhere)
        candidates, copied = candidates.plus(found), copied.plus(ids)
    candidates = candidates.within(scan.returned, total)
    product = _product(databases[0])
    copying = tested * ((product.copy_over_test or product.read_over_test) if product is not None else 0.0)
    fixed, usual = costs.fixed_of(scan), costs.fixed_of(scan, usual=True)
    times = [
        once + scan.returned * each + (listed - scan.returned) * tested + ids * copying
        for once, each, listed, ids in zip((fixed, usual, usual), returned, candidates, copied, strict=True)
    ]
    if copied.expected * copying < scan.own_time:  # no server takes longer with a list than without, but for copying
        times = [min(each, scan.own_time) for each in times]
    parts = _tests(scan.filter, product.approximate_over_test if product is not None else 1.0) if scan.filter else 1.0
    rest = scan.own_time - VARIES * costs.most_saved(scan, parts)
    least, expected, most = times
    returning = not returns_nearly_nothing(scan, shown)
    if returning:
        least, expected = max(least, rest), max(expected, rest)
    most = max(most, rest)
    # What makes the slowest far slower than the others may be no scan: a lock, a backup.
    longest = max(most, min(expected * VARIES, scan.own_time), scan.own_time - scan.usual_time)
    time = PredictedTime(int(min(least, expected / VARIES)), int(expected), int(longest) + scan.wait)
    return Prediction(
        time=time, candidates=candidates, total=total, copied=copied.expected, returning=returning and expected <= rest
    )


def _tests(node: Node, approximate: float) -> float:
    """Return how many times the test of one usual assertion a filter takes for each entry.

    Equal members of an AND or OR are one in a shape: of a single one there were two at least.
    """
    match node:
        case And(members) | Or(members):
            return max(1, 2 / max(1, len(members))) * sum(_tests(member, approximate) for member in members)
        case Not(member):
            return _tests(member, approximate)
        case Assertion():
            return approximate if node.kind is AssertionKind.APPROXIMATE else 1.0


def _in_database(
    scan: SearchCoverage,
    database: SimulatedDatabase,
    indexes: frozenset[ProposedIndex],
    total: float,
    returned: float,
    elsewhere: float,
) -> tuple[Estimate, Estimate]:
    """Return the candidates of a scan at one database, and the IDs copied to find them.

    `elsewhere`: how many times the entries in its scope the database has.
    """
    if scan.filter is None:
        return Estimate(total, total, total), Estimate(0, 0, 0)
    name = database.database.backend.name if isinstance(database, ConfiguredDatabase) else ""
    changes = frozenset(change for where, change in indexes if where == name)
    after = database.with_added(scan.filter, scan.group.base, scan.group.scope, changes)
    # Equal assertions have equal leaves.
    leaves = dict(zip(assertions(scan.filter), after.leaves, strict=True))
    counts = FilterCounts(
        total=total,
        known=lambda assertion: _known(assertion, database, total),
        has_list=lambda assertion: _has_list(leaves[assertion]),
        longest=_longest(database),
        of_part=_is_part(scan, database),
    )
    size = Estimate(returned, returned, returned)
    found = counts.candidates(scan.filter, size) or Estimate(total, total, total)
    copied = Estimate(0, 0, 0)
    product = _product(database)
    if product is None:
        return found, copied
    for assertion, own in counts.sizes(scan.filter, size):
        if assertion.kind in RANGES and counts.has_list(assertion):
            paired = any(_are_bounds(assertion, other) for other in leaves)
            listed = Estimate(*(entries * elsewhere for entries in own))
            if product.copy_over_test:
                copied = copied.plus(_copied(assertion, listed, total * elsewhere, database, paired=paired))
            elif product.read_over_test:
                copied = copied.plus(_read(assertion, listed, total * elsewhere, database))
    if product.base_over_test and counts.of_part:
        ids = min(total, counts.longest) * product.base_over_test / product.read_over_test
        copied = copied.plus(Estimate(0, ids * (found.expected > 1), ids))  # what several have, entries elsewhere have
    return found, copied


def _has_list(leaf: Leaf) -> bool:
    """Return whether an index has a list for an assertion; its presence list has all values, whatever their options."""
    if leaf.assertion.kind is AssertionKind.PRESENCE and leaf.assertion.options:
        return False
    return leaf.index_use is not IndexUse.UNINDEXED and leaf.cause in LISTED


def _known(assertion: Assertion, database: SimulatedDatabase, total: float) -> Estimate | None:
    """Return how many entries an assertion matches, by other searches; an object class not seen is every entry's."""
    usual, bounds = None, Amount()
    if isinstance(database, ConfiguredDatabase):
        remembered, frequencies = database.database.remembered, database.database.frequencies
        key = "entries", assertion
        if key not in remembered:
            remembered[key] = frequencies.usual(assertion), frequencies.of(assertion)
        usual, bounds = remembered[key]
    most = total if bounds.most is None else bounds.most
    if usual is None and assertion.attribute == OBJECT_CLASS:
        return Estimate(bounds.least, total, total)
    return None if usual is None else Estimate(min(bounds.least, usual), usual, max(most, usual))


def _are_bounds(one: Assertion, other: Assertion) -> bool:
    """Return whether two assertions are the bounds of one range."""
    return {one.kind, other.kind} == RANGES and one.attribute == other.attribute


def _copied(bound: Assertion, size: Estimate, total: float, database: SimulatedDatabase, *, paired: bool) -> Estimate:
    """Return how many IDs are copied to unite the keys of a bound: for each key, the list found so far.

    Of two bounds, each list reaches from the bound to the end of the index: half of it, of all of it.
    """
    of_one_key = _entries_of_one_key(bound, total, database)
    lists = Estimate(total / 2, total * LIST_OF_BOUND, total) if paired else size
    least, expected, most = (min(length, _longest(database)) ** 2 / 2 for length in lists)
    return Estimate(least / of_one_key if of_one_key else 0.0, expected / (of_one_key or 1.0), most)


def _read(bound: Assertion, size: Estimate, total: float, database: SimulatedDatabase) -> Estimate:
    """Return how many keys of a range are read, until its list is longer than the server keeps."""
    of_one_key = _entries_of_one_key(bound, total, database)
    least, expected, most = (min(length, _longest(database)) / (of_one_key or 1.0) for length in size)
    return Estimate(least if of_one_key else 0.0, expected, most)


def _entries_of_one_key(bound: Assertion, total: float, database: SimulatedDatabase) -> float | None:
    """Return how many entries one key in a range has, by searches for its values; None: not known, and at least one."""
    equal = _known(replace(bound, kind=AssertionKind.EQUALITY, value=None), database, total)
    return max(1.0, equal.expected) if equal else None


def _longest(database: SimulatedDatabase) -> float:
    """Return the longest list that a server keeps."""
    product = _product(database)
    if product is None or not isinstance(database, ConfiguredDatabase):
        return UNBOUNDED
    limit = product.longest_list(database.database)
    return UNBOUNDED if limit is None else limit


def _product(database: SimulatedDatabase) -> Product | None:
    """Return what is known of the product; None without index configuration."""
    if not isinstance(database, ConfiguredDatabase):
        return None
    return product_of(database.database.configuration.identity.family)


ALIKE = 1.01 * VARIES
GAIN = 0.99
"""What is left of a time is no gain from here on."""


TIME_UNKNOWN = "answered instead of refused; how long that takes is not in the log"
"""What is known of the time of searches that are all refused."""
UNTIMED = "an unknown time: the log has none"


def time_with(after: PredictedTime, before: int, fastest: int) -> str:
    """Return the average time with an index: `0.4 ms (0.3 to 16 ms)`, `83 µs, or no gain (up to 140 ms)`.

    Bounds within VARIES are not worth mentioning. `before` is the average without it, `fastest` that of the fastest
    searches in the log. Nanoseconds.
    """
    if not before:
        return UNTIMED
    floor = min(fastest, before)
    least, expected, most = (duration(max(each, floor) / SECOND) for each in after)
    shown = f"under {expected}" if after.expected < floor else expected
    if after.most >= GAIN * before:
        return f"{shown}, or no gain" + (f" (up to {most})" if most != expected else "")
    if least == most or (after.most <= ALIKE * after.expected and after.expected <= ALIKE * after.least):
        return shown
    low = after.least < floor
    return (
        f"{shown} (up to {most})"
        if low
        else f"{shown} ({durations(max(after.least, floor) / SECOND, after.most / SECOND)})"
    )


def saved_between(before: int, after: PredictedTime) -> str:
    """Return the bounds of the time that is saved, in parentheses after a space; empty if they are equal."""
    least, most = before - after.most, before - after.least
    shown = durations(least / SECOND, most / SECOND)
    return f" ({shown})" if " to " in shown else ""
