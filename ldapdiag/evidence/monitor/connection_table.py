"""cn=monitor of Netscape's server and its forks, 389-ds and DSEE: one entry of counters and `connection` values.

    version: 389-Directory/2.3.1 B2025.016.1616
    connection: 96:20261120084645Z:4:4:-:uid=application_xyz,ou=services,dc=example,dc=com:0:0:0:96:ip=127.0.0.31
    connection: 31:20010201164808Z:45:45::cn=admin,cn=Administrators,cn=config:LDAP

The fields are slot, opening time, operations started and completed, `r` while reading (else empty, or `-` from 389-ds
1.3.2 on) and bind DN; in 389-ds from 1.3.2 on also whether the connection is at its thread limit, how often it was, and
how often an operation waited for that; from 1.3.7 on also the connection's identifier and the client's address, without
its port. DSEE (second value) appends the protocol.
Source: 389-ds ldap/servers/slapd/conntable.c, connection_table_as_entry(), all branches; DSEE: Oracle 821-1507.

cn=monitor of 389-ds: the connection table (connection_table.py), with counters of busy workers and a work queue.

cn=monitor of Sun's and Oracle's Directory Server 5.2 to 11g: the connection table (connection_table.py).

    version: Sun-Directory-Server/11.1.1.7.0
    connection: 31:20010201164808Z:45:45::cn=admin,cn=Administrators,cn=config:LDAP
    connectionPeak: 412
    request-que-backlog: 0
    currentpsearches: 2

It contains neither the client's address nor its port. Source: Oracle 821-1507, cn=monitor.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family, ServerIdentity, identify
from ldapdiag.evidence.monitor import Monitor, MonitoredConnection, generalized_time
from ldapdiag.evidence.monitor.ibm import is_ibm, understood
from ldapdiag.evidence.monitor.own_connection import client_address, without_own_connection
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

MONITOR = "cn=monitor"
ANONYMOUS = "NULLDN"
OPENDS_CLASSES = "ds-"
"""OpenDJ's cn=monitor has counters of the same names."""
DSEE_NAMES = ("connectionPeak", "request-que-backlog", "currentpsearches")
"""Counters that only DSEE publishes."""
LIST = "connection"
ATTRIBUTES = (
    "objectClass",
    "version",
    "currenttime",
    "starttime",
    "currentconnections",
    "totalconnections",
    "dtablesize",
    "threads",
    "currentbusyworkers",
    "currentworkqueue",
    "currentconnectionsatmaxthreads",
    *DSEE_NAMES,
)
"""The attributes read, except the list of connections: the answer to these is always small."""
BEGINNING = pattern(r"\d{1,18}:([^:]{1,40}):(\d{1,18}):(\d{1,18}):([r-]?):(.*)", re.ASCII | re.DOTALL)
THREADS = pattern(r"(.*(?<!:[01])):[01]:\d{1,18}:\d{1,18}", re.ASCII | re.DOTALL)
THREADS_AND_ID = pattern(r"(.*):[01]:\d{1,18}:\d{1,18}:\d{1,18}", re.ASCII | re.DOTALL)
PROTOCOL = pattern(r":(?:LDAPS?|DSML)$")
"""DSEE's last field."""


def identity_of(entry: Entry) -> ServerIdentity | None:
    """Return the product of a cn=monitor entry; None for an entry that is not of 389-ds or DSEE.

    In an excerpt without version it is DSEE if there is a counter of DSEE, else 389-ds.
    """
    if entry.key != MONITOR:
        return None
    if banner := entry.first("version"):
        identity = identify(banner)
        return identity if identity and identity.family in {Family.DS389, Family.DSEE} else None
    if is_ibm(entry) or any(name.lower().startswith(OPENDS_CLASSES) for name in entry.values("objectClass")):
        return None
    return ServerIdentity(family=Family.DSEE if any(name in entry for name in DSEE_NAMES) else Family.DS389)


class ConnectionTableMonitor:
    """Makes a Monitor from each cn=monitor entry of one product; a file may contain several."""

    def __init__(self, document: Document, family: Family, *, queue: str) -> None:
        self.document = document
        self.family = family
        self.queue = queue
        """The counter of queued operations."""
        self.monitors: list[Monitor] = []

    def take(self, entry: Entry) -> None:
        """Read a cn=monitor entry of this product."""
        identity = identity_of(entry)
        if identity and identity.family is self.family:
            monitor = monitor_of(entry, identity, self.document, queue=self.queue)
            self.monitors.extend([monitor] if monitor else [])

    def facts(self) -> Iterator[Monitor]:
        """Return the monitors, with the counts of the whole text in their origin."""
        for monitor in self.monitors:
            yield replace(monitor, origin=self.document.origin())


def monitor_of(entry: Entry, identity: ServerIdentity, document: Document, *, queue: str) -> Monitor | None:
    """Return the Monitor of a cn=monitor entry, or None if it has no counters and no connections.

    `queue` is the name of the counter of queued operations.
    """
    current = entry.number("currentconnections")
    values = entry.values(LIST)
    threads = entry.number("threads")
    if current is None and threads is None and not values:
        return None
    if current and not values:
        document.note("cn=monitor shows connections to Directory Manager only: bind as Directory Manager.")
    listed = tuple(understood(values, parse_connection, document)) if values or current == 0 else None
    connections, current = without_own_connection(listed, current, document.asked_by)
    return Monitor(
        origin=document.origin(),
        identity=identity,
        taken_at=generalized_time.parse(entry.first("currenttime")),
        started_at=generalized_time.parse(entry.first("starttime")),
        connections=connections,
        current_connections=current,
        total_connections=entry.number("totalconnections"),
        connection_table_size=entry.number("dtablesize"),
        threads=threads,
        busy_threads=entry.number("currentbusyworkers"),
        queued_operations=entry.number(queue),
        connections_at_max_threads=entry.number("currentconnectionsatmaxthreads"),
    )


def parse_connection(value: str) -> MonitoredConnection | None:
    """Return the connection of a value, read from both ends because DNs may contain colons; None if damaged."""
    found = BEGINNING.fullmatch(value)
    if not found:
        return None
    opened, started, completed, reading, rest = found.groups()
    ending = _ending(rest, reading)
    if ending is None:
        return None
    account, client = ending
    return MonitoredConnection(
        account="" if account == ANONYMOUS else account,
        client=client,
        opened=generalized_time.parse(opened),
        operations_started=int(started),
        operations_completed=int(completed),
    )


def _ending(rest: str, reading: str) -> tuple[str, str] | None:
    """Return bind DN and client from the text after the fifth field, `reading`; None if the value was truncated."""
    head, separator, address = rest.rpartition(":ip=")
    if separator and (found := THREADS_AND_ID.fullmatch(head)):
        return found[1], client_address(address)
    if found := THREADS.fullmatch(rest):
        return found[1], ""
    if reading == "-":
        return None
    return PROTOCOL.sub("", rest), ""


class Ds389Monitor(ConnectionTableMonitor):
    """Makes a Monitor from each cn=monitor entry of 389-ds."""

    def __init__(self, document: Document) -> None:
        super().__init__(document, Family.DS389, queue="currentworkqueue")


class DseeMonitor(ConnectionTableMonitor):
    """Makes a Monitor from each cn=monitor entry of DSEE."""

    def __init__(self, document: Document) -> None:
        super().__init__(document, Family.DSEE, queue="request-que-backlog")
