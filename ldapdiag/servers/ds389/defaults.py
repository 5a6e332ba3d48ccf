"""Defaults of 389 Directory Server, by upstream release; distributions backport changes without a new number.

Close codes of 389 Directory Server, from disconnect_error_strings.h, connection.c and daemon.c.

Disconnect - Cleanly Closed Connection - U1                              U1
closed error 104 (Connection reset by peer) - B1                         B1, before 2.1
Disconnect - Connection reset by peer - TCP connection reset by peer.    no code: `reset`
Disconnect - Encountered end of file.                                    no code: the error text of NSPR

`reset` is a code of ldapdiag: the only close without a code that clients cause regularly.
"""

from __future__ import annotations

from ldapdiag.servers.close_reasons import CloseKind, CloseReason
from ldapdiag.servers.defaults import ProductDefaults, by_version
from ldapdiag.servers.idle.enforcement import IdleRules, Lateness
from ldapdiag.servers.traits import Traits

IDLE = IdleRules(
    # Issue #6004: handle_pr_read_ready() compared times only after poll() returned an event. From 1.3.4 to 1.4
    # nunc-stans, where enabled, had timers of its own. Pull request #6005 (December 2023) checks all connections every
    # second: it is in the changelog of 3.0.1 and not in those of 2.4.5 and 2.4.6. It was backported to 1.4.3 (#6569,
    # February 2025) and requested for 2.4 in RHEL 9.4 (RHEL-17511), in releases that no source names. Each branch is
    # True up to its last release that is known to precede the fix (release notes on port389.org). Measured with 2.3.1:
    # still open after 15 s under a limit of 3 s, closed when another client searched.
    needs_activity=by_version(
        ((), True),
        ((1, 3, 4), None),
        ((2, 0), True),
        ((2, 0, 16), None),
        ((2, 1), True),
        ((2, 1, 2), None),
        ((2, 2), True),
        ((2, 2, 10), None),
        ((2, 3), True),
        ((2, 3, 8), None),
        ((2, 4), True),
        ((2, 4, 5), None),
        ((3, 0, 1), False),
    ),
    # daemon.c, handle_new_connection(): a connection copies c_idletimeout when it is accepted and again when it binds;
    # so in the sources of 1.3.4 (2015) and of 2.3 and 2.4 (2023). Older and newer sources were not read. Measured with
    # 2.3.1: connections opened under 0 and under 3600 outlive a limit lowered to 3 s.
    # 24 of 24 dead ones were left 480 s after a limit of 300 s (docs/experiments/first-action.md).
    reaches_open_connections=by_version(((1, 3, 4), False), ((2, 5), None)),
    # Issue #6004, comment of 2023-12-06: no limit applies to the root DN. Measured with 2.3.1.
    exempt=("cn=Directory Manager",),
    exemption="Connections bound as Directory Manager are never closed for being idle.",
    # daemon.c, daemon_register_reslimits(). Measured with 2.3.1.
    account_attribute="nsIdleTimeout",
    # handle_pr_read_ready(): `curtime - c_idlesince >= c_idletimeout`, both whole seconds, in the sources of 1.3.4 to
    # 2.4; so a connection may be closed up to a second early.
    early_seconds=by_version(((1, 3, 4), 1.0)),
    # check_idletimeout() runs every second (pull request #6005). Where the server is built with epoll (pull request
    # #6924, August 2025), a timer of each connection replaces it.
    late=by_version(((3, 0, 1), Lateness(seconds=1.0))),
)

DEFAULTS = ProductDefaults(
    # nsslapd-idletimeout. Ticket 50329 (April 2019): 3600 from branch 1.4.1 on; before, SLAPD_DEFAULT_IDLE_TIMEOUT was
    # 0. An upgraded instance keeps its old value.
    idle_timeout_seconds=by_version(((), 0), ((1, 4, 1), 3600)),
    # Ticket 191 (2012), in 1.2.11.
    sends_keepalives=by_version(((), False), ((1, 2, 11), True)),
    # nsslapd-tcp-keepalive-time. Issue #5048 is in the release notes of 2.0.15 and 2.1.1 (March 2022) and was never
    # backported to 1.4.3 or 1.4.4.
    sets_keepalive_time=by_version(((), False), ((2, 0, 15), True), ((2, 1), False), ((2, 1, 1), True)),
    # configure_pr_socket() in daemon.c: TCP_KEEPIDLE. Measured with 2.3.1: timer:(keepalive,4min59sec,0).
    keepalive_seconds=by_version(((2, 0, 15), 300), ((2, 1), None), ((2, 1, 1), 300)),
    # nsslapd-maxdescriptors, SLAPD_DEFAULT_MAXDESCRIPTORS of each branch: 1024 up to 1.3.6, 8192 in 1.3.11 and 1.4.0,
    # 1048576 from 1.4.1. Which release between 1.3.7 and 1.3.10 changed it is not known.
    max_descriptors=by_version(((), 1024), ((1, 3, 7), None), ((1, 3, 11), 8192), ((1, 4, 1), 1_048_576)),
    # nsslapd-reservedescriptors (slap.h, SLAPD_DEFAULT_RESERVE_FDS); also read from 2.3.1.
    reserved_descriptors=64,
    # Once for the size of the connection table, and once before each accept (daemon.c, `ct->size - current >
    # reserved`). Measured with 2.3.1: limits of 150, 200 and 250 serve 22, 72 and 122 connections.
    times_reserved=2,
    # FDS_PROCESS_MAX in daemon.c, get_connection_table_size(): a larger table is cut to this number. In the sources of
    # 2.3 and 2.4; reported for 2.7 (issue #7377).
    descriptor_cap=by_version(((2, 3), 64_000)),
)


