"""One assertion on OpenDJ, its relatives and PingDirectory: which index answers it, and what becomes of it.

    (cn=joe)       equality
    (cn=jo*)       equality, in whose keys the values that begin so lie together; else substring
    (cn=*jo*)      substring; a piece shorter than its keys is found at their beginning, so none is too short
    (cn>=joe)      ordering, or an equality index that is in order (opends_matching_rules.py)
    (cn=*)         presence

An attribute's presence index answers what none of its other indexes does. A value that breaks its syntax matches
nothing and needs no index; which syntax a value of a log has is not judged. Tried with OpenDJ 4.10.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import Assertion, AssertionKind
from ldapdiag.evidence.ldif import comparable
from ldapdiag.servers.candidates import Amount, Cause, Change, Database, Leaf, Outlook
from ldapdiag.servers.opends_matching_rules import Rules, canonical, rules_of

if TYPE_CHECKING:
    from ldapdiag.evidence.indexes import IndexDefinition
    from ldapdiag.evidence.indexes.index_status import IndexState

ENTRY_LIMIT = 4000
"""index-entry-limit, unless it is set."""
MOST_IN_RANGE = 100_000
"""Entries of all keys of a range together; more are as good as no index (IndexFilter.CURSOR_ENTRY_LIMIT)."""
SUBSTRING_LENGTH = 6
"""Octets of a substring key, unless substring-length is set."""
SUBSTRING = "substring"

ALWAYS_COMPUTED = frozenset(
    {"entrydn", "etag", "governingstructurerule", "hassubordinates", "ismemberof", "numsubordinates"}
    | {"pwdpolicysubentry", "structuralobjectclass", "subschemasubentry"}
)
"""Virtual attributes of the configuration that setup writes."""

RANGES = frozenset({AssertionKind.GREATER, AssertionKind.LESS})
NEGATED = "a negation"


@dataclass(frozen=True, slots=True)
class Answers:
    """The types of index any one of which answers an assertion."""

    types: tuple[str, ...] = ()
    """The one that lists the fewest entries first."""
    add: str = ""
    """The one to add; empty: none helps."""
    scanned: frozenset[str] = frozenset()
    """Those of which a range of keys is read, not one key."""
    why: str = ""
    """Why none answers it."""


def look_up(assertion: Assertion, database: Database, *, shared: bool) -> Leaf:
    """Return what becomes of an assertion; `shared`: rules that compare alike share their keys."""
    schema, name = database.schema, database.schema.primary(assertion.attribute)
    definition = database.definition(assertion.attribute)
    if definition is None and _is_computed(assertion, database):
        return _unindexable(assertion, "computed by the server")
    if definition is None and schema.types and schema.whole and assertion.attribute and not schema.find(name):
        why = "the schema does not know it, and the server looks at every entry all the same"
        return Leaf(assertion=assertion, outlook=Outlook.UNINDEXED, cause=Cause.UNKNOWN_ATTRIBUTE, why=why)
    length = (definition.middle if definition else None) or SUBSTRING_LENGTH
    answers = answers_to(assertion, rules_of(name, schema), shared=shared, length=length)
    if definition is None:
        return _without_index(assertion, answers, name, database)
    usable = [one for one in answers.types if one in definition.types]
    if _is_by_other_rule(assertion, definition, schema_rules=rules_of(name, schema)):
        usable = ["extensible"]
    elif (
        not usable
        and "presence" in definition.types
        and (answers.types or assertion.kind is not AssertionKind.EXTENSIBLE)
    ):
        return _by_presence(assertion, definition, database)
    elif not usable and "composite" in definition.types and assertion.kind is not AssertionKind.APPROXIMATE:
        return _perhaps(assertion, "a composite index may answer it")
    if not usable:
        return _without_index(assertion, answers, name, database, definition)
    found = [_listed(assertion, one, definition, database, answers) for one in usable]
    return min(found, key=lambda leaf: PREFERRED.index(leaf.outlook))


PREFERRED = (Outlook.INDEXED, Outlook.DEPENDS, Outlook.PARTIALLY, Outlook.UNINDEXED)


def answers_to(assertion: Assertion, rules: Rules, *, shared: bool, length: int = SUBSTRING_LENGTH) -> Answers:
    """Return the types of index that answer an assertion of an attribute with these rules."""
    ordered = ("equality",) if shared and rules.equality_orders else ()
    also_equal = ("ordering",) if ordered else ()
    match assertion.kind:
        case AssertionKind.PRESENCE if assertion.attribute == "objectclass":
            return Answers(("presence",), why="every entry has it")
        case AssertionKind.PRESENCE:
            return Answers(("presence",), "presence")
        case AssertionKind.APPROXIMATE:
            return Answers(("approximate",), "approximate" if rules.approximate else "", why="no approximate rule")
        case AssertionKind.GREATER | AssertionKind.LESS:
            types = ("ordering", *ordered) if rules.ordering else ()
            add = "ordering" if rules.ordering else ""
            return Answers(types, add, scanned=frozenset(types), why="no ordering rule")
        case AssertionKind.SUBSTRING:
            return _of_substring(assertion, rules, also_equal, shared=shared, length=length)
        case AssertionKind.EXTENSIBLE if assertion.dn or not assertion.attribute:
            return Answers(
                why="an extensible match of every attribute" if not assertion.attribute else "a match of DNs"
            )
        case AssertionKind.EXTENSIBLE if assertion.rule and canonical(assertion.rule) != rules.equality:
            return Answers(why=f"an extensible match by {assertion.rule[:40]}")
        case AssertionKind.EQUALITY | AssertionKind.EXTENSIBLE:
            return Answers(("equality", *also_equal), "equality")


def _of_substring(
    assertion: Assertion, rules: Rules, also_equal: tuple[str, ...], *, shared: bool, length: int
) -> Answers:
    """Return what answers pieces: the first one lies in the equality index, too, where that has the same keys."""
    if not rules.substring:
        return Answers(why="no substring rule")
    begins = assertion.initial != 0 and (rules.equality_begins or not shared)
    beginning = ("equality", *also_equal) if begins else ()
    alone = assertion.final == 0 and not assertion.middle
    short = all(piece is not None and piece < length for piece in assertion.pieces)
    scanned = frozenset(beginning) | ({SUBSTRING} if short else frozenset())
    return Answers((SUBSTRING, *beginning), "equality" if begins and alone else SUBSTRING, scanned)


def limit_of(database: Database, definition: IndexDefinition | None = None, type_: str = "") -> int:
    """Return the entry limit of an index, or the backend's, which holds for scopes, too; -1: none."""
    own = definition.scan_limits if definition else ()
    for one in own:
        if type_ in one.types:
            return one.limit
    told = definition.entry_limit if definition else None
    limit = told if told is not None else database.backend.entry_limit
    return ENTRY_LIMIT if limit is None else limit or -1


