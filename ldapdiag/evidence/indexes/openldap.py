"""The indexes in OpenLDAP's cn=config, from slapcat -n0, a search, or an excerpt.

    dn: olcDatabase={1}mdb,cn=config
    olcSuffix: dc=example,dc=com
    olcDbIndex: objectClass eq
    olcDbIndex: cn,sn pres,eq,sub

The files of slapd.d contain DNs without `,cn=config`. slapd's internal searches: slapd_internal_searches.py.
Sources: slapd-config(5), slapd-mdb(5).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import CONFIG
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, SubstringKeys
from ldapdiag.evidence.indexes.slapd_internal_searches import SlapdInternalSearches
from ldapdiag.evidence.indexes.slapd_limits import MOST_RULES, AccountLimits, default_settings, limits_rule
from ldapdiag.evidence.indexes.slapd_lines import DATABASES, IndexLines
from ldapdiag.evidence.monitor import generalized_time
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

BELOW_CONFIG = ",cn=config"
DATABASE = pattern(r"olcdatabase=(?P<name>\{-?\d{1,6}\}(?P<kind>[a-z]+))(?P<whole>,cn=config)?", re.ASCII)
OF_SLAPD_D = ("olcdatabase=", "olcoverlay=")
MOST_DATABASES = 1000
REFUSED = "Index lines that slapd would refuse are ignored."

SUBSTRING_KEYS = ("olcIndexSubstrIfMinLen", "olcIndexSubstrIfMaxLen", "olcIndexSubstrAnyLen", "olcIndexSubstrAnyStep")
OVERLAY = "olcOverlay"
OWN_SEARCHES = (
    "olcRefintAttribute",
    "olcUniqueAttribute",
    "olcUniqueIgnore",
    "olcUniqueURI",
    "olcConstraintAttribute",
    "olcAccessLogDB",
    "olcAccessLogPurge",
    "olcDynListAttrSet",
    "olcDlAttrSet",
    "olcCollectInfo",
    "olcSpSessionlogSource",
    "olcMemberOfAddCheck",
    "olcNestGroupMember",
    "olcNssMap",
)
ACCESS, AUTHZ_REGEXP, REWRITE = "olcAccess", "olcAuthzRegexp", "olcAuthIDRewrite"
REDUCED = frozenset({ACCESS, AUTHZ_REGEXP, REWRITE})
"""Kept of a live server's answer as their LDAP URLs alone (`reduced_urls`)."""
SYNCREPL, AUTHZ_POLICY = "olcSyncrepl", "olcAuthzPolicy"
NOT_READ = "the entry cn=config, whose authz-regexp makes slapd search, was not read"
GLUED = "olcSubordinate"
"""TRUE, FALSE or advertise."""
REQUIRED = "olcDbDirectory"
"""Present in every database that can have indexes: with it and without index lines, a database has no indexes."""
MODIFIED = "modifyTimestamp"
LIMITS, SIZE_LIMIT, TIME_LIMIT, ROOT = "olcLimits", "olcSizeLimit", "olcTimeLimit", "olcRootDN"
LIMITS_SHOWN = ("entryCSN", LIMITS, ROOT)
"""An entry with one of these has the limits of its database; no earlier collection requested them."""
FRONTEND = "{-1}frontend"
ATTRIBUTES = (
    "objectClass",
    "olcDatabase",
    "olcSuffix",
    GLUED,
    REQUIRED,
    "olcDbIndex",
    OVERLAY,
    *OWN_SEARCHES,
    ACCESS,
    SYNCREPL,
    MODIFIED,
    SIZE_LIMIT,
    TIME_LIMIT,
    *LIMITS_SHOWN,
)
"""The attributes read of databases and overlays; of cn=config, GLOBALS. One document must contain both."""
FILTER = "(|(olcDatabase=*)(olcOverlay=*))"
STARTED_BY_FILE, STORED_IN = "olcConfigFile", "olcConfigDir"
"""With the first alone, slapd reads slapd.conf at its start: changes of cn=config are lost then (2.5.13)."""
GLOBALS = (*SUBSTRING_KEYS, SIZE_LIMIT, TIME_LIMIT, STARTED_BY_FILE, STORED_IN, AUTHZ_REGEXP, REWRITE, AUTHZ_POLICY)
"""The attributes read of cn=config."""
MONITOR, ALWAYS_LISTED = "monitor", frozenset({"frontend", "config"})
"""Kinds of databases: a list of all of them contains the latter."""


