"""Close codes of 389 Directory Server, from disconnect_error_strings.h, connection.c and daemon.c.

Disconnect - Cleanly Closed Connection - U1                              U1
closed error 104 (Connection reset by peer) - B1                         B1, before 2.1
Disconnect - Connection reset by peer - TCP connection reset by peer.    no code: `reset`
Disconnect - Encountered end of file.                                    no code: the error text of NSPR

`reset` is a code of ldapdiag: the only close without a code that clients cause regularly.
"""

from __future__ import annotations

from ldapdiag.servers.close_reasons import CloseKind, CloseReason

CLOSE_REASONS = {
    "U1": CloseReason("the client sent UNBIND", CloseKind.CLEAN),
    "A1": CloseReason("the server shut down or aborted it", CloseKind.SERVER),
    "B1": CloseReason("the client closed it without UNBIND, or sent data that is not LDAP", CloseKind.CLIENT_GONE),
    "B2": CloseReason("a request larger than nsslapd-maxbersize", CloseKind.PROTOCOL),
    "B3": CloseReason("the client sent data that is not LDAP", CloseKind.PROTOCOL),
    "B4": CloseReason("the client stopped reading, or closed it, while results were sent", CloseKind.NETWORK),
    "T1": CloseReason("idle for longer than nsslapd-idletimeout", CloseKind.IDLE),
    "T2": CloseReason(
        "blocked for longer than nsslapd-ioblocktimeout: the client does not read or write", CloseKind.NETWORK
    ),
    "T3": CloseReason("a paged search took longer than its time limit", CloseKind.SERVER),
    "R1": CloseReason("the operating system reported an error of the socket", CloseKind.NETWORK),
    "P1": CloseReason("a plug-in closed it", CloseKind.SERVER),
    "P2": CloseReason("the operating system reported an invalid socket", CloseKind.NETWORK),
    "P3": CloseReason("an invalid PROXY header", CloseKind.PROTOCOL),
    "P4": CloseReason("a PROXY header from an untrusted proxy", CloseKind.PROTOCOL),
    "S1": CloseReason("a SASL error", CloseKind.PROTOCOL),
    "reset": CloseReason("the client or a middlebox reset it", CloseKind.CLIENT_GONE),
    "Encountered end of file.": CloseReason("the client closed it without UNBIND", CloseKind.CLIENT_GONE),
}
