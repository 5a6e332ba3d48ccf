"""Monitor: counters, limits and connections that a directory server publishes in cn=monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from ldapdiag.evidence.family import ServerIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredConnection:
    """One open LDAP connection in the server's list."""

    account: str
    """The bind DN as the server prints it; empty: anonymous."""
    client: str
    """The client's address, normalised; 'ldapi': a local socket; empty: not published."""
    client_port: int | None = None
    """None: not published (389-ds and DSEE never publish ports)."""
    opened: datetime | None = None
    active: datetime | None = None
    """Time of the last activity; only OpenLDAP publishes it."""
    operations_started: int | None = None
    operations_completed: int | None = None
    persistent_searches: int | None = None
    """Persistent searches, whose connections are idle for a long time on purpose; only OpenDJ publishes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitor:
    """Counters, limits and connections of one server at one moment. None: not published."""

    kind: ClassVar[str] = "monitor"
    how: ClassVar[str] = (
        "389-ds: ldapsearch -o ldif-wrap=no -D 'cn=Directory Manager' -W -b cn=monitor -s base > cn-monitor.ldif; "
        "OpenLDAP: ldapsearch … -b cn=Monitor '*' '+'; OpenDJ, PingDirectory: ldapsearch … -b cn=monitor"
    )

    origin: Origin
    identity: ServerIdentity
    taken_at: datetime | None = None
    """The server's clock at the time of the answer."""
    started_at: datetime | None = None
    connections: tuple[MonitoredConnection, ...] | None = None
    """None: hidden from this account (389-ds shows them to Directory Manager only)."""
    current_connections: int | None = None
    total_connections: int | None = None
    """Connections accepted since the server started."""
    connection_table_size: int | None = None
    """389-ds dtablesize: the size of the connection table, not a limit of the process."""
    descriptor_limit: int | None = None
    """OpenLDAP cn=Max File Descriptors: sysconf(_SC_OPEN_MAX) of slapd."""
    threads: int | None = None
    busy_threads: int | None = None
    queued_operations: int | None = None
    connections_at_max_threads: int | None = None
    operations: int | None = None
    """Completed (OpenLDAP) or received (389-ds, of cn=snmp) since the server started; asked by a live view alone."""
    local_sockets: tuple[str, ...] | None = None
    """The paths of the sockets at which it listens for ldapi, where its listeners are listed (OpenLDAP)."""
    listeners: tuple[tuple[str, int], ...] = ()
    """Local addresses and ports of listeners, from handlers and connections (OpenLDAP, OpenDJ, PingDirectory)."""
