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

Internal searches of slapd, and the attributes it computes, from the settings of overlays, databases and slapd.

    refint_attributes member manager            olcRefintAttribute: member
    unique_uri ldap:///?uid,mail?sub            olcUniqueURI: ldap:///?uid,mail?sub
    overlay syncprov                            olcOverlay: {0}syncprov

Internal searches are not in the access log. The memberof overlay makes none: it reads entries by DN.
Sources: the slapo-*(5) pages, slapd.conf(5), servers/slapd/syncrepl.c; 2.5.13.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ldapdiag.evidence.filter_tree import assertions, parse
from ldapdiag.evidence.indexes import IndexDefinition
from ldapdiag.evidence.indexes.internal_search import InternalSearch
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

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


COMPUTED = {"hassubordinates": "slapd", "subschemasubentry": "slapd"}
"""Operational attributes that slapd computes for each answer. (So is entryDN, which it finds without an index.)"""

OVERLAYS: Mapping[str, tuple[str, ...]] = {
    "syncprov": ("entryCSN", "entryUUID"),
    "dds": ("entryExpireTimestamp",),
}
"""Overlays that search for fixed attributes."""

PLAIN_NAME = pattern(r"[A-Za-z0-9][\w.-]{0,254}", re.ASCII)
URL = pattern(
    r"(?P<ignored>ignore\s+)?ldap:///(?P<base>[^?\s\"]*)\?(?P<attributes>[^?\s\"]*)(?:\?[^?\s\"]*(?:\?(?P<filter>[^\s\"]*))?)?"
)
LIST_MEMBER = pattern(r"(?P<member>[\w.-]+)\+(?P<member_of>[\w.-]+)(?P<static>@[\w.-]+)?\*?", re.ASCII)
ORDER = pattern(r"\{\d{1,9}\}", re.ASCII)
LONGEST = 4096
"""Characters of a value that are read."""
MOST = 1000
"""Limit on attributes; further ones are dropped."""


