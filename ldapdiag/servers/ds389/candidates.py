"""Candidates on 389-ds: simulation of the ID list of a filter.

With an index of uid and none of title:

    (&(uid=u1)(title=x))              the list of uid=u1; title is not looked up if that has at most 10 ids
    (&(objectClass=person)(title=x))  all ids, if there are more persons than the scan limit
    (|(uid=u1)(title=x))              all ids, from the first member that is all ids
    (!(uid=u1))                       all ids; nothing is looked up

`All ids` are then reduced to the entries below the base, unless their list is over the scan limit. So an unindexed
search below a small base has note U or none, and so has any search without a scan limit. From back-ldbm/filterindex.c,
idl_set.c, idl_common.c and ldbm_search.c; every rule was tested with 2.3.1.

ID lists of 389-ds for a whole filter: union and intersection, member by member, until a list is short enough.

Every result has three values: all ids, a list, or not known (when the evidence has no numbers).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, Node, Not, Or, assertions
from ldapdiag.evidence.ldif import comparable
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.servers.ds389.index_lookup import ALL, KEY_LENGTH, IdList, Lookup, look_up
from ldapdiag.servers.ds389.scan_limits import LimitsOf, exceeds, limits_of
from ldapdiag.servers.indexes.candidates import Amount, Cause, Database, Forecast, IndexUse, Leaf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.evidence.family import Version

OBJECT_CLASS = frozenset({"objectclass", "2.5.4.0"})
FIRST_IN_OR = frozenset({AssertionKind.SUBSTRING, AssertionKind.GREATER, AssertionKind.LESS, AssertionKind.APPROXIMATE})

SUBSTRING_KEY_LENGTH = KEY_LENGTH
MANY = 4000
"""Entries below a base: a scan of more counts as unindexed, whatever the server notes. The former scan limit."""

BASE_ALONE = "only the base entry is tested"
EVERYTHING = "no part of the filter reduces the candidates"
NARROWED = "no part of the filter reduces the candidates, but few entries are below the base"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRules:
    """The differences between the servers with back-ldbm."""

    rearranges: bool = True
    checks_names: bool = True
    """The server does not look up an attribute that the schema lacks."""
    limits: LimitsOf = limits_of


def rules_of(version: Version) -> EvaluationRules:
    """Return the rules of a version; for an unknown version the present ones."""
    # Ticket 49372 came with 1.4.0; nsslapd-verify-filter-schema with 1.4.2.
    return EvaluationRules(
        rearranges=not version or version >= (1, 4), checks_names=not version or version >= (1, 4, 2)
    )


def forecast(filter_: Node, base: str, scope: str, database: Database) -> Forecast:
    """Predict the use of indexes for a search."""
    return forecast_with(rules_of(database.version), filter_, base, scope, database)


def forecast_with(rules: EvaluationRules, filter_: Node, base: str, scope: str, database: Database) -> Forecast:
    """Predict the use of indexes for a search on a server with these rules."""
    if scope == "base":
        leaves = tuple(not_looked_up(assertion, BASE_ALONE) for assertion in assertions(filter_))
        possible = frozenset({IndexUse.INDEXED})
        return Forecast(
            index_use=IndexUse.INDEXED, leaves=leaves, why=BASE_ALONE, possible=possible, notes=frozenset({""})
        )
    evaluation = FilterEvaluation(database, limits=rules.limits, checks_names=rules.checks_names)
    part = in_order(filter_, rearranges=rules.rearranges)
    ids = evaluation.find(part, reached=True, in_and=scope == "one")
    results = set(_results(ids, evaluation.noted, _entries_in_scope(base, scope, database, rules.limits)))
    possible = frozenset(result.index_use for result in results)
    reasons = {result.why for result in results}
    return Forecast(
        index_use=next(iter(possible)) if len(possible) == 1 else IndexUse.DEPENDS,
        leaves=evaluation.in_filter_order,
        why=reasons.pop() if len(reasons) == 1 else "",
        possible=possible,
        notes=frozenset(result.note for result in results),
    )


class _Result(NamedTuple):
    """A possible result of a search."""

    index_use: IndexUse
    note: str
    why: str


class _Scope(NamedTuple):
    """The entries in the scope of a search."""

    amount: Amount
    """If their number is not known, the suffix has many."""
    exceeds_limit: bool | None
    """The server's own list of them (parentid, ancestorid) is over its limit."""


