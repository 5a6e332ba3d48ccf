"""Remedies on 389 Directory Server: the commands and their undo, tested with 2.3.1.

What shortens the wait of 389 Directory Server's writes for the disk. Measured with 2.3.1.

A change waits for one flush of the transaction log (Berkeley DB), with LMDB for two. Batches of transactions
(nsslapd-db-transaction-batch-val) brought nothing: 67 to 99 changes per second with batches of 5 and 20, 80 to 98
without. nsslapd-db-durable-transaction: off loses every change since the last flush, and is no remedy.

The remedy that raises the ID list scan limit of one index of 389-ds. Effect and undo were tested with 2.3.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import Assertion, AssertionKind
from ldapdiag.evidence.indexes import ScanLimit
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, is_attribute_type, ldif_line
from ldapdiag.servers.commands.ldap_tools import modify, shown
from ldapdiag.servers.commands.remedy_texts import (
    BACKLOG,
    CLIENTS_ARE_REFUSED,
    EXEMPT_ENTRIES,
    LONG_QUEUE,
    MANY_THREADS,
    OPERATIONS_AT_ONCE,
    POOL_MUST_RECONNECT,
    SHOW_BACKLOG,
    STOPGAP,
    idle_for,
)
from ldapdiag.servers.commands.shell_text import ldif_replace, unit_drop_in, unit_drop_in_undo
from ldapdiag.servers.ds389.defaults import DEFAULTS, IDLE
from ldapdiag.servers.hosts.host_remedies import listen_ceiling
from ldapdiag.servers.hosts.kernel import KERNEL_KEEPALIVE_INTERVAL, KERNEL_KEEPALIVE_PROBES
from ldapdiag.servers.idle.account_limits import AccountIdleLimit
from ldapdiag.servers.ldbm.ldif import backend_name, container, scan_limit_value
from ldapdiag.servers.settings import Commands, Purpose, ServerSettings, SettingRow, WantedValue, kernel_time
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


def config(attribute: str, *, restart: str = "", verify: str = "") -> Callable[[WantedValue], Commands]:
    """Return the commands of an attribute of cn=config; the undo of an unknown value removes it, for the default."""

    def commands(wanted: WantedValue) -> Commands:
        set_, back = (ldif_replace(attribute, value) for value in (wanted.value, wanted.former))
        shows = "\n".join(filter(None, (shown(wanted.server, attribute), verify)))
        return Commands(modify(wanted.server, *set_), modify(wanted.server, *back), shows).then(restart)

    return commands


def _closes(wanted: WantedValue) -> str:
    enforcement = IDLE.at(wanted.version)
    changes = f"{idle_for(wanted.value, enforcement.latest(wanted.value))}; their clients receive a FIN."
    reaches = enforcement.reaches_open_connections
    if reaches is not True:
        changes += (
            " A connection copies its limit when it is opened and when it binds, so those that are open now "
            f"{'keep' if reaches is False else 'may keep'} the old one: close them by keepalive, with ss -K on the "
            "server, or by a restart."
        )
    if enforcement.needs_activity:
        changes += " This version checks idle times only when another connection is active (issue #6004)."
    return changes


def _keepalive(wanted: WantedValue) -> Remedy:
    """Set nsslapd-tcp-keepalive-time, or the kernel's time where the server has no setting of its own."""
    in_server = DEFAULTS.sets_keepalive_time.at(wanted.version)
    if in_server is False:
        return kernel_time(Family.DS389)(wanted)
    row = SettingRow(
        commands=config("nsslapd-tcp-keepalive-time", verify="ss -tno state established '( sport = :389 )'"),
        changes=(
            "The kernel probes each peer after {value:,} s of idle time, so firewalls on the path keep their "
            f"state; a dead connection is closed {KERNEL_KEEPALIVE_INTERVAL * KERNEL_KEEPALIVE_PROBES} s later by the "
            "kernel's defaults. It applies to new connections only."
            + ("" if in_server else " It needs version 2.0.15, 2.1.1 or later; others refuse it.")
        ),
        risk="One small packet in each direction every {value:,} s per idle connection.",
        needs=Needs.RECONNECT,
    )
    return row.remedy(Family.DS389, Purpose.KEEPALIVE, wanted)


