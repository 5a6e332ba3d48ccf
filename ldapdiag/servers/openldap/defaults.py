"""Defaults of OpenLDAP's slapd. Most are the same in every version.

Close reasons in slapd's log: servers/slapd/connection.c and result.c pass them to connection_closing().

conn=1001 fd=16 closed                  after an UNBIND
conn=1002 fd=17 closed (idletimeout)
"""

from __future__ import annotations

from ldapdiag.servers.close_reasons import CloseKind, CloseReason
from ldapdiag.servers.defaults import NO, NOT_SET, YES, ProductDefaults, always, by_version
from ldapdiag.servers.idle.enforcement import IdleRules, Lateness
from ldapdiag.servers.traits import Traits

IDLE = IdleRules(
    # slapd_daemon_task() limits its wait to the idle timeout. Measured with 2.5.13: closed in time, no other client.
    needs_activity=NO,
    # connections_timeout_idle() reads global_idletimeout each time. Measured with 2.5.13: a change from 0 to 2 s closed
    # an open connection at once.
    # 24 of 24 dead ones were closed under 300 s, as printed (docs/experiments/first-action.md).
    reaches_open_connections=YES,
    # connections_timeout_idle() in connection.c does not look at the bind DN. Measured with 2.5.13: rootdn is closed.
    exempt=(),
    exemption=(
        "The only exempt connections are those with an operation in progress (the persistent search of a syncrepl "
        "consumer)."
    ),
    # connections_timeout_idle(): closed when `c_activitytime + idletimeout < now`, all whole seconds: never early, and
    # up to a second late for that.
    early_seconds=always(0.0),
    # slapd_daemon_task(), SLAPD_IDLE_CHECK_LIMIT 4, the same in the sources of 2.4 and 2.6: its wait ends at the latest
    # after a quarter of the timeout, and it looks for idle connections when more than a quarter, in whole seconds, has
    # passed since it last did. So a quiet slapd does so every second time: after half of the timeout.
    late=always(Lateness(seconds=2.0, share=0.5)),
)

DEFAULTS = ProductDefaults(
    # olcIdleTimeout. slapd-config(5) and slapd.conf(5), every version: "The default is 0."
    idle_timeout_seconds=always(0),
    # daemon.c, slap_listener().
    sends_keepalives=YES,
    sets_keepalive_time=NO,
    # The kernel's. Measured with 2.5.13: timer:(keepalive,119min,0).
    keepalive_seconds=NOT_SET,
    # That of the process: sysconf(_SC_OPEN_MAX).
    max_descriptors=NOT_SET,
    # slapd accepts connections up to the limit of its process.
    reserved_descriptors=0,
    descriptor_cap=NOT_SET,
    # olcThreads. slapd-config(5): 16.
    threads=always(16),
    # SLAPD_LISTEN_BACKLOG in daemon.c, compiled in: 1024 in 2.4; 2048 in the sources of 2022 and, measured, in 2.5.13.
    # Which release of 2.5 changed it is not known.
    listen_backlog=by_version(((2, 4), 1024), ((2, 5), None), ((2, 5, 13), 2048)),
)


CLOSE_REASONS = {
    "": CloseReason("the client sent UNBIND", CloseKind.CLEAN),
    "idletimeout": CloseReason("idle for longer than idletimeout", CloseKind.IDLE),
    "connection lost": CloseReason(
        "the client closed or reset it without UNBIND, or sent data that is not LDAP", CloseKind.CLIENT_GONE
    ),
    "connection lost on write": CloseReason("the client had closed it when a result was sent", CloseKind.CLIENT_GONE),
    "connection lost on writewait": CloseReason("the client closed it while slapd waited to send", CloseKind.NETWORK),
    "writetimeout": CloseReason("the client did not read for longer than writetimeout", CloseKind.NETWORK),
    "writer blocked and pool pause pending": CloseReason(
        "the client did not read, and slapd could not wait: its configuration changed", CloseKind.NETWORK
    ),
    "operations error": CloseReason("slapd could not decode a request", CloseKind.PROTOCOL),
    "TLS negotiation failure": CloseReason("the TLS negotiation failed", CloseKind.PROTOCOL),
    "SASL layer install failure": CloseReason("the SASL layer could not be installed", CloseKind.PROTOCOL),
    "slapd shutdown": CloseReason("slapd was stopped", CloseKind.SERVER),
    "dropping": CloseReason("slapd dropped all idle clients", CloseKind.SERVER),
}

TRAITS = Traits(
    programs=("slapd", "lt-slapd"),
    close_reasons=CLOSE_REASONS,
    numbers_connections=True,
    logs_messages=True,
    has_rule_indexes=False,
    has_default_types=True,
    needs_glue=True,
    sorts_in_memory=True,
    # mdb_txn_begin: one write transaction.
    has_one_writer=True,
    account_scan_limit_place='olcLimits of the database, as in: {0}dn.exact="DN" size.unchecked=NUMBER. Of all '
    "rules only the first that matches an account applies, so write its other limits there, too; and replace all "
    "values of olcLimits in one change: slapd compares a rule that is added alone last, until it starts again",
)
