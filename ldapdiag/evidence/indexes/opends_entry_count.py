"""The number of entries in the suffixes of OpenDJ, its relatives and PingDirectory, from cn=monitor.

    dn: cn=userRoot Backend,cn=monitor
    objectClass: ds-backend-monitor-entry
    ds-backend-is-private: false
    ds-base-dn-entry-count: 20211 dc=example,dc=com

ForgeRock DS 6 and later, and PingDS, have entries of other names, which are not read.
Source: opendj-server-legacy, monitors/BackendMonitor.java; captured from 4.10.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes.entry_count import EntryCountReader
from ldapdiag.evidence.ldif import whole_number

if TYPE_CHECKING:
    from ldapdiag.evidence.ldif import Entry

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
