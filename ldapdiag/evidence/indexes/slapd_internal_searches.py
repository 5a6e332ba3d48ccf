"""Internal searches of slapd, and the attributes it computes, from the settings of overlays, databases and slapd.

    refint_attributes member manager            olcRefintAttribute: member
    unique_uri ldap:///?uid,mail?sub            olcUniqueURI: ldap:///?uid,mail?sub
    overlay syncprov                            olcOverlay: {0}syncprov
    access to * by set="[ldap:///ou=roles,dc=x??sub?(memberUid=] + user/uid + [)]/cn" write

Internal searches are not in the access log. The memberof overlay makes none: it reads entries by DN. That of refint,
`(member:dnSubtreeMatch:=…)`, reads every entry of 2.5.13 with an index and without.
Sources: the slapo-*(5) pages, slapd.conf(5); servers/slapd/syncrepl.c, sets.c and acl.c (sets), saslauthz.c,
overlays/*.c; contrib/slapd-modules/{autogroup,nssov}; 2.5.13, and for nestgroup and addcheck 2.6 and 2.7.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ldapdiag.evidence.indexes.internal_search import EVERY_ATTRIBUTE, InternalSearch
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

COMPUTED = {"hassubordinates": "slapd", "subschemasubentry": "slapd"}
"""Operational attributes that slapd computes for each answer. (So is entryDN, which it finds without an index.)"""

OVERLAYS: Mapping[str, tuple[str, ...]] = {
    "syncprov": ("entryCSN", "entryUUID"),
    "dds": ("entryExpireTimestamp",),
    "pcache": ("pcacheQueryID",),
    "nestgroup": ("member",),
}
"""Overlays that search for fixed attributes."""
NAME_SERVICE = (
    *("uid", "uidNumber", "gidNumber", "cn", "memberUid", "member", "uniqueMember", "memberNisNetgroup"),
    *("ipHostNumber", "ipNetworkNumber", "macAddress", "ipProtocolNumber", "ipServicePort", "oncRpcNumber"),
)
"""What nssov searches for, by its map of RFC 2307; searches of its maps alone are rare, so no index is advised."""
URLS_IN_ENTRIES = {
    "dynlist": "dynlist searches by the URLs in the entries of groups and lists",
    "autogroup": "autogroup searches by the URLs in the entries of groups",
}
"""Overlays that search for what the entries contain, and a sentence."""
WITHOUT_SEARCHES = frozenset(
    {
        *(
            "accesslog",
            "allowed",
            "auditlog",
            "chain",
            "collect",
            "constraint",
            "datamorph",
            "deref",
            "dyngroup",
            "glue",
        ),
        *("homedir", "lastbind", "lastmod", "memberof", "nops", "noopsrch", "otp", "ppolicy", "refint", "remoteauth"),
        *("retcode", "rwm", "seqmod", "smbk5pwd", "sssvlv", "translucent", "unique", "valsort"),
    }
)
"""Overlays that make no search, or only those that their settings below name."""

PLAIN_NAME = pattern(r"[A-Za-z0-9][\w.-]{0,254}", re.ASCII)
URL_START = "ldap:///"
ASSERTED = pattern(r"\(\s*([A-Za-z0-9][\w.-]{0,254})(?:;[\w;-]{1,255})?\s*(?:[<>~]?=|:)", re.ASCII)
"""An assertion of a filter. In a set, a filter need not be complete: `(uid=] + user/uid + [)`."""
LIST_MEMBER = pattern(r"(?P<member>[\w.-]+)\+(?P<member_of>[\w.-]+)(?P<static>@[\w.-]+)?\*?", re.ASCII)
ORDER = pattern(r"\{\d{1,9}\}", re.ASCII)
IGNORE = pattern(r'(?:^|["\s])ignore\s')
IN_SET = pattern(r"\sset\s")
WITHHELD = "(withheld)"
"""A value that a collection did not print."""
LONGEST = 16_384
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
        self.hidden: dict[str, None] = {}
        """Sentences on searches whose attributes the settings do not name."""

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
        if plain == "nssov":
            self._add(plain, NAME_SERVICE, frequent=False)
        elif plain in URLS_IN_ENTRIES:
            self._hide(URLS_IN_ENTRIES[plain])
        elif plain not in WITHOUT_SEARCHES | OVERLAYS.keys():
            named = plain if PLAIN_NAME.fullmatch(plain) else "of an invalid name"
            self._hide(f"what the overlay {named} searches for is not known")

    def setting(self, name: str, value: str) -> None:
        """Read a directive of slapd.conf or an attribute of cn=config, with its value."""
        if reader := SETTINGS.get(name.lower()):
            if len(value) > LONGEST or value == WITHHELD:
                self._hide(f"a value of {name} was too long to read, or withheld by the collection")
            reader(self, ORDER.sub("", value[:LONGEST], count=1))

    def refint(self, value: str) -> None:
        """Read `member manager`. It searches by dnSubtreeMatch, which no index answers, so none is advised."""
        self._add("refint", value.split(), frequent=False)

    def unique(self, value: str) -> None:
        """Read `uid mail`, from versions before 2.4."""
        self._add("unique", value.split())

    def unique_ignore(self, _value: str) -> None:
        """Read `objectClass ou`, from versions before 2.4: every other attribute is unique."""
        self._add("unique", (EVERY_ATTRIBUTE,), frequent=False)

    def unique_uri(self, value: str) -> None:
        """Read `strict ldap:///ou=people,dc=x?uid,mail?sub ldap:///?employeeNumber`."""
        but_these = IGNORE.search(value)
        for base, names, asserted in _urls(value):
            others = not names or but_these
            self._add("unique", (EVERY_ATTRIBUTE,) if others else names, base, frequent=not others)
            self._add("unique", asserted, base, frequent=False)

    def constraint(self, value: str) -> None:
        """Read `manager uri ldap:///ou=people,dc=x?uid?one`, and the URLs in a set."""
        in_set = IN_SET.search(value)
        for base, names, asserted in _urls(value):
            if not in_set:
                self._add("constraint", names, base)
            self._add("constraint", asserted, base, frequent=False)

    def access(self, value: str) -> None:
        """Read the URLs in the sets of an access rule. Their bases may be computed, and the rule rarely applied."""
        for *_, asserted in _urls(value):
            self._add("a set of an access rule", asserted, frequent=False)

    def authz_regexp(self, value: str) -> None:
        """Read `uid=([^,]*),cn=gssapi,cn=auth ldap:///dc=x??sub?(uid=$1)`."""
        for base, _, asserted in _urls(value):
            self._add("authz-regexp", asserted, base)

    def authz_policy(self, value: str) -> None:
        """Read `to`, with which the authzTo of entries may contain URLs."""
        if value.strip().lower() not in {"", "none"}:
            self._hide("authz-policy: slapd searches by the URLs in authzTo and authzFrom of the entries")

    def access_log_purge(self, value: str) -> None:
        """Read the purge setting of the access log, which needs an index in the log's own database."""
        if value:
            self._add("accesslog", ("reqStart",), self.log_suffixes.get(self.database, ""))

    def access_log_database(self, value: str) -> None:
        """Read the suffix of the access log's own database, in which a consumer resolves conflicts by reqDN."""
        if len(self.log_suffixes) < MOST:
            self.log_suffixes[self.database] = value.strip('"')
        self._add("accesslog", ("reqDN", "reqStart"), value.strip('"'), frequent=False)

    def session_log(self, value: str) -> None:
        """Read the suffix of the access log in which syncprov looks for what a consumer missed."""
        self._add("syncprov", ("entryCSN", "reqStart", "reqDN", "reqResult"), value.strip('"'), frequent=False)

    def syncrepl(self, value: str) -> None:
        """Read the setting of a consumer, which finds entries by UUID, and stale ones by CSN."""
        if value:
            self._add("syncrepl", ("entryUUID", "entryCSN"))

    def add_check(self, value: str) -> None:
        """Read the setting with which memberof searches for the groups of a new entry."""
        if value.strip().lower() in {"true", "yes", "on"}:
            self._add("memberof", ("member",))

    def nested_member(self, value: str) -> None:
        """Read the attribute that nestgroup searches for in place of member."""
        self._add("nestgroup", value.split())

    def name_service_map(self, value: str) -> None:
        """Read `passwd uid sAMAccountName`: nssov searches for the last."""
        self._add("nssov", value.split()[-1:], frequent=False)

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

    def _add(self, overlay: str, attributes: Iterable[str], base: str = "", *, frequent: bool = True) -> None:
        bases = (unquote(base),) if base and "$" not in base else ()
        for attribute in attributes:
            name = attribute.strip('"')
            if name != EVERY_ATTRIBUTE and not PLAIN_NAME.fullmatch(name):
                continue
            if len(self.found) >= MOST:
                self._hide(f"slapd searches for more than {MOST:,} attributes")
                return
            self.found[self.database, InternalSearch(attribute=name, by=overlay, bases=bases, frequent=frequent)] = None

    def _hide(self, sentence: str) -> None:
        if len(self.hidden) < MOST:
            self.hidden[sentence] = None


