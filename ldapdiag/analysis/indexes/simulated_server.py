"""SimulatedServer: the databases that answer searches below each base of a log, and their candidate logic.

Frequencies: how many entries have a value, by the log and by the server's own counts.

    (objectClass=person) returned 20,003 entries      at least so many entries have it
    (uid=?) never returned more than 1 entry          no requested value is in more entries
    STAT read index: attribute=uid key(eq) --> 1      the same, by the server's own count
    20,005 entries in dc=example,dc=com               the upper limit of every value

The number of entries returned is a lower bound. It is also an upper bound for searches of a whole suffix that no limit
cut off, but never for object classes: those searches are paged, use virtual list views, and many accounts may not read
all entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.index_ages import as_built, undated_indexes, younger_indexes
from ldapdiag.analysis.indexes.lacking_attributes import lacking_attributes
from ldapdiag.analysis.indexes.limit_classes import divide, more_may_match, searches_of, show_more
from ldapdiag.analysis.indexes.perhaps_pages import may_be_pages
from ldapdiag.analysis.indexes.server_indexes import is_server_suffix
from ldapdiag.analysis.indexes.simulated_database import (
    ConfiguredDatabase,
    SimulatedDatabase,
    UnconfiguredDatabase,
    defines,
)
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import RANGES, Assertion, AssertionKind, parse, parse_shape
from ldapdiag.evidence.indexes.explanations import Outcome
from ldapdiag.evidence.ldif import comparable
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.indexes.candidates import Amount, Database
from ldapdiag.servers.products import product_of
from ldapdiag.servers.traits import traits_of

if TYPE_CHECKING:
    from ldapdiag.analysis.indexes.build_history import BuildHistory
    from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
    from ldapdiag.analysis.log.searches import SearchGroup
    from ldapdiag.analysis.log.workload import Workload
    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.evidence.schema import Schema


def notes_unindexed(family: Family | None) -> bool:
    """Return whether the access log of a product notes unindexed searches."""
    return bool(traits_of(family).unindexed_note)


class SimulatedServer:
    """The databases of one server, each simulated once."""

    def __init__(
        self,
        family: Family | None,
        workload: Workload,
        indexes: ServerIndexes | None,
        builds: BuildHistory | None = None,
    ) -> None:
        self.family = family
        self.workload = workload
        self.indexes = indexes
        self.builds = builds
        self._databases: dict[str, SimulatedDatabase] = {}

    def databases(self, base: str, scope: str) -> tuple[SimulatedDatabase, ...]:
        """Return the databases that answer a search; none for the server's own suffixes and for unknown ones."""
        if self.indexes is None:
            return () if is_server_suffix(base) else (self._database(None),)
        return tuple(self._database(backend) for backend in self.indexes.backends(base, below=scope != "one"))

    def _database(self, backend: Backend | None) -> SimulatedDatabase:
        name = backend.name if backend else ""
        if name not in self._databases:
            self._databases[name] = self._simulate(backend)
        return self._databases[name]

    def _simulate(self, backend: Backend | None) -> SimulatedDatabase:
        product = product_of(self.family) if self.family else None
        if self.indexes is None or backend is None or product is None or product.candidates is None:
            return UnconfiguredDatabase(
                self.family, frozenset(self._indexed_elsewhere()), lacking=self._lacking(standard())
            )
        frequencies = count_frequencies(self.workload.searches, self.workload.segment.lookups, self.indexes, backend)
        database = Database(
            configuration=self.indexes.configuration,
            backend=as_built(backend, self.builds),
            schema=self.indexes.schema,
            frequencies=frequencies,
            statuses=self.indexes.statuses,
            lacking=self._lacking(self.indexes.schema),
        )
        younger = younger_indexes(backend, self.workload, self.builds)
        undated = undated_indexes(backend, self.workload, self.builds)
        return ConfiguredDatabase(product.candidates, database, younger, undated)

    def _lacking(self, schema: Schema) -> Mapping[str, str]:
        """Return the attributes that the server notes as lacking in its schema."""
        return lacking_attributes(
            self.workload.searches, lambda name: defines(schema, name, self.family), traits_of(self.family).lacking_note
        )

    def _indexed_elsewhere(self) -> set[tuple[str, AssertionKind]]:
        """Return the single assertions that a server which notes unindexed searches answered without a note."""
        if not notes_unindexed(self.family):
            return set()
        return {
            (tree.attribute, tree.kind)
            for group in self.workload.searches
            if (search := divide(group).completed) is not None
            if search.scope != "base" and search.answered > sum(search.notes.values()) and not search.errors
            if isinstance(tree := parse_shape(search.shape), Assertion)
        }


