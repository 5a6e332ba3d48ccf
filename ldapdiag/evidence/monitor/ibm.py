"""cn=monitor of IBM's Directory Server (Tivoli, Security, Security Verify), and its list of connections.

    dn: cn=monitor
    version: IBM Security Directory (SSL), Version 6.4
    currentconnections: 2
    maxconnections: 1024

    dn: cn=connections,cn=monitor
    connection: 1632 : 9.41.21.31 : 2002-10-05 19:18:21 GMT: 1 : 1 : CN=ADMIN : :

The fields are connection, client's address, opening time, operations in progress and completed, bind DN, and SSL or TLS
if used. There is no public capture, only two examples in IBM's manuals with different blanks; so each field is
recognised by its form, not by its position. Values that do not match are counted as not understood.
Source: ibm.com/docs, "Using the cn=monitor command", "Using the cn=connections,cn=monitor command", and, for the
meaning of the time, "Manage server connections".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import ANY, LONGEST_NAME, is_exact, normalise_address
from ldapdiag.evidence.family import Family, ServerIdentity, identify
from ldapdiag.evidence.monitor import Monitor, MonitoredConnection, generalized_time
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

ROOT, LIST = "cn=monitor", "cn=connections,cn=monitor"
OWN_NAMES = (
    "autoconnectioncleaner",
    "auto_connection_cleaner",
    "idleconnectionsclosed",
    "livethreads",
    "total_ssl_connections",
    "total_tls_connections",
)
"""Counters that only this product publishes."""
ATTRIBUTES = (
    "objectClass",
    "version",
    "currenttime",
    "starttime",
    "currentconnections",
    "totalconnections",
    *OWN_NAMES,
)
"""The attributes read of cn=monitor itself."""

MOST_CONNECTIONS = 1 << 18
"""Limit on connections, more than a process has descriptors; further ones are dropped, with a note."""

SEPARATOR = pattern(r":(?=\s|$)")
MOMENT = pattern(r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\s?(GMT|UTC|Z)\b)?", re.ASCII)
COMPACT = pattern(r"\b\d{14}(?:\.\d{1,9})?Z", re.ASCII)
NUMBER = pattern(r"\d{1,18}", re.ASCII)
ACCOUNT = pattern(r"[A-Za-z][\w.-]{0,254}\s?=.*", re.ASCII | re.DOTALL)
SECURED = frozenset({"SSL", "TLS", "START_TLS", "STARTTLS", "KERBEROS"})
ANONYMOUS = frozenset({"", "NULL", "NULLDN", "ANONYMOUS"})
LONGEST = 4096
"""Characters of a value; longer ones are damaged."""


class IbmMonitor:
    """Makes a Monitor from each pair of cn=monitor and cn=connections; a repeated entry begins another snapshot."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.snapshots: list[dict[str, Entry]] = []
        """The entries of each snapshot, by their DN."""

    def take(self, entry: Entry) -> None:
        """Keep the entries of IBM's server: the root recognised by its attributes, the list by its values."""
        if not (is_ibm(entry) if entry.key == ROOT else entry.key == LIST and "connection" in entry):
            return
        if not self.snapshots or entry.key in self.snapshots[-1]:
            self.snapshots.append({})
        self.snapshots[-1][entry.key] = entry

    def facts(self) -> Iterator[Monitor]:
        """Return a Monitor for each snapshot that contains connections or their number."""
        for snapshot in self.snapshots:
            monitor = _monitor(snapshot.get(ROOT), snapshot.get(LIST), self.document)
            if monitor.current_connections is not None or monitor.connections is not None:
                yield monitor


def is_ibm(entry: Entry) -> bool:
    """Return whether a cn=monitor entry is of IBM's server, by its version or, in an excerpt, by its own counters."""
    if banner := entry.first("version"):
        identity = identify(banner)
        return identity is not None and identity.family is Family.IBM
    return any(name in entry for name in OWN_NAMES)


def _monitor(root: Entry | None, listed: Entry | None, document: Document) -> Monitor:
    values = listed.values("connection") if listed else ()
    connections = tuple(understood(values[:MOST_CONNECTIONS], parse_connection, document))
    if len(values) > MOST_CONNECTIONS:
        document.note(f"Only the first {MOST_CONNECTIONS:,} connections were kept.")
    identity = identify(root.first("version")) if root else None
    current = root.number("currentconnections") if root else None
    return Monitor(
        origin=document.origin(),
        identity=identity or ServerIdentity(family=Family.IBM),
        taken_at=_time(root.first("currenttime")) if root else None,
        started_at=_time(root.first("starttime")) if root else None,
        connections=connections or None,
        current_connections=current if current is not None else (len(values) or None),
        total_connections=root.number("totalconnections") if root else None,
        threads=root.number("livethreads") if root else None,
    )


def understood(
    values: tuple[str, ...], parse: Callable[[str], MonitoredConnection | None], document: Document
) -> Iterator[MonitoredConnection]:
    """Yield the connections of the values of `connection`; a value that `parse` does not understand is counted."""
    for value in values:
        if connection := parse(value):
            yield connection
        else:
            document.misread("connection:")


def parse_connection(value: str) -> MonitoredConnection | None:
    """Return the connection of a value, with its fields in any order; None if a field is not recognised."""
    if len(value) > LONGEST:
        return None
    moments = MOMENT.search(value) or COMPACT.search(value)
    bare = value.replace(moments[0], " ", 1) if moments else value
    clients, accounts, numbers = [], [], []
    for field in (part.strip() for part in SEPARATOR.split(bare)):
        if NUMBER.fullmatch(field):
            numbers.append(int(field))
        elif (address := normalise_address(field)) != ANY and is_exact(address) and len(field) <= LONGEST_NAME:
            clients.append(address)
        elif ACCOUNT.fullmatch(field):
            accounts.append(field.rstrip(" :"))
        elif field.strip(" :").upper() not in ANONYMOUS | SECURED:
            return None
    if len(clients) != 1 or len(accounts) > 1:
        return None
    working, completed = numbers[1:] if len(numbers) == 3 else (None, None)
    return MonitoredConnection(
        account=accounts[0] if accounts else "",
        client=clients[0],
        opened=_time(moments[0]) if moments else None,
        operations_started=None if working is None or completed is None else working + completed,
        operations_completed=completed,
    )


def _time(text: str) -> datetime | None:
    """Return the time; None if it has no zone, because it is then in the server's local zone."""
    found = MOMENT.fullmatch(text.strip())
    if found is None:
        return generalized_time.parse(text.strip())
    return generalized_time.parse("".join(found.groups()[:6]) + "Z") if found[7] else None
