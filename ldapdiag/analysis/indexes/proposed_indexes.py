"""Proposed indexes: the sets of new indexes that would help a scan, each tried by simulation, or the obstacle.

IndexTrial: one scan at one simulated database, and whether given new indexes would make it indexed.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.costs import has_members, substrings_of_members, why_expensive
from ldapdiag.analysis.indexes.index_ages import perhaps_indexed_since
from ldapdiag.analysis.indexes.limit_classes import divide, has_pages, searches_of, shows_few
from ldapdiag.analysis.indexes.perhaps_pages import obstacle_of_pages
from ldapdiag.analysis.indexes.predictions import predict
from ldapdiag.analysis.indexes.reported_use import OUTSIDE_CATALOG, as_reported, lacks_in_catalog
from ldapdiag.analysis.indexes.search_coverage import OVER_LIMIT, Obstacle, find_obstacle
from ldapdiag.analysis.indexes.simulated_database import ConfiguredDatabase
from ldapdiag.analysis.indexes.sufficient_sets import sufficient_sets
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Node, Or, assertions, parse
from ldapdiag.evidence.ldif import SECRETS
from ldapdiag.evidence.log.stamps import MILLISECOND
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.servers.indexes.candidates import Cause, Change, IndexUse, Leaf
from ldapdiag.servers.indexes.index_types import SUBSTRING_KINDS
from ldapdiag.servers.products import product_of
from ldapdiag.servers.traits import traits_of
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.analysis.indexes.predictions import Prediction
    from ldapdiag.analysis.indexes.search_costs import SearchCosts
    from ldapdiag.analysis.indexes.search_coverage import ProposedIndex, SearchCoverage
    from ldapdiag.analysis.indexes.simulated_database import SimulatedDatabase
    from ldapdiag.servers.indexes.candidates import Forecast

MOST_MATCH = "most entries may match, and an index keeps no list of so many"
UNKNOWN_TO_SCHEMA = "no known schema defines it, and no search for it has returned an entry"
NOT_USED = "an index of it is configured and few entries match, but the server did not use it"
NOT_USED_BELOW = (
    "an index of it is configured and few entries below the base match, but the server did not use it; "
    "unless thousands elsewhere have the same values"
)
MOST_PROPOSED = 64
"""The most sets kept for one scan."""
LEAST_SAVED = 0.25
"""The share of its time that a scan must probably save."""
QUICK = 2 * MILLISECOND
"""The average time of a scan of which no prediction is worthwhile: a limit may end it early."""
NEAR_BEST = 0.8
"""The share of what the best set saves that any other one must save."""


def propose(
    scan: SearchCoverage, databases: Sequence[SimulatedDatabase], family: Family | None, costs: SearchCosts
) -> SearchCoverage:
    """Return a scan with the sets of new indexes that would help, and their predicted times, or with the obstacle."""
    if scan.filter is None:
        return scan
    trials = [IndexTrial(scan, scan.filter, database, family) for database in databases]
    helpful = [_helpful_sets(trial, alone=len(trials) == 1) for trial in trials]
    # Every database must be indexed: one set of each.
    combined = dict.fromkeys(first.union(*others) for first, *others in product(*helpful))
    sets = tuple(each for each in combined if each)[:MOST_PROPOSED]
    predictions = {indexes: predict(scan, databases, costs, indexes) for indexes in sets}
    quickest = min((one.time.expected for one in predictions.values()), default=0)
    saving = tuple(indexes for indexes in sets if saves_enough(scan, predictions[indexes].time.expected, quickest))
    if saving and (of_pages := obstacle_of_pages(scan, family, costs)) is not None:
        return replace(scan, obstacle=of_pages)
    obstacle = _obstacle(trials[0], helped=bool(sets))
    return replace(
        scan,
        sufficient_sets=saving,
        predicted={indexes: predictions[indexes].time for indexes in saving},
        slower={each: one.time for each, one in predictions.items() if one.time.expected > scan.mean},
        certain=bool(saving) and all(_is_certain(trial, saving) for trial in trials),
        obstacle=obstacle if saving or not sets else _saves_little(sets[0], trials[0], predictions[sets[0]]),
    )


def saves_enough(scan: SearchCoverage, predicted: int, quickest: int) -> bool:
    """Return whether a set saves a worthwhile part of a scan's time, and not much less than the best set.

    What fails for lack of an index needs one whatever it takes then, unless the same searches of other accounts would
    be no faster: their candidates stay as many. What is quick is not worth one anyway. The time of a single slow search
    that no list explains is saved by no index, and hides none that helps the others.
    """
    if scan.refused:
        return not scan.completed or predicted < scan.own_time
    if scan.mean < QUICK:
        return True
    return scan.mean - predicted >= max(LEAST_SAVED * scan.usual, NEAR_BEST * (scan.mean - quickest))


def _saves_little(indexes: frozenset[ProposedIndex], trial: IndexTrial, prediction: Prediction) -> Obstacle:
    """Return why a set of indexes that removes a scan saves no time."""
    attributes = {change.attribute.lower() for _, change in indexes}
    found = [each for each in assertions(trial.filter) if trial.leaf(each).assertion.attribute in attributes]
    assertion = next(iter(found or assertions(trial.filter)))
    wanted = ", ".join(sorted(f"{change.attribute} {change.type}" for _, change in indexes))
    entries = counted(round(prediction.candidates.expected), "entry", "entries")
    if prediction.copied > prediction.total:
        reason = f"with {wanted} the server would unite the lists of all values in the range, which takes longer"
        return Obstacle(cause=Cause.LIMIT_PERHAPS, attribute=assertion.name, text=assertion.text, reason=reason)
    listed = prediction.candidates.expected < prediction.total
    if not listed and not trial.database.in_schema(assertion.attribute):
        return Obstacle(
            cause=Cause.LIMIT_PERHAPS,
            attribute=assertion.name,
            text=assertion.text,
            reason="no known schema defines it, so what an index would save is not known",
            inferred=True,
        )
    if prediction.returning:
        returned = counted(round(trial.scan.returned), "entry", "entries")
        reason = f"each search returns {returned}, which takes most of its time: others examine every entry in less"
        return Obstacle(cause=Cause.LIMIT, attribute=assertion.name, text=assertion.text, reason=reason)
    certain = listed and prediction.candidates.least == prediction.candidates.expected
    of_all = f" of {number(round(prediction.total))}" if prediction.total > prediction.candidates.expected else ""
    reason = f"with {wanted} each search would still read {entries}{of_all}"
    cause = Cause.LIMIT if certain else Cause.LIMIT_PERHAPS
    return Obstacle(cause=cause, attribute=assertion.name, text=assertion.text, reason=reason)


def has_short_list(forecast: Forecast | None, database: SimulatedDatabase) -> bool:
    """Return whether an equality assertion has an index in which every requested value has a short ID list."""
    if forecast is None or not isinstance(database, ConfiguredDatabase):
        return False
    return any(
        leaf.cause is Cause.NONE
        and leaf.assertion.kind is AssertionKind.EQUALITY
        and (most := database.database.frequencies.of(leaf.assertion).most) is not None
        and most <= FEW_ENTRIES
        for leaf in forecast.leaves
    )


def _helpful_sets(trial: IndexTrial, *, alone: bool) -> tuple[frozenset[ProposedIndex], ...]:
    """Return the sets that would help at one database; an empty set among them: the database lacks no index.

    `alone`: no other database answers the scan, so this one is known to lack an index.
    """
    joined = _joined_by_server(trial.scan)
    sets = sufficient_sets(trial.filter, trial.leaf, scanned=alone)
    extended = [changes | joined for changes in sets] or [joined]
    return tuple(
        frozenset((trial.database_name, change) for change in changes)
        for changes in extended
        if (not changes and not alone) or (changes and trial.would_help(changes))
    )


def _joined_by_server(scan: SearchCoverage) -> frozenset[Change]:
    """Return the indexes of the assertions that the server joins to every filter."""
    joined = scan.forecast.added if scan.forecast else ()
    return frozenset(leaf.change for leaf in joined if leaf.change is not None and leaf.cause is not Cause.NONE)


def _is_certain(trial: IndexTrial, sets: tuple[frozenset[ProposedIndex], ...]) -> bool:
    """Return whether one of the sets helps at this database however many entries match."""
    at_database = (frozenset(change for name, change in each if name == trial.database_name) for each in sets)
    return any(trial.certainly_helps(changes) for changes in at_database)


def _obstacle(trial: IndexTrial, *, helped: bool) -> Obstacle | None:
    """Return the obstacle if no new index helps, or an index that is not built even if one does.

    An index that answers some of the searches is built.
    """
    obstacle = find_obstacle(trial.filter, trial.leaf)
    if helped and (obstacle is None or obstacle.cause is not Cause.NOT_BUILT):
        return None
    if not helped and (younger := perhaps_indexed_since(trial.scan, [trial.database], set(IndexUse))) is not None:
        return younger
    if obstacle is None:
        return _obstacle_of_first(trial)
    group = trial.scan.group
    if obstacle.cause is Cause.NONE and group.unindexed >= group.answered:
        return replace(obstacle, cause=Cause.NOT_BUILT, reason=NOT_USED, inferred=True)
    if obstacle.cause is Cause.LIMIT_PERHAPS and _few_match_below(trial):
        return replace(obstacle, cause=Cause.NOT_BUILT, reason=NOT_USED_BELOW, inferred=True, partial=True)
    unknown = (
        not isinstance(trial.database, ConfiguredDatabase)
        and isinstance(trial.filter, And)
        and not _all_unindexable(trial)
    )
    if obstacle.cause is Cause.NONE or unknown:
        return replace(obstacle, cause=Cause.LIMIT_PERHAPS, reason=OVER_LIMIT)
    return obstacle


def _few_match_below(trial: IndexTrial) -> bool:
    """Return whether a 389-ds scans for a value that few entries below the base have, although it has an index.

    The ID list is that of the whole database: it is too long only if thousands elsewhere have each value asked for.
    """
    group, filter_ = trial.scan.group, trial.filter
    if not traits_of(trial.family).scans_long_values or not isinstance(trial.database, ConfiguredDatabase):
        return False
    if not isinstance(filter_, Assertion) or filter_.kind is not AssertionKind.EQUALITY or filter_.value is not None:
        return False
    definition = trial.database.database.definition(filter_.attribute)
    return (
        definition is not None
        and definition.built is not True
        and not definition.scan_limits
        and group.unindexed >= group.answered
        and shows_few(group, trial.scan.stops, FEW_ENTRIES)
    )


def _all_unindexable(trial: IndexTrial) -> bool:
    return all(trial.leaf(assertion).cause is Cause.UNINDEXABLE for assertion in assertions(trial.filter))


def _obstacle_of_first(trial: IndexTrial) -> Obstacle:
    """Return why an index for the first assertion that lacks one would not help."""
    leaves = [trial.leaf(assertion) for assertion in assertions(trial.filter)]
    lacking = [leaf for leaf in leaves if leaf.change is not None] or leaves
    if not lacking:
        return Obstacle(cause=Cause.UNINDEXABLE, attribute="", text=trial.scan.group.shape, reason=NO_ASSERTION)
    leaf = lacking[0]
    cause, reason, inferred = Cause.LIMIT_PERHAPS, MOST_MATCH, False
    if leaf.change is not None and (never := trial.why_never_added(leaf.change)):
        cause, reason, inferred = Cause.UNINDEXABLE, never.reason, never.by_values
    elif trial.returns_most:
        each = "each search returns" if not trial.scan.group.sorted_for_views else "each page of a view sorts"
        returned = int(max(trial.scan.returned, trial.in_pages))
        cause, reason = Cause.LIMIT, f"{each} {counted(returned, 'entry', 'entries')}"
    elif not trial.database.in_schema(leaf.assertion.attribute):
        cause, reason = Cause.UNKNOWN_ATTRIBUTE, UNKNOWN_TO_SCHEMA
    return Obstacle(
        cause=cause, attribute=leaf.assertion.name, text=leaf.assertion.text, reason=reason, inferred=inferred
    )


NO_ASSERTION = "it names no attribute: it is the filter for every entry or for none (RFC 4526)"
PRESENCE = frozenset({"pres", "presence"})
APPROXIMATE = frozenset({"approx", "approximate"})
SERVER_MAINTAINED = "the server maintains the indexes it needs of this attribute itself"
OF_SECRETS = "an index of it would contain its secret values, so none is proposed"
FEW_ENTRIES = 100
"""An ID list of no more entries makes a search fast."""
FEW_PRESENT = 1000
"""Entries below a large base that have an attribute: thousands of them elsewhere are not expected."""
MOST_RETURNED = 10_000
"""Entries per result above which no index makes an ID list short enough, if limit and total are unknown."""


class Exclusion(NamedTuple):
    """Why an index must never be added."""

    reason: str
    """A clause."""
    by_values: bool = False
    """By values in the log: others may be logged later."""


@dataclass(frozen=True, slots=True)
class IndexTrial:
    """One scan at one database."""

    scan: SearchCoverage
    filter: Node
    database: SimulatedDatabase
    family: Family | None

    @property
    def database_name(self) -> str:
        """Return the name of the database; empty without index configuration."""
        return self.database.database.backend.name if isinstance(self.database, ConfiguredDatabase) else ""

    def leaf(self, assertion: Assertion) -> Leaf:
        """Simulate a search for one assertion; what the server reports of the scan comes first."""
        leaf, scan = self.database.leaf(assertion), (self.scan.group, self.filter)
        configured = self.database.database if isinstance(self.database, ConfiguredDatabase) else None
        definition = configured.definition(assertion.attribute) if configured is not None else None
        types = definition.types if definition is not None else frozenset[str]()
        if configured is not None and lacks_in_catalog(assertion, self.scan.group, configured.configuration):
            return Leaf(
                assertion=assertion,
                index_use=IndexUse.INDEXED,
                cause=Cause.UNKNOWN_ATTRIBUTE,
                why=OUTSIDE_CATALOG,
            )
        return as_reported(leaf, scan, self.database.leaf, types, traits_of(self.family))

    def would_help(self, changes: frozenset[Change]) -> bool:
        """Return whether indexes would help; False if most entries, or perhaps none at all, have the attributes."""
        if self.returns_most or any(self.why_never_added(change) for change in changes):
            return False
        if not self.scan.group.entries and not all(self.database.in_schema(change.attribute) for change in changes):
            return False
        index_use = self._with_added(changes)
        of_presence = self._of_presence_alone
        by_presence = any(change.type in PRESENCE or change in of_presence for change in changes)
        # What narrows (&(displayName=*)(!(title=*))) is the part that has no list.
        by_presence_alone = index_use is IndexUse.PARTIALLY and all(
            change.type in PRESENCE or change in of_presence for change in changes
        )
        may_match_most = (index_use is IndexUse.DEPENDS or by_presence_alone) and by_presence and not self._few_have_it
        return index_use is not IndexUse.UNINDEXED and not (
            may_match_most and isinstance(self.database, ConfiguredDatabase)
        )

    @property
    def _of_presence_alone(self) -> frozenset[Change]:
        """Return the indexes that only assertions of presence in the filter need, whatever else these types serve."""
        wanted: dict[bool, set[Change]] = {True: set(), False: set()}
        for each in assertions(self.filter):
            if (change := self.leaf(each).change) is not None:
                wanted[each.kind is AssertionKind.PRESENCE].add(change)
        return frozenset(wanted[True] - wanted[False])

    @property
    def _few_have_it(self) -> bool:
        """Return whether few entries below the base have the attribute of the filter; elsewhere is unknown.

        Those that have one of an OR are in its result. Where pages are not noted, one may look like a complete result.
        If every search was refused, no result shows how many have it: that is unknown, not many, unless the refused
        ones returned many.
        """
        members = self.filter.members if isinstance(self.filter, Or) else (self.filter,)
        presence = {each for each in assertions(self.filter) if each.kind is AssertionKind.PRESENCE}
        if not presence <= {each for each in members if isinstance(each, Assertion)}:
            return False
        if self.scan.refused and not self.scan.completed:
            return self.scan.group.most_limited <= FEW_ENTRIES
        if self.scan.group.reported:
            return shows_few(self.scan.group, self.scan.stops, FEW_ENTRIES - 1)  # no page is as small
        return traits_of(self.family).logs_pages and shows_few(self.scan.group, self.scan.stops, FEW_PRESENT)

    def certainly_helps(self, changes: frozenset[Change]) -> bool:
        """Return whether indexes help however many entries match."""
        return not changes or self._with_added(changes) in {IndexUse.INDEXED, IndexUse.PARTIALLY}

    def _with_added(self, changes: frozenset[Change]) -> IndexUse:
        return self.database.with_added(self.filter, self.scan.group.base, self.scan.group.scope, changes).index_use

    def why_never_added(self, change: Change) -> Exclusion | None:
        """Return why an index must never be added; None if it may be."""
        why = self._why_of_server(change)
        if not why and (of_values := self._why_no_approximate(change)):
            return Exclusion(of_values, by_values=True)
        return Exclusion(why) if why else None

    def _why_of_server(self, change: Change) -> str:
        name = change.attribute.lower()
        product = product_of(self.family) if self.family else None
        if name == "objectclass":
            return "" if change.type in {"eq", "equality"} else SERVER_MAINTAINED
        maintained = product.never_dropped if product is not None and product.makes_own_indexes else frozenset[str]()
        if name in SECRETS and change.type not in PRESENCE:
            return OF_SECRETS
        if name in maintained:
            return SERVER_MAINTAINED
        if not isinstance(self.database, ConfiguredDatabase):
            return ""
        definition = self.database.database.definition(change.attribute)
        if definition is not None and definition.system:
            return SERVER_MAINTAINED
        schema = self.database.database.schema
        of_substrings = change.type in SUBSTRING_KINDS
        if of_substrings and has_members(change.attribute, self.database.database.configuration, schema):
            why = why_expensive(self.family, change.attribute, change.type, schema)
            return why or substrings_of_members(self.family)
        return ""

    def _why_no_approximate(self, change: Change) -> str:
        """Return why an approximate index does not serve the logged values, as a clause; empty: it does, or may."""
        product = product_of(self.family) if self.family else None
        if product is None or change.type not in APPROXIMATE:
            return ""
        reasons = (product.why_no_approximate(value, self.scan.most_entries) for value in self._logged_values(change))
        return next(filter(None, reasons), "")

    def _logged_values(self, change: Change) -> Iterator[str]:
        """Yield the values that the slowest of the searches has for the approximate matches an index is for."""
        slowest = self.scan.group.slowest
        logged = parse(slowest.subject) if slowest is not None else None
        wanted = {each.attribute for each in assertions(self.filter) if self.leaf(each).change == change}
        for each in assertions(logged) if logged is not None else ():
            if each.kind is AssertionKind.APPROXIMATE and each.attribute in wanted and each.value:
                yield each.value

    @property
    def in_pages(self) -> float:
        """Return how many entries a search returns in all its pages on average; 0: none, or not known."""
        completed = divide(self.scan.group).completed
        if completed is None or not has_pages(completed):
            return 0.0
        searches = searches_of(completed)
        return completed.entries / searches if searches else 0.0

    @property
    def returns_most(self) -> bool:
        """Return whether a result exceeds the limit of an ID list, or has so many entries that no index is faster."""
        search = self.scan.group
        if not isinstance(self.database, ConfiguredDatabase) or not search.answered:
            return False
        returned, database = self.scan.returned, self.database.database
        if returned > self.database.longest_list or self.in_pages > self.database.longest_list_of_pages:
            return True
        total = database.frequencies.below(search.base, search.scope).most
        return returned > (MOST_RETURNED if total is None else max(FEW_ENTRIES, total // 4))
