"""Index lookup of 389-ds for one assertion: the ID list, and whether the server notes a missing index.

Without an index the result is `all ids`, with note U; with an ID list over the limit, `all ids` without a note; with a
key that does not exist, an empty list. From back-ldbm/filterindex.c and index.c, tested with 2.3.1.

Matching rules of 389-ds in extensible matches: which have keys, and the value of nsMatchingRule that makes them.

    (uid:caseExactMatch:=x)     answered by an index with nsMatchingRule: caseExactMatch
    (uid:2.5.13.5:=x)           the same rule, but answered only by an index with nsMatchingRule: 2.5.13.5
    (cn:fr:=x), (cn:fr.5:=x)    answered by an index with the OID of the language; `fr` as nsMatchingRule has no effect
    (uid:caseExactOrderingMatch:=x), (uidNumber:1.2.840.113556.1.4.803:=2)        by no index
    (uid:=x), (uid:dn:=x)       no rule: by no index

A rule is compared as written, upper and lower case included. The index needs a type as well: with the type `none` alone
the rule has no effect after a restart. Each rule of the schema of 2.3.1 was tried with 2.3.1 (tests/live).
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import RANGES, SHORT_PIECE, Assertion, AssertionKind
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.ds389.scan_limits import exceeds, limits_of
from ldapdiag.servers.indexes.candidates import Amount, Cause, Change, Database, IndexUse, Leaf
from ldapdiag.servers.indexes.index_types import is_long_enough
from ldapdiag.servers.ldbm.collations import INTEGER, collation, sorts_as_text

if TYPE_CHECKING:
    from ldapdiag.evidence.indexes import IndexDefinition
    from ldapdiag.servers.ds389.scan_limits import Limits, LimitsOf

KEY_LENGTH = 3
"""Octets, `^` and `$` included, unless nsSubStrBegin, nsSubStrMiddle and nsSubStrEnd are set."""

INDEX_TYPES = {
    AssertionKind.EQUALITY: "eq",
    AssertionKind.GREATER: "eq",
    AssertionKind.LESS: "eq",
    AssertionKind.SUBSTRING: "sub",
    AssertionKind.APPROXIMATE: "approx",
    AssertionKind.PRESENCE: "pres",
}

BINARY = frozenset(f"1.3.6.1.4.1.1466.115.121.1.{number}" for number in (5, 23, 28, 40))
WITHOUT_SUBSTRINGS = BINARY | {INTEGER}
"""Syntaxes without substring keys; tested with one attribute of each syntax of 2.3.1."""

RULE = "rule"
"""Keys by a matching rule; a limit for another type does not apply to them."""
NO_RULE = "an extensible match without a rule: the server looks it up in no index"
NO_KEYS = "an extensible match by a rule for which the server makes no index keys"
OTHER_RULE = "an extensible match by a rule of which it is not known whether the server makes index keys for it"

OF_EVERY_ENTRY = frozenset(
    {"objectclass", "createtimestamp", "creatorsname", "entrydn", "entryid", "modifiersname", "modifytimestamp"}
    | {"nsuniqueid", "parentid"}
)
"""Attributes that every entry except the suffix has."""
COMPUTED = frozenset({"hassubordinates", "numsubordinates"})
"""Computed from the entries below; presence assertions do not use their index."""


@dataclass(frozen=True, slots=True)
class IdList:
    """A list of candidates, or `all ids`."""

    every: bool | None
    """`All ids` instead of a list; None if that is not known."""
    size: Amount = field(default_factory=Amount)
    """The size of the list, if it is one."""


ALL = IdList(every=True)
NOTHING = IdList(every=False, size=Amount(0, 0))
EITHER = IdList(every=None)


@dataclass(frozen=True, slots=True)
class Lookup:
    """The result of the lookup of one assertion, if the server evaluates it."""

    leaf: Leaf
    ids: IdList
    noted: bool | None
    """The server notes a missing index; None if that is not known."""


def look_up(
    assertion: Assertion,
    database: Database,
    *,
    in_and: bool,
    limits: LimitsOf = limits_of,
    checks_names: bool = True,
) -> Lookup:
    """Return the result for an assertion.

    `limits` returns the limits of its ID list; `checks_names`: the server first looks attributes up in the schema.
    """
    definition = database.definition(assertion.attribute)
    key = assertion, definition, in_and, limits, checks_names
    if key not in database.remembered:
        database.remembered[key] = _looked_up(*key, database)
    found: Lookup = database.remembered[key]
    return found


def _looked_up(
    assertion: Assertion,
    definition: IndexDefinition | None,
    in_and: bool,  # noqa: FBT001  a part of a key
    limits: LimitsOf,
    checks_names: bool,  # noqa: FBT001  a part of a key
    database: Database,
) -> Lookup:
    if lacks := _why_unknown(assertion, database):
        return _of_unknown(assertion, lacks, checks_names=checks_names)
    if assertion.kind is AssertionKind.EXTENSIBLE:
        return _extensible(assertion, definition, database, limits, in_and=in_and)
    if unindexable := _unindexable(assertion, definition, database):
        # Without any key nothing is looked up; for an approximate match the server does not note that.
        noted = assertion.kind is not AssertionKind.APPROXIMATE or bool(_computed(assertion, database))
        return Lookup(_leaf(assertion, IndexUse.UNINDEXED, Cause.UNINDEXABLE, why=unindexable), ALL, noted)
    if own := _special_attribute(assertion):
        return own
    keys = has_keys(assertion, definition)
    if keys is False:
        why = too_short(definition)
        return Lookup(_leaf(assertion, IndexUse.UNINDEXED, Cause.TOO_SHORT, why=why), ALL, noted=True)
    if unindexed := _without_index(assertion, definition, database):
        return unindexed
    if keys is None:
        why = f"{too_short(definition)}; the lengths are not known"
        return Lookup(_leaf(assertion, IndexUse.DEPENDS, Cause.LIMIT_PERHAPS, why=why), EITHER, noted=None)
    type_ = INDEX_TYPES[assertion.kind]
    return _listed(assertion, definition, database, limits(definition, type_, assertion, database, in_and=in_and))


def _special_attribute(assertion: Assertion) -> Lookup | None:
    """Return the result for an attribute that the server answers without its index."""
    match assertion.attribute, assertion.kind, (assertion.value or "").lower():
        case "entrydn", AssertionKind.EQUALITY, _:
            why, size = "looked up by DN", Amount(0, 1)
        case ("numsubordinates", AssertionKind.GREATER, _) | ("hassubordinates", AssertionKind.EQUALITY, "true"):
            why, size = "looked up among the entries with subordinates", Amount()
        case _:
            return None
    return Lookup(_leaf(assertion, IndexUse.INDEXED, Cause.NONE, why=why), IdList(every=False, size=size), noted=False)


def _why_unknown(assertion: Assertion, database: Database) -> str:
    """Return why the schema lacks an attribute, as a clause; empty if it has it, or may have it."""
    name = assertion.attribute
    if name and database.schema.whole and database.schema.find(name) is None:
        return "the schema lacks the attribute"
    return database.lacking.get(name, "")


def _of_unknown(assertion: Assertion, why: str, *, checks_names: bool) -> Lookup:
    """Return the result for an attribute that the schema lacks (nsslapd-verify-filter-schema).

    The server looks up no key and returns an empty list; but a substring without a syntax has no key at all, so the
    server scans (2.3.1).
    """
    if assertion.kind is AssertionKind.SUBSTRING or not checks_names:
        noted = assertion.kind is not AssertionKind.EXTENSIBLE
        return Lookup(_leaf(assertion, IndexUse.UNINDEXED, Cause.UNKNOWN_ATTRIBUTE, why=why), ALL, noted)
    return Lookup(_leaf(assertion, IndexUse.INDEXED, Cause.UNKNOWN_ATTRIBUTE, why=why), NOTHING, noted=False)


def _extensible(
    assertion: Assertion, definition: IndexDefinition | None, database: Database, limits: LimitsOf, *, in_and: bool
) -> Lookup:
    """Return the result for an extensible match: only an index with its rule answers it; nothing is noted."""
    index = rule_index(assertion.rule_name)
    if not assertion.attribute or not index.setting:
        unproven = bool(assertion.attribute) and not index.excluded
        why = OTHER_RULE if unproven else (NO_KEYS if assertion.rule else NO_RULE)
        leaf = _leaf(assertion, IndexUse.UNINDEXED, Cause.UNINDEXABLE, why=why)
        return Lookup(replace(leaf, unproven=unproven), ALL, noted=False)
    present = next((one for one in (index.setting, index.also) if definition and one in definition.rules), "")
    if present == index.setting and definition is not None and definition.built is not False:
        return _listed(assertion, definition, database, limits(definition, RULE, assertion, database, in_and=in_and))
    if present and definition is not None and definition.built is not False:
        why = f"the index has the rule {present}, which answers some values"
        return Lookup(_leaf(assertion, IndexUse.DEPENDS, Cause.LIMIT_PERHAPS, why=why), EITHER, noted=False)
    change = Change(database.schema.primary(assertion.attribute), _any_type(definition), index.setting)
    if definition is None and not database.configuration.whole:
        why = "only a part of the index configuration was collected"
        return Lookup(_leaf(assertion, IndexUse.DEPENDS, Cause.UNCONFIGURED, change, why), EITHER, noted=False)
    if present:
        cause, why = Cause.NOT_BUILT, "the index is not built, so the server does not use it"
    elif definition is None:
        cause, why = Cause.NO_INDEX, f"{change.attribute} has no index with nsMatchingRule {index.setting}"
    else:
        cause, why = Cause.TYPE_MISSING, f"the index of {change.attribute} lacks nsMatchingRule {index.setting}"
    return Lookup(_leaf(assertion, IndexUse.UNINDEXED, cause, change, why), ALL, noted=False)


def _any_type(definition: IndexDefinition | None) -> str:
    """Return a type that an index has, or eq: without any type its rules have no effect."""
    types = (definition.types if definition is not None else frozenset[str]()) - {"pres"}
    return "eq" if "eq" in types or not types else min(types)


def _unindexable(assertion: Assertion, definition: IndexDefinition | None, database: Database) -> str:
    """Return why no index can answer an assertion, or an empty string."""
    if definition is None and (computed := _computed(assertion, database)):
        return f"its values are computed ({computed})"
    syntax = database.schema.syntax(assertion.attribute)
    match assertion.kind:
        case AssertionKind.PRESENCE:
            name = database.schema.primary(assertion.attribute).lower()
            has_index = definition is not None and "pres" in definition.types
            return "every entry has it" if name in COMPUTED or (name in OF_EVERY_ENTRY and not has_index) else ""
        case AssertionKind.GREATER | AssertionKind.LESS if assertion.options:
            return "a range of an attribute with options: the server needs an index of that whole name"
        case AssertionKind.SUBSTRING if syntax in WITHOUT_SUBSTRINGS:
            return "its syntax has no substring keys"
        case AssertionKind.APPROXIMATE if syntax in BINARY or not _has_phonetic_key(assertion.value):
            return "its value has no phonetic key"
        case _:
            return ""


def _has_phonetic_key(value: str | None) -> bool:
    return value is None or any(letter.isalpha() for letter in value)


def why_no_approximate(value: str, entries: int) -> str:
    """Return why an approximate index does not serve a value, as a clause; empty: it does.

    Measured with 2.3.1: (businessCategory~=12345) scans with the index, too, and finds no 12345. Where such searches
    found `entries`, they ask for other values as well.
    """
    if entries > 0 or _has_phonetic_key(value):
        return ""
    return "a value without letters has no key: with an approximate index the server would scan as before"


def _computed(assertion: Assertion, database: Database) -> str:
    """Return what computes the values of an attribute, or an empty string."""
    computed = database.configuration.virtual_attributes
    return computed.get(assertion.attribute, "") or computed.get(
        database.schema.primary(assertion.attribute).lower(), ""
    )


def _without_index(assertion: Assertion, definition: IndexDefinition | None, database: Database) -> Lookup | None:
    """Return the result for an assertion without an index; None if it has one."""
    name = database.schema.primary(assertion.attribute)
    change = _change(assertion, name, database)
    if definition is None and not database.configuration.whole:
        why = "only a part of the index configuration was collected"
        return Lookup(_leaf(assertion, IndexUse.DEPENDS, Cause.UNCONFIGURED, change, why), EITHER, noted=None)
    if definition is None:
        cause, why = Cause.NO_INDEX, f"{name} has no index"
    elif change.type not in definition.types:
        types = ",".join(sorted(definition.types))
        cause, why = Cause.TYPE_MISSING, f"{name} is indexed for {types}" if types else f"{name} has no index"
    elif definition.built is False:
        cause, why = Cause.NOT_BUILT, "the index is not built, so the server does not use it"
    else:
        return None
    return Lookup(_leaf(assertion, IndexUse.UNINDEXED, cause, change, why), ALL, noted=True)


def _change(assertion: Assertion, name: str, database: Database) -> Change:
    """Return the index that would answer an assertion; an index of integers is sorted as numbers."""
    type_ = INDEX_TYPES[assertion.kind]
    of_numbers = type_ == "eq" and database.schema.syntax(name) == INTEGER
    return Change(name, type_, "integerOrderingMatch" if of_numbers else "")


def _listed(assertion: Assertion, definition: IndexDefinition | None, database: Database, limits: Limits) -> Lookup:
    """Return the result for an assertion with an index."""
    if limits == {0}:
        why = "nsIndexIDListScanLimit is 0, so the index is not used here"
        return Lookup(_leaf(assertion, IndexUse.UNINDEXED, Cause.LIMIT, why=why), ALL, noted=True)
    unsorted = _is_sorted_as_text(assertion, definition, database)
    change = _change(assertion, database.schema.primary(assertion.attribute), database) if unsorted else None
    amount = Amount() if unsorted else database.frequencies.of(assertion)
    if assertion.options:  # one index has the values with and without options
        amount = Amount(amount.least)
    why = "sorted as text, not as numbers: without integerOrderingMatch results may lack entries" if unsorted else ""
    match None if 0 in limits else exceeds(amount, limits):
        case True:
            why = f"more than {min(limits):,} entries: the ID list scan limit; no additional index changes that"
            return Lookup(_leaf(assertion, IndexUse.UNINDEXED, Cause.LIMIT, why=why), ALL, noted=False)
        case False:
            leaf = _leaf(assertion, IndexUse.INDEXED, Cause.NONE, why=why)
            return Lookup(leaf, IdList(every=False, size=_common(amount, assertion, definition)), noted=False)
        case None:
            why = why or f"indexed if at most {max(limits):,} entries match"
            leaf = _leaf(assertion, IndexUse.DEPENDS, Cause.LIMIT_PERHAPS, change, why)
            size = _common(amount, assertion, definition)
            return Lookup(leaf, IdList(every=None, size=size), noted=None if 0 in limits else False)


def _common(amount: Amount, assertion: Assertion, definition: IndexDefinition | None) -> Amount:
    """Return the size of the intersection of all keys of an assertion, given that of the shortest list."""
    if assertion.kind is AssertionKind.SUBSTRING:
        alone = number_of_keys(assertion, definition) == 1
    else:
        alone = (
            assertion.kind is not AssertionKind.APPROXIMATE or len((assertion.value or "several words").split()) == 1
        )
    return amount if alone else Amount(0, amount.most)


def _is_sorted_as_text(assertion: Assertion, definition: IndexDefinition | None, database: Database) -> bool:
    """Return whether a range of numbers is read from an index whose keys are sorted as text."""
    return assertion.kind in RANGES and sorts_as_text(assertion.attribute, definition, database.schema)


def _leaf(assertion: Assertion, index_use: IndexUse, cause: Cause, change: Change | None = None, why: str = "") -> Leaf:
    return Leaf(assertion=assertion, index_use=index_use, cause=cause, change=change, why=why)


KEYED = {
    "1.3.6.1.4.1.1466.109.114.1": "caseexactia5match",
    "1.3.6.1.4.1.1466.109.114.2": "caseignoreia5match",
    "2.5.13.0": "objectidentifiermatch",
    "2.5.13.1": "distinguishednamematch",
    "2.5.13.2": "caseignorematch",
    "2.5.13.5": "caseexactmatch",
    "2.5.13.8": "numericstringmatch",
    "2.5.13.11": "caseignorelistmatch",
    "2.5.13.13": "booleanmatch",
    "2.5.13.14": "integermatch",
    "2.5.13.16": "bitstringmatch",
    "2.5.13.17": "octetstringmatch",
    "2.5.13.20": "telephonenumbermatch",
    "2.5.13.23": "uniquemembermatch",
    "2.5.13.27": "generalizedtimematch",
    "2.5.13.29": "integerfirstcomponentmatch",
    "2.5.13.30": "objectidentifierfirstcomponentmatch",
    "2.5.13.31": "directorystringfirstcomponentmatch",
}
"""Rules for equality, by OID, in lower case."""
WITHOUT_KEYS = {
    "1.2.840.113556.1.4.803": "bitwise and",
    "1.2.840.113556.1.4.804": "bitwise or",
    "1.3.6.1.1.16.2": "uuidmatch",
    "2.5.13.3": "caseignoreorderingmatch",
    "2.5.13.6": "caseexactorderingmatch",
    "2.5.13.9": "numericstringorderingmatch",
    "2.5.13.15": "integerorderingmatch",
    "2.5.13.18": "octetstringorderingmatch",
    "2.5.13.28": "generalizedtimeorderingmatch",
}
"""Rules that the server evaluates for an extensible match, and makes no keys for."""
SUBSTRING = "6"
"""The suffix of a language rule for substrings, which has keys of its own; all others use the keys of the language."""


@dataclass(frozen=True, slots=True)
class RuleIndex:
    """The index by the rule of an extensible match."""

    setting: str
    """The value of nsMatchingRule; empty: none is known to make keys."""
    also: str = ""
    """Another one that answers it for some values (a substring rule without an asterisk)."""
    excluded: bool = False
    """The server makes no keys for such a rule."""


def rule_index(rule: str) -> RuleIndex:
    """Return the index for a rule as a client writes it; an empty one: the filter names no rule."""
    if not rule:
        return RuleIndex("", excluded=True)
    if language := collation(rule):
        oid, suffix = language
        return RuleIndex(f"{oid}.{suffix}", also=oid) if suffix == SUBSTRING else RuleIndex(oid)
    name = rule.lower()
    if name in KEYED or name in KEYED.values():
        return RuleIndex(rule)
    return RuleIndex("", excluded=name in WITHOUT_KEYS or name in WITHOUT_KEYS.values())


def has_keys(assertion: Assertion, definition: IndexDefinition | None) -> bool | None:
    """Return whether an assertion has any key; None if the lengths of its substring pieces are not known."""
    if assertion.kind is not AssertionKind.SUBSTRING:
        return True
    begin, middle, end = key_lengths(definition)
    answers = [
        is_long_enough(assertion.initial, begin - 1),
        *(is_long_enough(length, middle) for length in assertion.middle),
        is_long_enough(assertion.final, end - 1),
    ]
    return True if True in answers else None if None in answers else False


def number_of_keys(assertion: Assertion, definition: IndexDefinition | None) -> int | None:
    """Return the number of keys of a substring; None if the lengths of its pieces are not known."""
    if None in assertion.pieces or SHORT_PIECE in assertion.pieces:
        return None
    begin, middle, end = key_lengths(definition)
    initial, final = assertion.initial or 0, assertion.final or 0
    windows = [length for length in assertion.middle if length is not None]
    windows += [length for length, wanted in ((initial, begin - 1), (final, end - 1)) if length and length >= wanted]
    at_ends = (0 < initial >= begin - 1) + (0 < final >= end - 1)
    return at_ends + sum(max(0, length - middle + 1) for length in windows)


def key_lengths(definition: IndexDefinition | None) -> tuple[int, int, int]:
    """Return the octets of keys at the beginning, in the middle and at the end, `^` and `$` included."""
    lengths = (definition.initial, definition.middle, definition.final) if definition else (None, None, None)
    begin, middle, end = (KEY_LENGTH if length is None else length for length in lengths)
    return begin, middle, end


def too_short(definition: IndexDefinition | None) -> str:
    """Return a clause with the lengths of pieces that have no key."""
    begin, middle, end = key_lengths(definition)
    if (begin, middle, end) == (KEY_LENGTH, KEY_LENGTH, KEY_LENGTH):
        return "shorter than 3 characters, or 2 at either end"
    return f"shorter than {begin - 1} characters at the beginning, {middle} in the middle and {end - 1} at the end"