class OpenldapIndexes:
    """Makes one IndexConfiguration from the databases in cn=config that can have indexes."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.backends: dict[str, Backend] = {}
        self.substring_keys = SubstringKeys()
        self.searches = SlapdInternalSearches()
        self.partial: set[str] = set()
        """Databases whose index lines may be incomplete."""
        self.file = ""
        self.kinds: set[str] = set()
        """Kinds of all databases."""
        self.has_globals = False
        self.default_limits: tuple[str, ...] = ()

    def take(self, entry: Entry) -> None:
        """Read cn=config, a database or an overlay of one."""
        if entry.key == CONFIG:
            self._globals(entry)
        elif entry.key.endswith(BELOW_CONFIG) or entry.key.startswith(OF_SLAPD_D):
            self._settings(entry)
            database = DATABASE.fullmatch(entry.key)
            self.kinds |= {database["kind"]} if database else set()
            if database and database["name"] == FRONTEND:
                self.default_limits += _default(entry)
            if database and database["kind"] in DATABASES and len(self.backends) < MOST_DATABASES:
                self._database(entry, database)

    def facts(self) -> Iterator[IndexConfiguration]:
        """Return the configuration, if the indexes of any database are known."""
        if self.backends:
            yield IndexConfiguration(
                origin=self.document.origin(),
                identity=ServerIdentity(family=Family.OPENLDAP),
                backends=tuple(self.backends.values()),
                whole=not self.partial,
                file=self.file,
                monitored=MONITOR in self.kinds if self.kinds & ALWAYS_LISTED else None,
                substring_keys=self.substring_keys,
                virtual_attributes=self.searches.computed,
                internal_searches=self.searches.searches({key: one.suffixes for key, one in self.backends.items()}),
                hidden_searches=(*self.searches.hidden, *(() if self.has_globals else (NOT_READ,))),
            )

    def _globals(self, entry: Entry) -> None:
        self.has_globals = True
        self.default_limits += _default(entry)  # of the same defaults as those of frontend
        self._settings(entry)
        if entry.first(STARTED_BY_FILE) and not entry.first(STORED_IN):
            self.file = "slapd.conf"
        lengths = map(entry.number, SUBSTRING_KEYS)
        self.substring_keys = SubstringKeys(**dict(zip(SubstringKeys.__dataclass_fields__, lengths, strict=True)))

    def _settings(self, entry: Entry) -> None:
        database = DATABASE.search(entry.key)
        self.searches.database = database[0] if database else ""
        for overlay in entry.values(OVERLAY):
            self.searches.overlay(overlay)
        for name in (*OWN_SEARCHES, ACCESS, AUTHZ_REGEXP, REWRITE, AUTHZ_POLICY, SYNCREPL):
            for value in entry.values(name):
                self.searches.setting(name, value)

    def _database(self, entry: Entry, found: re.Match[str]) -> None:
        if "olcDbIndex" not in entry and (entry.key in self.backends or REQUIRED not in entry):
            return  # the result of another search, or an excerpt: it does not show that there are no indexes
        lines = IndexLines()
        for line in entry.values("olcDbIndex"):
            lines.take(line)
        if lines.refused:
            self.document.note(REFUSED)
        (self.partial.discard if _shows_all_lines(entry) else self.partial.add)(entry.key)
        self.backends[entry.key] = Backend(
            name=found["name"],
            suffixes=entry.values("olcSuffix"),
            definitions=tuple(lines.definitions.values()),
            entry=entry.dn if found["whole"] else entry.dn + BELOW_CONFIG,
            kind=found["kind"],
            glued=entry.first(GLUED).upper() not in {"", "FALSE"},
            modified=generalized_time.parse(entry.first(MODIFIED)),
            account_limits=self._limits(entry),
        )

    def _limits(self, entry: Entry) -> AccountLimits | None:
        """Return the limits of a database; frontend and cn=config, whose defaults it has, precede it in any listing."""
        if not any(name in entry for name in LIMITS_SHOWN) or len(entry.values(LIMITS)) > MOST_RULES:
            return None
        return AccountLimits(
            rules=tuple(map(limits_rule, entry.values(LIMITS))),
            inherited=self.default_limits,
            default=_default(entry),
            unlimited=entry.first(ROOT),
        )


def _default(entry: Entry) -> tuple[str, ...]:
    return (*default_settings(entry.first(SIZE_LIMIT)), *default_settings(" ".join(entry.values(TIME_LIMIT)), "time"))


def _shows_all_lines(entry: Entry) -> bool:
    """Return whether the index lines are complete; a file of slapd.d does not end with a blank line."""
    return entry.closed or ("olcDbIndex" in entry and next(reversed(list(entry.attributes))) != "olcdbindex")
