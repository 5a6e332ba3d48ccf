"""What slapd itself searches for, and what it computes: the settings of overlays, databases and of slapd as a whole.

    refint_attributes member manager            olcRefintAttribute: member
    unique_uri ldap:///?uid,mail?sub            olcUniqueURI: ldap:///?uid,mail?sub
    overlay syncprov                            olcOverlay: {0}syncprov

No access log shows these searches. memberof is none of them: it reads entries by their names. Sources: the slapo-*(5)
pages, slapd.conf(5), servers/slapd/syncrepl.c; 2.5.13.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import assertions, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

COMPUTED = {"hassubordinates": "slapd", "subschemasubentry": "slapd"}
"""Operational attributes that slapd makes as it answers. (entryDN, too; but that it finds without an index.)"""

OVERLAYS: Mapping[str, tuple[str, ...]] = {
    "syncprov": ("entryCSN", "entryUUID"),
    "dds": ("entryExpireTimestamp",),
}
"""Those that search for the same attributes whatever they are told."""

ATTRIBUTE = re.compile(r"[A-Za-z0-9][\w.-]{0,254}", re.ASCII)
URL = re.compile(
    r"(?P<ignored>ignore\s+)?ldap:///[^?\s\"]*\?(?P<attributes>[^?\s\"]*)(?:\?[^?\s\"]*(?:\?(?P<filter>[^\s\"]*))?)?"
)
LIST_MEMBER = re.compile(r"(?P<member>[\w.-]+)\+(?P<member_of>[\w.-]+)(?P<static>@[\w.-]+)?\*?", re.ASCII)
ORDER = re.compile(r"\{\d{1,9}\}", re.ASCII)
LONGEST = 4096
"""Characters of a value that are looked at."""
MOST = 1000
"""Attributes kept."""


class SlapdInternalSearches:
    """Gathers the attributes that slapd searches for and those that it computes, in lower case, and by what."""

    def __init__(self) -> None:
        self.internal_searches: dict[str, str] = {}
        self.computed: dict[str, str] = dict(COMPUTED)

    def overlay(self, name: str) -> None:
        """Read that an overlay is in place: `syncprov`, `{0}syncprov`."""
        plain = ORDER.sub("", name.strip('"')).lower()
        self._rely(plain, OVERLAYS.get(plain, ()))

    def setting(self, name: str, value: str) -> None:
        """Read a directive of slapd.conf, or an attribute of cn=config, and its value."""
        if reader := SETTINGS.get(name.lower()):
            reader(self, ORDER.sub("", value[:LONGEST], count=1))

    def refint(self, value: str) -> None:
        """Read `member manager`."""
        self._rely("refint", value.split())

    def unique(self, value: str) -> None:
        """Read `uid mail` of before 2.4."""
        self._rely("unique", value.split())

    def unique_uri(self, value: str) -> None:
        """Read `strict ldap:///ou=people,dc=x?uid,mail?sub ldap:///?employeeNumber`."""
        for url in URL.finditer(value):
            if not url["ignored"]:
                self._rely("unique", url["attributes"].split(","))

    def constraint(self, value: str) -> None:
        """Read `manager uri ldap:///ou=people,dc=x?uid?one`."""
        for url in URL.finditer(value):
            self._rely("constraint", url["attributes"].split(","))

    def authz_regexp(self, value: str) -> None:
        """Read `uid=([^,]*),cn=gssapi,cn=auth ldap:///dc=x??sub?(uid=$1)`."""
        for url in URL.finditer(value):
            if tree := parse(url["filter"] or ""):
                self._rely("authz-regexp", (one.attribute for one in assertions(tree)))

    def access_log_purge(self, value: str) -> None:
        """Read that the access log is purged; the index is wanted in the log's own database."""
        if value:
            self._rely("accesslog", ("reqStart",))

    def syncrepl(self, value: str) -> None:
        """Read that a database is a consumer: it finds entries by their UUID, and stale ones by their CSN."""
        if value:
            self._rely("syncrepl", ("entryUUID", "entryCSN"))

    def dynamic_list(self, value: str) -> None:
        """Read `groupOfURLs memberURL member+memberOf@groupOfNames`.

        memberOf is computed, of static groups by searching for their members; member is in part, which hides no index.
        """
        for word in value.replace('"', " ").split()[2:]:
            if found := LIST_MEMBER.fullmatch(word):
                if len(self.computed) < MOST:
                    self.computed[found["member_of"].lower()] = "dynlist"
                if found["static"]:
                    self._rely("dynlist", (found["member"],))

    def collected(self, value: str) -> None:
        """Read `"ou=people,dc=x" telephoneNumber,l`."""
        names = value.split()[-1:]
        for name in ",".join(names).split(","):
            if ATTRIBUTE.fullmatch(name) and len(self.computed) < MOST:
                self.computed[name.lower()] = "collect"

    def _rely(self, what: str, attributes: Iterator[str] | list[str] | tuple[str, ...]) -> None:
        for attribute in attributes:
            name = attribute.strip('"').lower()
            if ATTRIBUTE.fullmatch(name) and len(self.internal_searches) < MOST:
                self.internal_searches.setdefault(name, what)


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
"""By directive, and by attribute, in lower case."""
