"""cn=monitor of Sun's and Oracle's Directory Server 5.2 to 11g: the connection table (connection_table.py).

    version: Sun-Directory-Server/11.1.1.7.0
    connection: 31:20010201164808Z:45:45::cn=admin,cn=Administrators,cn=config:LDAP
    connectionPeak: 412
    request-que-backlog: 0
    currentpsearches: 2

It contains neither the client's address nor its port. Source: Oracle 821-1507, cn=monitor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.monitor.connection_table import identity_of, monitor_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry
    from ldapdiag.evidence.monitor import Monitor


class DseeMonitor:
    """Makes a Monitor from each cn=monitor entry; a file may contain several."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.monitors: list[Monitor] = []

    def take(self, entry: Entry) -> None:
        """Read a cn=monitor entry of DSEE."""
        identity = identity_of(entry)
        if identity and identity.family is Family.DSEE:
            monitor = monitor_of(entry, identity, self.document, queue="request-que-backlog")
            self.monitors.extend([monitor] if monitor else [])

    def facts(self) -> Iterator[Monitor]:
        """Return the monitors, with the counts of the whole text in their origin."""
        for monitor in self.monitors:
            yield replace(monitor, origin=self.document.origin())