def longest_list(database: Database, definition: IndexDefinition | None, type_: str) -> int:
    """Return how many entries a key lists at most; -1: any number. A key that reaches its limit lists none any more."""
    limit = limit_of(database, definition, type_)
    return limit - 1 if limit > 0 else -1


def _listed(
    assertion: Assertion, type_: str, definition: IndexDefinition, database: Database, answers: Answers
) -> Leaf:
    """Return what becomes of an assertion that an index of this type is for."""
    state = _state(definition, type_, database)
    if definition.built is False or (definition.built is None and state is not None and not state.valid):
        change = Change(definition.attribute, type_) if type_ != "extensible" else None
        why = "the index must be built before it is used"
        return Leaf(assertion=assertion, outlook=Outlook.UNINDEXED, cause=Cause.NOT_BUILT, change=change, why=why)
    longest = longest_list(database, definition, type_)
    amount = database.frequencies.of(assertion)
    if type_ in answers.scanned:
        exceeds = _range_exceeds(amount, longest, state, database)
    else:
        exceeds = _key_exceeds(assertion, amount, longest, state)
    if exceeds is None:
        return _perhaps(assertion, f"more than {longest if longest >= 0 else MOST_IN_RANGE} entries may have it")
    if exceeds:
        why = f"more than {longest if longest >= 0 and type_ not in answers.scanned else MOST_IN_RANGE} entries have it"
        return Leaf(assertion=assertion, outlook=Outlook.UNINDEXED, cause=Cause.LIMIT, why=why)
    return Leaf(assertion=assertion, outlook=Outlook.INDEXED, cause=Cause.NONE)