def _entries_in_scope(base: str, scope: str, database: Database, limits_of_lists: LimitsOf) -> _Scope:
    definition = database.definition("parentid" if scope == "one" else "ancestorid")
    key = base, scope, definition, limits_of_lists
    if key not in database.remembered:
        amount = _amount(base, scope, database)
        base_itself = 0 if scope == "one" else 1
        most = None if amount.most is None else max(0, amount.most - base_itself)
        limits = limits_of_lists(definition, "eq", None, database, in_and=True)
        exceeded = exceeds(Amount(max(0, amount.least - base_itself), most), limits)
        database.remembered[key] = _Scope(amount, exceeded)
    found: _Scope = database.remembered[key]
    return found


def _amount(base: str, scope: str, database: Database) -> Amount:
    amount = database.frequencies.below(base, scope)
    if scope == "one" or amount.exceeds(MANY) is not None:
        return amount
    whole = {"", *(comparable(suffix) for suffix in database.backend.suffixes)}
    at_suffix = comparable(base) in whole
    return replace(amount, least=max(amount.least, amount.most or 1 << 62)) if at_suffix else amount


def _results(ids: IdList, noted: bool | None, scope: _Scope) -> Iterable[_Result]:  # noqa: FBT001  three values
    """Yield the possible results of a search with these candidates and notes."""
    for every in _either(ids.every):
        for unindexed in _either(noted):
            note, index_use = ("U", IndexUse.PARTIALLY) if unindexed else ("", IndexUse.INDEXED)
            if not every:
                yield _Result(index_use, note, "")
                continue
            for too_many in _either(scope.exceeds_limit):
                for many in (True,) if too_many else _either(scope.amount.exceeds(MANY)):
                    scanned = IndexUse.UNINDEXED if many else index_use
                    yield _Result(scanned, "A" if too_many else note, EVERYTHING if many else NARROWED)


def _either(known: bool | None) -> tuple[bool, ...]:  # noqa: FBT001  three values
    return (True, False) if known is None else (known,)


ENOUGH = 10
"""IDs: a list of at most this length ends an AND (FILTER_TEST_THRESHOLD)."""
MOST_WITHOUT = 4000
"""IDs: in a database of at most this size, `all ids` minus a list is a list (SLAPD_LDBM_MIN_MAXIDS)."""

NEGATED = "a negation: the server uses all IDs"
SUBTRACTED = "a negation: its ID list is only subtracted from that of the other parts"
ENDED = "the parts before it left few enough candidates"
IN_LISTS = frozenset({Cause.NONE, Cause.LIMIT, Cause.LIMIT_PERHAPS})


