"""cn=monitor of 389-ds: the connection table (connection_table.py), with counters of busy workers and a work queue."""

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


class Ds389Monitor:
    """Makes a Monitor from each cn=monitor entry; a file may contain several."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.monitors: list[Monitor] = []

    def take(self, entry: Entry) -> None:
        """Read a cn=monitor entry of 389-ds."""
        identity = identity_of(entry)
        if identity and identity.family is Family.DS389:
            monitor = monitor_of(entry, identity, self.document, queue="currentworkqueue")
            self.monitors.extend([monitor] if monitor else [])

    def facts(self) -> Iterator[Monitor]:
        """Return the monitors, with the counts of the whole text in their origin."""
        for monitor in self.monitors:
            yield replace(monitor, origin=self.document.origin())
