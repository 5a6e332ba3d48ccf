"""Matching rules of OpenDJ, and which of them share the keys of one index.

From version 3 on an index is named by its matching rule, and rules that compare alike share one: an equality index by
caseIgnoreMatch is in order, so it answers `>=` and `<=` by caseIgnoreOrderingMatch and `abc*` by
caseIgnoreSubstringsMatch, too. Where the schema names no rule, the syntax decides. Both were read off OpenDJ 4.10.1.
OpenDS, OpenDJ 2, Oracle Unified Directory and PingDirectory keep an index per type.
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
"""Ordering rules, and substring rules for the piece at the beginning, by the equality rule whose keys they read."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The matching rules of an attribute type; empty: it has none."""

    equality: str
    ordering: str = ""
    substring: str = ""
    approximate: bool = False

    @property
    def equality_orders(self) -> bool:
        """Tell whether ranges are answered by the keys of the equality rule."""
        return bool(self.equality) and SHARED.get(self.ordering) == self.equality

    @property
    def equality_begins(self) -> bool:
        """Tell whether the beginning of a value is looked up in the keys of the equality rule."""
        return bool(self.equality) and SHARED.get(self.substring) == self.equality


TEXT = Rules("caseignorematch", "caseignoreorderingmatch", "caseignoresubstringsmatch", approximate=True)
PLAIN_TEXT = Rules("caseignorematch", "caseignoreorderingmatch", "caseignoresubstringsmatch")
OCTETS = Rules("octetstringmatch", "octetstringorderingmatch")
TIME = Rules("generalizedtimematch", "generalizedtimeorderingmatch", "caseignoresubstringsmatch")

LDAP = "1.3.6.1.4.1.1466.115.121.1."
OF_SYNTAX = {
    **{f"{LDAP}{arc}": TEXT for arc in (11, 14, 15, 26, 42, 43, 44)},
    **{f"{LDAP}{arc}": PLAIN_TEXT for arc in (22, 51, 52, 58)},
    **{f"{LDAP}{arc}": OCTETS for arc in (5, 9, 10, 21, 23, 25, 28, 40, 49)},
    **{f"{LDAP}{arc}": TIME for arc in (24, 53)},
    f"{LDAP}6": Rules("bitstringmatch"),
    f"{LDAP}7": Rules("booleanmatch"),
    f"{LDAP}8": Rules("certificateexactmatch", "octetstringorderingmatch"),
    f"{LDAP}12": Rules("distinguishednamematch", "", "caseignoresubstringsmatch"),
    f"{LDAP}27": Rules("integermatch", "integerorderingmatch", "caseexactsubstringsmatch"),
    f"{LDAP}34": Rules("uniquemembermatch", "", "caseignoresubstringsmatch"),
    f"{LDAP}36": Rules("numericstringmatch", "numericstringorderingmatch", "caseexactsubstringsmatch"),
    f"{LDAP}38": Rules("objectidentifiermatch", "", "caseignoresubstringsmatch"),
    f"{LDAP}39": Rules("caseignorelistmatch", "", "caseignorelistsubstringsmatch"),
    f"{LDAP}41": Rules("caseignorematch", "", "caseignoresubstringsmatch"),
    f"{LDAP}50": Rules("telephonenumbermatch", "", "telephonenumbersubstringsmatch"),
    "1.3.6.1.1.16.1": Rules("uuidmatch", "uuidorderingmatch"),
}
"""What holds where the schema names no rule (OpenDJ 4.10.1); RFC 4517 3.3, RFC 4530."""


def canonical(rule: str) -> str:
    """Return a rule's name in lower case, whether it is told by its name or its OID."""
    return NAMES.get(rule, rule.lower())


def rules_of(attribute: str, schema: Schema) -> Rules:
    """Return the rules of an attribute type; those of text where the schema does not know it or its syntax."""
    default = OF_SYNTAX.get(schema.syntax(attribute), TEXT)
    return Rules(
        equality=canonical(schema.equality(attribute)) or default.equality,
        ordering=canonical(schema.ordering(attribute)) or default.ordering,
        substring=canonical(schema.substring(attribute)) or default.substring,
        approximate=default.approximate,
    )
