"""cn=monitor of OpenDJ, OpenDS, Oracle Unified Directory, ForgeRock DS and PingDS (opends_subtree.py).

    dn: cn=Client Connections,cn=monitor
    connection: connID="14" connectTime="20261120090253Z" source="127.0.0.31:44997" destination="127.0.0.1:13489" …

ForgeRock DS from 6 on, and PingDS, have `ds-mon-connection` at cn=LDAP,cn=connection handlers,cn=monitor instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.monitor.opends_subtree import OpendsMonitor

if TYPE_CHECKING:
    from ldapdiag.evidence.document import Document


class OpendjMonitor(OpendsMonitor):
    """Makes a Monitor from each snapshot of OpenDJ's cn=monitor."""

    def __init__(self, document: Document) -> None:
        super().__init__(document, Family.OPENDJ)
