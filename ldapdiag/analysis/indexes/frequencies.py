"""Frequencies: how many entries have a value, as far as the log and the server tell.

    (objectClass=person) returned 20 003 entries      at least that many have it
    (uid=?) returned at most 1 entry, never cut       no value that was asked for is had by more
    STAT read index: attribute=uid key(eq) --> 1      the same, from the server's own count
    20 005 entries in dc=example,dc=com               nothing has more

A number of entries returned is always at least what there are. It is the most there are only of searches below a
suffix that no limit cut off; of object classes never: those are paged through, shown by windows (VLV) and hidden from
many accounts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import Assertion, AssertionKind, parse, parse_shape
from ldapdiag.evidence.indexes.explanations import Outcome
from ldapdiag.evidence.ldif import comparable
from ldapdiag.servers.candidates import Amount

if TYPE_CHECKING:
    from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
    from ldapdiag.analysis.log.searches import SearchGroup
    from ldapdiag.evidence.indexes import Backend

EXACT_KINDS = frozenset({AssertionKind.EQUALITY, AssertionKind.PRESENCE})
"""Where the entries returned are those of the key: not of a substring, whose keys are shorter."""
STAT_TYPES = {AssertionKind.EQUALITY: "eq", AssertionKind.SUBSTRING: "sub", AssertionKind.APPROXIMATE: "approx"}

Key = tuple[str, AssertionKind, str | None]
"""Attribute by its primary name in lower case, kind of assertion, value; None: any that was asked for."""


@dataclass(slots=True)
class ResultCounts:
    """What the searches of a log returned of one assertion that stood alone."""

    entries: int = 0
    """The most any answer had."""
    limited: bool = False
    """There may be more: one of them was cut off by a limit, or looked only at a part of the tree."""


@dataclass(frozen=True, slots=True)
class LoggedFrequencies:
    """The frequencies of one server's database."""

    indexes: ServerIndexes | None
    total: int | None
    """Entries of the database; None: nobody told."""
    results: Mapping[Key, ResultCounts] = field(default_factory=dict)
    list_lengths: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """By attribute and type, in lower case: the fewest and the most ids of one lookup (389-ds STAT)."""
    all_ids: int | None = None
    """The number of ids that stands for all entries in those."""
    over_limit: frozenset[tuple[str, str]] = frozenset()
    """Attributes and values, in lower case, whose lists the server says are over its limit."""
    below_bases: Mapping[tuple[str, str], ResultCounts] = field(default_factory=dict)
    """What (objectClass=*) returned, by base, comparable, and scope."""

    def of(self, assertion: Assertion) -> Amount:
        """Return how many entries the key of an assertion has."""
        name = self._primary(assertion.attribute)
        value = (
            assertion.value.lower()
            if assertion.value is not None and assertion.kind is AssertionKind.EQUALITY
            else None
        )
        if value is not None and (name, value) in self.over_limit:
            return Amount(least=self.total or 1 << 62)
        seen = self.results.get((name, assertion.kind, value))
        least, most = 0, self.total
        if seen is not None:
            least = seen.entries if value is not None or assertion.kind is AssertionKind.PRESENCE else 0
            if not seen.limited and seen.entries and assertion.kind in EXACT_KINDS and name != "objectclass":
                most = seen.entries
        looked_up = self.list_lengths.get((name, STAT_TYPES.get(assertion.kind, "")))
        if looked_up is not None and value is None and looked_up[1] != self.all_ids:
            most = looked_up[1] if most is None else min(most, looked_up[1])
        return Amount(least=min(least, most) if most is not None else least, most=most)

    def below(self, base: str, scope: str) -> Amount:
        """Return how many entries lie in the scope of a base."""
        seen = self.below_bases.get((comparable(base), scope))
        if seen is None:
            return Amount(most=self.total)
        return Amount(least=seen.entries, most=self.total if seen.limited or not seen.entries else seen.entries)

    def _primary(self, attribute: str) -> str:
        return self.indexes.schema.primary(attribute).lower() if self.indexes else attribute


def count_frequencies(
    searches: Iterable[SearchGroup],
    lookups: Mapping[tuple[bytes, bytes], Iterable[int]],
    indexing: ServerIndexes | None,
    backend: Backend | None,
) -> LoggedFrequencies:
    """Return what a log and its server tell of the entries of one database."""
    suffixes = {comparable(suffix) for suffix in backend.suffixes} if backend else set()
    seen: dict[Key, ResultCounts] = {}
    places: dict[tuple[str, str], ResultCounts] = {}
    for search in searches:
        tree = parse_shape(search.shape)
        if not isinstance(tree, Assertion) or search.scope == "base" or not search.answered:
            continue
        if tree.kind is AssertionKind.PRESENCE and tree.attribute == "objectclass":
            _take(places.setdefault((comparable(search.base), search.scope), ResultCounts()), search)
            continue
        name = indexing.schema.primary(tree.attribute).lower() if indexing else tree.attribute
        value = tree.value.lower() if tree.value is not None and tree.kind is AssertionKind.EQUALITY else None
        told = seen.setdefault((name, tree.kind, value), ResultCounts())
        _take(told, search)
        told.limited |= comparable(search.base) not in suffixes or search.scope != "sub"
    counts = {
        (attribute.decode(errors="replace"), kind.decode(errors="replace")): tuple(numbers)
        for (attribute, kind), numbers in lookups.items()
    }
    looked_up = {key: (least, most) for key, (_, most, least) in counts.items()}
    return LoggedFrequencies(
        indexes=indexing,
        total=_total(indexing, backend),
        results=seen,
        list_lengths=looked_up,
        all_ids=max((most for _, most in looked_up.values()), default=None),
        over_limit=_over(indexing),
        below_bases=places,
    )


def _take(seen: ResultCounts, search: SearchGroup) -> None:
    seen.entries = max(seen.entries, search.most_entries, search.most_limited)
    seen.limited |= search.most_limited >= 0 or any(err in search.errors for err in (3, 4, 11))


def _total(indexing: ServerIndexes | None, backend: Backend | None) -> int | None:
    """Return how many entries a database has."""
    if indexing is None or backend is None:
        return None
    told = [indexing.entries[comparable(one)] for one in backend.suffixes if comparable(one) in indexing.entries]
    if told:
        return sum(told)
    return (
        next(iter(indexing.entries.values()))
        if len(indexing.entries) == len(indexing.configuration.backends) == 1
        else None
    )


def _over(indexing: ServerIndexes | None) -> frozenset[tuple[str, str]]:
    """Return the values whose lists are over the limit, as the server says: its tool, or debugsearchindex."""
    if indexing is None:
        return frozenset()
    told = [
        (attribute, value)
        for status in indexing.statuses
        for attribute, values in status.over_limit.items()
        for value in values
    ]
    for one in indexing.explanations:
        parts = [(part.text, part.answer) for each in one.explanations for part in each.parts]
        for text, answer in (*parts, *((use.filter, use.answer) for use in one.uses)):
            asked = parse(text) if answer.outcome is Outcome.LIMIT_EXCEEDED else None
            if isinstance(asked, Assertion) and asked.kind is AssertionKind.EQUALITY:
                told.append((asked.attribute, asked.value or ""))
    return frozenset((indexing.schema.primary(attribute).lower(), value.lower()) for attribute, value in told)
