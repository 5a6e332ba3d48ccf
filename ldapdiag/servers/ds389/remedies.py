"""Remedies on 389 Directory Server: the commands and their undo, tested with 2.3.1.

What shortens the wait of 389 Directory Server's writes for the disk. Measured with 2.3.1.

A change waits for one flush of the transaction log (Berkeley DB), with LMDB for two. Batches of transactions
(nsslapd-db-transaction-batch-val) brought nothing: 67 to 99 changes per second with batches of 5 and 20, 80 to 98
without. nsslapd-db-durable-transaction: off loses every change since the last flush, and is no remedy.

The remedy that raises the ID list scan limit of one index of 389-ds. Effect and undo were tested with 2.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import Assertion, AssertionKind
from ldapdiag.evidence.indexes import ScanLimit
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, is_attribute_type, ldif_line
from ldapdiag.servers.commands.ldap_tools import modify, shown
from ldapdiag.servers.commands.remedy_texts import (
    CLIENTS_ARE_REFUSED,
    EXEMPT_ENTRIES,
    LONG_QUEUE,
    MANY_THREADS,
    OPERATIONS_AT_ONCE,
    POOL_MUST_RECONNECT,
    SECURE_BINDS,
    SHOW_BACKLOG,
    STOPGAP,
    backlog_of,
    idle_for,
)
from ldapdiag.servers.commands.shell_text import ldif_replace, unit_drop_in, unit_drop_in_undo
from ldapdiag.servers.ds389.defaults import DEFAULTS, IDLE
from ldapdiag.servers.hosts.host_remedies import kernel_keepalive, listen_ceiling
from ldapdiag.servers.hosts.kernel import KERNEL_KEEPALIVE_INTERVAL, KERNEL_KEEPALIVE_PROBES
from ldapdiag.servers.idle.account_limits import AccountIdleLimit, set_account_limit
from ldapdiag.servers.ldbm.ldif import backend_name, container, scan_limit_value
from ldapdiag.servers.volumes.layout_remedies import faster_disk

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.filter_tree import Node
    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.evidence.storage.settings import StorageSettings
    from ldapdiag.servers.commands.server_address import ServerAddress

UNIT = "dirsrv@.service"
RESTART = "systemctl restart dirsrv.target"
ACCOUNT_LIMIT = AccountIdleLimit(family=Family.DS389, attribute=IDLE.account_attribute, never=-1, exempt=IDLE.exempt)


def set_idle_timeout(server: ServerAddress, seconds: int, current: int | None, version: Version = ()) -> Remedy:
    """Set nsslapd-idletimeout. Without a former value, the undo restores the version's default."""
    enforcement = IDLE.at(version)
    changes = f"{idle_for(seconds, enforcement.latest(seconds))}; their clients receive a FIN."
    reaches = enforcement.reaches_open_connections
    if reaches is not True:
        changes += (
            " A connection copies its limit when it is opened and when it binds, so those that are open now "
            f"{'keep' if reaches is False else 'may keep'} the old one: close them by keepalive, with ss -K on the "
            "server, or by a restart."
        )
    if enforcement.needs_activity:
        changes += " This version checks idle times only when another connection is active (issue #6004)."
    return Remedy(
        title=f"Set the idle timeout to {seconds:,} s",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, *ldif_replace("nsslapd-idletimeout", seconds)),
        changes=changes,
        risk=f"{POOL_MUST_RECONNECT} {EXEMPT_ENTRIES}",
        undo=modify(server, *ldif_replace("nsslapd-idletimeout", current)),
        verify=shown(server, "nsslapd-idletimeout"),
        family=Family.DS389,
        needs=Needs.NONE if reaches else Needs.REBIND,
    )


