"""Indexes of OpenDJ, its relatives and PingDirectory, from config.ldif or a search below cn=config, entry by entry.

    dn: ds-cfg-backend-id=userRoot,cn=Backends,cn=config
    objectClass: ds-cfg-je-backend
    ds-cfg-base-dn: dc=example,dc=com
    ds-cfg-index-entry-limit: 4000

    dn: ds-cfg-attribute=cn,cn=Index,ds-cfg-backend-id=userRoot,cn=Backends,cn=config
    objectClass: ds-cfg-backend-index
    ds-cfg-attribute: cn
    ds-cfg-index-type: equality
    ds-cfg-index-type: substring

OpenDS, OpenDJ 2, Oracle Unified Directory and PingDirectory call the class ds-cfg-local-db-index; Oracle's backends are
workflow elements. PingDirectory also has composite indexes: `(attribute=?)` is returned as the index type `composite`.
Source: opendj-server-legacy/resource/schema/02-config.ldif; Oracle 820-6170, E27801; Ping's configuration reference.

Internal searches of OpenDJ, its relatives and PingDirectory, and the attributes they compute.

    dn: cn=UID Unique Attribute,cn=Plugins,cn=config
    objectClass: ds-cfg-unique-attribute-plugin
    ds-cfg-enabled: true
    ds-cfg-type: uid

Internal searches are not in the access log. Source: the template config.ldif and the configuration references of OpenDJ
and PingDirectory.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition, ScanLimit
from ldapdiag.evidence.indexes.internal_search import InternalSearch
from ldapdiag.evidence.indexes.opends_index_types import LOCAL_DB, OF_PING, is_system, types_of
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

INDEX_CLASSES = {"ds-cfg-backend-index": "", "ds-cfg-local-db-index": LOCAL_DB}
"""Classes of index entries, and the kind of backend that has them."""
COMPOSITE = "ds-cfg-composite-index"
COMPOSITE_PATTERN = pattern(r"\(([a-zA-Z][a-zA-Z0-9-]{0,100}|[0-9]+(?:\.[0-9]+){1,40})=[?*]\)")
BACKEND_CLASS = pattern(r"ds-cfg-(?P<kind>[a-z0-9-]{1,40}?)(?:-backend(?:-workflow-element)?)", re.ASCII)
ABSTRACT = frozenset({"local", "pluggable"})
PLACE = pattern(r",\s*cn\s*=\s*(?:index|composite index)\s*,", re.IGNORECASE)
CONTAINER = pattern(r"cn\s*=\s*index\s*,", re.IGNORECASE)
ATTRIBUTE, TYPE, LIMIT = "ds-cfg-attribute", "ds-cfg-index-type", "ds-cfg-index-entry-limit"
SUBSTRING_LIMIT, LENGTH = "ds-cfg-substring-index-entry-limit", "ds-cfg-substring-length"
RULES, PATTERN = "ds-cfg-index-extensible-matching-rule", "ds-cfg-index-filter-pattern"
NAMES, SUFFIX = ("ds-cfg-backend-id", "ds-cfg-workflow-element-id"), "ds-cfg-base-dn"
PING_SETTINGS = ("ds-cfg-prime-index", "ds-cfg-cache-mode", SUBSTRING_LIMIT, "ds-cfg-background-prime")
MOST_INDEXES = 10_000
MOST_BACKENDS = 1000
LONGEST_NAME = 255


@dataclass(slots=True)
class _Backend:
    """A backend while its entries are read, in any order."""

    dn: str
    entry: Entry | None = None
    listed: bool = False
    """The container entry of its indexes was read."""
    kind: str = ""
    definitions: dict[str, IndexDefinition] = field(default_factory=dict)
    """By attribute in lower case."""

    def finished(self) -> Backend:
        """Return the Backend."""
        own = self.entry
        return Backend(
            name=next((own.first(name) for name in NAMES if name in own), "") if own else _value(self.dn),
            suffixes=tuple(filter(None, own.values(SUFFIX))) if own else (),
            definitions=tuple(self.definitions.values()),
            entry=self.dn,
            kind=self.kind,
            entry_limit=_limit(own, LIMIT) if own else None,
        )


class OpendsIndexes:
    """Makes one IndexConfiguration from the entries of indexes and backends."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.searches = OpendsInternalSearches()
        self.backends: dict[str, _Backend] = {}
        """By DN, normalised for comparison."""
        self.of_ping = False
        self.count = 0
        self.closed = True

    def take(self, entry: Entry) -> None:
        """Read the entry of a backend, of the container of its indexes, or of an index."""
        self.closed = entry.closed
        self.searches.take(entry)
        classes = {name.lower() for name in entry.values("objectClass")}
        kind = next((of_backend for name, of_backend in INDEX_CLASSES.items() if name in classes), None)
        if kind is not None:
            self._take_index(entry, kind)
        elif COMPOSITE in classes:
            self._take_composite(entry)
        elif SUFFIX in entry and any(name in entry for name in NAMES):
            self._take_backend(entry, classes)
        elif CONTAINER.match(entry.dn) and any(f"{name}=" in entry.key for name in NAMES):
            backend = self._backend(entry.dn.partition(",")[2], entry.key.partition(",")[2])
            if backend is not None:
                backend.listed = True

    def facts(self) -> Iterator[IndexConfiguration]:
        """Return the configuration, if any index was read."""
        if not self.count:
            return
        kept = [
            backend
            for backend in self.backends.values()
            if backend.definitions and not (backend.entry and backend.entry.first("ds-cfg-enabled").lower() == "false")
        ]
        yield IndexConfiguration(
            origin=self.document.origin(),
            identity=ServerIdentity(family=Family.PING if self.of_ping else Family.OPENDJ),
            backends=tuple(one.finished() for one in kept),
            whole=self.closed and all(one.listed or one.entry for one in kept),
            virtual_attributes=self.searches.virtual_attributes,
            internal_searches=tuple(self.searches.found),
        )

    def _take_backend(self, entry: Entry, classes: set[str]) -> None:
        backend = self._backend(entry.dn, entry.key)
        if backend is None:
            return
        backend.entry = entry
        kinds = {found["kind"] for name in classes if (found := BACKEND_CLASS.fullmatch(name))}
        backend.kind = min(kinds - ABSTRACT, default=backend.kind)
        self.of_ping |= entry.first("ds-cfg-java-class").startswith("com.unboundid")

    def _take_index(self, entry: Entry, kind: str) -> None:
        """Read the indexes of one attribute."""
        backend, attribute = self._owner(entry), entry.first(ATTRIBUTE)
        if backend is None or not attribute or len(attribute) > LONGEST_NAME:
            return
        backend.kind = backend.kind or kind
        self.of_ping |= attribute.lower() in OF_PING or any(name in entry for name in PING_SETTINGS)
        limit = _limit(entry, SUBSTRING_LIMIT)
        backend.definitions[attribute.lower()] = IndexDefinition(
            attribute=attribute,
            types=types_of(entry.values(TYPE)),
            rules=tuple(rule for rule in entry.values(RULES) if len(rule) <= LONGEST_NAME),
            scan_limits=() if limit is None else (ScanLimit(limit=limit or -1, types=frozenset({"substring"})),),
            entry_limit=_limit(entry, LIMIT),
            middle=_limit(entry, LENGTH),
            system=is_system(attribute),
        )
        self.count += 1

    def _take_composite(self, entry: Entry) -> None:
        """Read a composite index of one attribute, as an index type; other patterns are ignored, with a note."""
        backend, found = self._owner(entry), COMPOSITE_PATTERN.fullmatch(entry.first(PATTERN))
        self.of_ping = True
        if backend is None or found is None:
            self.document.note("A composite index of more than one attribute was ignored.")
            return
        known = backend.definitions.get(found[1].lower())
        types = (known.types if known else frozenset()) | {"composite"}
        backend.definitions[found[1].lower()] = IndexDefinition(
            attribute=known.attribute if known else found[1],
            types=types,
            entry_limit=known.entry_limit if known else _limit(entry, LIMIT),
        )
        self.count += 1

    def _owner(self, entry: Entry) -> _Backend | None:
        """Return the backend that an index belongs to."""
        found, comparable_place = PLACE.search(entry.dn), PLACE.search(entry.key)
        if found is None or comparable_place is None or self.count >= MOST_INDEXES:
            self.document.note("Some index entries were ignored: they are not below a backend, or there are too many.")
            return None
        return self._backend(entry.dn[found.end() :], entry.key[comparable_place.end() :])

    def _backend(self, dn: str, key: str) -> _Backend | None:
        if key not in self.backends and len(self.backends) >= MOST_BACKENDS:
            return None
        return self.backends.setdefault(key, _Backend(dn.strip()))


