"""Lookups: what 389-ds finds in its indexes for one assertion, and whether it notes that there was no index.

What finds no index gives `all ids`, and note U; what finds too many entries gives `all ids` without any note; a key
that is not there gives none. Read from back-ldbm/filterindex.c and index.c, and tried with 2.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import Assertion, AssertionKind
from ldapdiag.servers.candidates import Amount, Cause, Change, Database, Leaf, Outlook
from ldapdiag.servers.ds389.scan_limits import RANGES, exceeds, limits_of
from ldapdiag.servers.ds389.substring_keys import has_keys, number_of_keys, shortest

if TYPE_CHECKING:
    from ldapdiag.evidence.indexes import IndexDefinition
    from ldapdiag.servers.ds389.scan_limits import Limits, LimitsOf

WORDS = {
    AssertionKind.EQUALITY: "eq",
    AssertionKind.GREATER: "eq",
    AssertionKind.LESS: "eq",
    AssertionKind.SUBSTRING: "sub",
    AssertionKind.APPROXIMATE: "approx",
    AssertionKind.PRESENCE: "pres",
}

INTEGER = "1.3.6.1.4.1.1466.115.121.1.27"
BINARY = frozenset(f"1.3.6.1.4.1.1466.115.121.1.{number}" for number in (5, 23, 28, 40))
WITHOUT_SUBSTRINGS = BINARY | {INTEGER}
"""Syntaxes of which the server makes no substring keys: tried with one attribute of each kind that 2.3.1 has."""
SORTED_AS_NUMBERS = frozenset({"integerorderingmatch", "2.5.13.15"})

EVERYBODYS = frozenset(
    {"objectclass", "createtimestamp", "creatorsname", "entrydn", "entryid", "modifiersname", "modifytimestamp"}
    | {"nsuniqueid", "parentid"}
)
"""Attributes that every entry has, but for the suffix."""
COMPUTED = frozenset({"hassubordinates", "numsubordinates"})
"""What the server makes of the entries below; for its presence it does not use the index there is."""


@dataclass(frozen=True, slots=True)
class Ids:
    """What may be in a list of candidates."""

    every: bool | None
    """All ids instead of a list; None: that is not known."""
    size: Amount = field(default_factory=Amount)
    """Of the list, where it is one."""


ALL = Ids(every=True)
NOTHING = Ids(every=False, size=Amount(0, 0))
EITHER = Ids(every=None)


@dataclass(frozen=True, slots=True)
class Lookup:
    """What becomes of one assertion when the server gets to it."""

    leaf: Leaf
    ids: Ids
    noted: bool | None
    """The server notes that there was no index; None: that is not known."""


def look_up(
    assertion: Assertion,
    database: Database,
    *,
    in_and: bool,
    limits: LimitsOf = limits_of,
    checks_names: bool = True,
) -> Lookup:
    """Return what becomes of an assertion.

    `limits` tells how long a list may be; `checks_names`: a filter's attributes are looked for in the schema first.
    """
    if _is_unknown(assertion, database):
        return _of_unknown(assertion, checks_names=checks_names)
    definition = database.definition(assertion.attribute)
    if assertion.kind is AssertionKind.EXTENSIBLE:
        return _extensible(assertion, definition)
    if hopeless := _unindexable(assertion, definition, database):
        # Without any key nothing is looked up, and of an approximate match the server does not note that.
        noted = assertion.kind is not AssertionKind.APPROXIMATE or bool(_computed(assertion, database))
        return Lookup(_leaf(assertion, Outlook.UNINDEXED, Cause.UNINDEXABLE, why=hopeless), ALL, noted)
    if own := _own_way(assertion):
        return own
    keys = has_keys(assertion, definition)
    if keys is False:
        why = shortest(definition)
        return Lookup(_leaf(assertion, Outlook.UNINDEXED, Cause.TOO_SHORT, why=why), ALL, noted=True)
    if lacking := _lacking(assertion, definition, database):
        return lacking
    if keys is None:
        why = f"{shortest(definition)}; the lengths are not known"
        return Lookup(_leaf(assertion, Outlook.DEPENDS, Cause.LIMIT_PERHAPS, why=why), EITHER, noted=None)
    word = WORDS[assertion.kind]
    return _listed(assertion, definition, database, limits(definition, word, assertion, database, in_and=in_and))


def _own_way(assertion: Assertion) -> Lookup | None:
    """Return what becomes of an attribute that the server answers in a way of its own."""
    match assertion.attribute, assertion.kind, (assertion.value or "").lower():
        case "entrydn", AssertionKind.EQUALITY, _:
            why, size = "looked up among the DNs", Amount(0, 1)
        case ("numsubordinates", AssertionKind.GREATER, _) | ("hassubordinates", AssertionKind.EQUALITY, "true"):
            why, size = "looked up among the entries that have any below them", Amount()
        case _:
            return None
    return Lookup(_leaf(assertion, Outlook.INDEXED, Cause.NONE, why=why), Ids(every=False, size=size), noted=False)


def _is_unknown(assertion: Assertion, database: Database) -> bool:
    name = assertion.attribute
    return bool(name) and database.schema.whole and database.schema.find(name) is None


def _of_unknown(assertion: Assertion, *, checks_names: bool) -> Lookup:
    """Return what becomes of an attribute that the schema does not know (nsslapd-verify-filter-schema).

    The server looks for none of its keys and takes none for an answer; but a substring has no key at all, for it has no
    syntax, and so it scans (2.3.1).
    """
    why = "the schema does not know the attribute"
    if assertion.kind is AssertionKind.SUBSTRING or not checks_names:
        noted = assertion.kind is not AssertionKind.EXTENSIBLE
        return Lookup(_leaf(assertion, Outlook.UNINDEXED, Cause.UNKNOWN_ATTRIBUTE, why=why), ALL, noted)
    return Lookup(_leaf(assertion, Outlook.INDEXED, Cause.UNKNOWN_ATTRIBUTE, why=why), NOTHING, noted=False)


def _extensible(assertion: Assertion, definition: IndexDefinition | None) -> Lookup:
    """Return what becomes of an extensible match: only an index by its own rule answers it, and nothing is noted."""
    rules = {rule.lower() for rule in definition.rules} if definition and definition.built is not False else set()
    if assertion.rule and assertion.rule in rules:
        why = "the index has a rule of this name"
        return Lookup(_leaf(assertion, Outlook.DEPENDS, Cause.LIMIT_PERHAPS, why=why), EITHER, noted=False)
    why = "an extensible match, and no index has its rule"
    return Lookup(_leaf(assertion, Outlook.UNINDEXED, Cause.UNINDEXABLE, why=why), ALL, noted=False)


def _unindexable(assertion: Assertion, definition: IndexDefinition | None, database: Database) -> str:
    """Return why no index can answer an assertion, or nothing."""
    if definition is None and (computed := _computed(assertion, database)):
        return f"its values are computed ({computed})"
    syntax = database.schema.syntax(assertion.attribute)
    match assertion.kind:
        case AssertionKind.PRESENCE:
            name = database.schema.primary(assertion.attribute).lower()
            has_index = definition is not None and "pres" in definition.types
            return "every entry has it" if name in COMPUTED or (name in EVERYBODYS and not has_index) else ""
        case AssertionKind.GREATER | AssertionKind.LESS if assertion.options:
            return "a range of an attribute with options: the server looks for an index of that name"
        case AssertionKind.SUBSTRING if syntax in WITHOUT_SUBSTRINGS:
            return "there are no substring keys of its syntax"
        case AssertionKind.APPROXIMATE if syntax in BINARY or (
            assertion.value is not None and not any(letter.isalpha() for letter in assertion.value)
        ):
            return "it has no sound"
        case _:
            return ""


def _computed(assertion: Assertion, database: Database) -> str:
    """Return what computes the values of an attribute, or nothing."""
    computed = database.configuration.virtual_attributes
    return computed.get(assertion.attribute, "") or computed.get(
        database.schema.primary(assertion.attribute).lower(), ""
    )


def _lacking(assertion: Assertion, definition: IndexDefinition | None, database: Database) -> Lookup | None:
    """Return what becomes of an assertion that has no index; None where it has one."""
    name = database.schema.primary(assertion.attribute)
    change = _change(assertion, name, database)
    if definition is None and not database.configuration.whole:
        why = "a part of the index configuration alone is at hand"
        return Lookup(_leaf(assertion, Outlook.DEPENDS, Cause.UNCONFIGURED, change, why), EITHER, noted=None)
    if definition is None:
        cause, why = Cause.NO_INDEX, f"{name} has no index"
    elif change.type not in definition.types:
        types = ",".join(sorted(definition.types))
        cause, why = Cause.TYPE_MISSING, f"{name} is indexed for {types}" if types else f"{name} has no index"
    elif definition.built is False:
        cause, why = Cause.NOT_BUILT, "the index is not built: until it is, the server does as if there were none"
    else:
        return None
    return Lookup(_leaf(assertion, Outlook.UNINDEXED, cause, change, why), ALL, noted=True)


def _change(assertion: Assertion, name: str, database: Database) -> Change:
    """Return the index that would answer an assertion; one of numbers is sorted as numbers from the beginning."""
    word = WORDS[assertion.kind]
    of_numbers = word == "eq" and database.schema.syntax(name) == INTEGER
    return Change(name, word, "integerOrderingMatch" if of_numbers else "")


def _listed(assertion: Assertion, definition: IndexDefinition | None, database: Database, limits: Limits) -> Lookup:
    """Return what becomes of an assertion whose keys are in an index."""
    if limits == {0}:
        why = "nsIndexIDListScanLimit of 0: the index is not used here"
        return Lookup(_leaf(assertion, Outlook.UNINDEXED, Cause.LIMIT, why=why), ALL, noted=True)
    misled = _is_sorted_as_text(assertion, definition, database)
    amount = Amount() if misled else database.frequencies.of(assertion)
    if assertion.options:  # the index has the values with all options
        amount = Amount(amount.least)
    why = "sorted as text, not as numbers: without integerOrderingMatch answers may lack entries" if misled else ""
    match None if 0 in limits else exceeds(amount, limits):
        case True:
            told = f"more than {min(limits)} entries: the scan limit; no further index changes that"
            return Lookup(_leaf(assertion, Outlook.UNINDEXED, Cause.LIMIT, why=told), ALL, noted=False)
        case False:
            leaf = _leaf(assertion, Outlook.INDEXED, Cause.NONE, why=why)
            return Lookup(leaf, Ids(every=False, size=_common(amount, assertion, definition)), noted=False)
        case None:
            told = why or f"indexed, if no more than {max(limits)} entries match"
            leaf = _leaf(assertion, Outlook.DEPENDS, Cause.LIMIT_PERHAPS, why=told)
            size = _common(amount, assertion, definition)
            return Lookup(leaf, Ids(every=None, size=size), noted=None if 0 in limits else False)


def _common(amount: Amount, assertion: Assertion, definition: IndexDefinition | None) -> Amount:
    """Return how many ids all keys of an assertion have in common, by how many the one with the fewest has."""
    if assertion.kind is AssertionKind.SUBSTRING:
        alone = number_of_keys(assertion, definition) == 1
    else:
        alone = (
            assertion.kind is not AssertionKind.APPROXIMATE or len((assertion.value or "several words").split()) == 1
        )
    return amount if alone else Amount(0, amount.most)


def _is_sorted_as_text(assertion: Assertion, definition: IndexDefinition | None, database: Database) -> bool:
    """Tell whether a range of numbers is read from an index whose keys are in the order of texts: 10 before 9.

    Measured with 2.3.1: (shadowMax>=990) of the values 0 to 3019 finds 10 entries, not 2030.
    """
    if assertion.kind not in RANGES or database.schema.syntax(assertion.attribute) != INTEGER:
        return False
    return definition is None or not {rule.lower() for rule in definition.rules} & SORTED_AS_NUMBERS


def _leaf(assertion: Assertion, outlook: Outlook, cause: Cause, change: Change | None = None, why: str = "") -> Leaf:
    return Leaf(assertion=assertion, outlook=outlook, cause=cause, change=change, why=why)
