"""The subtree cn=monitor of OpenDS and its forks, and the product it belongs to.

    dn: cn=Client Connections,cn=LDAP Connection Handler 0.0.0.0 port 13489,cn=monitor
    connection: connID="14" connectTime="20261120090253Z" source="127.0.0.31:44997" …

The same connection is in the list of its handler, in the handler's own entry, and in the list of all connections.

One connection in the list of OpenDS and its forks, in either of two notations.

    connID="14" connectTime="20261120090253Z" source="127.0.0.31:44997" destination="127.0.0.1:13489" ldapVersion="3"
        authDN="uid=application_xyz,ou=services,dc=example,dc=com" security="none" opsInProgress="0"
    {"connId":14,"connectTime":"20261120090253Z","source":"127.0.0.31:44997","destination":"127.0.0.1:13489",…}

Quotes within a value are not escaped, so the DN, the only value that a client chooses, is located from both ends. An
IPv6 address has no brackets before its port. The second notation is that of ForgeRock DS 6 and later, and of PingDS.
Source: LDAPClientConnection.getMonitorSummary() of OpenDJ; captured from OpenDJ 4.10.1. There is no public capture of
the JSON; its names are compared case-insensitively.

cn=monitor of OpenDJ, OpenDS, Oracle Unified Directory, ForgeRock DS and PingDS (opends_subtree.py).

    dn: cn=Client Connections,cn=monitor
    connection: connID="14" connectTime="20261120090253Z" source="127.0.0.31:44997" destination="127.0.0.1:13489" …

ForgeRock DS from 6 on, and PingDS, have `ds-mon-connection` at cn=LDAP,cn=connection handlers,cn=monitor instead.

cn=monitor of PingDirectory, formerly UnboundID Directory Server (opends_subtree.py).

    dn: cn=Client Connections,cn=monitor
    objectClass: ds-client-connection-monitor-entry
    connection: connID="1" connectTime="20080101020202Z" source="127.0.0.1:5678" destination="127.0.0.1:389" …

Source: com.unboundid.ldap.sdk.unboundidds.monitors of UnboundID's LDAP SDK, and the samples in its tests.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family, ServerIdentity, identify
from ldapdiag.evidence.ldif import whole_number
from ldapdiag.evidence.monitor import Monitor, MonitoredConnection, generalized_time
from ldapdiag.evidence.monitor.own_connection import java_endpoint, without_own_connection
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

ROOT = "cn=monitor"
BELOW = ",cn=monitor"
OWN_CLASSES = "ds-"
"""The prefix of the object classes that these servers define: ds-monitor-entry, ds-monitor-server…"""
PING_CLASSES = frozenset({"ds-client-connection-monitor-entry", "ds-general-monitor-entry"})
"""Defined by UnboundID; entries of the other products have no class for their content."""

BANNERS = ("vendorVersion", "fullVersion", "ds-mon-full-version", "ds-mon-vendor-version", "ds-mon-product-name")
LISTS = ("connection", "ds-connectionhandler-connection", "ds-mon-connection")
LISTENERS = ("ds-connectionhandler-listener", "ds-mon-listen-address")
ADMINISTRATION = "cn=administration"
NUMBERS = {
    "current": ("currentConnections", "ds-mon-current-connections"),
    "total": ("totalConnections", "ds-mon-total-connections"),
    "queued": ("currentRequestBacklog", "current-queue-size", "ds-mon-requests-in-queue"),
    "threads": ("num-worker-threads",),
    "busy": ("num-busy-worker-threads",),
}
MOMENTS = {"now": ("currentTime", "ds-mon-current-time"), "start": ("startTime", "ds-mon-start-time")}
ATTRIBUTES = (
    "objectClass",
    "ds-connectionhandler-protocol",
    "ds-mon-protocol",
    *BANNERS,
    *LISTENERS,
    *(name for names in (*NUMBERS.values(), *MOMENTS.values()) for name in names),
)
"""The attributes read, except the lists of connections: the answer to these is always small."""
MOST_CONNECTIONS = 1 << 18
"""Limit on connections, more than a process has descriptors; further ones are dropped, with a note."""


class OpendsMonitor:
    """Makes Monitors from the subtrees of one product family; a repeated entry begins another snapshot."""

    def __init__(self, document: Document, family: Family) -> None:
        self.document = document
        self.family = family
        self.current_family = Family.OPENDJ
        """The family of the entries being read, some of which do not name it."""
        self.snapshots: list[_Snapshot] = []

    def take(self, entry: Entry) -> None:
        """Read an entry at or below cn=monitor, if its subtree is of this family."""
        if (entry.key != ROOT and not entry.key.endswith(BELOW)) or not _is_opends(entry):
            return
        self.current_family = _family_of(entry) or self.current_family
        if self.current_family is not self.family:
            return
        if not self.snapshots or entry.key in self.snapshots[-1].seen:
            self.snapshots.append(_Snapshot(self.family, self.document.asked_by))
        self.snapshots[-1].take(entry, self.document)

    def facts(self) -> Iterator[Monitor]:
        """Return a Monitor for each snapshot with connections or their number."""
        for snapshot in self.snapshots:
            if snapshot.relevant:
                yield snapshot.monitor(self.document)


class _Snapshot:
    """The answer to one search of the subtree."""

    def __init__(self, family: Family, asked_by: str) -> None:
        self.asked_by = asked_by
        self.seen: set[str] = set()
        self.identity = ServerIdentity(family=family)
        self.numbers: dict[str, int] = {}
        self.moments: dict[str, datetime | None] = {}
        self.listed = False
        self.connections: dict[str, MonitoredConnection] = {}
        self.listeners: dict[tuple[str, int], None] = {}
        self.administration: set[int] = set()

    @property
    def relevant(self) -> bool:
        """Return whether it contains connections or their number."""
        return self.listed or "current" in self.numbers

    def take(self, entry: Entry, document: Document) -> None:
        """Read an entry."""
        if len(self.seen) < MOST_CONNECTIONS:
            self.seen.add(entry.key)
        self._identify(entry)
        self.listed = self.listed or entry.key.startswith("cn=client connections,")
        for meaning, names in NUMBERS.items():
            number = next((value for value in map(entry.number, names) if value is not None), None)
            if number is not None:
                self.numbers.setdefault(meaning, number)
        if entry.key == ROOT:
            for meaning, names in MOMENTS.items():
                text = next(filter(None, map(entry.first, names)), "")
                self.moments[meaning] = generalized_time.parse(text)
        self._listen(entry)
        for name in LISTS:
            for value in entry.values(name):
                self._connection(name, value, document)

    def monitor(self, document: Document) -> Monitor:
        """Return the Monitor of this snapshot."""
        current = self.numbers.get("current")
        listed = tuple(self.connections.values()) if self.listed or current == 0 else None
        connections, current = without_own_connection(listed, current, self.asked_by)
        return Monitor(
            origin=document.origin(),
            identity=self.identity,
            taken_at=self.moments.get("now"),
            started_at=self.moments.get("start"),
            connections=connections,
            current_connections=current,
            total_connections=self.numbers.get("total"),
            threads=self.numbers.get("threads"),
            busy_threads=self.numbers.get("busy"),
            queued_operations=self.numbers.get("queued"),
            listeners=tuple(listener for listener in self.listeners if listener[1] not in self.administration),
        )

    def _identify(self, entry: Entry) -> None:
        for name in BANNERS:
            identity = identify(entry.first(name))
            if identity and identity.family is self.identity.family and identity.version:
                self.identity = identity
                return

    def _listen(self, entry: Entry) -> None:
        """Read the listeners of an LDAP handler; those of the administration connector serve no applications."""
        protocol = entry.first("ds-connectionhandler-protocol") or entry.first("ds-mon-protocol")
        for address, port in (java_endpoint(value) for name in LISTENERS for value in entry.values(name)):
            if port is None:
                continue
            if entry.key.startswith(ADMINISTRATION):
                self.administration.add(port)
            elif protocol.upper().startswith("LDAP"):
                self._listener(address, port)

    def _listener(self, address: str, port: int) -> None:
        if len(self.listeners) < MOST_CONNECTIONS:
            self.listeners[address, port] = None

    def _connection(self, name: str, value: str, document: Document) -> None:
        self.listed = True
        summary = parse_summary(value)
        if summary is None:
            document.misread(f"{name}:")
        elif not summary.is_ldap:
            document.note("Connections of JMX and HTTP are listed as well; they are ignored.")
        elif summary.number in self.connections:
            return
        elif len(self.connections) >= MOST_CONNECTIONS:
            document.note(f"Only the first {MOST_CONNECTIONS:,} connections were kept.")
        else:
            self.connections[summary.number] = summary.connection
            address, port = summary.listener
            if port is not None:
                self._listener(address, port)


def _is_opends(entry: Entry) -> bool:
    """Return whether the entry is of one of these servers, by object classes or, in an excerpt, by attributes."""
    classes = (name.lower() for name in entry.values("objectClass"))
    own = any(name.startswith(OWN_CLASSES) for name in (*classes, *entry.attributes))
    return own or "vendorVersion" in entry or entry.first("connection").startswith("connID=")


def _family_of(entry: Entry) -> Family | None:
    """Return the product family of an entry; None if the entry does not show it."""
    for name in BANNERS:
        identity = identify(entry.first(name))
        if identity and identity.family in {Family.OPENDJ, Family.PING}:
            return identity.family
    classes = {name.lower() for name in entry.values("objectClass")}
    if classes & PING_CLASSES:
        return Family.PING
    return Family.OPENDJ if entry.key == ROOT or any(name.startswith("ds-mon-") for name in entry.attributes) else None


ACCOUNT = ' authDN="'
AFTER_ACCOUNT = '" security="'
PAIR = pattern(r'(\w{1,40})="([^"]*)"', re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The content of one value: the connection, and the server's endpoint of it."""

    number: str
    """The connection's identifier, equal in all lists; the complete value where it has none."""
    connection: MonitoredConnection
    listener: tuple[str, int | None]
    is_ldap: bool
    """False: a connection of JMX or HTTP, which the server also lists."""