def set_keepalive(server: ServerAddress, seconds: int, current: int | None = None, version: Version = ()) -> Remedy:
    """Set nsslapd-tcp-keepalive-time, or the kernel's time where the server has no setting of its own."""
    in_server = DEFAULTS.sets_keepalive_time.at(version)
    if in_server is False:
        return kernel_keepalive(server.name, seconds, current, where=Where.SERVER, family=Family.DS389)
    return Remedy(
        title=f"Send keepalive probes after {seconds:,} s of idle time",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, *ldif_replace("nsslapd-tcp-keepalive-time", seconds)),
        changes=(
            f"The kernel probes each peer after {seconds:,} s of idle time, so firewalls on the path keep their "
            f"state; a dead connection is closed {KERNEL_KEEPALIVE_INTERVAL * KERNEL_KEEPALIVE_PROBES} s later by the "
            "kernel's defaults. It applies to new connections only."
            + ("" if in_server else " It needs version 2.0.15, 2.1.1 or later; others refuse it.")
        ),
        risk=f"One small packet in each direction every {seconds:,} s per idle connection.",
        undo=modify(server, *ldif_replace("nsslapd-tcp-keepalive-time", current)),
        verify=f"{shown(server, 'nsslapd-tcp-keepalive-time')}\nss -tno state established '( sport = :389 )'",
        family=Family.DS389,
        needs=Needs.RECONNECT,
    )


def exempt_from_idle_timeout(server: ServerAddress, dns: tuple[str, ...], seconds: int = -1) -> Remedy | None:
    """Set an idle limit for accounts; None when no DN is valid or all are exempt anyway."""
    return set_account_limit(server, dns, seconds, ACCOUNT_LIMIT)


def raise_descriptor_limit(server: ServerAddress, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise the descriptor limits of the process and the server; the connection table is sized at the start."""
    cap = DEFAULTS.descriptor_cap.at(version)
    setting = modify(server, *ldif_replace("nsslapd-maxdescriptors", wanted))
    undo = [unit_drop_in_undo(UNIT), RESTART]
    if current is not None:
        undo = [modify(server, *ldif_replace("nsslapd-maxdescriptors", current)), *undo]
    return Remedy(
        title=f"Raise the descriptor limit to {wanted:,}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([unit_drop_in(UNIT, wanted), RESTART, setting, RESTART]),
        changes=(
            f"Every instance on the host may open {wanted:,} descriptors. The first restart raises the limit of the "
            "process, above which the server refuses the setting; the second resizes the connection table."
        ),
        risk=(
            f"Two restarts of every instance on the host. {STOPGAP}"
            + (f" The server accepts at most {cap:,} connections, whatever is set (FDS_PROCESS_MAX)." if cap else "")
        ),
        undo="\n".join(undo),
        verify=f"{shown(server, 'nsslapd-maxdescriptors')}\ngrep 'open files' /proc/$(pidof -s ns-slapd)/limits",
        family=Family.DS389,
        needs=Needs.RESTART,
    )


def raise_backlog(server: ServerAddress, current: int | None, wanted: int, version: Version = ()) -> Remedy:
    """Raise nsslapd-listen-backlog-size and the kernel's limit for it."""
    del version  # the same in every version
    ceiling = listen_ceiling(wanted)
    return Remedy(
        title=f"Raise the listen backlog to {wanted:,}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([ceiling.text, modify(server, *ldif_replace("nsslapd-listen-backlog-size", wanted)), RESTART]),
        changes=f"{backlog_of(wanted)} before the kernel drops new ones.",
        risk=f"A restart of every instance on the host. {LONG_QUEUE}",
        undo="\n".join(
            [modify(server, *ldif_replace("nsslapd-listen-backlog-size", current)), ceiling.undo, RESTART],
        ),
        verify=SHOW_BACKLOG,
        family=Family.DS389,
        needs=Needs.RESTART,
    )


def raise_threads(server: ServerAddress, current: int | None, wanted: int) -> Remedy:
    """Set nsslapd-threadnumber; -1: the server follows the number of processors."""
    return Remedy(
        title=f"Set the number of worker threads to {wanted}" if wanted > 0 else "Set automatic worker threads",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([modify(server, *ldif_replace("nsslapd-threadnumber", wanted)), RESTART]),
        changes=f"{OPERATIONS_AT_ONCE}, from the next start.",
        risk=MANY_THREADS,
        undo="\n".join([modify(server, *ldif_replace("nsslapd-threadnumber", current)), RESTART]),
        verify=shown(server, "nsslapd-threadnumber"),
        family=Family.DS389,
        needs=Needs.RESTART,
    )


def require_secure_binds(server: ServerAddress, version: Version = ()) -> Remedy:
    """Set nsslapd-require-secure-binds; it applies to the next BIND, so the commands themselves bind over TLS."""
    del version  # the same in every version
    head = ("dn: cn=config", "changetype: modify", "replace: nsslapd-require-secure-binds")
    return Remedy(
        title=SECURE_BINDS,
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, *head, "nsslapd-require-secure-binds: on", secure=True),
        changes=(
            "A simple BIND with a password needs TLS, StartTLS or ldapi; others get confidentialityRequired (13). "
            "Anonymous BINDs stay possible, and SASL PLAIN is not covered: leave it out of "
            "nsslapd-allowed-sasl-mechanisms."
        ),
        risk=f"{CLIENTS_ARE_REFUSED} So is the undo, unless it uses TLS or ldapi.",
        undo=modify(server, *head, "nsslapd-require-secure-binds: off", secure=True),
        verify=shown(server, "nsslapd-require-secure-binds", secure=True),
        family=Family.DS389,
    )


