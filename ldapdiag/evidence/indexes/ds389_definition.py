"""One index entry of 389-ds or of DSEE.

    dn: cn=uid,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
    objectClass: nsIndex
    cn: uid
    nsSystemIndex: false
    nsIndexType: eq
    nsIndexType: sub
    nsMatchingRule: nsSubStrBegin=2
    nsIndexIDListScanLimit: limit=0 type=eq flags=AND values=root,admin
    modifyTimestamp: 20261122125037Z

Source: ldap/servers/slapd/back-ldbm/ldbm_attr.c (attr_index_config, attr_index_parse_idlistsize), misc.c (the system
indexes); Oracle E28967, nsslapd-allidsthreshold(5dsconf).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import Assertion, parse
from ldapdiag.evidence.indexes import IndexDefinition, ScanLimit
from ldapdiag.evidence.ldif import comparable, whole_number
from ldapdiag.evidence.monitor import generalized_time
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

ALL_IDS = "nsslapd-allidsthreshold"
CREATED, MODIFIED, CREATOR = "createTimestamp", "modifyTimestamp", "creatorsName"
LENGTHS = ("nsSubStrBegin", "nsSubStrMiddle", "nsSubStrEnd")
INDEX_ATTRIBUTES = (
    "cn",
    "nsIndexType",
    "nsMatchingRule",
    "nsIndexIDListScanLimit",
    "nsSystemIndex",
    *LENGTHS,
    ALL_IDS,
    CREATED,
    MODIFIED,
    CREATOR,
)
"""The attributes read of an index entry."""

ATTRIBUTE_TYPE = pattern(r"[A-Za-z][A-Za-z0-9_-]{0,127}|(?=.{1,128}\Z)\d+(?:\.\d+)+", re.ASCII)
"""A descr or numericoid of RFC 4512; nsslapd-attribute-name-exceptions also allows the underscore."""
TYPES = ("subtree", "pres", "eq", "approx", "sub")
"""In the order in which they are compared: versions up to 1.2 compare only these first letters."""
NO_INDEX = "none"
SYSTEM = frozenset(
    {
        "aci",
        "entrydn",
        "entryrdn",
        "entryusn",
        "nscpentrydn",
        "nsds5replconflict",
        "nsuniqueid",
        "numsubordinates",
        "objectclass",
        "parentid",
        "tombstonenumsubordinates",
    }
)
"""Indexes that the server itself needs, whatever the value of nsSystemIndex."""
LEAST_THRESHOLD = 2000
"""DSEE uses this value in place of a lower one."""
VALUED = ({"eq"}, {"sub"})
"""The types for which a scan limit may name values."""
MOST_VALUES = 1000
"""Limit on matching rules, scan limits and values of a limit in one index; further ones are dropped."""


def definition_of(entry: Entry, name: str, document: Document) -> IndexDefinition | None:
    """Return the indexes of an attribute in its entry; None if `name` is not an attribute type."""
    attribute = name.partition(";")[0].strip()
    if ATTRIBUTE_TYPE.fullmatch(attribute) is None:
        document.note("An index whose name is not an attribute type was ignored.")
        return None
    types = _types(entry)
    limits = _scan_limits(entry.values("nsIndexIDListScanLimit"), types)
    if limits is None:
        document.note(
            f"A value of nsIndexIDListScanLimit for {attribute} is malformed: the server ignores all of them."
        )
    initial, middle, final = (_length(entry, name) for name in LENGTHS)
    return IndexDefinition(
        attribute=attribute,
        types=types,
        rules=tuple(_rules(entry)),
        scan_limits=limits or (),
        entry_limit=threshold_of(entry),
        initial=initial,
        middle=middle,
        final=final,
        system=attribute.lower() in SYSTEM or entry.first("nsSystemIndex").lower() == "true",
        created=generalized_time.parse(entry.first(CREATED)),
        modified=generalized_time.parse(entry.first(MODIFIED)),
        creator=comparable(entry.first(CREATOR)),
    )


def threshold_of(entry: Entry) -> int | None:
    """Return the entry limit of a suffix or an index of DSEE; 0: no limit, None: inherited."""
    threshold = rounded(entry.number(ALL_IDS))
    return 0 if threshold == -1 else threshold


def rounded(threshold: int | None) -> int | None:
    """Return the threshold that DSEE applies; -1: no limit, None: its default, which 0 also means."""
    if not threshold:
        return None
    return -1 if threshold < 0 else max(threshold, LEAST_THRESHOLD)


def _types(entry: Entry) -> frozenset[str]:
    """Return the types of an index; old versions write several into one value, and `none` disables all."""
    words = [word.strip().lower() for value in entry.values("nsIndexType") for word in value.split(",")]
    if NO_INDEX in words:
        return frozenset()
    return frozenset(one for word in words if (one := next(filter(word.startswith, TYPES), None)))


def _rules(entry: Entry) -> Iterator[str]:
    """Yield the matching rules; values that set substring lengths are left out."""
    for value in entry.values("nsMatchingRule")[:MOST_VALUES]:
        if value and not any(name.lower() in value.lower() for name in LENGTHS):
            yield value


def _length(entry: Entry, name: str) -> int | None:
    """Return a substring length in octets, from its attribute or else from a matching rule; None: not set, or 0."""
    if length := entry.number(name):
        return length if length > 0 else None
    for value in entry.values("nsMatchingRule"):
        if name.lower() in value.lower() and (length := whole_number(value.partition("=")[2].strip())):
            return length if length > 0 else None
    return None


def _scan_limits(values: tuple[str, ...], types: frozenset[str]) -> tuple[ScanLimit, ...] | None:
    """Return the scan limits of an index; None if one is malformed, because the server then ignores all of them."""
    limits = [_scan_limit(value, types) for value in values[:MOST_VALUES]]
    kept = tuple(limit for limit in limits if limit)
    return kept if len(kept) == len(limits) else None


def _scan_limit(value: str, types: frozenset[str]) -> ScanLimit | None:
    """Return one scan limit: `limit=N [type=eq,…] [flags=AND] [values=v,…]` in any order, each once.

    None: malformed.
    """
    parts: dict[str, str] = {}
    for word in value.split(" "):
        keyword, equals, rest = word.partition("=")
        if word and (not equals or not rest or keyword in parts):
            return None
        parts |= {keyword: rest} if word else {}
    limit = whole_number(parts.pop("limit", ""))
    of_types = frozenset(parts.pop("type", "").split(",")) - {""}
    flags = frozenset(parts.pop("flags", "").split(",")) - {""}
    literals = parts.pop("values", "")
    understood = of_types <= types & {"pres", "eq", "sub"} and flags <= {"AND"}
    if limit is None or limit < -1 or parts or not understood or (literals and of_types not in VALUED):
        return None
    return ScanLimit(limit=limit, types=of_types, flags=flags, values=tuple(map(_unescaped, _listed(literals))))


def _listed(literals: str) -> list[str]:
    return [one for one in literals.split(",")[:MOST_VALUES] if one]


def _unescaped(literal: str) -> str:
    """Return a value written as in a filter (RFC 4515) in the form of a parsed filter's values."""
    leaf = parse(f"(a={literal})")
    return leaf.value if isinstance(leaf, Assertion) and leaf.value is not None else literal
