"""Indexes of 389-ds and DSEE, from dse.ldif, a search below cn=ldbm database, or an excerpt of either.

    dn: cn=userRoot,cn=ldbm database,cn=plugins,cn=config
    nsslapd-suffix: dc=example,dc=com
    nsslapd-require-index: off

    dn: cn=config,cn=ldbm database,cn=plugins,cn=config
    nsslapd-idlistscanlimit: 4000

    dn: cn=uid,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
    cn: uid
    nsIndexType: eq                                                               (ds389_definition.py)

No entry shows whether an added index has been built: the server keeps that in memory only, and a build changes no time
stamp (analysis/indexes/build_history.py compares the times with the errors log).
DSEE has the same entries; its ID lists are never longer than nsslapd-allidsthreshold.
Source: ldap/servers/slapd/back-ldbm/ldbm_attr.c, ldbm_index_config.c, ldbm_config.c, ldbm_instance_config.c.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import VERSION, Family, ServerIdentity, Version
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition, vlv
from ldapdiag.evidence.indexes.ds389_definition import (
    ALL_IDS,
    CREATED,
    INDEX_ATTRIBUTES,
    definition_of,
    rounded,
    threshold_of,
)
from ldapdiag.evidence.indexes.ds389_internal_searches import Ds389InternalSearches
from ldapdiag.evidence.ldif import whole_number
from ldapdiag.evidence.monitor import generalized_time
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.indexes.vlv import VlvIndex
    from ldapdiag.evidence.ldif import Entry

DATABASES = "cn=ldbm database,cn=plugins,cn=config"
BELOW = f",{DATABASES}"
NO_BACKENDS = frozenset({"cn=config", "cn=monitor"})

SCAN_LIMIT, KIND = "nsslapd-idlistscanlimit", "nsslapd-backend-implement"
SETTING_NAMES = (
    SCAN_LIMIT,
    ALL_IDS,
    "nsslapd-pagedidlistscanlimit",
    "nsslapd-lookthroughlimit",
    "nsslapd-rangelookthroughlimit",
    "nsslapd-pagedlookthroughlimit",
    KIND,
)
TIME_LIMIT, GLOBAL = "nsslapd-timelimit", "cn=config"
"""A setting of the server, and its entry."""
ATTRIBUTES = (
    "objectClass",
    *INDEX_ATTRIBUTES,
    *(name for name in vlv.ATTRIBUTES if name not in INDEX_ATTRIBUTES),
    "nsslapd-suffix",
    "nsslapd-require-index",
    "nsslapd-pluginVersion",
    "nsslapd-pluginVendor",
    *SETTING_NAMES,
)
"""The attributes read of the entries at and below DATABASES."""
FILTER = (
    "(|(objectClass=nsIndex)(objectClass=vlvSearch)(objectClass=vlvIndex)(nsslapd-suffix=*)(cn=index)(cn=config)(cn=bdb)"
    "(cn=mdb)(cn=ldbm database))"
)
"""Matches the entries that are read."""

IN_EVERY_LIST = frozenset({"aci", "nsuniqueid", "objectclass"})
"""System indexes of every backend, of different types: a list with these and others is not an excerpt by type."""
MOST_INDEXES = 10_000
MOST_BACKENDS = 1000
LONGEST_VERSION = 100
VENDORS_OF_DSEE = ("sun ", "oracle")


@dataclass(slots=True)
class _Backend:
    """A backend while its entries are read, in any order."""

    dn: str
    entry: Entry | None = None
    listed: bool = False
    """The container entry of its indexes was read."""
    definitions: dict[str, IndexDefinition] = field(default_factory=dict)
    """By attribute in lower case."""
    vlv_searches: dict[str, Entry] = field(default_factory=dict)
    vlv_indexes: dict[str, list[VlvIndex]] = field(default_factory=dict)
    """Both by the RDN of the search, normalised for comparison."""

    @property
    def whole(self) -> bool:
        users = any(not definition.system for definition in self.definitions.values())
        return self.listed or (users and self.definitions.keys() >= IN_EVERY_LIST)

    def finished(self, kind: str) -> Backend:
        """Return the Backend; without its own entry, name and DN are those in the DNs of its indexes."""
        own = self.entry
        return Backend(
            name=(own.first("cn") if own else "") or _value(self.dn),
            suffixes=tuple(filter(None, own.values("nsslapd-suffix"))) if own else (),
            definitions=tuple(self.definitions.values()),
            entry=self.dn,
            kind=kind,
            refuses_unindexed=own is not None and own.first("nsslapd-require-index").lower() == "on",
            entry_limit=threshold_of(own) if own else None,
            created=generalized_time.parse(own.first(CREATED)) if own else None,
            vlv_searches=tuple(
                vlv.vlv_search(entry, tuple(self.vlv_indexes.get(rdn, ()))) for rdn, entry in self.vlv_searches.items()
            ),
        )


class Ds389Indexes:
    """Makes one IndexConfiguration from the entries of indexes, backends and limits."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.searches = Ds389InternalSearches(document)
        self.backends: dict[str, _Backend] = {}
        """By RDN, normalised for comparison."""
        self.templates: dict[str, IndexDefinition] = {}
        self.settings: dict[str, str] = {}
        self.time_limit: int | None = None
        self.version: Version = ()
        self.of_dsee = False
        self.read = 0
        self.closed = True

    def take(self, entry: Entry) -> None:
        """Read an entry at or below cn=ldbm database, or one that makes the server search internally."""
        self.closed = entry.closed
        self.searches.take(entry)
        if entry.key == GLOBAL:
            self.time_limit = entry.number(TIME_LIMIT)
        elif entry.key == DATABASES:
            self._take_version(entry)
        elif entry.key.endswith(BELOW):
            self._take_below(tuple(rdns(entry.key.removesuffix(BELOW))), entry)

    def facts(self) -> Iterator[IndexConfiguration]:
        """Return the configuration, if an index, a backend or a limit was read."""
        if not (self.backends or self.templates or self.settings):
            return
        if not self.closed:
            self.document.note(
                "The text ends without a blank line after the last entry: it may be truncated and lack indexes."
            )
        kind = self.settings.get(KIND, "").lower()
        own = self._limit(SCAN_LIMIT)
        yield IndexConfiguration(
            origin=self.document.origin(),
            identity=ServerIdentity(family=Family.DSEE if self.of_dsee else Family.DS389, version=self.version),
            backends=tuple(backend.finished(kind) for backend in self.backends.values()),
            whole=self.closed and bool(self.backends) and all(backend.whole for backend in self.backends.values()),
            scan_limit=rounded(self._limit(ALL_IDS)) if own is None else own,
            paged_scan_limit=self._limit("nsslapd-pagedidlistscanlimit"),
            lookthrough_limit=self._limit("nsslapd-lookthroughlimit"),
            range_lookthrough_limit=self._limit("nsslapd-rangelookthroughlimit"),
            paged_lookthrough_limit=self._limit("nsslapd-pagedlookthroughlimit"),
            time_limit=self.time_limit,
            templates=tuple(self.templates.values()),
            virtual_attributes=dict(self.searches.virtual_attributes),
            internal_searches=self.searches.searches,
            hidden_searches=tuple(self.searches.hidden),
        )

    def _take_version(self, entry: Entry) -> None:
        """Read the server's version from the database plug-in, which has the same version."""
        vendor = entry.first("nsslapd-pluginVendor").lower()
        found = VERSION.match(entry.first("nsslapd-pluginVersion")[:LONGEST_VERSION])
        self.of_dsee = self.of_dsee or vendor.startswith(VENDORS_OF_DSEE)
        if found:
            self.version = tuple(int(number) for number in found.groups(default="0"))

    def _take_below(self, relative: tuple[str, ...], entry: Entry) -> None:
        """Read an entry below cn=ldbm database, by its RDNs relative to it."""
        self.of_dsee = self.of_dsee or (ALL_IDS in entry and SCAN_LIMIT not in entry)
        match relative:
            case ("cn=config",):
                self.settings |= _settings(entry)
            case ("cn=bdb" | "cn=mdb", "cn=config"):  # some settings are here since 1.4; cn=config takes precedence
                self.settings = _settings(entry) | self.settings
            case (_, "cn=default indexes", "cn=config"):
                self._keep(self.templates, entry)
            case (name,) if name not in NO_BACKENDS and "nsslapd-suffix" in entry:
                if backend := self._backend(name, entry.dn):
                    backend.entry, backend.dn = entry, entry.dn
            case ("cn=index", name):
                if backend := self._backend(name, _above(entry.dn, 1)):
                    backend.listed = True
            case (_, "cn=index", name):
                if backend := self._backend(name, _above(entry.dn, 2)):
                    self._keep(backend.definitions, entry)
            case _:
                self._take_vlv(relative, entry)

    def _take_vlv(self, relative: tuple[str, ...], entry: Entry) -> None:
        """Read the entry of a VLV search or index; others are encryption, counters of the database."""
        match relative:
            case (search, name) if vlv.is_a(entry, vlv.SEARCH):
                if (backend := self._backend(name, _above(entry.dn, 1))) and self._has_room():
                    backend.vlv_searches[search] = entry
            case (_, search, name) if vlv.is_a(entry, vlv.INDEX):
                if (backend := self._backend(name, _above(entry.dn, 2))) and self._has_room():
                    backend.vlv_indexes.setdefault(search, []).append(vlv.vlv_index(entry))
            case _:
                pass

    def _backend(self, name: str, dn: str) -> _Backend | None:
        """Return the backend of this name, a new one if necessary; None if there are too many."""
        if name not in self.backends and len(self.backends) >= MOST_BACKENDS:
            self.document.note(f"Only the first {MOST_BACKENDS:,} backends were kept.")
            return None
        return self.backends.setdefault(name, _Backend(dn=dn))

    def _keep(self, definitions: dict[str, IndexDefinition], entry: Entry) -> None:
        """Keep the indexes of one attribute; a repeated entry replaces the previous one."""
        if not self._has_room():
            return
        definition = definition_of(entry, entry.first("cn") or _value(entry.dn), self.document)
        if definition:
            definitions[definition.attribute.lower()] = definition

    def _has_room(self) -> bool:
        """Count one more index, and return whether it may be kept."""
        self.read += 1
        if self.read > MOST_INDEXES:
            self.document.note(f"Only the first {MOST_INDEXES:,} indexes were kept.")
        return self.read <= MOST_INDEXES

    def _limit(self, name: str) -> int | None:
        return whole_number(self.settings.get(name, ""))


def rdns(dn: str) -> list[str]:
    """Return the parts of a DN between its unescaped commas."""
    parts: list[str] = []
    for part in dn.split(","):
        if parts and parts[-1].endswith("\\"):
            parts[-1] += f",{part}"
        else:
            parts.append(part.strip())
    return parts


def _above(dn: str, levels: int) -> str:
    return ",".join(rdns(dn)[levels:])


def _value(dn: str) -> str:
    return rdns(dn)[0].partition("=")[2].strip()


def _settings(entry: Entry) -> dict[str, str]:
    return {name: entry.first(name) for name in SETTING_NAMES if name in entry}
