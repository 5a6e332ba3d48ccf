"""Close codes of Directory Server Enterprise Edition (its reference, 6.1, on the access log). A1 is B1 to 389-ds.

    [20/Nov/2009:11:39:51 -0800] conn=13 op=-1 msgId=-1 - closing - U1

The close itself follows as a line `closed.` without a code.
"""

from __future__ import annotations

from ldapdiag.servers.nature import Close, Nature

CLOSES = {
    "U1": Close("the client said UNBIND", Nature.CLEAN),
    "A1": Close("the client closed it without UNBIND", Nature.CLIENT_GONE),
    "B1": Close("the client closed it without UNBIND, or sent what is no LDAP", Nature.CLIENT_GONE),
    "B2": Close("a request larger than nsslapd-maxbersize", Nature.PROTOCOL),
    "B3": Close("what came was no LDAP", Nature.PROTOCOL),
    "B4": Close("the client stopped reading, or was gone, while results were sent", Nature.NETWORK),
    "P1": Close("a plug-in closed it", Nature.SERVER),
    "P2": Close("it was found closed or broken", Nature.NETWORK),
    "T1": Close("idle for longer than the idle timeout", Nature.IDLE),
    "T2": Close("stuck for longer than nsslapd-ioblocktimeout: a peer that does not read or write", Nature.NETWORK),
}
