"""Defaults of PingDirectory, from its documentation of 8.0 to 11.1; no copy was available to measure.

Where that was not available, the default is that of OpenDS, from which it derives. All apply to any version.

Close reasons in PingDirectory's log: those of OpenDS, from which it derives as OpenDJ does.

[01/Jan/2024:00:00:00 -0600] DISCONNECT conn=1 reason="Client Unbind" msg="The client has closed the connection"
"""

from __future__ import annotations

from ldapdiag.servers.close_reasons import CloseKind, CloseReason
from ldapdiag.servers.defaults import NO, NOT_SET, UNDOCUMENTED, YES, ProductDefaults, always
from ldapdiag.servers.idle.enforcement import IdleRules
from ldapdiag.servers.opendj import defaults as opendj
from ldapdiag.servers.traits import LONG, Traits

IDLE = IdleRules(
    needs_activity=UNDOCUMENTED,
    # The limit of a client connection policy is known not to reach open connections; the global one may. Not tested.
    reaches_open_connections=UNDOCUMENTED,
    exempt=(),
    exemption="The lower limit of a client connection policy applies to all its clients, root accounts included.",
    account_attribute="ds-rlim-idle-time-limit",
)

DEFAULTS = ProductDefaults(
    # idle-time-limit. OpenDS (Oracle 820-6170): 0 seconds. Ping's reference has the property; the page with its default
    # was not read.
    idle_timeout_seconds=always(0),
    # use-tcp-keep-alive of a connection handler. OpenDS (Oracle 821-0507): true. Ping's reference has the property; the
    # page with its default was not read.
    sends_keepalives=YES,
    # There is no such property.
    sets_keepalive_time=NO,
    # The kernel's.
    keepalive_seconds=NOT_SET,
    # What the start scripts ask for where neither config/num-file-descriptors nor the environment does. "Configuring
    # the file descriptor limits", 8.0 to 10.3: 65535.
    max_descriptors=always(65_535),
    reserved_descriptors=0,
    # maximum-concurrent-connections: 0, no limit.
    descriptor_cap=NOT_SET,
)


CLOSE_REASONS = opendj.CLOSE_REASONS | {
    "Client Disconnect": CloseReason("the client closed it without UNBIND", CloseKind.CLIENT_GONE)
}

TRAITS = Traits(
    close_reasons=CLOSE_REASONS,
    unindexed_note="unindexed",
    index_types=LONG,
    waits_for_builds=True,
    appends_only=True,
    account_scan_limit="ds-rlim-lookthrough-limit",
)
