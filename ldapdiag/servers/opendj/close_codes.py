"""Reasons for a close in the logs of OpenDJ and what is kin to it: org.opends.server.types.DisconnectReason.

[20/Nov/2026:09:03:29 +0000] DISCONNECT conn=4 reason="Client Disconnect"
"""

from __future__ import annotations

from ldapdiag.servers.close_reasons import CloseKind, CloseReason

CLOSE_REASONS = {
    "Client Unbind": CloseReason("the client said UNBIND", CloseKind.CLEAN),
    # OpenDJ 4 says so after an UNBIND, too (seen: 151 connections of clients most of which unbind, no other word).
    "Client Disconnect": CloseReason("the client closed it, with or without UNBIND", CloseKind.UNKNOWN),
    "Connection Rejected": CloseReason("the server refused it", CloseKind.SERVER),
    "I/O Error": CloseReason("reading or writing failed", CloseKind.NETWORK),
    "Protocol Error": CloseReason("what came was no LDAP", CloseKind.PROTOCOL),
    "Server Shutdown": CloseReason("the server was stopped", CloseKind.SERVER),
    "Administrative Termination": CloseReason("an administrator ended it", CloseKind.SERVER),
    "Security Problem": CloseReason("TLS or SASL failed", CloseKind.PROTOCOL),
    "Invalid Credentials": CloseReason("the server ended it after a failed BIND", CloseKind.SERVER),
    "Maximum Request Size Exceeded": CloseReason("a request larger than max-request-size", CloseKind.PROTOCOL),
    "Administrative Limit Exceeded": CloseReason("over a limit of the server", CloseKind.SERVER),
    "Idle Time Limit Exceeded": CloseReason("idle for longer than idle-time-limit", CloseKind.IDLE),
    "I/O Timeout": CloseReason(
        "the client did not read for longer than max-blocked-write-time-limit", CloseKind.NETWORK
    ),
    "Server Error": CloseReason("an error within the server", CloseKind.SERVER),
    "Closed by Plugin": CloseReason("a plug-in closed it", CloseKind.SERVER),
    "Other": CloseReason("a reason the server has no word for", CloseKind.UNKNOWN),
}