def parse_summary(value: str) -> Summary | None:
    """Return the content of a value; None if it is damaged."""
    fields = _json(value) if value.startswith("{") else _pairs(value)
    if "source" not in fields and "jmxconnid" not in fields:
        return None
    client, port = java_endpoint(fields.get("source", ""))
    return Summary(
        number=fields.get("connid") or value,
        connection=MonitoredConnection(
            account=fields.get("authdn", ""),
            client=client,
            client_port=port,
            opened=generalized_time.parse(fields.get("connecttime", "")),
            persistent_searches=whole_number(fields.get("persistentsearches", "")),
        ),
        listener=java_endpoint(fields.get("destination", "")),
        is_ldap=bool(fields.get("ldapversion")) or ("source" in fields and value.startswith("{")),
    )


def _pairs(value: str) -> Mapping[str, str]:
    """Return the fields of key="value" pairs; the DN is the text between its key and the next one.

    Empty if either key is missing, because the value was truncated.
    """
    head, _, rest = value.partition(ACCOUNT)
    account, closed, tail = rest.rpartition(AFTER_ACCOUNT)
    if not closed:
        return {}
    pairs = PAIR.findall(head) + PAIR.findall(f'security="{tail}')
    return {name.lower(): text for name, text in pairs} | {"authdn": account}


def _json(value: str) -> Mapping[str, str]:
    try:
        fields = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(fields, dict):
        return {}
    return {name.lower(): str(text) for name, text in fields.items() if isinstance(text, (str, int))}


class OpendjMonitor(OpendsMonitor):
    """Makes a Monitor from each snapshot of OpenDJ's cn=monitor."""

    def __init__(self, document: Document) -> None:
        super().__init__(document, Family.OPENDJ)


class PingMonitor(OpendsMonitor):
    """Makes a Monitor from each snapshot of PingDirectory's cn=monitor."""

    def __init__(self, document: Document) -> None:
        super().__init__(document, Family.PING)
