"""Defaults of Active Directory's LDAP server: its default query policy.

The policies have had these values since Windows 2000, so they apply to an unknown version too. Source: KB 315071,
learn.microsoft.com, "View and set LDAP policy in Active Directory by using Ntdsutil.exe".
"""

from __future__ import annotations

from ldapdiag.evidence.filter_tree import AssertionKind
from ldapdiag.evidence.indexes.active_directory import COMPUTED
from ldapdiag.servers.close_reasons import CloseKind, CloseReason
from ldapdiag.servers.defaults import NO, NOT_SET, UNDOCUMENTED, ProductDefaults, always
from ldapdiag.servers.idle.enforcement import IdleRules
from ldapdiag.servers.traits import SHORT, LogThresholds, Traits

MAX_CONNECTIONS = 5000
"""MaxConnections. KB 315071: "If a connection comes in after the domain controller reaches this limit, the domain
controller drops another connection." New connections are not refused."""

POOL_THREADS = 4
"""MaxPoolThreads, per processor."""

IDLE = IdleRules(
    needs_activity=UNDOCUMENTED,
    # Not tested, and Microsoft does not document it.
    reaches_open_connections=UNDOCUMENTED,
    exempt=(),
    exemption="MaxConnIdleTime applies to every connection to the domain controller; no account can be exempted.",
)

DEFAULTS = ProductDefaults(
    # MaxConnIdleTime.
    idle_timeout_seconds=always(900),
    # Microsoft does not document it.
    sends_keepalives=UNDOCUMENTED,
    # No policy does.
    sets_keepalive_time=NO,
    # That of Windows where keepalives are on (KeepAliveTime, 7200 s).
    keepalive_seconds=NOT_SET,
    # Windows has no descriptors; MaxConnections is the only limit, and a full server still accepts connections.
    max_descriptors=NOT_SET,
    reserved_descriptors=0,
    descriptor_cap=NOT_SET,
)

CLOSE_REASONS = {
    "1317": CloseReason("idle timeout (MaxConnIdleTime)", CloseKind.IDLE),
    "1216 8616": CloseReason("the client did not read its results (send queue full)", CloseKind.NETWORK),
    "1216 1236": CloseReason("aborted by the server", CloseKind.SERVER),
}
"""By the number of the event, and its error; an event 1216 with another error has no reason that is known."""

LOGGED = LogThresholds(visited=10_000, visited_in_vain=1_000, milliseconds=30_000)
"""The defaults of Expensive Search Results Threshold, Inefficient Search Results Threshold and Search Time Threshold
(msecs). Source: Microsoft KB3060643, "How to use Event1644Reader.ps1"."""

TRAITS = Traits(
    close_reasons=CLOSE_REASONS,
    programs=("dsamain.exe",),
    logs_above=LOGGED,
    index_types={kind: "fTUPLEINDEX" if kind is AssertionKind.SUBSTRING else "fATTINDEX" for kind in SHORT},
    initial_type="fATTINDEX",
    one_level_type="fPDNTATTINDEX",
    has_rule_indexes=False,
    logged_index="idx_",
    walks=frozenset({"dnt_index", "ancestors_index", "pdnt_index"}),
    computed=dict.fromkeys(COMPUTED, "constructed, systemFlags 4"),
    replicates_indexes=True,
    waits_for_builds=True,
)
