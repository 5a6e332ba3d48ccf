"""Lookups: what slapd finds in its indexes for one assertion, before it looks at any entry.

Read from back-mdb/filterindex.c, and tried with 2.5.13. The log has no word of it below the level `filter`, and even
there says nothing of a substring too short for keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import SHORT_PIECE, Assertion, AssertionKind
from ldapdiag.servers.candidates import Cause, Change, Database, Leaf, Outlook
from ldapdiag.servers.openldap.index_lines import line_of, own_line, tags_of, types_of

if TYPE_CHECKING:
    from ldapdiag.evidence.indexes import IndexDefinition, SubstringKeys

# schema_init.c: rules of which slapd can make keys in the order of the values, so that an eq index answers a range.
ORDERED = frozenset(
    {"generalizedtimeorderingmatch", "integerorderingmatch", "csnorderingmatch", "uuidorderingmatch"}
    | {"2.5.13.28", "2.5.13.15", "1.3.6.1.4.1.4203.666.11.2.3", "1.3.6.1.1.16.3"}
)
# The rules with an approximate rule beside them. The others' `~=` is `=`.
WITH_APPROXIMATE = frozenset(
    {"caseignorematch", "caseexactmatch", "caseignoreia5match", "caseexactia5match"}
    | {"2.5.13.2", "2.5.13.5", "1.3.6.1.4.1.1466.109.114.2", "1.3.6.1.4.1.1466.109.114.1"}
)
# slapd refuses an eq index: they have no indexer.
WITHOUT_INDEX = frozenset(
    {"presentationaddressmatch", "protocolinformationmatch", "privatekeymatch", "2.5.13.22", "2.5.13.24"}
)
# entryDN is looked up among the DNs, with these rules alone (ext_candidates()); nobody can index it.
OF_ENTRY_DN = frozenset({"", "distinguishednamematch", "2.5.13.1", "dnsuperiormatch", "1.3.6.1.4.1.4203.666.11.2.4"})
COMPUTED = {
    "entrydn": "slapd computes it",
    "hassubordinates": "slapd computes it",
    "subschemasubentry": "slapd computes it",
    "numsubordinates": "slapd does not keep it",
}

LONGEST_LIST = (1 << 16) - 1
"""Entries of one key; of more, the first and the last alone are kept (MDB_IDL_LOGN 16; `idlexp` sets more)."""

IF_MINLEN, ANY_LEN = 2, 4
"""slapd.conf(5): the defaults of index_substr_if_minlen and index_substr_any_len, in octets."""

ALL_ENTRIES = "every entry has it, and slapd looks no further"


def look_up(assertion: Assertion, database: Database) -> Leaf:
    """Return what becomes of an assertion, whatever it stands in."""
    undefined = _undefined(assertion, database)
    if undefined:
        return _leaf(assertion, Outlook.INDEXED, Cause.UNKNOWN_ATTRIBUTE, why=undefined)
    if _among_dns(assertion):
        return _leaf(assertion, Outlook.INDEXED, Cause.NONE, why="looked up among the DNs")
    hopeless = _unindexable(assertion, database)
    if hopeless:
        return _leaf(assertion, Outlook.UNINDEXED, Cause.UNINDEXABLE, why=hopeless)
    if assertion.kind is AssertionKind.SUBSTRING:
        return _substring(assertion, database)
    wanted = _wanted(assertion, database)
    return _typed(assertion, database, wanted)


def _undefined(assertion: Assertion, database: Database) -> str:
    """Return why an assertion is undefined (RFC 4511, 4.5.1.7), or nothing: slapd then scans nothing for it.

    slapd's log marks such a one, and the schema tells why. Where only a part of the schema is at hand, no other is
    judged by what that lacks.
    """
    schema, name = database.schema, assertion.attribute
    if not name or not (schema.whole or assertion.undefined):
        return "slapd could not evaluate it" if assertion.undefined else ""
    if schema.find(name) is None:
        return f"the schema{'' if schema.whole else ' at hand'} does not know the attribute"
    missing = {
        AssertionKind.EQUALITY: ("equality", schema.equality),
        AssertionKind.APPROXIMATE: ("equality", schema.equality),
        AssertionKind.SUBSTRING: ("substring", schema.substring),
        AssertionKind.GREATER: ("ordering", schema.ordering),
        AssertionKind.LESS: ("ordering", schema.ordering),
    }.get(assertion.kind)
    if missing is not None and not missing[1](name):
        return f"the attribute has no {missing[0]} rule"
    return "its value is none of the attribute's syntax" if assertion.undefined else ""


def _among_dns(assertion: Assertion) -> bool:
    return assertion.attribute == "entrydn" and (
        assertion.kind is AssertionKind.EQUALITY
        or (assertion.kind is AssertionKind.EXTENSIBLE and assertion.rule in OF_ENTRY_DN)
    )


def _unindexable(assertion: Assertion, database: Database) -> str:
    """Return why no index can answer an assertion, or nothing."""
    name = assertion.attribute
    computed = database.configuration.virtual_attributes.get(name)
    if assertion.kind is AssertionKind.EXTENSIBLE:
        return "slapd has no index for an extensible match"
    if assertion.kind is AssertionKind.PRESENCE and database.schema.primary(name).lower() == "objectclass":
        return ALL_ENTRIES
    if computed is not None:
        return f"its values are computed ({computed})"
    if assertion.kind is AssertionKind.EQUALITY and database.schema.equality(name) in WITHOUT_INDEX:
        return "its matching rule has no index"
    return COMPUTED.get(name, "")


def _wanted(assertion: Assertion, database: Database) -> tuple[str, ...]:
    """Return the type of index that answers an assertion; the possible ones where its rules are not known."""
    schema, name = database.schema, assertion.attribute
    match assertion.kind:
        case AssertionKind.PRESENCE:
            return ("pres",)
        case AssertionKind.APPROXIMATE:
            rule = schema.equality(name)
            return ("approx" if rule in WITH_APPROXIMATE else "eq",) if rule else ("approx", "eq")
        case AssertionKind.GREATER | AssertionKind.LESS:
            rule = schema.ordering(name)
            return ("eq" if rule in ORDERED else "pres",) if rule else ("eq", "pres")
        case _:
            return ("eq",)


def _typed(assertion: Assertion, database: Database, wanted: tuple[str, ...]) -> Leaf:
    """Return what becomes of an assertion that one type of index answers."""
    line = line_of(assertion.attribute, assertion.options, database.backend.definitions, database.schema)
    there = [one for one in wanted if line is not None and one in types_of(line)]
    if there == ["approx"] and not _sounds(assertion.value):
        return _leaf(
            assertion, Outlook.UNINDEXED, Cause.UNINDEXABLE, why="a value that begins with no letter has no key"
        )
    if line is not None and len(there) == len(wanted):
        return _listed(assertion, database, line)
    if there:
        return _leaf(assertion, Outlook.DEPENDS, Cause.TYPE_MISSING, why="its matching rules are not known")
    return _without(assertion, database, line, wanted[0])


def _sounds(value: str | None) -> bool:
    """Tell whether phonetic() makes something of a value's first word: of `12 oaks` it makes nothing, and slapd scans.

    Of a value that a shape leaves out it is taken to: who asks what sounds alike asks by names.
    """
    return not value or value.strip()[:1].isalpha()


def _substring(assertion: Assertion, database: Database) -> Leaf:
    """Return what becomes of a substring: its pieces may all be too short for a key."""
    keys = database.configuration.substring_keys
    has_keys = _has_keys(assertion, keys)
    if has_keys is False:
        return _leaf(assertion, Outlook.UNINDEXED, Cause.TOO_SHORT, why=_shortest(keys))
    leaf = _typed(assertion, database, ("sub",))
    if has_keys is None and leaf.cause is Cause.NONE:
        why = f"its pieces may be {_shortest(keys)}"
        return _leaf(assertion, Outlook.DEPENDS, Cause.TOO_SHORT, why=why)
    return leaf


def _has_keys(assertion: Assertion, keys: SubstringKeys) -> bool | None:
    """Tell whether any piece of a substring is long enough for a key; None: its length is not known.

    octetStringSubstringsFilter() in schema_init.c: a piece at either end needs index_substr_if_minlen octets, one in
    the middle index_substr_any_len. Folding and the blanks that a rule ignores are not reckoned with.
    """
    ends, between = _least(keys)
    answers = {
        _at_least(assertion.initial, ends),
        _at_least(assertion.final, ends),
        *(_at_least(length, between) for length in assertion.middle),
    }
    return True if True in answers else None if None in answers else False


def _least(keys: SubstringKeys) -> tuple[int, int]:
    """Return the octets that a piece at either end needs, and one in the middle."""
    return keys.if_minlen or IF_MINLEN, keys.any_len or ANY_LEN


def _at_least(length: int | None, wanted: int) -> bool | None:
    """Tell whether a piece is long enough; the longest length that a shape tells means that or more."""
    if length == 0:
        return False
    if length is None or length == SHORT_PIECE < wanted:
        return None
    return length >= wanted


def _shortest(keys: SubstringKeys) -> str:
    ends, between = _least(keys)
    return f"shorter than {ends} octets at the ends and {between} in the middle"


def _listed(assertion: Assertion, database: Database, line: IndexDefinition) -> Leaf:
    """Return what becomes of an assertion whose keys are in an index."""
    if line.built is False:
        return _leaf(assertion, Outlook.UNINDEXED, Cause.NOT_BUILT, why="the index is still being built")
    if database.frequencies.of(assertion).exceeds(LONGEST_LIST):
        why = f"more than {LONGEST_LIST} entries: slapd keeps the first and the last of them and scans what is between"
        return _leaf(assertion, Outlook.UNINDEXED, Cause.LIMIT, why=why)
    return _leaf(assertion, Outlook.INDEXED, Cause.NONE)


def _without(assertion: Assertion, database: Database, line: IndexDefinition | None, wanted: str) -> Leaf:
    """Return what becomes of an assertion for which there is no index of the type it wants."""
    name = _to_be_indexed(assertion, line, database)
    change = Change(name, wanted)
    if line is None and not database.configuration.whole:
        why = "a part of the index configuration alone is at hand"
        return _leaf(assertion, Outlook.DEPENDS, Cause.UNCONFIGURED, change, why)
    if line is None:
        return _leaf(assertion, Outlook.UNINDEXED, Cause.NO_INDEX, change, f"{name} has no index")
    types = ",".join(sorted(line.types))
    inherits = database.schema.primary(line.attribute).lower() != name.lower()
    why = f"{name} is indexed with {line.attribute}, for {types}" if inherits else f"{name} is indexed for {types}"
    return _leaf(assertion, Outlook.UNINDEXED, Cause.TYPE_MISSING, change, why)


def _to_be_indexed(assertion: Assertion, line: IndexDefinition | None, database: Database) -> str:
    """Return the attribute; with its tags, where what the attribute's own line has is not used for them."""
    name, tags = database.schema.primary(assertion.attribute), tags_of(assertion.options)
    plain = own_line(assertion.attribute, (), database.backend.definitions, database.schema)
    tagged = own_line(assertion.attribute, tags, database.backend.definitions, database.schema)
    if tags and (tagged is not None or (plain is not None and line is not plain)):
        return ";".join((name, *sorted(tags)))
    return name


def _leaf(assertion: Assertion, outlook: Outlook, cause: Cause, change: Change | None = None, why: str = "") -> Leaf:
    return Leaf(assertion=assertion, outlook=outlook, cause=cause, change=change, why=why)