def _key_exceeds(assertion: Assertion, amount: Amount, longest: int, state: IndexState | None) -> bool | None:
    """Tell whether one key has too many entries: by the server's own count, else by what the log shows."""
    told = amount.exceeds(longest)
    if state is None or state.over_limit is None or told is not None:
        return told
    if state.over_limit == 0:
        return False
    if assertion.kind is AssertionKind.PRESENCE:
        return True
    if assertion.kind is AssertionKind.EQUALITY and assertion.value is not None:
        if " ".join(assertion.value.lower().split()) in state.over:
            return True
        return False if len(state.over) == state.over_limit else None
    return None


def _range_exceeds(amount: Amount, longest: int, state: IndexState | None, database: Database) -> bool | None:
    """Tell whether a range of keys has a key with too many entries, or too many in all."""
    if amount.exceeds(MOST_IN_RANGE):
        return True
    if longest >= 0 and amount.exceeds(longest) is False:
        return False
    suffix = next(iter(database.backend.suffixes), "")
    most = amount.most if amount.most is not None else database.frequencies.below(suffix, "sub").most
    fits = most is not None and most <= MOST_IN_RANGE
    unlimited = longest < 0 or (state is not None and state.over_limit == 0)
    return False if fits and unlimited else None


def _state(definition: IndexDefinition, type_: str, database: Database) -> IndexState | None:
    """Return what the server said of an index; an ordering index may be the equality index."""
    suffixes = {comparable(one) for one in database.backend.suffixes}
    its = [one for one in database.statuses if not suffixes or comparable(one.suffix) in suffixes]
    if type_ == "ordering":
        return next((found for one in its if (found := one.state(definition.attribute, type_))), None) or _state(
            definition, "equality", database
        )
    return next((found for one in its if (found := one.state(definition.attribute, type_))), None)


def _by_presence(assertion: Assertion, definition: IndexDefinition, database: Database) -> Leaf:
    """Return what becomes of an assertion that only the presence index answers: all entries with the attribute."""
    text = f"({definition.attribute}=*)"
    presence = Assertion(kind=AssertionKind.PRESENCE, attribute=assertion.attribute, text=text, value="*")
    return replace(_listed(presence, "presence", definition, database, Answers()), assertion=assertion)


def _without_index(
    assertion: Assertion,
    answers: Answers,
    name: str,
    database: Database,
    definition: IndexDefinition | None = None,
) -> Leaf:
    """Return what becomes of an assertion that no index is for, and which one to add."""
    if not answers.add:
        return _unindexable(assertion, answers.why)
    longest = longest_list(database, definition, answers.add)
    if answers.add not in answers.scanned and database.frequencies.of(assertion).exceeds(longest):
        why = f"more than {longest} entries have it, so that an index would not list them"
        return Leaf(assertion=assertion, outlook=Outlook.UNINDEXED, cause=Cause.LIMIT, why=why)
    cause = Cause.NO_INDEX if definition is None or not definition.types else Cause.TYPE_MISSING
    return Leaf(
        assertion=assertion,
        outlook=Outlook.UNINDEXED,
        cause=cause,
        change=Change(definition.attribute if definition else name, answers.add),
        why=f"no {answers.add} index",
    )


def _is_by_other_rule(assertion: Assertion, definition: IndexDefinition, *, schema_rules: Rules) -> bool:
    """Tell whether an extensible match has an index by its own rule."""
    if assertion.kind is not AssertionKind.EXTENSIBLE or assertion.dn or not assertion.rule:
        return False
    rule = canonical(assertion.rule)
    indexed = rule in map(canonical, definition.rules) and "extensible" in definition.types
    return indexed and rule != schema_rules.equality


def _is_computed(assertion: Assertion, database: Database) -> bool:
    name = database.schema.primary(assertion.attribute).lower()
    return name in database.configuration.virtual_attributes or name in ALWAYS_COMPUTED


def _unindexable(assertion: Assertion, why: str) -> Leaf:
    return Leaf(assertion=assertion, outlook=Outlook.UNINDEXED, cause=Cause.UNINDEXABLE, why=why)


def _perhaps(assertion: Assertion, why: str) -> Leaf:
    return Leaf(assertion=assertion, outlook=Outlook.DEPENDS, cause=Cause.LIMIT_PERHAPS, why=why)


def negated(assertion: Assertion) -> Leaf:
    """Return what becomes of an assertion within a negation: nobody looks it up."""
    return _unindexable(assertion, NEGATED)


def passed(assertion: Assertion) -> Leaf:
    """Return what becomes of an assertion that need not be looked up any more."""
    return Leaf(assertion=assertion, outlook=Outlook.INDEXED, cause=Cause.NOT_LOOKED_UP)