def _limit(entry: Entry, name: str) -> int | None:
    """Return a setting that is a number of at least 0, or None."""
    number = entry.number(name)
    return number if number is not None and number >= 0 else None


def _value(dn: str) -> str:
    """Return the value of the first RDN, as written."""
    return dn.partition(",")[0].partition("=")[2].strip()


CERTIFICATES, MAPPER = "certificate mapping", "the identity mapper"
SEARCHERS = {
    "ds-cfg-unique-attribute-plugin": ("ds-cfg-type", "uniqueness", ""),
    "ds-cfg-referential-integrity-plugin": ("ds-cfg-attribute-type", "referential integrity", ""),
    "ds-cfg-exact-match-identity-mapper": ("ds-cfg-match-attribute", MAPPER, "uid"),
    "ds-cfg-regular-expression-identity-mapper": ("ds-cfg-match-attribute", MAPPER, "uid"),
    "ds-cfg-subject-dn-to-user-attribute-certificate-mapper": (
        "ds-cfg-subject-attribute",
        CERTIFICATES,
        "ds-certificate-subject-dn",
    ),
    "ds-cfg-subject-attribute-to-user-attribute-certificate-mapper": (
        "ds-cfg-subject-attribute-mapping",
        CERTIFICATES,
        "",
    ),
    "ds-cfg-fingerprint-certificate-mapper": (
        "ds-cfg-fingerprint-attribute",
        CERTIFICATES,
        "ds-certificate-fingerprint",
    ),
    "ds-cfg-purge-expired-data-plugin": ("ds-cfg-datetime-attribute", "the purge of expired data", ""),
    "ds-cfg-reverse-dn-join-virtual-attribute": ("ds-cfg-join-dn-attribute", "a join virtual attribute", ""),
    "ds-cfg-equality-join-virtual-attribute": ("ds-cfg-join-target-attribute", "a join virtual attribute", ""),
}
"""Classes of entries that make the server search; the setting that names the attributes, what searches, and the value
without the setting (configuration references; `dsconfig create` writes no default values)."""
RARE = frozenset({"the purge of expired data", "a join virtual attribute"})
"""What searches at times of its own, or when a client asks, and not below the base in its entry."""
GROUPS = {"member": "static groups", "uniquemember": "static groups"}
"""Searched for when an entry is renamed or deleted, and when groups are loaded."""
BASE, MATCH_BASE = "ds-cfg-base-dn", "ds-cfg-match-base-dn"
VIRTUAL, VIRTUAL_TYPE = "virtual-attribute", "ds-cfg-attribute-type"
MOST = 1000


