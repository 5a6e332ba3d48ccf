"""Index lookup of OpenDJ, its relatives and PingDirectory for one assertion.

    (cn=joe)       equality
    (cn=jo*)       equality, whose sorted keys keep such values together; else substring
    (cn=*jo*)      substring; a piece shorter than the keys is a prefix of keys, so no piece is too short
    (cn>=joe)      ordering, or a sorted equality index (opends_matching_rules.py)
    (cn=*)         presence

The presence index answers any assertion that no other index of the attribute answers. A value with an invalid syntax
matches nothing and needs no index; the syntax of values in a log is not checked. Tested with OpenDJ 4.10.1.

Matching rules of OpenDJ, and those that share the keys of one index.

From version 3 on OpenDJ has an index per matching rule, which rules with the same keys share: the keys of an equality
index by caseIgnoreMatch are sorted, so it also answers `>=` and `<=` by caseIgnoreOrderingMatch and `abc*` by
caseIgnoreSubstringsMatch. If the schema has no rule for an attribute, its syntax determines one. Both were tested with
OpenDJ 4.10.1. OpenDS, OpenDJ 2, Oracle Unified Directory and PingDirectory have an index per type.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import Assertion, AssertionKind
from ldapdiag.evidence.ldif import comparable
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.indexes.candidates import Amount, Cause, Change, Database, IndexUse, Leaf

if TYPE_CHECKING:
    from ldapdiag.evidence.indexes import IndexDefinition
    from ldapdiag.evidence.indexes.index_status import IndexState
    from ldapdiag.evidence.schema import Schema


ENTRY_LIMIT = 4000
"""Default of index-entry-limit."""
MOST_IN_RANGE = 100_000
"""Maximum entries of all keys of a range; with more the index is not used (IndexFilter.CURSOR_ENTRY_LIMIT)."""
SUBSTRING_LENGTH = 6
"""Default of substring-length, in octets."""
SUBSTRING = "substring"

ALWAYS_COMPUTED = frozenset(
    {"entrydn", "etag", "governingstructurerule", "hassubordinates", "ismemberof", "numsubordinates"}
    | {"pwdpolicysubentry", "structuralobjectclass", "subschemasubentry"}
)
"""Virtual attributes in the configuration that setup writes."""

NEGATED = "a negation"


@dataclass(frozen=True, slots=True)
class AnsweringTypes:
    """The index types that answer an assertion; any one of them is sufficient."""

    types: tuple[str, ...] = ()
    """The one with the shortest list first."""
    add: str = ""
    """The type to add; empty: none would help."""
    by_range: frozenset[str] = frozenset()
    """The types of which a range of keys is read instead of one key."""
    why: str = ""
    """Why no type answers it."""


def look_up(assertion: Assertion, database: Database, *, shared: bool) -> Leaf:
    """Return the prediction for an assertion; `shared`: matching rules with the same keys share one index."""
    schema, name = database.schema, database.schema.primary(assertion.attribute)
    definition = database.definition(assertion.attribute)
    if definition is None and _is_computed(assertion, database):
        return _unindexable(assertion, "computed by the server")
    if definition is None and schema.types and schema.whole and assertion.attribute and not schema.find(name):
        why = "the schema lacks the attribute, but the server scans the database all the same"
        return Leaf(assertion=assertion, index_use=IndexUse.UNINDEXED, cause=Cause.UNKNOWN_ATTRIBUTE, why=why)
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
        return _limit_unknown(assertion, "a composite index may answer it")
    if not usable:
        return _without_index(assertion, answers, name, database, definition)
    found = [_listed(assertion, one, definition, database, answers) for one in usable]
    return min(found, key=lambda leaf: PREFERRED.index(leaf.index_use))


PREFERRED = (IndexUse.INDEXED, IndexUse.DEPENDS, IndexUse.PARTIALLY, IndexUse.UNINDEXED)


def answers_to(
    assertion: Assertion, rules: MatchingRules, *, shared: bool, length: int = SUBSTRING_LENGTH
) -> AnsweringTypes:
    """Return the index types that answer an assertion of an attribute with these rules."""
    ordered = ("equality",) if shared and rules.equality_orders else ()
    also_equal = ("ordering",) if ordered else ()
    match assertion.kind:
        case AssertionKind.PRESENCE if assertion.attribute == "objectclass":
            return AnsweringTypes(("presence",), why="every entry has it")
        case AssertionKind.PRESENCE:
            return AnsweringTypes(("presence",), "presence")
        case AssertionKind.APPROXIMATE:
            return AnsweringTypes(
                ("approximate",), "approximate" if rules.approximate else "", why="no approximate rule"
            )
        case AssertionKind.GREATER | AssertionKind.LESS:
            types = ("ordering", *ordered) if rules.ordering else ()
            add = "ordering" if rules.ordering else ""
            return AnsweringTypes(types, add, by_range=frozenset(types), why="no ordering rule")
        case AssertionKind.SUBSTRING:
            return _of_substring(assertion, rules, also_equal, shared=shared, length=length)
        case AssertionKind.EXTENSIBLE if assertion.dn or not assertion.attribute:
            return AnsweringTypes(
                why="an extensible match of all attributes" if not assertion.attribute else "a match of DN components"
            )
        case AssertionKind.EXTENSIBLE if assertion.rule and canonical(assertion.rule) != rules.equality:
            return AnsweringTypes(why=f"an extensible match by {assertion.rule[:40]}")
        case AssertionKind.EQUALITY | AssertionKind.EXTENSIBLE:
            return AnsweringTypes(("equality", *also_equal), "equality")


def _of_substring(
    assertion: Assertion, rules: MatchingRules, also_equal: tuple[str, ...], *, shared: bool, length: int
) -> AnsweringTypes:
    """Return the index types for a substring; the equality index also answers the initial piece if it has its keys."""
    if not rules.substring:
        return AnsweringTypes(why="no substring rule")
    begins = assertion.initial != 0 and (rules.equality_begins or not shared)
    beginning = ("equality", *also_equal) if begins else ()
    alone = assertion.final == 0 and not assertion.middle
    short = all(piece is not None and piece < length for piece in assertion.pieces)
    by_range = frozenset(beginning) | ({SUBSTRING} if short else frozenset())
    return AnsweringTypes((SUBSTRING, *beginning), "equality" if begins and alone else SUBSTRING, by_range)


def limit_of(database: Database, definition: IndexDefinition | None = None, type_: str = "") -> int:
    """Return the entry limit of an index, else of the backend, which also limits scopes; -1: none."""
    own = definition.scan_limits if definition else ()
    for one in own:
        if type_ in one.types:
            return one.limit
    configured = definition.entry_limit if definition else None
    limit = configured if configured is not None else database.backend.entry_limit
    return ENTRY_LIMIT if limit is None else limit or -1


def longest_list(database: Database, definition: IndexDefinition | None, type_: str) -> int:
    """Return the maximum entries of a key; -1: any number. A key that reaches its limit is not used any more."""
    limit = limit_of(database, definition, type_)
    return limit - 1 if limit > 0 else -1


def _listed(
    assertion: Assertion, type_: str, definition: IndexDefinition, database: Database, answers: AnsweringTypes
) -> Leaf:
    """Return the prediction for an assertion that an index of this type answers."""
    state = _state(definition, type_, database)
    if definition.built is False or (definition.built is None and state is not None and not state.valid):
        change = Change(definition.attribute, type_) if type_ != "extensible" else None
        why = "the index must be built before it is used"
        return Leaf(assertion=assertion, index_use=IndexUse.UNINDEXED, cause=Cause.NOT_BUILT, change=change, why=why)
    longest = longest_list(database, definition, type_)
    amount = database.frequencies.of(assertion)
    if type_ in answers.by_range:
        exceeds = _range_exceeds(amount, longest, state, database)
    else:
        exceeds = _key_exceeds(assertion, amount, longest, state)
    if exceeds is None:
        return _limit_unknown(assertion, f"more than {longest if longest >= 0 else MOST_IN_RANGE:,} entries may match")
    if exceeds:
        limit = longest if longest >= 0 and type_ not in answers.by_range else MOST_IN_RANGE
        why = f"more than {limit:,} entries match"
        return Leaf(assertion=assertion, index_use=IndexUse.UNINDEXED, cause=Cause.LIMIT, why=why)
    return Leaf(assertion=assertion, index_use=IndexUse.INDEXED, cause=Cause.NONE)


def _key_exceeds(assertion: Assertion, amount: Amount, longest: int, state: IndexState | None) -> bool | None:
    """Return whether one key has too many entries, from the log or from the server's own count."""
    exceeds = amount.exceeds(longest)
    if state is None or state.over_limit is None or exceeds is not None:
        return exceeds
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
    """Return whether a range of keys has a key with too many entries, or too many entries in total."""
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
    """Return the state of an index as the server reports it; an ordering index may be the equality index."""
    suffixes = {comparable(suffix) for suffix in database.backend.suffixes}
    its = [status for status in database.statuses if not suffixes or comparable(status.suffix) in suffixes]
    if type_ == "ordering":
        return next((found for one in its if (found := one.state(definition.attribute, type_))), None) or _state(
            definition, "equality", database
        )
    return next((found for one in its if (found := one.state(definition.attribute, type_))), None)


