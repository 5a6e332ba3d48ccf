"""cn=monitor of 389-ds, whose `connection` values every version has written a little differently.

    version: 389-Directory/2.3.1 B2025.016.1616
    connection: 96:20261120084645Z:4:4:-:uid=application_xyz,ou=services,dc=example,dc=com:0:0:0:96:ip=127.0.0.31
    currentconnections: 44

The value is slot, opening time, operations started and completed, `r` while reading (else empty, or `-` from 1.3.2 on)
and bind DN; from 1.3.2 on also whether it is at its thread limit, how often it was, and how often an operation had to
wait for that; from 1.3.7 on also the connection's id and the client's address, never its port.
Source: ldap/servers/slapd/conntable.c, connection_table_as_entry(), all branches; DSEE appends the protocol.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import CUT, normalise_address
from ldapdiag.evidence.family import Family, ServerIdentity, identify
from ldapdiag.evidence.monitor import Monitor, MonitoredConnection, generalized_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

MONITOR = "cn=monitor"
ANONYMOUS = "NULLDN"
OPENDJ_CLASSES = "ds-"
"""OpenDJ's cn=monitor has counters of the same names."""
BEGINNING = re.compile(r"\d{1,18}:([^:]{1,40}):(\d{1,18}):(\d{1,18}):([r-]?):(.*)", re.ASCII | re.DOTALL)
THREADS = re.compile(r"(.*(?<!:[01])):[01]:\d{1,18}:\d{1,18}", re.ASCII | re.DOTALL)
THREADS_AND_ID = re.compile(r"(.*):[01]:\d{1,18}:\d{1,18}:\d{1,18}", re.ASCII | re.DOTALL)
PROTOCOL = re.compile(r":(?:LDAPS?|DSML)$")
"""DSEE's last field."""


class Ds389Monitor:
    """Makes a Monitor of each cn=monitor entry; a file with several is several looks."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.looks: list[Monitor] = []

    def take(self, entry: Entry) -> None:
        """Read a cn=monitor entry of 389-ds."""
        if entry.key != MONITOR:
            return
        identity = _identity(entry)
        if identity is None:
            return
        monitor = self._monitor(entry, identity)
        if any(value is not None for value in (monitor.connections, monitor.current_connections, monitor.threads)):
            self.looks.append(monitor)

    def facts(self) -> Iterator[Monitor]:
        """Return the looks, with the tally of the whole text."""
        for look in self.looks:
            yield replace(look, origin=self.document.origin())

    def _monitor(self, entry: Entry, identity: ServerIdentity) -> Monitor:
        current = entry.number("currentconnections")
        values = entry.values("connection")
        if current and not values:
            self.document.note("cn=monitor lists its connections to Directory Manager only: bind as that to see them.")
        return Monitor(
            origin=self.document.origin(),
            identity=identity,
            taken_at=generalized_time.parse(entry.first("currenttime")),
            started_at=generalized_time.parse(entry.first("starttime")),
            connections=tuple(self._connections(values)) if values or current == 0 else None,
            current_connections=current,
            total_connections=entry.number("totalconnections"),
            connection_table_size=entry.number("dtablesize"),
            threads=entry.number("threads"),
            busy_threads=entry.number("currentbusyworkers"),
            queued_operations=entry.number("currentworkqueue"),
            connections_at_max_threads=entry.number("currentconnectionsatmaxthreads"),
        )

    def _connections(self, values: tuple[str, ...]) -> Iterator[MonitoredConnection]:
        for value in values:
            if connection := parse_connection(value):
                yield connection
            else:
                self.document.misread("connection:")


def _identity(entry: Entry) -> ServerIdentity | None:
    """Return the version, or None for another server's cn=monitor; an excerpt may lack the version."""
    if banner := entry.first("version"):
        identity = identify(banner)
        return identity if identity and identity.family is Family.DS389 else None
    if any(name.lower().startswith(OPENDJ_CLASSES) for name in entry.values("objectClass")):
        return None
    return ServerIdentity(family=Family.DS389)


def parse_connection(value: str) -> MonitoredConnection | None:
    """Return the connection a value describes, read from both ends because a DN may hold colons; None for damage."""
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
    """Return bind DN and client of what follows the fifth field, `reading`; None when the value was cut."""
    head, separator, address = rest.rpartition(":ip=")
    if separator and (found := THREADS_AND_ID.fullmatch(head)):
        return found[1], _client(address)
    if found := THREADS.fullmatch(rest):
        return found[1], ""
    if reading == "-":
        return None
    return PROTOCOL.sub("", rest), ""


def _client(address: str) -> str:
    """Return the client as facts spell it; an address that somebody blackened stays as it is."""
    if address == "local" or address.startswith("/"):
        return "ldapi"
    if address in {"", "unknown"}:
        return ""
    normalised = normalise_address(address) if len(address) <= 255 else address[:255]
    return address[:255] if normalised.endswith(CUT) else normalised
