"""Attribute type descriptions (RFC 4512, 4.1.2), as published by servers and as written by administrators.

    ( 2.5.4.4 NAME ( 'sn' 'surname' ) DESC 'RFC2256: last (family) name(s)' SUP name )
    {7}( OLcfgGlAt:12 NAME 'olcConcurrency' EQUALITY integerMatch SYNTAX OMsInteger SINGLE-VALUE )
    ( nsAdminGroupName-oid NAME 'nsAdminGroupName' SYNTAX '1.3.6.1.4.1.1466.115.121.1.15' X-ORIGIN 'Netscape' )

The order of the parts, their case and the blanks between them do not matter. OpenLDAP has macros for OIDs
(slapd.conf(5), objectidentifier), numbers values in braces and accepts types without OID; Netscape's servers have names
in place of OIDs, or quote them. Truncated and other texts are None.

Making one Schema from attribute types, and merging the schemas of one server.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ldapdiag.evidence.schema import AttributeType, Schema
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ldapdiag.evidence.origin import Origin

LONGEST = 1 << 16
"""Characters of one description; longer ones are not understood."""
MOST_NAMES = 64
"""Limit on names of one type; further ones are dropped."""
DEEPEST_MACRO = 8
FLAGS = frozenset({"OBSOLETE", "SINGLE-VALUE", "COLLECTIVE", "NO-USER-MODIFICATION"})
"""Keywords without a value."""

ORDER = pattern(r"\s*(?:\{\d{1,9}\})?\s*", re.ASCII)
TOKEN = pattern(
    r"""\s*(?:(?P<sign>[()$])
    |'(?P<quoted>.*?)'(?=[\s()'$]|\Z)       # an apostrophe within a word is part of the text: 'the owner's name'
    |(?P<word>[^\s()'$]+))""",
    re.VERBOSE | re.DOTALL,
)
NAME = pattern(r"[A-Za-z0-9][\w.-]{0,254}", re.ASCII)
"""A descr of RFC 4512; servers also accept an underscore, a dot, and a digit as the first character."""
OID = pattern(r"[A-Za-z0-9][\w.:-]{0,254}", re.ASCII)

Token = tuple[str, bool]
"""A word, a quoted value or a sign, and whether it is a word or a quoted value."""


def attribute_type(text: str, macros: Mapping[str, str] | None = None) -> AttributeType | None:
    """Return the attribute type of a description, with macros (by their names in lower case) expanded.

    Of a part that is written twice the last counts. None: the text is not an attribute type description.
    """
    start = ORDER.match(text)
    tokens = _tokens(text[start.end() :]) if start and len(text) <= LONGEST else None
    parts = _parts(tokens) if tokens else None
    if parts is None:
        return None
    names = tuple(islice((name for name in parts.get("NAME", ()) if NAME.fullmatch(name)), MOST_NAMES))
    oid = expanded(_first(parts, "OID"), macros or {}) or "".join(names[:1])
    if not OID.fullmatch(oid):
        return None
    return AttributeType(
        oid=oid,
        names=names,
        sup=_rule(parts, "SUP", macros),
        equality=_rule(parts, "EQUALITY", macros),
        ordering=_rule(parts, "ORDERING", macros),
        substring=_rule(parts, "SUBSTR", macros),
        syntax=_rule(parts, "SYNTAX", macros),
        usage=_first(parts, "USAGE"),
    )


def expanded(oid: str, macros: Mapping[str, str]) -> str:
    """Return an OID with its macro expanded: `OMsyn:15`, where OMsyn is 1.3.6.1.4.1.1466.115.121.1."""
    for _ in range(DEEPEST_MACRO):
        name, colon, rest = oid.partition(":")
        meaning = macros.get(name.lower())
        if meaning is None or len(meaning) + len(rest) > LONGEST:
            break
        oid = f"{meaning}.{rest}" if colon else meaning
    return oid


def _tokens(text: str) -> list[Token] | None:
    """Return the tokens between the outer parentheses; None if the closing one is missing."""
    tokens: list[Token] = []
    depth = at = 0
    while found := TOKEN.match(text, at):
        at = found.end()
        sign = found["sign"]
        depth += {"(": 1, ")": -1}.get(sign or "", 0)
        if depth == 0:
            return tokens[1:] if sign else None
        tokens.append((sign or found["word"] or found["quoted"] or "", sign is None))
    return None


def _parts(tokens: list[Token]) -> dict[str, tuple[str, ...]] | None:
    """Return the values by keyword in upper case, the OID as `OID`; None if a keyword is missing."""
    parts: dict[str, tuple[str, ...]] = {}
    at = 0
    if tokens[0][1] and tokens[0][0].upper() != "NAME":
        parts["OID"] = (tokens[0][0],)
        at = 1
    while at < len(tokens):
        word, is_value = tokens[at]
        if not is_value:
            return None
        at += 1
        if word.upper() not in FLAGS:
            parts[word.upper()], at = _values(tokens, at)
    return parts


def _values(tokens: list[Token], at: int) -> tuple[tuple[str, ...], int]:
    """Return the value at this position, or the values in parentheses, and the position of the next keyword."""
    if at < len(tokens) and tokens[at] == ("(", False):
        end = next(end for end in range(at, len(tokens) + 1) if tokens[end : end + 1] in ([], [(")", False)]))
        return tuple(word for word, is_value in tokens[at:end] if is_value), end + 1
    return tuple(word for word, is_value in tokens[at : at + 1] if is_value), at + 1


def _first(parts: Mapping[str, tuple[str, ...]], keyword: str) -> str:
    return next(iter(parts.get(keyword, ())), "")


def _rule(parts: Mapping[str, tuple[str, ...]], keyword: str, macros: Mapping[str, str] | None) -> str:
    """Return a name or an OID in lower case, without the `{256}` of a syntax; empty for any other text."""
    rule = expanded(_first(parts, keyword).partition("{")[0], macros or {}).lower()
    return rule if OID.fullmatch(rule) else ""


MOST_TYPES = 1 << 16
"""Limit on attribute types, more than ten times what any server has; further ones are dropped."""


def schema_of(types: Iterable[AttributeType], origin: Origin, *, whole: bool) -> Schema:
    """Return a schema of these types, by their names and OIDs; of two types with one name the later counts."""
    known: dict[str, AttributeType] = {}
    for one in types:
        known.update(dict.fromkeys((one.oid.lower(), *map(str.lower, one.names)), one))
    return Schema(origin=origin, types=known, whole=whole)


def merged(schemas: Sequence[Schema]) -> Schema | None:
    """Return the merged schema of one server; for each name the first schema counts. None: there are no schemas.

    A complete schema is returned alone, because it also shows which types the server does not have. Excerpts are
    combined, with the standard schema as the last.
    """
    counted = [schema for schema in schemas if schema.whole][:1] or schemas
    if not counted:
        return None
    known: dict[str, AttributeType] = {}
    for schema in counted:
        for name, one in schema.types.items():
            known.setdefault(name, one)
    return replace(counted[0], types=known)