EXACT_KINDS = frozenset({AssertionKind.EQUALITY, AssertionKind.PRESENCE})
"""Assertions whose results are exactly the entries of the key; the keys of substrings are shorter than these."""
STAT_TYPES = {AssertionKind.EQUALITY: "eq", AssertionKind.SUBSTRING: "sub", AssertionKind.APPROXIMATE: "approx"}

Key = tuple[str, AssertionKind, str | None]
"""Attribute by its primary name in lower case, kind of assertion, value; None: any requested value."""


@dataclass(slots=True)
class ResultCounts:
    """The results of searches for one assertion alone."""

    entries: int = 0
    """The most in one result."""
    limited: bool = False
    """More may match: a limit cut a result off, it is a page, or the search covered a part of the suffix only."""
    partial: bool = False
    """Likewise, and the entries of whole results are not known, as they are where the first page is noted as such."""
    complete: int = -1
    """The most in one complete result; negative: there was none."""
    answered: int = 0
    """Searches that no limit or refusal stopped."""
    returned: int = 0
    """Entries in their results."""

    @property
    def usual(self) -> float | None:
        """Return the average number of entries; of results that limits or pages ended, the most in a complete one."""
        if not self.partial:
            return self.returned / self.answered if self.answered else None
        return self.complete if self.complete > 0 else None

    def add(self, search: SearchGroup, *, may_be_pages: bool) -> None:
        """Count the results of a group of searches."""
        self.entries = max(self.entries, search.most_entries, search.most_limited)
        self.limited |= may_be_pages or more_may_match(search)
        completed = divide(search).completed
        searches = searches_of(completed) if completed is not None else None
        self.partial |= may_be_pages or searches is None or show_more(search.stops, search.most_entries)
        if may_be_pages:
            return
        self.complete = max(self.complete, search.most_entries)
        if completed is not None and searches is not None:
            self.answered += searches
            self.returned += completed.entries


@dataclass(frozen=True, slots=True)
class LoggedFrequencies:
    """The frequencies of one database."""

    indexes: ServerIndexes | None
    total: int | None
    """Entries of the database; None: unknown."""
    results: Mapping[Key, ResultCounts] = field(default_factory=dict)
    list_lengths: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """By attribute and type, in lower case: the shortest and the longest ID list of one lookup (389-ds STAT)."""
    all_ids: int | None = None
    """The length in `list_lengths` that stands for all entries."""
    over_limit: frozenset[tuple[str, str]] = frozenset()
    """Attributes and values, in lower case, whose ID lists the server reports as over its limit."""
    below_bases: Mapping[tuple[str, str], ResultCounts] = field(default_factory=dict)
    """Results of (objectClass=*), by comparable base, and scope."""

    def of(self, assertion: Assertion) -> Amount:
        """Return how many entries the key of an assertion has."""
        key, name = _key(assertion, self.indexes), _name(assertion, self.indexes)
        _, kind, value = key
        if value is not None and (name, value) in self.over_limit:
            return Amount(least=self.total or 1 << 62)
        results = self.results.get(key)
        least, most = 0, self.total
        if results is not None:
            least = results.entries if value is not None or kind is AssertionKind.PRESENCE else 0
            if not results.limited and results.entries and kind in EXACT_KINDS and name != "objectclass":
                most = results.entries
        lengths = self.list_lengths.get((name, STAT_TYPES.get(kind, "")))
        if lengths is not None and value is None and lengths[1] != self.all_ids:
            most = lengths[1] if most is None else min(most, lengths[1])
        return Amount(least=min(least, most) if most is not None else least, most=most)

    def usual(self, assertion: Assertion) -> float | None:
        """Return how many entries have the values that searches ask for, on average; None: the log does not show it."""
        key, name = _key(assertion, self.indexes), _name(assertion, self.indexes)
        _, kind, value = key
        if kind not in EXACT_KINDS | RANGES:
            return None
        results = self.results.get(key)
        if results is not None and name == "objectclass":
            return None if results.limited and results.complete < results.entries else results.entries
        if results is not None and results.usual is not None:
            return results.usual
        lengths = self.list_lengths.get((name, STAT_TYPES.get(kind, "")))
        shown = lengths is not None and value is None and lengths[1] != self.all_ids
        return sum(lengths) / 2 if lengths is not None and shown else None

    def below(self, base: str, scope: str) -> Amount:
        """Return how many entries are in the scope of a base."""
        results = self.below_bases.get((comparable(base), scope))
        if results is None:
            return Amount(most=self.total)
        unbounded = results.limited or not results.entries
        return Amount(least=results.entries, most=self.total if unbounded else results.entries)


