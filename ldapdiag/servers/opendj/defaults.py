"""Defaults of OpenDJ and its relatives OpenDS, Oracle Unified Directory, ForgeRock DS and PingDS.

They share the properties and their defaults. Measurements are of OpenDJ 4.10.1 on Java 17 and Linux, and count for
version 4 only where the others may differ.

Close reasons in the logs of OpenDJ and its relatives, from org.opends.server.types.DisconnectReason.

[20/Nov/2026:09:03:29 +0000] DISCONNECT conn=4 reason="Client Disconnect"
"""

from __future__ import annotations

from ldapdiag.servers.close_reasons import CloseKind, CloseReason
from ldapdiag.servers.defaults import NO, NOT_SET, YES, ProductDefaults, always, by_version
from ldapdiag.servers.idle.enforcement import IdleRules, Lateness
from ldapdiag.servers.traits import LONG, Traits

IDLE = IdleRules(
    # OpenDJ issue 697 (July 2026): the setting is never passed on. Measured with 4.10.1: no connection is closed under
    # 3 s; one of an account with ds-rlim-idle-time-limit: 3 is, after 3.1 s. Which release of 5 has the fix is unknown.
    ignored=by_version(((4,), "this version ignores idle-time-limit (OpenDJ issue 697)"), ((4, 10, 2), None)),
    # IdleTimeLimitThread has a timer of its own. Measured with 4.10.1: closed after 3.1 s, no other client.
    needs_activity=by_version(((4,), False), ((5,), None)),
    # A connection copies its limit when it is opened and when it binds (issue 697). Measured with 4.10.1: a new limit
    # of an account does not reach its open connections.
    # 24 of 24 dead ones were left 480 s after a limit of 300 s (docs/experiments/first-action.md).
    reaches_open_connections=by_version(((4,), False), ((5,), None)),
    # The entry has ds-rlim-idle-time-limit: 0 in the config.ldif that setup writes. Measured with 4.10.1: never closed.
    exempt=("cn=Directory Manager", "cn=Directory Manager,cn=Root DNs,cn=config"),
    exemption="Connections bound as Directory Manager are never closed for being idle.",
    account_attribute="ds-rlim-idle-time-limit",
    # IdleTimeLimitThread counts milliseconds. It sleeps until the next connection is due, 5 s at most: one that is
    # opened meanwhile with a shorter limit waits for the rest of them. So in the sources of OpenDS 2 and OpenDJ 2 to 4.
    early_seconds=by_version(((2,), 0.0), ((5,), None)),
    late=by_version(((2,), Lateness(seconds=5.0)), ((5,), None)),
)

DEFAULTS = ProductDefaults(
    # idle-time-limit. Oracle 820-6170 (OpenDS), E27801 (OUD), the config.ldif of OpenDJ, PingDS 8 configuration
    # reference: 0 seconds.
    idle_timeout_seconds=always(0),
    # use-tcp-keep-alive of a connection handler: true.
    sends_keepalives=YES,
    # There is no such property.
    sets_keepalive_time=NO,
    # The kernel's. Measured with 4.10.1: timer:(keepalive,119min,0).
    keepalive_seconds=NOT_SET,
    # That of the process.
    max_descriptors=NOT_SET,
    reserved_descriptors=0,
    # max-allowed-client-connections: 0, no limit.
    descriptor_cap=NOT_SET,
)


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

TRAITS = Traits(
    programs=("java",),
    shares_program=True,
    close_reasons=CLOSE_REASONS,
    unindexed_note="unindexed",
    overnotes=True,
    index_types=LONG,
    waits_for_builds=True,
    appends_only=True,
    account_scan_limit="ds-rlim-lookthrough-limit",
)