class FilterEvaluation:
    """The evaluation of one filter."""

    def __init__(self, database: Database, *, limits: LimitsOf = limits_of, checks_names: bool = True) -> None:
        self.database = database
        self.limits = limits
        self.checks_names = checks_names
        self.noted: bool | None = False
        """The server has noted a missing index; None if that is not known."""
        self.leaves: dict[int, Leaf] = {}
        """By position in the filter."""

    @property
    def in_filter_order(self) -> tuple[Leaf, ...]:
        """Return the predictions for the assertions, in the order of the filter."""
        return tuple(self.leaves[position] for position in sorted(self.leaves))

    def find(self, part: FilterPart, *, reached: bool | None, in_and: bool) -> IdList:
        """Return the ID list of a part; `reached`: the server evaluates it, None if that is not known."""
        if isinstance(part, AssertionPart):
            result = self._look_up(part.assertion, reached=reached, in_and=in_and)
            self.leaves[part.position] = _as_reached(result.leaf, reached)
            return result.ids
        match part.operator:
            case "and":
                return self._and(part.members, reached=reached, in_and=in_and or len(part.members) > 1)
            case "or":
                return self._or(part.members, reached=reached, in_and=in_and)
            case "not":
                self._record_negated(part, reached=reached)
                return ALL

    def _look_up(self, assertion: Assertion, *, reached: bool | None, in_and: bool) -> Lookup:
        result = look_up(assertion, self.database, in_and=in_and, limits=self.limits, checks_names=self.checks_names)
        if reached is not False and result.noted is not False and self.noted is not True:
            self.noted = True if reached and result.noted else None
        return result

    def _record_negated(self, part: FilterPart, *, reached: bool | None) -> None:
        """Record negated assertions, which the server does not look up."""
        if isinstance(part, FilterSet):
            for member in part.members:
                self._record_negated(member, reached=reached)
        elif reached is False:
            self.leaves[part.position] = not_looked_up(part.assertion, ENDED)
        else:
            self.leaves[part.position] = _negated(part.assertion, NEGATED)

    def _or(self, members: Sequence[FilterPart], *, reached: bool | None, in_and: bool) -> IdList:
        """Return the union; the first member that is all ids ends the evaluation."""
        several = list[IdList]()
        for member in members:
            several.append(self.find(member, reached=reached, in_and=in_and))
            if reached is not False and several[-1].every is not False:
                reached = False if several[-1].every else None
        every = {one.every for one in several}
        mosts = [one.size.most for one in several if one.size.most is not None]
        size = Amount(
            max((one.size.least for one in several), default=0), sum(mosts) if len(mosts) == len(several) else None
        )
        return IdList(every=True if True in every else None if None in every else False, size=size)

    def _and(self, members: Sequence[FilterPart], *, reached: bool | None, in_and: bool) -> IdList:
        """Return the intersection; a list of at most ENOUGH ids ends the evaluation."""
        lists, certain, subtracted = list[IdList](), list[IdList](), list[IdList]()
        low, high = _bounds(members)
        for member in members:
            if member is low:
                continue
            if negated := _negated_equality(member):
                subtracted.append(self._subtracted(negated, reached=reached, in_and=in_and))
                continue
            if member is high and low is not None and high is not None:
                found = self._between(low, high, reached=reached, in_and=in_and)
            else:
                found = self.find(member, reached=reached, in_and=in_and)
            lists.append(found)
            if reached:
                certain.append(found)
            if reached is not False and (ends := _is_enough(found)) is not False:
                reached = False if ends else None
        return self._without(_intersection(lists, certain), subtracted)

    def _between(self, low: AssertionPart, high: AssertionPart, *, reached: bool | None, in_and: bool) -> IdList:
        """Return the ID list of a range with both bounds: the server reads the index once, between them."""
        found = [self.find(bound, reached=reached, in_and=in_and) for bound in (low, high)]
        if any(
            look_up(bound.assertion, self.database, in_and=in_and).leaf.cause not in IN_LISTS for bound in (low, high)
        ):
            return found[0]
        mosts = [one.size.most for one in found if one.size.most is not None]
        size = Amount(0, min(mosts, default=None))
        return IdList(every=False if any(one.every is False for one in found) else None, size=size)

    def _subtracted(self, part: AssertionPart, *, reached: bool | None, in_and: bool) -> IdList:
        """Look up the equality of a NOT in an AND: the server subtracts its list from the others."""
        if reached is False or part.assertion.options:  # not looked up with options
            self._record_negated(part, reached=reached)
            return ALL
        result = self._look_up(part.assertion, reached=reached, in_and=in_and)
        self.leaves[part.position] = _negated(part.assertion, SUBTRACTED)
        return result.ids if reached or result.ids.every else replace(result.ids, every=None)

    def _without(self, ids: IdList, subtracted: Sequence[IdList]) -> IdList:
        """Return an ID list minus others; `all ids` of a small database become a list."""
        taken = [one for one in subtracted if one.every is not True and one.size.most != 0]
        if not taken:
            return ids
        if ids.every is False:
            return replace(ids, size=Amount(0, ids.size.most))
        suffix = next(iter(self.database.backend.suffixes), "")
        everything = self.database.frequencies.below(suffix, "sub")
        if everything.exceeds(MOST_WITHOUT) is not False:
            return ids
        certain = any(one.every is False and one.size.least > 0 for one in taken)
        return IdList(every=False if certain else None, size=Amount(0, everything.most))


def not_looked_up(assertion: Assertion, why: str) -> Leaf:
    """Return the prediction for an assertion that the server does not look up."""
    return Leaf(assertion=assertion, index_use=IndexUse.INDEXED, cause=Cause.NOT_LOOKED_UP, why=why)


def _as_reached(leaf: Leaf, reached: bool | None) -> Leaf:  # noqa: FBT001  three values
    """Return the prediction for an assertion, given whether the server evaluates it.

    An attribute that the schema lacks matches nothing in either case.
    """
    if reached is False and leaf.cause is Cause.UNKNOWN_ATTRIBUTE:
        return replace(leaf, index_use=IndexUse.INDEXED)
    if reached is None:
        return replace(leaf, index_use=IndexUse.DEPENDS)
    return leaf if reached else not_looked_up(leaf.assertion, ENDED)


def _negated(assertion: Assertion, why: str) -> Leaf:
    return Leaf(assertion=assertion, index_use=IndexUse.UNINDEXED, cause=Cause.UNINDEXABLE, why=why)


