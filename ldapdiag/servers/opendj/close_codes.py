"""Close reasons in the logs of OpenDJ and its relatives, from org.opends.server.types.DisconnectReason.

[20/Nov/2026:09:03:29 +0000] DISCONNECT conn=4 reason="Client Disconnect"
"""

from __future__ import annotations

from ldapdiag.servers.close_reasons import CloseKind, CloseReason

CLOSE_REASONS = {
    "Client Unbind": CloseReason("the client sent UNBIND", CloseKind.CLEAN),
    # OpenDJ 4 logs it after an UNBIND too (seen: 151 connections, most clients unbind, no other reason).
    "Client Disconnect": CloseReason("the client closed it, with or without UNBIND", CloseKind.UNKNOWN),
    "Connection Rejected": CloseReason("the server refused it", CloseKind.SERVER),
    "I/O Error": CloseReason("reading or writing failed", CloseKind.NETWORK),
    "Protocol Error": CloseReason("the client sent data that is not LDAP", CloseKind.PROTOCOL),
    "Server Shutdown": CloseReason("the server was stopped", CloseKind.SERVER),
    "Administrative Termination": CloseReason("an administrator ended it", CloseKind.SERVER),
    "Security Problem": CloseReason("TLS or SASL failed", CloseKind.PROTOCOL),
    "Invalid Credentials": CloseReason("the server ended it after a failed BIND", CloseKind.SERVER),
    "Maximum Request Size Exceeded": CloseReason("a request larger than max-request-size", CloseKind.PROTOCOL),
    "Administrative Limit Exceeded": CloseReason("a limit of the server was exceeded", CloseKind.SERVER),
    "Idle Time Limit Exceeded": CloseReason("idle for longer than idle-time-limit", CloseKind.IDLE),
    "I/O Timeout": CloseReason(
        "the client did not read for longer than max-blocked-write-time-limit", CloseKind.NETWORK
    ),
    "Server Error": CloseReason("an internal error of the server", CloseKind.SERVER),
    "Closed by Plugin": CloseReason("a plug-in closed it", CloseKind.SERVER),
    "Other": CloseReason("a reason that the server does not specify", CloseKind.UNKNOWN),
}
