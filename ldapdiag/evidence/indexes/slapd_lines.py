"""Index lines of slapd: what stands behind `index` in slapd.conf, and in an olcDbIndex value.

    objectClass eq
    cn,sn,mail pres,eq,sub
    default pres,eq                        adds to what an attribute gets that names no types, on the lines below it
    name eq,nosubtypes

Sources: slapd-mdb(5); servers/slapd/index.c, back-mdb/attr.c. A line gives each of its attributes its own index; slapd
refuses a second line for one attribute, a type it does not know, and an attribute without types before any default.
What has two of subinitial, subany and subfinal slapd keeps, and shows in cn=config without any of them: after a
conversion from slapd.conf they are gone (2.5.13, slap_index2bv).
Nothing is indexed without being told (slapd 2.5.13: not even objectClass, which it then scans for in every search).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes import IndexDefinition

if TYPE_CHECKING:
    from collections.abc import Iterator

DATABASES = frozenset({"mdb", "bdb", "hdb", "ldbm", "wt"})
"""Kinds of database that have such lines."""

TYPES = frozenset({"pres", "eq", "approx", "sub", "subinitial", "subany", "subfinal"})
PARTS_OF_SUB = frozenset({"subinitial", "subany", "subfinal"})
NO_SUBTYPES = "nosubtypes"
NO_TAGS = "notags"
ALIASES = {"substr": "sub", "nolang": NO_TAGS}
MOST_ATTRIBUTES = 10_000
"""Of one database; what is beyond is not kept."""

ATTRIBUTE = re.compile(r"[A-Za-z0-9][\w.-]{0,254}(?:;[\w-]{1,64}){0,8}", re.ASCII)
"""With options, it is an index for these alone: `index cn;lang-fr eq`."""
LONGEST_LINE = 4096


class IndexLines:
    """The index lines of one database, in their order."""

    def __init__(self) -> None:
        self.default: frozenset[str] = frozenset()
        self.definitions: dict[str, IndexDefinition] = {}
        """By attribute in lower case."""
        self.passed_over: list[str] = []
        """Lines that slapd would refuse."""

    def take(self, line: str) -> None:
        """Read one line."""
        words = line.replace('"', "").split()
        attributes = words[0].split(",") if words and len(line) <= LONGEST_LINE else []
        types = _types(words[1]) if len(words) > 1 else self.default
        if not (attributes and types and len(words) <= 2):
            self.passed_over.append(line)
            return
        for attribute in filter(None, attributes):
            if attribute.lower() == "default":
                self.default |= types
            elif ATTRIBUTE.fullmatch(attribute) and len(self.definitions) < MOST_ATTRIBUTES:
                self.definitions.setdefault(attribute.lower(), _definition(attribute, types, line))
            else:
                self.passed_over.append(line)


def _types(text: str) -> frozenset[str]:
    """Return the types and specials a line names, in slapd's own spelling; empty where it would refuse one of them."""
    told = frozenset(_told(text))
    if not told <= TYPES | {NO_SUBTYPES, NO_TAGS}:
        return frozenset()
    return told - PARTS_OF_SUB | {"sub"} if "sub" in told or told >= PARTS_OF_SUB else told


def _told(text: str) -> Iterator[str]:
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
