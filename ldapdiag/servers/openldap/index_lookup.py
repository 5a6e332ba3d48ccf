"""Index lookup of slapd for one assertion.

From back-mdb/filterindex.c, tested with 2.5.13. slapd logs it only at level `filter`, and not even there that a
substring is too short for keys.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import Assertion, AssertionKind
from ldapdiag.servers.indexes.candidates import Cause, Change, Database, IndexUse, Leaf
from ldapdiag.servers.indexes.index_types import is_long_enough
from ldapdiag.servers.openldap.index_lines import line_of, lineage, own_line, tags_of, types_of

if TYPE_CHECKING:
    from ldapdiag.evidence.indexes import IndexDefinition, SubstringKeys

# schema_init.c: ordering rules whose keys are in the order of the values, so that an eq index answers a range.
ORDERED = frozenset(
    {"generalizedtimeorderingmatch", "integerorderingmatch", "csnorderingmatch", "uuidorderingmatch"}
    | {"2.5.13.28", "2.5.13.15", "1.3.6.1.4.1.4203.666.11.2.3", "1.3.6.1.1.16.3"}
)
# Equality rules with an associated approximate rule; for all others `~=` is `=`.
WITH_APPROXIMATE = frozenset(
    {"caseignorematch", "caseexactmatch", "caseignoreia5match", "caseexactia5match"}
    | {"2.5.13.2", "2.5.13.5", "1.3.6.1.4.1.1466.109.114.2", "1.3.6.1.4.1.1466.109.114.1"}
)
# Equality rules without an indexer: slapd refuses an eq index.
WITHOUT_INDEX = frozenset(
    {"presentationaddressmatch", "protocolinformationmatch", "privatekeymatch", "2.5.13.22", "2.5.13.24"}
)
# entryDN is looked up in the DN database, with these rules only (ext_candidates()); it cannot be indexed.
OF_ENTRY_DN = frozenset({"", "distinguishednamematch", "2.5.13.1", "dnsuperiormatch", "1.3.6.1.4.1.4203.666.11.2.4"})
COMPUTED = {
    "entrydn": "slapd computes it",
    "hassubordinates": "slapd computes it",
    "subschemasubentry": "slapd computes it",
    "numsubordinates": "slapd does not store it",
}

LONGEST_LIST = (1 << 16) - 1
"""Maximum entries of one key; of a longer list only first and last are kept (MDB_IDL_LOGN 16; see `idlexp`)."""

IF_MINLEN, ANY_LEN = 2, 4
"""slapd.conf(5): the defaults of index_substr_if_minlen and index_substr_any_len, in octets."""

ALL_ENTRIES = "every entry has it, and slapd uses no index for it"


def look_up(assertion: Assertion, database: Database) -> Leaf:
    """Return the prediction for an assertion, independent of its place in the filter."""
    schema, remembered = database.schema, database.remembered
    names = "lineage", assertion.attribute
    if names not in remembered:
        remembered[names] = frozenset().union(*map(schema.names, lineage(assertion.attribute, schema)))
    key = assertion, tuple(database.backend.definitions_of(remembered[names]))
    if key not in remembered:
        remembered[key] = _looked_up(assertion, database)
    found: Leaf = remembered[key]
    return found


def _looked_up(assertion: Assertion, database: Database) -> Leaf:
    """Return the prediction; of all indexes, only those of the attribute and of its supertypes matter."""
    undefined = _undefined(assertion, database)
    if undefined:
        return _leaf(assertion, IndexUse.INDEXED, Cause.UNKNOWN_ATTRIBUTE, why=undefined)
    if _is_looked_up_by_dn(assertion):
        return _leaf(assertion, IndexUse.INDEXED, Cause.NONE, why="looked up by DN")
    unindexable = _unindexable(assertion, database)
    if unindexable:
        return _leaf(assertion, IndexUse.UNINDEXED, Cause.UNINDEXABLE, why=unindexable)
    if assertion.kind is AssertionKind.SUBSTRING:
        return _substring(assertion, database)
    wanted = _wanted(assertion, database)
    return _typed(assertion, database, wanted)


def _undefined(assertion: Assertion, database: Database) -> str:
    """Return why an assertion is undefined (RFC 4511, 4.5.1.7), or an empty string; slapd scans nothing for it.

    slapd's log marks undefined assertions; the schema gives the reason. If the evidence contains only a part of the
    schema, an assertion without that mark is never undefined.
    """
    schema, name = database.schema, assertion.attribute
    if not name or not (schema.whole or assertion.undefined):
        return "slapd could not evaluate it" if assertion.undefined else ""
    if schema.find(name) is None:
        return f"the {'schema' if schema.whole else 'collected part of the schema'} lacks the attribute"
    missing = {
        AssertionKind.EQUALITY: ("equality", schema.equality),
        AssertionKind.APPROXIMATE: ("equality", schema.equality),
        AssertionKind.SUBSTRING: ("substring", schema.substring),
        AssertionKind.GREATER: ("ordering", schema.ordering),
        AssertionKind.LESS: ("ordering", schema.ordering),
    }.get(assertion.kind)
    if missing is not None and not missing[1](name):
        return f"the attribute has no {missing[0]} rule"
    return "its value is invalid for the attribute's syntax" if assertion.undefined else ""


def _is_looked_up_by_dn(assertion: Assertion) -> bool:
    return assertion.attribute == "entrydn" and (
        assertion.kind is AssertionKind.EQUALITY
        or (assertion.kind is AssertionKind.EXTENSIBLE and assertion.rule in OF_ENTRY_DN)
    )


def _unindexable(assertion: Assertion, database: Database) -> str:
    """Return why no index can answer an assertion, or an empty string."""
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
    """Return the index type that answers an assertion; all possible types if its rules are not known."""
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
    """Return the prediction for an assertion that these index types answer."""
    line = line_of(assertion.attribute, assertion.options, database.backend, database.schema)
    available = [one for one in wanted if line is not None and one in types_of(line)]
    if available == ["approx"] and not _has_phonetic_key(assertion.value):
        return _leaf(
            assertion, IndexUse.UNINDEXED, Cause.UNINDEXABLE, why="a value that does not start with a letter has no key"
        )
    if line is not None and len(available) == len(wanted):
        return _listed(assertion, database, line)
    if available:
        return _leaf(assertion, IndexUse.DEPENDS, Cause.TYPE_MISSING, why="its matching rules are not known")
    return _without(assertion, database, line, wanted[0])


def _has_phonetic_key(value: str | None) -> bool:
    """Return whether phonetic() has a key for the first word of a value; for `12 oaks` it has none, and slapd scans.

    A value that the filter shape leaves out is assumed to have one: approximate searches are for names.
    """
    return not value or value.strip()[:1].isalpha()


def _substring(assertion: Assertion, database: Database) -> Leaf:
    """Return the prediction for a substring, all of whose pieces may be too short for a key."""
    keys = database.configuration.substring_keys
    has_keys = _has_keys(assertion, keys)
    if has_keys is False:
        return _leaf(assertion, IndexUse.UNINDEXED, Cause.TOO_SHORT, why=_too_short(keys))
    leaf = _typed(assertion, database, ("sub",))
    if has_keys is None and leaf.cause is Cause.NONE:
        why = f"its pieces may be {_too_short(keys)}"
        return _leaf(assertion, IndexUse.DEPENDS, Cause.TOO_SHORT, why=why)
    return leaf


def _has_keys(assertion: Assertion, keys: SubstringKeys) -> bool | None:
    """Return whether any piece of a substring is long enough for a key; None: its length is not known.

    octetStringSubstringsFilter() in schema_init.c: a piece at either end needs index_substr_if_minlen octets, one in
    the middle index_substr_any_len. Case folding and spaces that a rule ignores are not taken into account.
    """
    ends, between = _minimum_lengths(keys)
    answers = {
        is_long_enough(assertion.initial, ends),
        is_long_enough(assertion.final, ends),
        *(is_long_enough(length, between) for length in assertion.middle),
    }
    return True if True in answers else None if None in answers else False


def _minimum_lengths(keys: SubstringKeys) -> tuple[int, int]:
    """Return the minimum octets of a piece at either end and of one in the middle."""
    return keys.if_minlen or IF_MINLEN, keys.any_len or ANY_LEN


def _too_short(keys: SubstringKeys) -> str:
    ends, between = _minimum_lengths(keys)
    return f"shorter than {ends} octets at the ends and {between} in the middle"


def _listed(assertion: Assertion, database: Database, line: IndexDefinition) -> Leaf:
    """Return the prediction for an assertion with an index."""
    if line.built is False:
        return _leaf(
            assertion,
            IndexUse.UNINDEXED,
            Cause.NOT_BUILT,
            why="the index is still being built; slapd does not show how much of it is done",
        )
    # The key of presence is that of the attribute: with 2.5.13, 403 candidates for the 8 entries with cn;lang-fr, also
    # with an index line of cn;lang-fr; one for a value of it.
    listed = replace(assertion, options=()) if assertion.kind is AssertionKind.PRESENCE else assertion
    if database.frequencies.of(listed).exceeds(LONGEST_LIST):
        why = f"more than {LONGEST_LIST:,} entries: slapd keeps only the first and the last ID and scans all between"
        return _leaf(assertion, IndexUse.UNINDEXED, Cause.LIMIT, why=why)
    leaf = _leaf(assertion, IndexUse.INDEXED, Cause.NONE)
    if not listed.options and assertion.options:
        why = f"slapd's key of presence has no options, so it tests every entry with {assertion.attribute}"
        return replace(leaf, lists_others=why)
    return leaf


def _without(assertion: Assertion, database: Database, line: IndexDefinition | None, wanted: str) -> Leaf:
    """Return the prediction for an assertion without an index of the type that it needs."""
    name = _attribute_to_index(assertion, line, database)
    change = Change(name, wanted)
    if line is None and not database.configuration.whole:
        why = "only a part of the index configuration was collected"
        return _leaf(assertion, IndexUse.DEPENDS, Cause.UNCONFIGURED, change, why)
    if line is None:
        return _leaf(assertion, IndexUse.UNINDEXED, Cause.NO_INDEX, change, f"{name} has no index")
    types = ",".join(sorted(line.types))
    inherits = database.schema.primary(line.attribute).lower() != name.lower()
    why = f"{name} is indexed with {line.attribute}, for {types}" if inherits else f"{name} is indexed for {types}"
    return _leaf(assertion, IndexUse.UNINDEXED, Cause.TYPE_MISSING, change, why)


def _attribute_to_index(assertion: Assertion, line: IndexDefinition | None, database: Database) -> str:
    """Return the attribute to index; with its tags if the line of the attribute itself is not used for them."""
    name, tags = database.schema.primary(assertion.attribute), tags_of(assertion.options)
    plain = own_line(assertion.attribute, (), database.backend, database.schema)
    tagged = own_line(assertion.attribute, tags, database.backend, database.schema)
    if tags and (tagged is not None or (plain is not None and line is not plain)):
        return ";".join((name, *sorted(tags)))
    return name


def _leaf(assertion: Assertion, index_use: IndexUse, cause: Cause, change: Change | None = None, why: str = "") -> Leaf:
    return Leaf(assertion=assertion, index_use=index_use, cause=cause, change=change, why=why)
