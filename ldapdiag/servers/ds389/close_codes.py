"""Close codes of 389 Directory Server: disconnect_error_strings.h says the words, connection.c and daemon.c say when.

Disconnect - Cleanly Closed Connection - U1                              U1
closed error 104 (Connection reset by peer) - B1                         B1, before 2.1
Disconnect - Connection reset by peer - TCP connection reset by peer.    no code: `reset`
Disconnect - Encountered end of file.                                    no code: what NSPR says

`reset` is ours, for a reset is the only end without a code that clients cause every day.
"""

from __future__ import annotations

from ldapdiag.servers.close_reasons import CloseKind, CloseReason

CLOSE_REASONS = {
    "U1": CloseReason("the client said UNBIND", CloseKind.CLEAN),
    "A1": CloseReason("the server shut down, or gave it up", CloseKind.SERVER),
    "B1": CloseReason("the client closed it without UNBIND, or sent what is no LDAP", CloseKind.CLIENT_GONE),
    "B2": CloseReason("a request larger than nsslapd-maxbersize", CloseKind.PROTOCOL),
    "B3": CloseReason("what came was no LDAP", CloseKind.PROTOCOL),
    "B4": CloseReason("the client stopped reading, or was gone, while results were sent", CloseKind.NETWORK),
    "T1": CloseReason("idle for longer than nsslapd-idletimeout", CloseKind.IDLE),
    "T2": CloseReason(
        "stuck for longer than nsslapd-ioblocktimeout: a peer that does not read or write", CloseKind.NETWORK
    ),
    "T3": CloseReason("a paged search took longer than its time limit", CloseKind.SERVER),
    "R1": CloseReason("the operating system reported an error of the socket", CloseKind.NETWORK),
    "P1": CloseReason("a plug-in closed it", CloseKind.SERVER),
    "P2": CloseReason("the operating system said that the socket is no good", CloseKind.NETWORK),
    "P3": CloseReason("a PROXY header that makes no sense", CloseKind.PROTOCOL),
    "P4": CloseReason("a PROXY header from a proxy that is not trusted", CloseKind.PROTOCOL),
    "S1": CloseReason("SASL failed", CloseKind.PROTOCOL),
    "reset": CloseReason("the client, or a box between, reset it", CloseKind.CLIENT_GONE),
    "Encountered end of file.": CloseReason("the client closed it without UNBIND", CloseKind.CLIENT_GONE),
}
