"""SearchCoverage: searches of one kind, how the server finds their candidates, and which indexes would help.

GroupPart: the searches of a group whose substrings have lengths with the same simulated result.

Obstacle: why no new index helps a search; one cause per search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.limit_classes import divide
from ldapdiag.analysis.log.searches import SearchGroup
from ldapdiag.evidence.filter_tree import And, Assertion, Node, Not, Or, assertions, parse_shape
from ldapdiag.evidence.indexes import Backend
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.servers.indexes.applied_limits import AppliedLimits
from ldapdiag.servers.indexes.candidates import Cause, Change, Forecast, IndexUse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ldapdiag.analysis.indexes.simulated_database import SimulatedDatabase
    from ldapdiag.analysis.log.searches import StopCount
    from ldapdiag.servers.indexes.candidates import Leaf

ProposedIndex = tuple[str, Change]
"""The name of a database (empty without index configuration), and an index to add to it."""


FAR_ABOVE = 2
"""How many times the time of the others an average is that a few slow searches decide."""


class PredictedTime(NamedTuple):
    """The time of a search: bounds, and the most probable value between them. Nanoseconds."""

    least: int
    expected: int
    most: int

    def times(self, count: int) -> PredictedTime:
        """Return the time of several searches."""
        return PredictedTime(self.least * count, self.expected * count, self.most * count)

    def part(self, parts: int) -> PredictedTime:
        """Return one of so many equal parts."""
        return PredictedTime(self.least // parts, self.expected // parts, self.most // parts)


def sum_of(times: Iterable[PredictedTime]) -> PredictedTime:
    """Return the sum of times."""
    least, expected, most = map(sum, zip((0, 0, 0), *times, strict=True))
    return PredictedTime(least, expected, most)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCoverage:
    """Searches of one filter shape, base and scope whose substrings have similar lengths. Times in nanoseconds."""

    group: SearchGroup
    """From which the use of indexes is concluded: without those that a limit or a refusal stopped, if any completed."""
    piece_lengths: str
    """Of the pieces of the substrings (evidence/filter_tree.py); empty if there are none or they are unknown."""
    filter: Node | None
    """None: cut off by the server, or not understood."""
    backends: tuple[Backend, ...]
    """The databases that answer the searches; none without index configuration."""
    count: int
    """Results."""
    etime: int
    most_entries: int
    """The most entries in one result; negative: not known."""
    noted: int
    """Results that the server notes as fully or partly unindexed."""
    refused: int
    """Results with an error because there is no index."""
    index_use: IndexUse
    forecast: Forecast | None
    sufficient_sets: tuple[frozenset[ProposedIndex], ...] = ()
    """Sets of new indexes, any of which would help."""
    predicted: Mapping[frozenset[ProposedIndex], PredictedTime] = field(default_factory=dict)
    """The average time with each of these sets, waits for a worker thread included."""
    slower: Mapping[frozenset[ProposedIndex], PredictedTime] = field(default_factory=dict)
    """The average time with each set of indexes that the server would use, and that would take longer than the scan."""
    scan_instead: tuple[frozenset[str], int] | None = None
    """Attributes with ranges whose lists take longer to make than a scan would, and the time of that scan."""
    stopped: GroupPart | None = None
    """Those that a limit or a refusal stopped; they are in the counts."""
    limits: Mapping[str, AppliedLimits] = field(default_factory=dict)
    """Of the accounts whose searches were refused, by account, as far as the configuration shows them."""
    certain: bool = False
    """One of the sets helps in any case; if False, only if few entries match."""
    obstacle: Obstacle | None = None
    """Why no new index helps."""
    worth_an_index: bool = False
    """The searches take enough time to be worth an index, or fail because there is none."""

    @property
    def is_scan(self) -> bool:
        """Return whether the server examines every entry below the base."""
        return self.index_use is IndexUse.UNINDEXED

    @property
    def stops(self) -> Mapping[tuple[int, str], StopCount]:
        """Return the results that a limit or a refusal stopped."""
        return self.stopped.group.stops if self.stopped else {}

    @property
    def completed(self) -> int:
        """Return the number of results that no limit or refusal stopped."""
        return self.count - (self.stopped.results if self.stopped else 0)

    @property
    def mean(self) -> int:
        """Return the average time of those that completed, if any did: a limit ends a search early."""
        if self.stopped and self.completed:
            return (self.etime - self.stopped.etime) // self.completed
        return self.etime // self.count if self.count else 0

    @property
    def usual(self) -> int:
        """Return the average time, without the slowest ones where these take most of it: one may wait for anything."""
        group = self.group
        if self.completed != group.answered or group.slowest is None or self.completed < 2:
            return self.mean
        others = (self.mean * self.completed - group.slowest.etime) // (self.completed - 1)
        usual = max(0, min(group.etimes.p95, others))
        return usual if self.mean > FAR_ABOVE * usual else self.mean

    @property
    def wait(self) -> int:
        """Return the average wait for a worker thread."""
        return min(self.mean, self.group.wait // self.group.answered if self.group.answered else 0)

    @property
    def own_time(self) -> int:
        """Return the average time without the wait."""
        return self.mean - self.wait

    @property
    def usual_time(self) -> int:
        """Return the same without waits, which may be what makes the slowest slow."""
        return min(self.own_time, self.usual)

    @property
    def returned(self) -> float:
        """Return the average number of entries returned, or sorted to return some of them as a virtual list view."""
        mean = self.group.entries / self.group.answered if self.group.answered else 0.0
        returned = min(mean, self.most_entries) if self.most_entries >= 0 else mean
        return max(returned, self.group.sorted_for_views)

    @property
    def examining(self) -> int:
        """Return the number of results that were not refused."""
        return self.count - self.refused

    @property
    def examining_etime(self) -> int:
        """Return their time: that of a refusal is not the time of a search, and no index saves it."""
        refused = self.stopped.etime * self.refused // self.stopped.results if self.stopped and self.refused else 0
        return self.etime - refused

    def saved(self, indexes: frozenset[ProposedIndex]) -> int:
        """Return the time that one of the sets probably saves in all."""
        if indexes not in self.predicted:
            return self.examining_etime
        return self.examining_etime - self.predicted[indexes].expected * self.examining

    def slowed_by(self, added: frozenset[ProposedIndex]) -> PredictedTime | None:
        """Return the predicted average time if added indexes make these searches slower; None if they do not."""
        return next((time for indexes, time in self.slower.items() if indexes <= added), None)

    def after(self, added: frozenset[ProposedIndex]) -> PredictedTime:
        """Return the predicted time of those that are not refused, with indexes added."""
        etime = self.examining_etime
        least, expected, most = (min(time, etime) for time in self.each_after(added).times(self.examining))
        return PredictedTime(least, expected, most)

    def each_after(self, added: frozenset[ProposedIndex]) -> PredictedTime:
        """Return the predicted average time with indexes added; the least of the sets among them."""
        within = [time for indexes, time in self.predicted.items() if indexes <= added]
        unchanged = PredictedTime(self.mean, self.mean, self.mean)
        return min(within, key=lambda time: time.expected, default=unchanged)


def failing(searches: Iterable[SearchCoverage]) -> int:
    """Return how many searches are refused of kinds of which none is answered: these do not work at all."""
    return sum(search.refused for search in searches if not search.examining)


class GroupPart(NamedTuple):
    """The searches of a group whose substrings have similar lengths."""

    group: SearchGroup
    piece_lengths: str
    results: int
    etime: int
    """Nanoseconds."""
    noted: int
    """Results noted as unindexed."""
    most_entries: int
    """In one result; negative: not known."""


def parts_by_limit(
    group: SearchGroup, database: SimulatedDatabase | None
) -> Iterator[tuple[GroupPart | None, GroupPart | None]]:
    """Yield the parts of a group: those of its searches that completed, and those that were stopped; one may be None.

    Without a database, the group is one part.
    """
    completed, stopped = (_parts(each, database) if each else {} for each in divide(group))
    for result in dict.fromkeys((*completed, *stopped)):
        yield completed.get(result), stopped.get(result)


def _parts(group: SearchGroup, database: SimulatedDatabase | None) -> dict[object, GroupPart]:
    """Return the parts of a group by their simulated result."""
    if not group.by_piece_lengths or database is None:
        most = max(group.most_entries, group.most_limited)
        return {None: GroupPart(group, "", group.answered, group.etime, group.unindexed, most)}
    parts: dict[object, GroupPart] = {}
    results: dict[str, object] = {}
    for lengths, (count, etime, noted, most) in sorted(group.by_piece_lengths.items(), reverse=True):
        distinct = database.distinct_lengths(lengths)
        if distinct not in results:
            tree = parse_shape(group.shape, distinct)
            forecast = database.forecast(tree, group.base, group.scope) if tree else None
            results[distinct] = (
                (forecast.index_use, tuple(leaf.cause for leaf in forecast.leaves)) if forecast else None
            )
        result = results[distinct]
        part = parts.get(result, GroupPart(group, lengths, 0, 0, 0, -1))
        parts[result] = part._replace(
            results=part.results + count,
            etime=part.etime + etime,
            noted=part.noted + min(noted, group.unindexed),
            most_entries=max(part.most_entries, most),
        )
    return parts


PRECEDENCE = (
    Cause.UNKNOWN_ATTRIBUTE,
    Cause.NOT_BUILT,
    Cause.YOUNGER,
    Cause.NOT_EXPORTED,
    Cause.UNINDEXABLE,
    Cause.TOO_SHORT,
    Cause.LIMIT,
    Cause.LIMIT_PERHAPS,
    Cause.NONE,
)
"""Of several causes the first of these is reported: those that can be corrected come first."""

OVER_LIMIT = "more entries match than the server keeps in an ID list"
NEGATION = "negation: an index lists the entries that have a value, not those that lack it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Why no new index helps."""

    cause: Cause
    attribute: str
    """As written in the filter; empty if the assertion names none."""
    text: str
    """The part of the filter, as logged."""
    reason: str
    """A lower-case clause."""
    negated: bool = False
    inferred: bool = False
    """Concluded from the server's behaviour, or for want of a known index; no evidence states it."""
    partial: bool = False
    """Concluded from searches of a part of the database."""
    since: datetime | None = None
    """Since when an index answers the search that is younger than the log."""


