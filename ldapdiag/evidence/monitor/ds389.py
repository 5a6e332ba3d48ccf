"""cn=monitor of 389-ds: the connection table (connection_table.py), with counters of busy workers and a work queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.monitor.connection_table import ConnectionTableMonitor

if TYPE_CHECKING:
    from ldapdiag.evidence.document import Document


class Ds389Monitor(ConnectionTableMonitor):
    """Makes a Monitor from each cn=monitor entry of 389-ds."""

    def __init__(self, document: Document) -> None:
        super().__init__(document, Family.DS389, queue="currentworkqueue")