def _by_presence(assertion: Assertion, definition: IndexDefinition, database: Database) -> Leaf:
    """Return the prediction for an assertion that only the presence index answers: all entries with the attribute."""
    text = f"({definition.attribute}=*)"
    presence = Assertion(kind=AssertionKind.PRESENCE, attribute=assertion.attribute, text=text, value="*")
    return replace(_listed(presence, "presence", definition, database, AnsweringTypes()), assertion=assertion)


def _without_index(
    assertion: Assertion,
    answers: AnsweringTypes,
    name: str,
    database: Database,
    definition: IndexDefinition | None = None,
) -> Leaf:
    """Return the prediction for an assertion without an index, with the one to add."""
    if not answers.add:
        return _unindexable(assertion, answers.why, unproven=bool(assertion.rule) and not assertion.dn and bool(name))
    longest = longest_list(database, definition, answers.add)
    if answers.add not in answers.by_range and database.frequencies.of(assertion).exceeds(longest):
        why = f"more than {longest:,} entries match, so an index would not be used"
        return Leaf(assertion=assertion, index_use=IndexUse.UNINDEXED, cause=Cause.LIMIT, why=why)
    cause = Cause.NO_INDEX if definition is None or not definition.types else Cause.TYPE_MISSING
    return Leaf(
        assertion=assertion,
        index_use=IndexUse.UNINDEXED,
        cause=cause,
        change=Change(definition.attribute if definition else name, answers.add),
        why=f"no {answers.add} index",
    )


