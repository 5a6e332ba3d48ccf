"""cn=monitor of 389-ds: the connection table (connection_table.py), with busy workers and a work queue of its own."""

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


class Ds389Monitor:
    """Makes a Monitor of each cn=monitor entry; a file with several is several looks."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.looks: list[Monitor] = []

    def take(self, entry: Entry) -> None:
        """Read a cn=monitor entry of 389-ds."""
        identity = identity_of(entry)
        if identity and identity.family is Family.DS389:
            seen = look(entry, identity, self.document, queue="currentworkqueue")
            self.looks.extend([seen] if seen else [])

    def facts(self) -> Iterator[Monitor]:
        """Return the looks, with the tally of the whole text."""
        for one in self.looks:
            yield replace(one, origin=self.document.origin())
