"""Close codes of Directory Server Enterprise Edition (its reference, 6.1, on the access log). A1 is B1 in 389-ds.

    [20/Nov/2009:11:39:51 -0800] conn=13 op=-1 msgId=-1 - closing - U1

A line `closed.` without a code follows.
"""

from __future__ import annotations

from ldapdiag.servers.close_reasons import CloseKind, CloseReason

CLOSE_REASONS = {
    "U1": CloseReason("the client sent UNBIND", CloseKind.CLEAN),
    "A1": CloseReason("the client closed it without UNBIND", CloseKind.CLIENT_GONE),
    "B1": CloseReason("the client closed it without UNBIND, or sent data that is not LDAP", CloseKind.CLIENT_GONE),
    "B2": CloseReason("a request larger than nsslapd-maxbersize", CloseKind.PROTOCOL),
    "B3": CloseReason("the client sent data that is not LDAP", CloseKind.PROTOCOL),
    "B4": CloseReason("the client stopped reading, or closed it, while results were sent", CloseKind.NETWORK),
    "P1": CloseReason("a plug-in closed it", CloseKind.SERVER),
    "P2": CloseReason("the server found it closed or broken", CloseKind.NETWORK),
    "T1": CloseReason("idle for longer than the idle timeout", CloseKind.IDLE),
    "T2": CloseReason(
        "blocked for longer than nsslapd-ioblocktimeout: the client does not read or write", CloseKind.NETWORK
    ),
}