LOG = (
    "move the files log.* of the database's folder into a folder on the new volume that belongs to the server's "
    "account, set nsslapd-db-logdirectory in dse.ldif to it (cn=bdb,cn=config,cn=ldbm database,cn=plugins,cn=config), "
    "and start the server."
)
DATABASE = (
    "copy the folder of the database, set nsslapd-directory in dse.ldif to the new one, and start the server. LMDB "
    "keeps no log of its own, so the whole database moves."
)


def shorten_commits(
    server: ServerAddress, settings: StorageSettings | None, version: Version = ()
) -> tuple[Remedy, ...]:
    """Return the remedy; there is no other that keeps every acknowledged change."""
    implementation = settings.value("nsslapd-backend-implement").lower() if settings else ""
    if implementation == "mdb" or (not implementation and version >= (3,)):
        return (faster_disk(server, "the database", DATABASE, Family.DS389),)
    return (faster_disk(server, "the transaction log", LOG, Family.DS389),)


TYPES = {AssertionKind.EQUALITY: "eq", AssertionKind.PRESENCE: "pres", AssertionKind.SUBSTRING: "sub"}
"""Ranges have the limit of the server alone."""
EVERY = "objectclass"
"""Its lists are those of all persons, groups …: a scan reads hardly more."""
SIGNIFICANT = 2
"""Digits of a limit that is set."""


def raise_scan_limit(
    server: ServerAddress, backend: Backend, filter_: Node | None, entries: int, schema: Schema
) -> Remedy | None:
    """Return the remedy for a filter of one assertion that so many entries match; None if it has limits already."""
    if not isinstance(filter_, Assertion) or filter_.kind not in TYPES or filter_.attribute == EVERY or entries <= 0:
        return None
    definition, type_ = backend.definition(schema.names(filter_.attribute)), TYPES[filter_.kind]
    if definition is None or definition.system or type_ not in definition.types or definition.scan_limits:
        return None
    if not is_attribute_type(definition.attribute) or not backend_name(backend):
        return None
    limit = _rounded_up(entries + entries // 4)
    entry = f"cn={definition.attribute},{container(backend)}"
    value = f"nsIndexIDListScanLimit: {scan_limit_value(ScanLimit(limit=limit, types=frozenset({type_})))}"
    return Remedy(
        title=f"Raise the scan limit of {definition.attribute} ({type_}) to {limit:,} entries",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, ldif_line("dn", entry), "changetype: modify", "add: nsIndexIDListScanLimit", value),
        changes=f"Searches {filter_.text} read an ID list of up to {limit:,} entries in place of the whole database, "
        "from the next search on, without a build or a restart.",
        risk="Where these entries are a large part of the database, reading the list takes as long as the scan, and "
        f"only the note disappears. Compare the etime, and undo it if it is not shorter. The limit is that of "
        f"{type_} of this attribute alone. Index configuration is not replicated: repeat it on each replica.",
        undo=modify(server, ldif_line("dn", entry), "changetype: modify", "delete: nsIndexIDListScanLimit", value),
        verify=f"{shown(server, 'nsIndexIDListScanLimit', entry=entry)}\n"
        "echo 'then repeat the search: its RESULT in the access log must have no notes, and a lower etime'",
        family=Family.DS389,
    )


def _rounded_up(entries: int) -> int:
    unit = int("1" + "0" * max(0, len(str(entries)) - SIGNIFICANT))
    return -(-entries // unit) * unit
