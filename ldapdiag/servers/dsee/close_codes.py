"""Close codes of Directory Server Enterprise Edition (its reference, 6.1, on the access log). A1 is B1 to 389-ds.

    [20/Nov/2009:11:39:51 -0800] conn=13 op=-1 msgId=-1 - closing - U1

The close itself follows as a line `closed.` without a code.
"""

from __future__ import annotations

from ldapdiag.servers.close_reasons import CloseKind, CloseReason

CLOSE_REASONS = {
    "U1": CloseReason("the client said UNBIND", CloseKind.CLEAN),
    "A1": CloseReason("the client closed it without UNBIND", CloseKind.CLIENT_GONE),
    "B1": CloseReason("the client closed it without UNBIND, or sent what is no LDAP", CloseKind.CLIENT_GONE),
    "B2": CloseReason("a request larger than nsslapd-maxbersize", CloseKind.PROTOCOL),
    "B3": CloseReason("what came was no LDAP", CloseKind.PROTOCOL),
    "B4": CloseReason("the client stopped reading, or was gone, while results were sent", CloseKind.NETWORK),
    "P1": CloseReason("a plug-in closed it", CloseKind.SERVER),
    "P2": CloseReason("it was found closed or broken", CloseKind.NETWORK),
    "T1": CloseReason("idle for longer than the idle timeout", CloseKind.IDLE),
    "T2": CloseReason(
        "stuck for longer than nsslapd-ioblocktimeout: a peer that does not read or write", CloseKind.NETWORK
    ),
}
