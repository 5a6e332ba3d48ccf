"""Close codes of 389 Directory Server: disconnect_error_strings.h says the words, connection.c and daemon.c say when.

Disconnect - Cleanly Closed Connection - U1                              U1
closed error 104 (Connection reset by peer) - B1                         B1, before 2.1
Disconnect - Connection reset by peer - TCP connection reset by peer.    no code: `reset`
Disconnect - Encountered end of file.                                    no code: what NSPR says

`reset` is ours, for a reset is the only end without a code that clients cause every day.
"""

from __future__ import annotations

from ldapdiag.servers.nature import Close, Nature

CLOSES = {
    "U1": Close("the client said UNBIND", Nature.CLEAN),
    "A1": Close("the server shut down, or gave it up", Nature.SERVER),
    "B1": Close("the client closed it without UNBIND, or sent what is no LDAP", Nature.CLIENT_GONE),
    "B2": Close("a request larger than nsslapd-maxbersize", Nature.PROTOCOL),
    "B3": Close("what came was no LDAP", Nature.PROTOCOL),
    "B4": Close("the client stopped reading, or was gone, while results were sent", Nature.NETWORK),
    "T1": Close("idle for longer than nsslapd-idletimeout", Nature.IDLE),
    "T2": Close("stuck for longer than nsslapd-ioblocktimeout: a peer that does not read or write", Nature.NETWORK),
    "T3": Close("a paged search took longer than its time limit", Nature.SERVER),
    "R1": Close("the operating system reported an error of the socket", Nature.NETWORK),
    "P1": Close("a plug-in closed it", Nature.SERVER),
    "P2": Close("the operating system said that the socket is no good", Nature.NETWORK),
    "P3": Close("a PROXY header that makes no sense", Nature.PROTOCOL),
    "P4": Close("a PROXY header from a proxy that is not trusted", Nature.PROTOCOL),
    "S1": Close("SASL failed", Nature.PROTOCOL),
    "reset": Close("the client, or a box between, reset it", Nature.CLIENT_GONE),
    "Encountered end of file.": Close("the client closed it without UNBIND", Nature.CLIENT_GONE),
}