def _descriptors(wanted: WantedValue) -> Commands:
    """Raise the limits of the process and the server; the connection table is sized at the start."""
    server, attribute = wanted.server, "nsslapd-maxdescriptors"
    setting = modify(server, *ldif_replace(attribute, wanted.value))
    back = [] if wanted.former is None else [modify(server, *ldif_replace(attribute, wanted.former))]
    return Commands(
        "\n".join([unit_drop_in(UNIT, wanted.value), RESTART, setting, RESTART]),
        "\n".join([*back, unit_drop_in_undo(UNIT), RESTART]),
        f"{shown(server, attribute)}\ngrep 'open files' /proc/$(pidof -s ns-slapd)/limits",
    )


def _risk_of_descriptors(wanted: WantedValue) -> str:
    cap = DEFAULTS.descriptor_cap.at(wanted.version)
    most = f" The server accepts at most {cap:,} connections, whatever is set (FDS_PROCESS_MAX)." if cap else ""
    return f"Two restarts of every instance on the host. {STOPGAP}{most}"


def _backlog(wanted: WantedValue) -> Commands:
    ceiling, (text, undo, _) = listen_ceiling(wanted.value), config("nsslapd-listen-backlog-size")(wanted)
    return Commands(f"{ceiling.text}\n{text}\n{RESTART}", f"{undo}\n{ceiling.undo}\n{RESTART}", SHOW_BACKLOG)


def _secure_binds(wanted: WantedValue) -> Commands:
    """Apply to the next BIND, so the commands themselves bind over TLS."""
    attribute = "nsslapd-require-secure-binds"
    head = ("dn: cn=config", "changetype: modify", f"replace: {attribute}")
    on, off = (modify(wanted.server, *head, f"{attribute}: {value}", secure=True) for value in ("on", "off"))
    return Commands(on, off, shown(wanted.server, attribute, secure=True))


SETTINGS = ServerSettings(
    family=Family.DS389,
    restart=RESTART,
    account_limit=AccountIdleLimit(family=Family.DS389, attribute=IDLE.account_attribute, never=-1, exempt=IDLE.exempt),
    rows={
        Purpose.IDLE_TIMEOUT: SettingRow(
            commands=config("nsslapd-idletimeout"),
            changes=_closes,
            risk=f"{POOL_MUST_RECONNECT} {EXEMPT_ENTRIES}",
            needs=lambda wanted: Needs.NONE if IDLE.at(wanted.version).reaches_open_connections else Needs.REBIND,
        ),
        Purpose.KEEPALIVE: _keepalive,
        Purpose.DESCRIPTORS: SettingRow(
            commands=_descriptors,
            changes=(
                "Every instance on the host may open {value:,} descriptors. The first restart raises the limit of the "
                "process, above which the server refuses the setting; the second resizes the connection table."
            ),
            risk=_risk_of_descriptors,
            needs=Needs.RESTART,
        ),
        Purpose.BACKLOG: SettingRow(
            commands=_backlog,
            changes=f"{BACKLOG} before the kernel drops new ones.",
            risk=f"A restart of every instance on the host. {LONG_QUEUE}",
            needs=Needs.RESTART,
        ),
        Purpose.THREADS: SettingRow(
            title=lambda wanted: (
                Purpose.THREADS.format(value=wanted.value) if wanted.value > 0 else "Set automatic worker threads"
            ),
            commands=config("nsslapd-threadnumber", restart=RESTART),
            changes=f"{OPERATIONS_AT_ONCE}, from the next start.",
            risk=MANY_THREADS,
            needs=Needs.RESTART,
        ),
        Purpose.SECURE_BINDS: SettingRow(
            commands=_secure_binds,
            changes=(
                "A simple BIND with a password needs TLS, StartTLS or ldapi; others get confidentialityRequired (13). "
                "Anonymous BINDs stay possible, and SASL PLAIN is not covered: leave it out of "
                "nsslapd-allowed-sasl-mechanisms."
            ),
            risk=f"{CLIENTS_ARE_REFUSED} So is the undo, unless it uses TLS or ldapi.",
        ),
    },
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
    """Return the remedy; there is no other that keeps every acknowledged wanted."""
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