def _is_by_other_rule(assertion: Assertion, definition: IndexDefinition, *, schema_rules: MatchingRules) -> bool:
    """Return whether an extensible match has an index by its matching rule."""
    if assertion.kind is not AssertionKind.EXTENSIBLE or assertion.dn or not assertion.rule:
        return False
    rule = canonical(assertion.rule)
    indexed = rule in map(canonical, definition.rules) and "extensible" in definition.types
    return indexed and rule != schema_rules.equality


def _is_computed(assertion: Assertion, database: Database) -> bool:
    name = database.schema.primary(assertion.attribute).lower()
    return name in database.configuration.virtual_attributes or name in ALWAYS_COMPUTED


def _unindexable(assertion: Assertion, why: str, *, unproven: bool = False) -> Leaf:
    """Return the prediction for an assertion without an index; `unproven`: one of type extensible may answer it."""
    return Leaf(assertion=assertion, index_use=IndexUse.UNINDEXED, cause=Cause.UNINDEXABLE, why=why, unproven=unproven)


def _limit_unknown(assertion: Assertion, why: str) -> Leaf:
    return Leaf(assertion=assertion, index_use=IndexUse.DEPENDS, cause=Cause.LIMIT_PERHAPS, why=why)


def negated(assertion: Assertion) -> Leaf:
    """Return the prediction for an assertion in a negation, which the server does not look up."""
    return _unindexable(assertion, NEGATED)


def not_looked_up(assertion: Assertion) -> Leaf:
    """Return the prediction for an assertion that needs no lookup any more."""
    return Leaf(assertion=assertion, index_use=IndexUse.INDEXED, cause=Cause.NOT_LOOKED_UP)


NAMES = {
    "2.5.13.0": "objectidentifiermatch",
    "2.5.13.1": "distinguishednamematch",
    "2.5.13.2": "caseignorematch",
    "2.5.13.3": "caseignoreorderingmatch",
    "2.5.13.4": "caseignoresubstringsmatch",
    "2.5.13.5": "caseexactmatch",
    "2.5.13.6": "caseexactorderingmatch",
    "2.5.13.7": "caseexactsubstringsmatch",
    "2.5.13.8": "numericstringmatch",
    "2.5.13.9": "numericstringorderingmatch",
    "2.5.13.10": "numericstringsubstringsmatch",
    "2.5.13.11": "caseignorelistmatch",
    "2.5.13.12": "caseignorelistsubstringsmatch",
    "2.5.13.13": "booleanmatch",
    "2.5.13.14": "integermatch",
    "2.5.13.15": "integerorderingmatch",
    "2.5.13.16": "bitstringmatch",
    "2.5.13.17": "octetstringmatch",
    "2.5.13.18": "octetstringorderingmatch",
    "2.5.13.19": "octetstringsubstringsmatch",
    "2.5.13.20": "telephonenumbermatch",
    "2.5.13.21": "telephonenumbersubstringsmatch",
    "2.5.13.23": "uniquemembermatch",
    "2.5.13.27": "generalizedtimematch",
    "2.5.13.28": "generalizedtimeorderingmatch",
    "1.3.6.1.1.16.2": "uuidmatch",
    "1.3.6.1.1.16.3": "uuidorderingmatch",
    "1.3.6.1.4.1.1466.109.114.1": "caseexactia5match",
    "1.3.6.1.4.1.1466.109.114.2": "caseignoreia5match",
    "1.3.6.1.4.1.1466.109.114.3": "caseignoreia5substringsmatch",
    "1.3.6.1.4.1.4203.1.2.1": "caseexactia5substringsmatch",
}
"""RFC 4517 (4.2), RFC 4530; in lower case."""

