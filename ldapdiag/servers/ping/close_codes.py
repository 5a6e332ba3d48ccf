"""Close reasons in PingDirectory's log: those of OpenDS, from which it derives as OpenDJ does.

[01/Jan/2024:00:00:00 -0600] DISCONNECT conn=1 reason="Client Unbind" msg="The client has closed the connection"
"""

from __future__ import annotations

from ldapdiag.servers.close_reasons import CloseKind, CloseReason
from ldapdiag.servers.opendj import close_codes as opendj

CLOSE_REASONS = opendj.CLOSE_REASONS | {
    "Client Disconnect": CloseReason("the client closed it without UNBIND", CloseKind.CLIENT_GONE)
}
