"""Matching rules of OpenDJ, and those that share the keys of one index.

From version 3 on OpenDJ has an index per matching rule, which rules with the same keys share: the keys of an equality
index by caseIgnoreMatch are sorted, so it also answers `>=` and `<=` by caseIgnoreOrderingMatch and `abc*` by
caseIgnoreSubstringsMatch. If the schema has no rule for an attribute, its syntax determines one. Both were tested with
OpenDJ 4.10.1. OpenDS, OpenDJ 2, Oracle Unified Directory and PingDirectory have an index per type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldapdiag.evidence.schema import Schema

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
