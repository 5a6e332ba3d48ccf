"""Reasons for a close in the logs of OpenDJ and what is kin to it: org.opends.server.types.DisconnectReason.

[20/Nov/2026:09:03:29 +0000] DISCONNECT conn=4 reason="Client Disconnect"
"""

from __future__ import annotations

from ldapdiag.servers.nature import Close, Nature

CLOSES = {
    "Client Unbind": Close("the client said UNBIND", Nature.CLEAN),
    # OpenDJ 4 says so after an UNBIND, too (seen: 151 connections of clients most of which unbind, no other word).
    "Client Disconnect": Close("the client closed it, with or without UNBIND", Nature.UNKNOWN),
    "Connection Rejected": Close("the server refused it", Nature.SERVER),
    "I/O Error": Close("reading or writing failed", Nature.NETWORK),
    "Protocol Error": Close("what came was no LDAP", Nature.PROTOCOL),
    "Server Shutdown": Close("the server was stopped", Nature.SERVER),
    "Administrative Termination": Close("an administrator ended it", Nature.SERVER),
    "Security Problem": Close("TLS or SASL failed", Nature.PROTOCOL),
    "Invalid Credentials": Close("the server ended it after a failed BIND", Nature.SERVER),
    "Maximum Request Size Exceeded": Close("a request larger than max-request-size", Nature.PROTOCOL),
    "Administrative Limit Exceeded": Close("over a limit of the server", Nature.SERVER),
    "Idle Time Limit Exceeded": Close("idle for longer than idle-time-limit", Nature.IDLE),
    "I/O Timeout": Close("the client did not read for longer than max-blocked-write-time-limit", Nature.NETWORK),
    "Server Error": Close("an error within the server", Nature.SERVER),
    "Closed by Plugin": Close("a plug-in closed it", Nature.SERVER),
    "Other": Close("a reason the server has no word for", Nature.UNKNOWN),
}