class SlapdInternalSearches:
    """Collects the attributes that slapd searches for and those it computes, in lower case, with the overlay."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, InternalSearch], None] = {}
        """With the database of the overlay or setting; empty: not known, or of all."""
        self.database = ""
        """The database of what is read next."""
        self.log_suffixes: dict[str, str] = {}
        """The suffix of the access log's own database, by the database that is logged."""
        self.computed: dict[str, str] = dict(COMPUTED)

    def searches(self, suffixes_of: Mapping[str, tuple[str, ...]]) -> tuple[InternalSearch, ...]:
        """Return the searches, each below its own base or the suffixes of its database."""
        only = next(iter(suffixes_of.values())) if len(suffixes_of) == 1 else ()
        placed = (
            search if search.bases else replace(search, bases=suffixes_of.get(database, only))
            for database, search in self.found
        )
        return tuple(dict.fromkeys(one if one.bases else replace(one, frequent=False) for one in placed))

    def overlay(self, name: str) -> None:
        """Read the name of an overlay: `syncprov`, `{0}syncprov`."""
        plain = ORDER.sub("", name.strip('"')).lower()
        self._add(plain, OVERLAYS.get(plain, ()))

    def setting(self, name: str, value: str) -> None:
        """Read a directive of slapd.conf or an attribute of cn=config, with its value."""
        if reader := SETTINGS.get(name.lower()):
            reader(self, ORDER.sub("", value[:LONGEST], count=1))

    def refint(self, value: str) -> None:
        """Read `member manager`."""
        self._add("refint", value.split())

    def unique(self, value: str) -> None:
        """Read `uid mail`, from versions before 2.4."""
        self._add("unique", value.split())

    def unique_uri(self, value: str) -> None:
        """Read `strict ldap:///ou=people,dc=x?uid,mail?sub ldap:///?employeeNumber`."""
        for url in URL.finditer(value):
            if not url["ignored"]:
                self._add("unique", url["attributes"].split(","), url["base"])

    def constraint(self, value: str) -> None:
        """Read `manager uri ldap:///ou=people,dc=x?uid?one`."""
        for url in URL.finditer(value):
            self._add("constraint", url["attributes"].split(","), url["base"])

    def authz_regexp(self, value: str) -> None:
        """Read `uid=([^,]*),cn=gssapi,cn=auth ldap:///dc=x??sub?(uid=$1)`."""
        for url in URL.finditer(value):
            if tree := parse(url["filter"] or ""):
                self._add("authz-regexp", (assertion.name for assertion in assertions(tree)), url["base"])

    def access_log_purge(self, value: str) -> None:
        """Read the purge setting of the access log, which needs an index in the log's own database."""
        if value:
            self._add("accesslog", ("reqStart",), self.log_suffixes.get(self.database, ""))

    def access_log_database(self, value: str) -> None:
        """Read the suffix of the access log's own database."""
        if len(self.log_suffixes) < MOST:
            self.log_suffixes[self.database] = value.strip('"')

    def syncrepl(self, value: str) -> None:
        """Read the setting of a consumer, which finds entries by UUID, and stale ones by CSN."""
        if value:
            self._add("syncrepl", ("entryUUID", "entryCSN"))

    def dynamic_list(self, value: str) -> None:
        """Read `groupOfURLs memberURL member+memberOf@groupOfNames`.

        memberOf is computed, for static groups by searching for the member. member is computed in part only, so its
        index is still used.
        """
        for word in value.replace('"', " ").split()[2:]:
            if found := LIST_MEMBER.fullmatch(word):
                if len(self.computed) < MOST:
                    self.computed[found["member_of"].lower()] = "dynlist"
                if found["static"]:
                    self._add("dynlist", (found["member"],))

    def collected(self, value: str) -> None:
        """Read `"ou=people,dc=x" telephoneNumber,l`."""
        names = value.split()[-1:]
        for name in ",".join(names).split(","):
            if PLAIN_NAME.fullmatch(name) and len(self.computed) < MOST:
                self.computed[name.lower()] = "collect"

    def _add(self, overlay: str, attributes: Iterable[str], base: str = "") -> None:
        bases = (unquote(base),) if base and "$" not in base else ()
        for attribute in attributes:
            name = attribute.strip('"')
            if PLAIN_NAME.fullmatch(name) and len(self.found) < MOST:
                search = InternalSearch(attribute=name, by=overlay, bases=bases, frequent=True)
                self.found[self.database, search] = None


SETTINGS: Mapping[str, Callable[[SlapdInternalSearches, str], None]] = {
    "refint_attributes": SlapdInternalSearches.refint,
    "olcrefintattribute": SlapdInternalSearches.refint,
    "unique_attributes": SlapdInternalSearches.unique,
    "olcuniqueattribute": SlapdInternalSearches.unique,
    "unique_uri": SlapdInternalSearches.unique_uri,
    "olcuniqueuri": SlapdInternalSearches.unique_uri,
    "constraint_attribute": SlapdInternalSearches.constraint,
    "olcconstraintattribute": SlapdInternalSearches.constraint,
    "authz-regexp": SlapdInternalSearches.authz_regexp,
    "olcauthzregexp": SlapdInternalSearches.authz_regexp,
    "logdb": SlapdInternalSearches.access_log_database,
    "olcaccesslogdb": SlapdInternalSearches.access_log_database,
    "logpurge": SlapdInternalSearches.access_log_purge,
    "olcaccesslogpurge": SlapdInternalSearches.access_log_purge,
    "syncrepl": SlapdInternalSearches.syncrepl,
    "olcsyncrepl": SlapdInternalSearches.syncrepl,
    "dynlist-attrset": SlapdInternalSearches.dynamic_list,
    "olcdynlistattrset": SlapdInternalSearches.dynamic_list,
    "olcdlattrset": SlapdInternalSearches.dynamic_list,
    "collectinfo": SlapdInternalSearches.collected,
    "olccollectinfo": SlapdInternalSearches.collected,
}
"""By directive of slapd.conf and attribute of cn=config, in lower case."""
