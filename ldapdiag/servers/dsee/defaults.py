"""Defaults of Directory Server Enterprise Edition, from its manuals; no copy was available to measure.

They are the same from 5.2 to 11g, so they apply to an unknown version too.
"""

from __future__ import annotations

from ldapdiag.servers.defaults import NO, NOT_SET, UNDOCUMENTED, ProductDefaults, always
from ldapdiag.servers.idle_enforcement import IdleRules

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
