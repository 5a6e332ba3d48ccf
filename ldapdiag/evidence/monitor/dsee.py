"""cn=monitor of Sun's and Oracle's Directory Server 5.2 to 11g: the connection table (connection_table.py).

    version: Sun-Directory-Server/11.1.1.7.0
    connection: 31:20010201164808Z:45:45::cn=admin,cn=Administrators,cn=config:LDAP
    connectionPeak: 412
    request-que-backlog: 0
    currentpsearches: 2

It contains neither the client's address nor its port. Source: Oracle 821-1507, cn=monitor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.monitor.connection_table import ConnectionTableMonitor

if TYPE_CHECKING:
    from ldapdiag.evidence.document import Document


class DseeMonitor(ConnectionTableMonitor):
    """Makes a Monitor from each cn=monitor entry of DSEE."""

    def __init__(self, document: Document) -> None:
        super().__init__(document, Family.DSEE, queue="request-que-backlog")