def _urls(value: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield of each LDAP URL its base, the attributes it names, and those that its filter asserts."""
    for url in value.split(URL_START)[1:]:
        base, *rest = url.split("?", 2)
        names = [name.strip() for name in rest[0].split(",") if name.strip()] if rest else []
        yield base.strip('" '), names, ASSERTED.findall(url)


def reduced_urls(value: str) -> str:
    """Return of a setting only its LDAP URLs, without the values in their filters: they may contain account names."""
    return " ".join(
        f"{URL_START}{base}?{','.join(names)}?sub?{''.join(f'({name}=)' for name in asserted)}"
        for base, names, asserted in _urls(value[:LONGEST])
    )


SETTINGS: Mapping[str, Callable[[SlapdInternalSearches, str], None]] = {
    "refint_attributes": SlapdInternalSearches.refint,
    "olcrefintattribute": SlapdInternalSearches.refint,
    "unique_attributes": SlapdInternalSearches.unique,
    "olcuniqueattribute": SlapdInternalSearches.unique,
    "unique_ignore": SlapdInternalSearches.unique_ignore,
    "olcuniqueignore": SlapdInternalSearches.unique_ignore,
    "unique_uri": SlapdInternalSearches.unique_uri,
    "olcuniqueuri": SlapdInternalSearches.unique_uri,
    "constraint_attribute": SlapdInternalSearches.constraint,
    "olcconstraintattribute": SlapdInternalSearches.constraint,
    "access": SlapdInternalSearches.access,
    "olcaccess": SlapdInternalSearches.access,
    "authz-regexp": SlapdInternalSearches.authz_regexp,
    "sasl-regexp": SlapdInternalSearches.authz_regexp,
    "saslregexp": SlapdInternalSearches.authz_regexp,
    "olcauthzregexp": SlapdInternalSearches.authz_regexp,
    "authid-rewriterule": SlapdInternalSearches.authz_regexp,
    "olcauthidrewrite": SlapdInternalSearches.authz_regexp,
    "authz-policy": SlapdInternalSearches.authz_policy,
    "sasl-authz-policy": SlapdInternalSearches.authz_policy,
    "olcauthzpolicy": SlapdInternalSearches.authz_policy,
    "logdb": SlapdInternalSearches.access_log_database,
    "olcaccesslogdb": SlapdInternalSearches.access_log_database,
    "logpurge": SlapdInternalSearches.access_log_purge,
    "olcaccesslogpurge": SlapdInternalSearches.access_log_purge,
    "syncprov-sessionlog-source": SlapdInternalSearches.session_log,
    "olcspsessionlogsource": SlapdInternalSearches.session_log,
    "syncrepl": SlapdInternalSearches.syncrepl,
    "olcsyncrepl": SlapdInternalSearches.syncrepl,
    "memberof-addcheck": SlapdInternalSearches.add_check,
    "olcmemberofaddcheck": SlapdInternalSearches.add_check,
    "nestgroup-member": SlapdInternalSearches.nested_member,
    "olcnestgroupmember": SlapdInternalSearches.nested_member,
    "nssov-map": SlapdInternalSearches.name_service_map,
    "olcnssmap": SlapdInternalSearches.name_service_map,
    "dynlist-attrset": SlapdInternalSearches.dynamic_list,
    "olcdynlistattrset": SlapdInternalSearches.dynamic_list,
    "olcdlattrset": SlapdInternalSearches.dynamic_list,
    "collectinfo": SlapdInternalSearches.collected,
    "olccollectinfo": SlapdInternalSearches.collected,
}
"""By directive of slapd.conf and attribute of cn=config, in lower case."""
