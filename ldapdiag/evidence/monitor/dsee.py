"""cn=monitor of Sun's and Oracle's Directory Server 5.2 to 11g: the connection table (connection_table.py).

    version: Sun-Directory-Server/11.1.1.7.0
    connection: 31:20010201164808Z:45:45::cn=admin,cn=Administrators,cn=config:LDAP
    connectionPeak: 412
    request-que-backlog: 0
    currentpsearches: 2

It names neither the client nor its port. Source: Oracle 821-1507, cn=monitor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.monitor.connection_table import identity_of, look

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry
    from ldapdiag.evidence.monitor import Monitor


class DseeMonitor:
    """Makes a Monitor of each cn=monitor entry; a file with several is several looks."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.looks: list[Monitor] = []

    def take(self, entry: Entry) -> None:
        """Read a cn=monitor entry of DSEE."""
        identity = identity_of(entry)
        if identity and identity.family is Family.DSEE:
            seen = look(entry, identity, self.document, queue="request-que-backlog")
            self.looks.extend([seen] if seen else [])

    def facts(self) -> Iterator[Monitor]:
        """Return the looks, with the tally of the whole text."""
        for one in self.looks:
            yield replace(one, origin=self.document.origin())
