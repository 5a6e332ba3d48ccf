"""Matching rules of 389-ds in extensible matches: which have keys, and the value of nsMatchingRule that makes them.

    (uid:caseExactMatch:=x)     answered by an index with nsMatchingRule: caseExactMatch
    (uid:2.5.13.5:=x)           the same rule, but answered only by an index with nsMatchingRule: 2.5.13.5
    (cn:fr:=x), (cn:fr.5:=x)    answered by an index with the OID of the language; `fr` as nsMatchingRule has no effect
    (uid:caseExactOrderingMatch:=x), (uidNumber:1.2.840.113556.1.4.803:=2)        by no index
    (uid:=x), (uid:dn:=x)       no rule: by no index

A rule is compared as written, upper and lower case included. The index needs a type as well: with the type `none` alone
the rule has no effect after a restart. Each rule of the schema of 2.3.1 was tried with 2.3.1 (tests/live).
"""

from __future__ import annotations

from dataclasses import dataclass

from ldapdiag.servers.ds389.collations import collation

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