def _intersection(lists: Sequence[IdList], certain: Sequence[IdList]) -> IdList:
    """Return the intersection of lists; `certain` are those that the server evaluates in any case.

    If the server does not evaluate a list, another one had at most ENOUGH ids and is the result.
    """
    if all(one.every for one in lists):
        return ALL
    concrete = [one for one in lists if one.every is not True]
    least = concrete[0].size.least if len(concrete) == 1 else 0
    mosts = [*_mosts(certain), *(max(ENOUGH, most) for most in _mosts(lists))]
    every = False if any(one.every is False for one in lists) else None
    return IdList(every=every, size=Amount(least, min(mosts, default=None)))


def _mosts(lists: Iterable[IdList]) -> list[int]:
    return [one.size.most for one in lists if one.every is False and one.size.most is not None]


def _is_enough(ids: IdList) -> bool | None:
    """Return whether a list ends an AND; None if that is not known."""
    if ids.every or ids.size.least > ENOUGH:
        return False
    return True if ids.every is False and ids.size.most is not None and ids.size.most <= ENOUGH else None


def _negated_equality(part: FilterPart) -> AssertionPart | None:
    """Return the equality in a NOT, which an AND evaluates in a special way."""
    if isinstance(part, FilterSet) and part.operator == "not":
        (member,) = part.members
        if isinstance(member, AssertionPart) and member.assertion.kind is AssertionKind.EQUALITY:
            return member
    return None


def _bounds(members: Sequence[FilterPart]) -> tuple[AssertionPart | None, AssertionPart | None]:
    """Return the lower and upper bound of one attribute, which an AND looks up together (list_candidates())."""
    low: AssertionPart | None = None
    high: AssertionPart | None = None
    for part in members:
        if isinstance(part, AssertionPart) and part.assertion.kind is AssertionKind.GREATER:
            low = part if low is None or (high is not None and _type(high) != _type(part)) else low
        elif isinstance(part, AssertionPart) and part.assertion.kind is AssertionKind.LESS:
            high = part if high is None or (low is not None and _type(low) != _type(part)) else high
    return (low, high) if low is not None and high is not None and _type(low) == _type(high) else (None, None)


def _type(part: AssertionPart) -> tuple[str, tuple[str, ...]]:
    return part.assertion.attribute, part.assertion.options


@dataclass(frozen=True, slots=True)
class AssertionPart:
    """An assertion and its position in the filter, from 0."""

    assertion: Assertion
    position: int


@dataclass(frozen=True, slots=True)
class FilterSet:
    """A set of parts; a `not` has one member."""

    operator: Literal["and", "or", "not"]
    members: tuple[FilterPart, ...]


FilterPart = AssertionPart | FilterSet


def as_written(node: Node) -> FilterPart:
    """Return the parts of a filter in the order they are written."""
    return _Numbering().part(node)


class _Numbering:
    """Number the assertions of a filter."""

    def __init__(self) -> None:
        self.count = 0

    def part(self, node: Node) -> FilterPart:
        match node:
            case And(members):
                return FilterSet("and", tuple(map(self.part, members)))
            case Or(members):
                return FilterSet("or", tuple(map(self.part, members)))
            case Not(member):
                return FilterSet("not", (self.part(member),))
            case Assertion():
                self.count += 1
                return AssertionPart(node, self.count - 1)


@lru_cache(maxsize=64)
def in_order(filter_: Node, *, rearranges: bool) -> FilterPart:
    """Return a filter in the order of evaluation; each is asked for with several sets of indexes in a row."""
    part = as_written(filter_)
    return rearranged(part) if rearranges else part


def rearranged(part: FilterPart) -> FilterPart:
    """Return a filter in the order of evaluation."""
    if isinstance(part, AssertionPart) or part.operator == "not":
        return part
    flat = list(_flat(part))
    first = [one for one in flat if _moves_to_front(part, one)]
    rest = [one for one in flat if not _moves_to_front(part, one)]
    members = [*reversed(first), *rest]
    for number, member in enumerate(members):
        if isinstance(member, FilterSet) and member.operator != "not":
            members[number] = rearranged(member)
            break
    return replace(part, members=tuple(members))


def _flat(part: FilterSet) -> Iterator[FilterPart]:
    for member in part.members:
        if isinstance(member, FilterSet) and member.operator == part.operator:
            yield from _flat(member)
        else:
            yield member


def _moves_to_front(part: FilterSet, member: FilterPart) -> bool:
    if isinstance(member, FilterSet):
        return False
    if part.operator == "or":
        return member.assertion.kind in FIRST_IN_OR
    return member.assertion.kind is AssertionKind.EQUALITY and member.assertion.attribute not in OBJECT_CLASS