CLOSE_REASONS = {
    "U1": CloseReason("the client sent UNBIND", CloseKind.CLEAN),
    "A1": CloseReason("the server shut down or aborted it", CloseKind.SERVER),
    "B1": CloseReason("the client closed it without UNBIND, or sent data that is not LDAP", CloseKind.CLIENT_GONE),
    "B2": CloseReason("a request larger than nsslapd-maxbersize", CloseKind.PROTOCOL),
    "B3": CloseReason("the client sent data that is not LDAP", CloseKind.PROTOCOL),
    "B4": CloseReason("the client stopped reading, or closed it, while results were sent", CloseKind.NETWORK),
    "T1": CloseReason("idle for longer than nsslapd-idletimeout", CloseKind.IDLE),
    "T2": CloseReason(
        "blocked for longer than nsslapd-ioblocktimeout: the client does not read or write", CloseKind.NETWORK
    ),
    "T3": CloseReason("a paged search took longer than its time limit", CloseKind.SERVER),
    "R1": CloseReason("the operating system reported an error of the socket", CloseKind.NETWORK),
    "P1": CloseReason("a plug-in closed it", CloseKind.SERVER),
    "P2": CloseReason("the operating system reported an invalid socket", CloseKind.NETWORK),
    "P3": CloseReason("an invalid PROXY header", CloseKind.PROTOCOL),
    "P4": CloseReason("a PROXY header from an untrusted proxy", CloseKind.PROTOCOL),
    "S1": CloseReason("a SASL error", CloseKind.PROTOCOL),
    "reset": CloseReason("the client or a middlebox reset it", CloseKind.CLIENT_GONE),
    "Encountered end of file.": CloseReason("the client closed it without UNBIND", CloseKind.CLIENT_GONE),
}

OWN_ATTRIBUTES = frozenset(
    """
    accountunlocktime acctpolicysubentry aci copiedfrom copyingfrom dncomp dsentrydn entryid entryusn
    internalcreatorsname internalmodifiersname lastlogintime nsaccountlock nsbackendsuffix nscpentrydn
    nsds5replconflict nsidletimeout nsidlistscanlimit nslookthroughlimit nspagedidlistscanlimit
    nspagedlookthroughlimit nspagedsizelimit nsrole nsroledn nsschemacsn nssizelimit nstimelimit nsuniqueid
    numsubordinates parentid passwordallowchangetime passwordexpirationtime passwordexpwarned passwordgraceusertime
    passwordhistory passwordretrycount pwdpolicysubentry pwdreset pwdtprexpireat pwdtprreset pwdtprusecount
    pwdtprvalidfrom pwdupdatetime retrycountresettime tombstonenumsubordinates vendorname vendorversion
    """.split()  # noqa: SIM905  a list would be longer
)
"""Operational ones of its schema files (00core.ldif and others of 2.3.1)."""

TRAITS = Traits(
    programs=("ns-slapd",),
    names_instances=True,
    close_reasons=CLOSE_REASONS,
    logs_list_views=True,
    logs_pages=True,
    logs_index_builds=True,
    unindexed_note="A",
    lacking_note="F",
    scans_long_values=True,
    sorts_as_text=True,
    range_limit=2000,  # nsslapd-sizelimit, or what the client asks for; measured with 2.3.1 (bdb)
    computed={"nsrole": "roles"},
    indexes_computed=True,
    own_attributes=OWN_ATTRIBUTES,
    compares_all_values=True,
    # ldbm_back_modify.c: the lock of the backend.
    has_one_writer=True,
    account_scan_limit="nsLookThroughLimit",
    account_scan_limit_place="nsLookThroughLimit of the entry it binds as, or nsslapd-lookthroughlimit of cn=config,"
    "cn=ldbm database,cn=plugins,cn=config for all accounts",
)