def find_obstacle(filter_: Node, leaf: Callable[[Assertion], Leaf]) -> Obstacle | None:
    """Return the obstacle of highest precedence in a filter; None if none is known. `leaf` simulates an assertion."""
    found = list(_obstacles(filter_, leaf))
    return min(found, key=lambda obstacle: PRECEDENCE.index(obstacle.cause), default=None)


def _obstacles(node: Node, leaf: Callable[[Assertion], Leaf]) -> Iterator[Obstacle]:
    match node:
        case And(members) | Or(members):
            for member in members:
                yield from _obstacles(member, leaf)
        case Not(member):
            negated = next(assertions(member), None)
            if negated is not None:
                text = f"(!{negated.text})" if member is negated else "(!…)"
                yield Obstacle(
                    cause=Cause.UNINDEXABLE, attribute=negated.name, text=text, reason=NEGATION, negated=True
                )
        case Assertion():
            simulated = leaf(node)
            if simulated.cause not in PRECEDENCE:
                return
            reason = OVER_LIMIT if simulated.cause is Cause.LIMIT_PERHAPS else simulated.lists_others or simulated.why
            yield Obstacle(
                cause=Cause.UNINDEXABLE if simulated.lists_others else simulated.cause,
                attribute=node.name,
                text=node.text,
                reason=reason,
                inferred=simulated.unproven,
            )
