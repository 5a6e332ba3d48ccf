r"""Filters as Active Directory rewrites them for event 1644, in the form of RFC 4515.

     ( &  (a=b)  ( ! (c=d) ) )            (&(a=b)(!(c=d)))
     (member<==>CN=x)                     (member:1.2.840.113556.1.4.1941:=CN=x)           in chain
     (userAccountControl&2)               (userAccountControl:1.2.840.113556.1.4.803:=2)   all bits; | any: ...804
     (UNDEFINED)                          (?UNDEFINED=*)       an attribute or a value that the schema does not have

The last as slapd marks what it could not evaluate (filter_tree.py). Sources: samples of MaLDAPtive's
ConvertFrom-LdapServerWinEvent; MS-ADTS 3.1.1.3.4.4, "LDAP matching rules".
"""

from __future__ import annotations

import re

from ldapdiag.lazy_pattern import pattern

RULES = {
    b"<==>": b":1.2.840.113556.1.4.1941:=",
    b"&": b":1.2.840.113556.1.4.803:=",
    b"|": b":1.2.840.113556.1.4.804:=",
}
UNDEFINED = b"(?UNDEFINED=*)"
PART = pattern(
    rb"""\s*+(?:\(\s*+(?P<set>[&|!])(?=\s*+[()]) | (?P<end>\)) | \(\s*(?P<undefined>UNDEFINED)\s*\)
    | \(\s*+(?P<name>[^()&|=<>~:\s!]++)\s*(?P<rule><==>|&|\|)(?P<operand>[^()]*+)\) | (?P<rest>\([^()]*+\)))""",
    re.VERBOSE,
)


def rewritten(text: bytes) -> bytes:
    """Return a filter in the form of RFC 4515; unchanged from where it is none. Never raises."""
    parts: list[bytes] = []
    at = 0
    while found := PART.match(text, at):
        at = found.end()
        kind = found.lastgroup
        if kind == "set":
            parts.append(b"(" + found["set"])
        elif kind == "operand":
            parts += [b"(", found["name"], RULES[found["rule"]], found["operand"], b")"]
        else:
            parts.append(UNDEFINED if kind == "undefined" else found[0].strip())
    return b"".join((*parts, text[at:].strip()))