class OpendsInternalSearches:
    """Collects the attributes that the server searches for internally, and those it computes."""

    def __init__(self) -> None:
        self.found: dict[InternalSearch, None] = dict.fromkeys(
            InternalSearch(attribute=attribute, by=by) for attribute, by in GROUPS.items()
        )
        self.virtual_attributes: dict[str, str] = {}

    def take(self, entry: Entry) -> None:
        """Read the entry of an enabled plug-in, mapper or virtual attribute."""
        if entry.first("ds-cfg-enabled").lower() != "true" or len(self.found) >= MOST:
            return
        for name in map(str.lower, entry.values("objectClass")):
            if name in SEARCHERS:
                setting, what_for, default = SEARCHERS[name]
                for attribute in entry.values(setting) or tuple(filter(None, (default,))):
                    search = InternalSearch(
                        attribute=attribute.rpartition(":")[2].strip(),  # certificate's:user's
                        by=what_for,
                        bases=() if what_for in RARE else entry.values(BASE) or entry.values(MATCH_BASE),
                        frequent=what_for not in RARE,
                    )
                    self.found[search] = None
            elif name.endswith(VIRTUAL) and VIRTUAL_TYPE in entry and len(self.virtual_attributes) < MOST:
                self.virtual_attributes[entry.first(VIRTUAL_TYPE).lower()] = "a virtual attribute"
