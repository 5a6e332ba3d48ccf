"""cn=Monitor of OpenLDAP: counters, limits, and one entry for each connection.

    dn: cn=Connection 1107,cn=Connections,cn=Monitor
    objectClass: monitorConnection
    monitorConnectionAuthzDN: uid=application_foo,ou=services,dc=example,dc=com
    monitorConnectionPeerAddress: IP=127.0.0.32:45751
    monitorConnectionLocalAddress: IP=0.0.0.0:13390

All monitor* attributes are operational: a search that does not ask for '+' shows none of them.
Source: slapd-monitor(5), servers/slapd/back-monitor/conn.c, slapd 2.5.13.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import normalise_address, port_number
from ldapdiag.evidence.family import Family, ServerIdentity, identify
from ldapdiag.evidence.monitor import Monitor, MonitoredConnection, generalized_time
from ldapdiag.evidence.monitor.own_connection import without_own_connection
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

ROOT = "cn=monitor"
SUFFIX = ",cn=monitor"
CONNECTION = pattern(r"cn=connection \d+,cn=connections", re.ASCII)
LISTENER = pattern(r"cn=listener \d+,cn=listeners", re.ASCII)
OWN_NAMES = "monitor"
"""The prefix of back-monitor's attributes and object classes; OpenDJ's cn=monitor has none of them."""

COUNTER = "monitorCounter"
INFORMATION = "monitoredInfo"
MOMENT = "monitorTimestamp"
LOCAL_ADDRESS = "monitorConnectionLocalAddress"

MOST_CONNECTIONS = 1 << 18
"""Limit on connections, more than a process has descriptors; further ones are dropped, with a note."""

LOCAL = "PATH="
ADDRESS = pattern(r"IP=(\[[^\]]{1,64}\]|[^:\[\]]{1,64}):(\d{1,5})", re.ASCII)


class OpenldapMonitor:
    """Makes Monitors from the cn=Monitor subtree; a repeated entry begins another snapshot."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.snapshots: list[_Snapshot] = []

    def take(self, entry: Entry) -> None:
        """Read an entry at or below cn=Monitor."""
        if (entry.key != ROOT and not entry.key.endswith(SUFFIX)) or not _is_openldap(entry):
            return
        if not self.snapshots or entry.key in self.snapshots[-1].seen:
            self.snapshots.append(_Snapshot(self.document.asked_by))
        self.snapshots[-1].take(entry, self.document)

    def facts(self) -> Iterator[Monitor]:
        """Return a Monitor for each snapshot with connections or counters."""
        for snapshot in self.snapshots:
            if snapshot.listed and not snapshot.connections:
                self.document.note("Connections are listed without their attributes: search again for '*' and '+'.")
            if snapshot.relevant:
                yield snapshot.monitor(self.document)