SHARED = {
    "caseignoreorderingmatch": "caseignorematch",
    "caseexactorderingmatch": "caseexactmatch",
    "numericstringorderingmatch": "numericstringmatch",
    "integerorderingmatch": "integermatch",
    "generalizedtimeorderingmatch": "generalizedtimematch",
    "octetstringorderingmatch": "octetstringmatch",
    "caseignoresubstringsmatch": "caseignorematch",
    "caseexactsubstringsmatch": "caseexactmatch",
    "numericstringsubstringsmatch": "numericstringmatch",
    "caseignorelistsubstringsmatch": "caseignorelistmatch",
    "telephonenumbersubstringsmatch": "telephonenumbermatch",
    "octetstringsubstringsmatch": "octetstringmatch",
    "caseignoreia5substringsmatch": "caseignoreia5match",
    "caseexactia5substringsmatch": "caseexactia5match",
}
"""Equality rules whose keys are used by ordering rules, and by substring rules for the initial piece."""


@dataclass(frozen=True, slots=True)
class MatchingRules:
    """The matching rules of an attribute type; an empty string: none."""

    equality: str
    ordering: str = ""
    substring: str = ""
    approximate: bool = False

    @property
    def equality_orders(self) -> bool:
        """Return whether the keys of the equality rule answer ranges."""
        return bool(self.equality) and SHARED.get(self.ordering) == self.equality

    @property
    def equality_begins(self) -> bool:
        """Return whether the keys of the equality rule answer an initial substring."""
        return bool(self.equality) and SHARED.get(self.substring) == self.equality


TEXT = MatchingRules("caseignorematch", "caseignoreorderingmatch", "caseignoresubstringsmatch", approximate=True)
PLAIN_TEXT = MatchingRules("caseignorematch", "caseignoreorderingmatch", "caseignoresubstringsmatch")
OCTETS = MatchingRules("octetstringmatch", "octetstringorderingmatch")
TIME = MatchingRules("generalizedtimematch", "generalizedtimeorderingmatch", "caseignoresubstringsmatch")

LDAP = "1.3.6.1.4.1.1466.115.121.1."
OF_SYNTAX = {
    **{f"{LDAP}{arc}": TEXT for arc in (11, 14, 15, 26, 42, 43, 44)},
    **{f"{LDAP}{arc}": PLAIN_TEXT for arc in (22, 51, 52, 58)},
    **{f"{LDAP}{arc}": OCTETS for arc in (5, 9, 10, 21, 23, 25, 28, 40, 49)},
    **{f"{LDAP}{arc}": TIME for arc in (24, 53)},
    f"{LDAP}6": MatchingRules("bitstringmatch"),
    f"{LDAP}7": MatchingRules("booleanmatch"),
    f"{LDAP}8": MatchingRules("certificateexactmatch", "octetstringorderingmatch"),
    f"{LDAP}12": MatchingRules("distinguishednamematch", "", "caseignoresubstringsmatch"),
    f"{LDAP}27": MatchingRules("integermatch", "integerorderingmatch", "caseexactsubstringsmatch"),
    f"{LDAP}34": MatchingRules("uniquemembermatch", "", "caseignoresubstringsmatch"),
    f"{LDAP}36": MatchingRules("numericstringmatch", "numericstringorderingmatch", "caseexactsubstringsmatch"),
    f"{LDAP}38": MatchingRules("objectidentifiermatch", "", "caseignoresubstringsmatch"),
    f"{LDAP}39": MatchingRules("caseignorelistmatch", "", "caseignorelistsubstringsmatch"),
    f"{LDAP}41": MatchingRules("caseignorematch", "", "caseignoresubstringsmatch"),
    f"{LDAP}50": MatchingRules("telephonenumbermatch", "", "telephonenumbersubstringsmatch"),
    "1.3.6.1.1.16.1": MatchingRules("uuidmatch", "uuidorderingmatch"),
}
"""The rules of a syntax, used if the schema has none (OpenDJ 4.10.1); RFC 4517 3.3, RFC 4530."""


def canonical(rule: str) -> str:
    """Return the name of a rule in lower case, given its name or OID."""
    return NAMES.get(rule, rule.lower())


def rules_of(attribute: str, schema: Schema) -> MatchingRules:
    """Return the rules of an attribute type; those of text if the schema lacks it or its syntax."""
    default = OF_SYNTAX.get(schema.syntax(attribute), TEXT)
    return MatchingRules(
        equality=canonical(schema.equality(attribute)) or default.equality,
        ordering=canonical(schema.ordering(attribute)) or default.ordering,
        substring=canonical(schema.substring(attribute)) or default.substring,
        approximate=default.approximate,
    )