def count_frequencies(
    searches: Iterable[SearchGroup],
    lookups: Mapping[tuple[bytes, bytes], Iterable[int]],
    indexes: ServerIndexes | None,
    backend: Backend | None,
) -> LoggedFrequencies:
    """Count the entries of one database by a log's results and lookups, and by the server's own counts."""
    results, below_bases = _results(searches, indexes, backend)
    counts = {
        (attribute.decode(errors="replace"), kind.decode(errors="replace")): tuple(numbers)
        for (attribute, kind), numbers in lookups.items()
    }
    list_lengths = {key: (least, most) for key, (_, most, least) in counts.items()}
    return LoggedFrequencies(
        indexes=indexes,
        total=_total(indexes, backend),
        results=results,
        list_lengths=list_lengths,
        all_ids=max((most for _, most in list_lengths.values()), default=None),
        over_limit=_over_limit(indexes),
        below_bases=below_bases,
    )


def _results(
    searches: Iterable[SearchGroup], indexes: ServerIndexes | None, backend: Backend | None
) -> tuple[dict[Key, ResultCounts], dict[tuple[str, str], ResultCounts]]:
    """Return the results of single assertions by key, and those of (objectClass=*) by base and scope."""
    suffixes = {comparable(suffix) for suffix in backend.suffixes} if backend else set()
    family = indexes.configuration.identity.family if indexes else None
    results: dict[Key, ResultCounts] = {}
    below_bases: dict[tuple[str, str], ResultCounts] = {}
    for search in searches:
        tree = parse_shape(search.shape)
        if not isinstance(tree, Assertion) or search.scope == "base" or not search.answered:
            continue
        base, in_view = comparable(search.base), any(each.vlv for each in search.sorts.values())
        paged = in_view or may_be_pages(search, tree, family)
        if tree.kind is AssertionKind.PRESENCE and tree.attribute == "objectclass":
            below_bases.setdefault((base, search.scope), ResultCounts()).add(search, may_be_pages=paged)
        else:
            counts = results.setdefault(_key(tree, indexes), ResultCounts())
            counts.add(search, may_be_pages=paged)
            elsewhere = base not in suffixes or search.scope != "sub"
            counts.limited, counts.partial = counts.limited or elsewhere, counts.partial or elsewhere
    return results, below_bases


def _key(assertion: Assertion, indexes: ServerIndexes | None) -> Key:
    name = ";".join((_name(assertion, indexes), *sorted(assertion.options)))  # values of one option are some of all
    has_value = assertion.value is not None and assertion.kind is AssertionKind.EQUALITY
    return name, assertion.kind, assertion.value.lower() if has_value and assertion.value is not None else None


def _name(assertion: Assertion, indexes: ServerIndexes | None) -> str:
    return indexes.schema.primary(assertion.attribute).lower() if indexes else assertion.attribute


def _total(indexes: ServerIndexes | None, backend: Backend | None) -> int | None:
    """Return how many entries a database has; None: unknown."""
    if indexes is None or backend is None:
        return None
    counts = [indexes.entries[suffix] for suffix in map(comparable, backend.suffixes) if suffix in indexes.entries]
    if counts:
        return sum(counts)
    only_one = len(indexes.entries) == len(indexes.configuration.backends) == 1
    return next(iter(indexes.entries.values())) if only_one else None


def _over_limit(indexes: ServerIndexes | None) -> frozenset[tuple[str, str]]:
    """Return the values that the server's index tool or debugsearchindex reports as over the limit."""
    if indexes is None:
        return frozenset()
    over = [
        (attribute, value)
        for status in indexes.statuses
        for attribute, values in status.over_limit.items()
        for value in values
    ]
    for record in indexes.explanations:
        parts = [(part.text, part.answer) for explanation in record.explanations for part in explanation.parts]
        for text, answer in (*parts, *((use.filter, use.answer) for use in record.uses)):
            assertion = parse(text) if answer.outcome is Outcome.LIMIT_EXCEEDED else None
            if isinstance(assertion, Assertion) and assertion.kind is AssertionKind.EQUALITY:
                over.append((assertion.attribute, assertion.value or ""))
    return frozenset((indexes.schema.primary(attribute).lower(), value.lower()) for attribute, value in over)
