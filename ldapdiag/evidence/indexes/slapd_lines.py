"""Index lines of slapd: the arguments of `index` in slapd.conf, and the values of olcDbIndex.

    objectClass eq
    cn,sn,mail pres,eq,sub
    default pres,eq                        the types of attributes without types in the lines below; cumulative
    name eq,nosubtypes

Each attribute of a line gets its own index. slapd refuses a second line for an attribute, an unknown type, and an
attribute without types before any default. It accepts two of subinitial, subany and subfinal, but cn=config then shows
none of them: after a conversion from slapd.conf they are lost (2.5.13, slap_index2bv). No attribute is indexed by
default (slapd 2.5.13: not even objectClass, which every search then scans for).
Sources: slapd-mdb(5); servers/slapd/index.c, back-mdb/attr.c.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes import IndexDefinition
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

DATABASES = frozenset({"mdb", "bdb", "hdb", "ldbm", "wt"})
"""Kinds of database that have index lines."""

TYPES = frozenset({"pres", "eq", "approx", "sub", "subinitial", "subany", "subfinal"})
PARTS_OF_SUB = frozenset({"subinitial", "subany", "subfinal"})
NO_SUBTYPES = "nosubtypes"
NO_TAGS = "notags"
ALIASES = {"substr": "sub", "nolang": NO_TAGS}
MOST_ATTRIBUTES = 10_000
"""Limit on attributes of one database; further ones are dropped."""

ATTRIBUTE = pattern(r"[A-Za-z0-9][\w.-]{0,254}(?:;[\w-]{1,64}){0,8}", re.ASCII)
"""An attribute; with options the index is for these only: `index cn;lang-fr eq`."""
LONGEST_LINE = 4096


class IndexLines:
    """The index lines of one database, in order."""

    def __init__(self) -> None:
        self.default: frozenset[str] = frozenset()
        self.definitions: dict[str, IndexDefinition] = {}
        """By attribute in lower case."""
        self.refused: list[str] = []
        """Lines that slapd would refuse."""

    def take(self, line: str) -> None:
        """Read one line."""
        words = line.replace('"', "").split()
        attributes = words[0].split(",") if words and len(line) <= LONGEST_LINE else []
        types = _types(words[1]) if len(words) > 1 else self.default
        if not (attributes and types and len(words) <= 2):
            self.refused.append(line)
            return
        for attribute in filter(None, attributes):
            if attribute.lower() == "default":
                self.default |= types
            elif ATTRIBUTE.fullmatch(attribute) and len(self.definitions) < MOST_ATTRIBUTES:
                self.definitions.setdefault(attribute.lower(), _definition(attribute, types, line))
            else:
                self.refused.append(line)


def _types(text: str) -> frozenset[str]:
    """Return the types and flags in a line, without aliases; empty if slapd would refuse one of them."""
    words = frozenset(_words(text))
    if not words <= TYPES | {NO_SUBTYPES, NO_TAGS}:
        return frozenset()
    return words - PARTS_OF_SUB | {"sub"} if "sub" in words or words >= PARTS_OF_SUB else words


def _words(text: str) -> Iterator[str]:
    for word in filter(None, text.lower().split(",")):
        yield ALIASES.get(word, word)


def _definition(attribute: str, types: frozenset[str], line: str) -> IndexDefinition:
    return IndexDefinition(
        attribute=attribute,
        types=types & TYPES,
        subtypes=NO_SUBTYPES not in types,
        options=NO_TAGS not in types,
        written=line,
    )
