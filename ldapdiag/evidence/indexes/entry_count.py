"""EntryCount: the number of entries in one suffix of a server, from its monitor.

    dn: cn=Database 2,cn=Databases,cn=Monitor
    monitoredInfo: mdb
    namingContexts: dc=example,dc=com
    olmMDBEntries: 20005

All of these are operational attributes: only a search for '+' returns them.
Source: servers/slapd/back-mdb/monitor.c (slapd 2.5 and later), servers/slapd/back-monitor/database.c.

The number of entries in the suffixes of OpenDJ, its relatives and PingDirectory, from cn=monitor.

    dn: cn=userRoot Backend,cn=monitor
    objectClass: ds-backend-monitor-entry
    ds-backend-is-private: false
    ds-base-dn-entry-count: 20211 dc=example,dc=com

ForgeRock DS 6 and later, and PingDS, have entries of other names, which are not read.
Source: opendj-server-legacy, monitors/BackendMonitor.java; captured from 4.10.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ldapdiag.evidence.ldif import whole_number
from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

MOST_SUFFIXES = 1 << 12
"""Limit on suffixes; further ones are dropped."""
BELOW_DATABASES = ",cn=databases,cn=monitor"
MDB_ENTRIES = "olmMDBEntries"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryCount:
    """The number of entries in one database, with glue entries and tombstones if its server counts them."""

    kind: ClassVar[str] = "entry-count"
    how: ClassVar[str] = "OpenLDAP: ldapsearch … -b cn=Databases,cn=Monitor '*' '+' > databases.ldif"

    origin: Origin
    suffix: str
    """As written; the first one, if the database has several."""
    entries: int


class EntryCountReader:
    """Makes an EntryCount for each suffix; of repeated counts the last one is used."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.counts: dict[str, int] = {}

    def add(self, suffix: str, entries: int | None) -> None:
        """Add a count; None and negative numbers are ignored."""
        if entries is not None and entries >= 0 and len(self.counts) < MOST_SUFFIXES:
            self.counts[suffix] = entries

    def facts(self) -> Iterator[EntryCount]:
        """Return the counts."""
        for suffix, entries in self.counts.items():
            yield EntryCount(origin=self.document.origin(), suffix=suffix, entries=entries)


class OpenldapEntryCount(EntryCountReader):
    """Makes an EntryCount for each database in OpenLDAP's cn=Monitor."""

    def take(self, entry: Entry) -> None:
        """Read an entry below cn=Databases,cn=Monitor."""
        if entry.key.endswith(BELOW_DATABASES):
            self.add(entry.first("namingContexts"), entry.number(MDB_ENTRIES))


COUNT, PRIVATE = "ds-base-dn-entry-count", "ds-backend-is-private"


class OpendsEntryCount(EntryCountReader):
    """Makes an EntryCount for each suffix of a public backend."""

    def take(self, entry: Entry) -> None:
        """Read the monitor entry of a backend, unless it is private to the server."""
        if entry.first(PRIVATE).lower() == "true":
            return
        for value in entry.values(COUNT):
            number, _, suffix = value.partition(" ")
            if suffix:
                self.add(suffix.strip(), whole_number(number))
