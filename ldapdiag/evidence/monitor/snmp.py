"""cn=snmp,cn=monitor of 389-ds: the counters that cost it no list of its connections.

    dn: cn=snmp,cn=monitor
    inops: 5174
    connections: 44
    connectionseq: 1291

Read by a live view alone: in a file of evidence, cn=monitor says more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.monitor.own_connection import without_own_connection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

SNMP = "cn=snmp,cn=monitor"
ATTRIBUTES = ("connections", "connectionseq", "inops")


class SnmpMonitor:
    """Makes a Monitor of counters alone from the entry."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.monitors: list[Monitor] = []

    def take(self, entry: Entry) -> None:
        """Read the entry of the counters; one without any of them is no Monitor."""
        numbers = [entry.number(name) for name in ATTRIBUTES] if entry.key == SNMP else []
        if not any(number is not None for number in numbers):
            return
        current, total, operations = numbers
        _, current = without_own_connection(None, current, self.document.asked_by)
        self.monitors.append(
            Monitor(
                origin=self.document.origin(),
                identity=ServerIdentity(family=Family.DS389),
                current_connections=current,
                total_connections=total,
                operations=operations,
            )
        )

    def facts(self) -> Iterator[Monitor]:
        """Return the monitors."""
        yield from self.monitors
