"""One index entry of 389-ds or of DSEE.

    dn: cn=uid,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
    objectClass: nsIndex
    cn: uid
    nsSystemIndex: false
    nsIndexType: eq
    nsIndexType: sub
    nsMatchingRule: nsSubStrBegin=2
    nsIndexIDListScanLimit: limit=0 type=eq flags=AND values=root,admin

Source: ldap/servers/slapd/back-ldbm/ldbm_attr.c (attr_index_config, attr_index_parse_idlistsize), misc.c (the system
indexes); Oracle E28967, nsslapd-allidsthreshold(5dsconf).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import Assertion, parse
from ldapdiag.evidence.indexes import IndexDefinition, ScanLimit
from ldapdiag.evidence.ldif import whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

ALL_IDS = "nsslapd-allidsthreshold"
LENGTHS = ("nsSubStrBegin", "nsSubStrMiddle", "nsSubStrEnd")
INDEX_ATTRIBUTES = (
    "cn",
    "nsIndexType",
    "nsMatchingRule",
    "nsIndexIDListScanLimit",
    "nsSystemIndex",
    *LENGTHS,
    ALL_IDS,
)
"""What is read of an index entry."""

ATTRIBUTE_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,127}|(?=.{1,128}\Z)\d+(?:\.\d+)+", re.ASCII)
"""RFC 4512 descr or numericoid; the underscore is what nsslapd-attribute-name-exceptions lets in."""
TYPES = ("subtree", "pres", "eq", "approx", "sub")
"""In the order they are told apart by: versions up to 1.2 look at no more than these first letters."""
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
"""Indexes that the server needs for itself, whatever nsSystemIndex says."""
LEAST_THRESHOLD = 2000
"""DSEE takes a lower one for this."""
VALUED = ({"eq"}, {"sub"})
"""The types that a scan limit may be told for, value by value."""
MOST_VALUES = 1000
"""Matching rules, scan limits and values of a limit that one index may have; what is beyond is not kept."""


def definition_of(entry: Entry, name: str, document: Document) -> IndexDefinition | None:
    """Return what an entry says of the indexes of an attribute; None where `name` is none."""
    attribute = name.partition(";")[0].strip()
    if ATTRIBUTE_TYPE.fullmatch(attribute) is None:
        document.note("An index whose name is no attribute type was passed over.")
        return None
    types = _types(entry)
    limits = _scan_limits(entry.values("nsIndexIDListScanLimit"), types)
    if limits is None:
        document.note(f"A value of nsIndexIDListScanLimit for {attribute} is not well formed: the server heeds none.")
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
    )


def threshold_of(entry: Entry) -> int | None:
    """Return the entry limit of a suffix or an index of DSEE; 0 is none, None what is inherited."""
    threshold = rounded(entry.number(ALL_IDS))
    return 0 if threshold == -1 else threshold


def rounded(threshold: int | None) -> int | None:
    """Return the threshold that DSEE heeds; -1 is no limit, None its default (which a setting of 0 means)."""
    if not threshold:
        return None
    return -1 if threshold < 0 else max(threshold, LEAST_THRESHOLD)


def _types(entry: Entry) -> frozenset[str]:
    """Return the types of an index; old versions write several into one value, and `none` switches all off."""
    words = [word.strip().lower() for value in entry.values("nsIndexType") for word in value.split(",")]
    if NO_INDEX in words:
        return frozenset()
    return frozenset(one for word in words if (one := next(filter(word.startswith, TYPES), None)))


def _rules(entry: Entry) -> Iterator[str]:
    """Yield the matching rules, without what stands there of substring lengths."""
    for value in entry.values("nsMatchingRule")[:MOST_VALUES]:
        if value and not any(name.lower() in value.lower() for name in LENGTHS):
            yield value


def _length(entry: Entry, name: str) -> int | None:
    """Return a substring length: the attribute's, else the one that is written as a matching rule; 0 is none."""
    if length := entry.number(name):
        return length if length > 0 else None
    for value in entry.values("nsMatchingRule"):
        if name.lower() in value.lower() and (length := whole_number(value.partition("=")[2].strip())):
            return length if length > 0 else None
    return None


def _scan_limits(values: tuple[str, ...], types: frozenset[str]) -> tuple[ScanLimit, ...] | None:
    """Return the scan limits of an index; None when one is not well formed, for then the server keeps none of them."""
    limits = [_scan_limit(value, types) for value in values[:MOST_VALUES]]
    kept = tuple(limit for limit in limits if limit)
    return kept if len(kept) == len(limits) else None


def _scan_limit(value: str, types: frozenset[str]) -> ScanLimit | None:
    """Return one scan limit: `limit=N [type=eq,…] [flags=AND] [values=v,…]` in any order, each once."""
    told: dict[str, str] = {}
    for word in value.split(" "):
        keyword, equals, rest = word.partition("=")
        if word and (not equals or not rest or keyword in told):
            return None
        told |= {keyword: rest} if word else {}
    limit = whole_number(told.pop("limit", ""))
    of_types = frozenset(told.pop("type", "").split(",")) - {""}
    flags = frozenset(told.pop("flags", "").split(",")) - {""}
    literals = told.pop("values", "")
    understood = of_types <= types & {"pres", "eq", "sub"} and flags <= {"AND"}
    if limit is None or limit < -1 or told or not understood or (literals and of_types not in VALUED):
        return None
    return ScanLimit(limit=limit, types=of_types, flags=flags, values=tuple(map(_unescaped, _listed(literals))))


def _listed(literals: str) -> list[str]:
    return [one for one in literals.split(",")[:MOST_VALUES] if one]


def _unescaped(literal: str) -> str:
    """Return a value written as in a filter (RFC 4515), as the filters' own values are."""
    leaf = parse(f"(a={literal})")
    return leaf.value if isinstance(leaf, Assertion) and leaf.value is not None else literal