class _Snapshot:
    """The answer to one search of cn=Monitor."""

    def __init__(self, asked_by: str) -> None:
        self.asked_by = asked_by
        self.seen: set[str] = set()
        self.numbers: dict[str, int | None] = {}
        self.moments: dict[str, datetime | None] = {}
        self.operations: int | None = None
        self.banner = ""
        self.listed = 0
        self.connections: list[MonitoredConnection] = []
        self.listeners: dict[tuple[str, int], None] = {}
        self.local_sockets: dict[str, None] | None = None

    @property
    def relevant(self) -> bool:
        """Return whether it contains connections or counters."""
        return bool(self.listed or any(number is not None for number in self.numbers.values()))

    def take(self, entry: Entry, document: Document) -> None:
        """Read an entry."""
        if len(self.seen) < MOST_CONNECTIONS:
            self.seen.add(entry.key)
        name = entry.key.removesuffix(SUFFIX)
        if CONNECTION.fullmatch(name):
            self._connection(entry, document)
        elif LISTENER.fullmatch(name):
            self._listener(entry)
            self._local_socket(entry)
        elif name == ROOT:
            self.banner = entry.first(INFORMATION)
        elif name.endswith(",cn=time"):
            self.moments[name] = generalized_time.parse(entry.first(MOMENT))
        elif name.endswith(",cn=threads"):
            self.numbers[name] = entry.number(INFORMATION)
        elif name == "cn=operations":
            self.operations = entry.number("monitorOpCompleted")
        elif name.endswith(",cn=connections"):
            self.numbers[name] = entry.number(COUNTER)

    def monitor(self, document: Document) -> Monitor:
        """Return the Monitor of this snapshot."""
        identity = identify(self.banner) or ServerIdentity(family=Family.OPENLDAP)
        current = self.numbers.get("cn=current,cn=connections")
        listed = tuple(self.connections) if self.connections or current == 0 else None
        connections, current = without_own_connection(listed, current, self.asked_by)
        activities = (connection.active for connection in self.connections if connection.active)
        return Monitor(
            origin=document.origin(),
            identity=identity,
            # Without cn=Time the newest activity is the time of the answer: it is that of this search.
            taken_at=self.moments.get("cn=current,cn=time") or max(activities, default=None),
            started_at=self.moments.get("cn=start,cn=time"),
            connections=connections,
            current_connections=current,
            total_connections=self.numbers.get("cn=total,cn=connections"),
            descriptor_limit=self.numbers.get("cn=max file descriptors,cn=connections"),
            threads=self.numbers.get("cn=max,cn=threads"),
            busy_threads=self.numbers.get("cn=active,cn=threads"),
            queued_operations=self.numbers.get("cn=pending,cn=threads"),
            operations=self.operations,
            local_sockets=None if self.local_sockets is None else tuple(self.local_sockets),
            listeners=tuple(self.listeners),
        )

    def _connection(self, entry: Entry, document: Document) -> None:
        self.listed += 1
        if self.listed > MOST_CONNECTIONS:
            document.note(f"Only the first {MOST_CONNECTIONS:,} connections were kept.")
        elif connection := _connection(entry):
            self.connections.append(connection)
            self._listener(entry)

    def _listener(self, entry: Entry) -> None:
        address, port = parse_address(entry.first(LOCAL_ADDRESS))
        if port is not None and len(self.listeners) < MOST_CONNECTIONS:
            self.listeners[address, port] = None

    def _local_socket(self, entry: Entry) -> None:
        """Read the path of a listener for ldapi; without operational attributes it is not known what a listener is."""
        address = entry.first(LOCAL_ADDRESS)
        if self.local_sockets is None and address:
            self.local_sockets = {}
        if self.local_sockets is not None and address.startswith(LOCAL) and len(self.local_sockets) < MOST_CONNECTIONS:
            self.local_sockets[address.removeprefix(LOCAL)] = None


def parse_address(text: str) -> tuple[str, int | None]:
    """Return address and port of `IP=127.0.0.1:389` or `IP=[::1]:389`; 'ldapi' for `PATH=…`; else empty."""
    if text.startswith(LOCAL):
        return "ldapi", None
    found = ADDRESS.fullmatch(text)
    return (normalise_address(found[1]), port_number(found[2])) if found else ("", None)


def _is_openldap(entry: Entry) -> bool:
    classes = (name.lower() for name in entry.values("objectClass"))
    return any(name.startswith(OWN_NAMES) for name in (*classes, *entry.attributes))


def _connection(entry: Entry) -> MonitoredConnection | None:
    """Return the connection of an entry; None if its operational attributes are missing."""
    if not any(name.startswith("monitorconnection") for name in entry.attributes):
        return None
    client, port = parse_address(entry.first("monitorConnectionPeerAddress"))
    return MonitoredConnection(
        account=entry.first("monitorConnectionAuthzDN"),
        client=client,
        client_port=port,
        opened=generalized_time.parse(entry.first("monitorConnectionStartTime")),
        active=generalized_time.parse(entry.first("monitorConnectionActivityTime")),
        operations_started=entry.number("monitorConnectionOpsReceived"),
        operations_completed=entry.number("monitorConnectionOpsCompleted"),
    )
