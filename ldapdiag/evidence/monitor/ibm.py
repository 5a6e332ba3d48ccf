"""cn=monitor of IBM's Directory Server (Tivoli, Security, Security Verify), and its list of connections.

    dn: cn=monitor
    version: IBM Security Directory (SSL), Version 6.4
    currentconnections: 2
    maxconnections: 1024

    dn: cn=connections,cn=monitor
    connection: 1632 : 9.41.21.31 : 2002-10-05 19:18:21 GMT: 1 : 1 : CN=ADMIN : :

The value is connection, client's address, when it was opened, operations in progress and completed, bind DN, and SSL or
TLS where it is. No captured one was to be had, only the two forms in IBM's manuals, which set the blanks differently;
so each field is known by what it looks like, wherever it stands. What does not fit is counted.
Source: ibm.com/docs, "Using the cn=monitor command", "Using the cn=connections,cn=monitor command", and, for the
meaning of the time, "Manage server connections".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import ANY, LONGEST_NAME, is_exact, normalise_address
from ldapdiag.evidence.family import Family, ServerIdentity, identify
from ldapdiag.evidence.monitor import Monitor, MonitoredConnection, generalized_time

if TYPE_CHECKING:
    from collections.abc import Iterator
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
"""Counters that only this server has."""
ATTRIBUTES = (
    "objectClass",
    "version",
    "currenttime",
    "starttime",
    "currentconnections",
    "totalconnections",
    *OWN_NAMES,
)
"""What is read of cn=monitor itself."""

MOST_CONNECTIONS = 1 << 18
"""More than a process has descriptors; what is beyond is not kept, with a note."""

SEPARATOR = re.compile(r":(?=\s|$)")
MOMENT = re.compile(r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\s?(GMT|UTC|Z)\b)?", re.ASCII)
COMPACT = re.compile(r"\b\d{14}(?:\.\d{1,9})?Z", re.ASCII)
NUMBER = re.compile(r"\d{1,18}", re.ASCII)
ACCOUNT = re.compile(r"[A-Za-z][\w.-]{0,254}\s?=.*", re.ASCII | re.DOTALL)
SECURED = frozenset({"SSL", "TLS", "START_TLS", "STARTTLS", "KERBEROS"})
ANONYMOUS = frozenset({"", "NULL", "NULLDN", "ANONYMOUS"})
LONGEST = 4096
"""Characters of a value; none is longer but for damage."""


class IbmMonitor:
    """Makes a Monitor of each look at cn=monitor and cn=connections; when an entry comes again, a look begins."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.looks: list[dict[str, Entry]] = []

    def take(self, entry: Entry) -> None:
        """Keep an entry of IBM's: the root by what it says, the list by its values."""
        if not (is_ibm(entry) if entry.key == ROOT else entry.key == LIST and "connection" in entry):
            return
        if not self.looks or entry.key in self.looks[-1]:
            self.looks.append({})
        self.looks[-1][entry.key] = entry

    def facts(self) -> Iterator[Monitor]:
        """Return a Monitor for each look that says anything."""
        for look in self.looks:
            monitor = _monitor(look.get(ROOT), look.get(LIST), self.document)
            if monitor.current_connections is not None or monitor.connections is not None:
                yield monitor


def is_ibm(entry: Entry) -> bool:
    """Tell whether a cn=monitor entry is IBM's, by its version or, in an excerpt, by counters of its own."""
    if banner := entry.first("version"):
        identity = identify(banner)
        return identity is not None and identity.family is Family.IBM
    return any(name in entry for name in OWN_NAMES)


def _monitor(root: Entry | None, listed: Entry | None, document: Document) -> Monitor:
    values = listed.values("connection") if listed else ()
    connections = tuple(_connections(values[:MOST_CONNECTIONS], document))
    if len(values) > MOST_CONNECTIONS:
        document.note(f"Only the first {MOST_CONNECTIONS} connections were kept.")
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


def _connections(values: tuple[str, ...], document: Document) -> Iterator[MonitoredConnection]:
    for value in values:
        if connection := parse_connection(value):
            yield connection
        else:
            document.misread("connection:")


def parse_connection(value: str) -> MonitoredConnection | None:
    """Return the connection a value describes, its fields in whatever order; None where one of them is a riddle."""
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
    """Return a moment; None where its zone is not told, as it is then the server's own."""
    found = MOMENT.fullmatch(text.strip())
    if found is None:
        return generalized_time.parse(text.strip())
    return generalized_time.parse("".join(found.groups()[:6]) + "Z") if found[7] else None
