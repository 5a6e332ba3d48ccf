"""Monitor: what a directory server says of itself, whatever it calls the attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.evidence.origin import Origin

if TYPE_CHECKING:
    from datetime import datetime

    from ldapdiag.evidence.family import ServerIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredConnection:
    """One open LDAP connection, as the server lists it."""

    account: str
    """The bind DN as the server prints it; empty when anonymous."""
    client: str
    """The client's address, normalised; 'ldapi' for a local socket; empty when the server does not say."""
    client_port: int | None = None
    """None where the server does not publish ports (389-ds and DSEE never do)."""
    opened: datetime | None = None
    active: datetime | None = None
    """Last activity; only OpenLDAP publishes it."""
    operations_started: int | None = None
    operations_completed: int | None = None
    persistent_searches: int | None = None
    """Searches that stay open to report changes, which rest long and are wanted; OpenDJ publishes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitor:
    """Counters, limits and connections of one server at one moment. None: the server does not publish it."""

    kind: ClassVar[str] = "monitor"
    how: ClassVar[str] = (
        "389-ds: ldapsearch -o ldif-wrap=no -D 'cn=Directory Manager' -W -b cn=monitor -s base > cn-monitor.ldif; "
        "OpenLDAP: ldapsearch … -b cn=Monitor '*' '+'; OpenDJ, PingDirectory: ldapsearch … -b cn=monitor"
    )

    origin: Origin
    identity: ServerIdentity
    taken_at: datetime | None = None
    """The server's own clock when it answered."""
    started_at: datetime | None = None
    connections: tuple[MonitoredConnection, ...] | None = None
    """None: not shown to this reader (389-ds shows the values to Directory Manager only)."""
    current_connections: int | None = None
    total_connections: int | None = None
    """Opened since the start of the server."""
    connection_table_size: int | None = None
    """389-ds dtablesize: the size of the connection table, not a limit of the process."""
    descriptor_limit: int | None = None
    """OpenLDAP cn=Max File Descriptors: sysconf(_SC_OPEN_MAX) of slapd."""
    threads: int | None = None
    busy_threads: int | None = None
    queued_operations: int | None = None
    connections_at_max_threads: int | None = None
    listeners: tuple[tuple[str, int], ...] = ()
    """Local address and port of listeners, as handlers and connections name them (OpenLDAP, OpenDJ, PingDirectory)."""
