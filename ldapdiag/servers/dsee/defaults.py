"""Defaults of Directory Server Enterprise Edition, from its manuals; no copy was available to measure.

They are the same from 5.2 to 11g, so they apply to an unknown version too.

Close codes of Directory Server Enterprise Edition (its reference, 6.1, on the access log). A1 is B1 in 389-ds.

    [20/Nov/2009:11:39:51 -0800] conn=13 op=-1 msgId=-1 - closing - U1

A line `closed.` without a code follows.
"""

from __future__ import annotations

from ldapdiag.servers.close_reasons import CloseKind, CloseReason
from ldapdiag.servers.defaults import NO, NOT_SET, UNDOCUMENTED, ProductDefaults, always
from ldapdiag.servers.idle.enforcement import IdleRules
from ldapdiag.servers.traits import Traits

IDLE = IdleRules(
    # Red Hat 8.1, from the same ancestor, did; Sun's manuals do not mention it.
    needs_activity=UNDOCUMENTED,
    # Not tested, and not in the manuals; 389-ds, from the same ancestor, copies the limit at the opening and the bind.
    reaches_open_connections=UNDOCUMENTED,
    # Sun 820-2488, table 6-1: "The limits do not apply to the Directory Manager user".
    exempt=("cn=Directory Manager",),
    exemption="Connections bound as Directory Manager are never closed for being idle.",
    # Sun 820-2488, table 6-1.
    account_attribute="nsIdleTimeout",
)

DEFAULTS = ProductDefaults(
    # nsslapd-idletimeout (dsconf: idle-timeout, where 0 is `none`). Sun ONE Tuning Guide 2003, table 9-1: "By default,
    # no time limit is set"; Oracle E28967: 0.
    idle_timeout_seconds=always(0),
    # Not documented; the timers in a socket table show it.
    sends_keepalives=UNDOCUMENTED,
    # No version documents such a setting.
    sets_keepalive_time=NO,
    # The kernel's: 7200 s on Solaris as on Linux.
    keepalive_seconds=NOT_SET,
    # nsslapd-maxdescriptors (dsconf: file-descriptor-count). Sun 820-0377 (6.1), 820-4806 (7.0), Oracle E28967
    # (11.1.1.7): 1024.
    max_descriptors=always(1024),
    # nsslapd-reservedescriptors, as in 389-ds, which inherited it from the same ancestor.
    reserved_descriptors=64,
    descriptor_cap=NOT_SET,
    # nsslapd-threadnumber (dsconf: max-thread-count). Oracle E28967: 30; the same in 5.2.
    threads=always(30),
    # nsslapd-listenBacklog. Sun 819-0986 (6.0), Oracle E28967 (11.1.1.7): 128.
    listen_backlog=always(128),
)


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

TRAITS = Traits(
    close_reasons=CLOSE_REASONS,
    logs_list_views=True,
    unindexed_note="U",
    computed={"nsrole": "roles"},
    indexes_computed=True,
    own_attributes=frozenset({"nsaccountlock", "nsrole", "nsroledn"}),  # Reference 820-4811,
    compares_all_values=True,
    has_one_writer=True,
    account_scan_limit="nsLookThroughLimit",
)
