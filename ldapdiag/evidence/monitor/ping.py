"""cn=monitor of PingDirectory, formerly UnboundID Directory Server (opends_subtree.py).

    dn: cn=Client Connections,cn=monitor
    objectClass: ds-client-connection-monitor-entry
    connection: connID="1" connectTime="20080101020202Z" source="127.0.0.1:5678" destination="127.0.0.1:389" …

Source: com.unboundid.ldap.sdk.unboundidds.monitors of UnboundID's LDAP SDK, and the samples in its tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.monitor.opends_subtree import OpendsMonitor

if TYPE_CHECKING:
    from ldapdiag.evidence.document import Document


class PingMonitor(OpendsMonitor):
    """Makes a Monitor from each snapshot of PingDirectory's cn=monitor."""

    def __init__(self, document: Document) -> None:
        super().__init__(document, Family.PING)
