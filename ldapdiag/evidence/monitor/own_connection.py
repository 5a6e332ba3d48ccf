"""The collector's own connection, which is removed from the server's list of connections.

    # asked by 10.77.3.9:51234 as cn=Directory Manager
    # asked by ldapi as gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth

The collector (`live.ldap.directory`) writes this comment before the answer. 389-ds and DSEE publish no ports; there its
connection is the newest one of the same address and account with an operation in progress: the search for this entry.

The client address of a monitored connection, normalised.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import CUT, LONGEST_NAME, normalise_address, port_number
from ldapdiag.evidence.ldif import comparable
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.monitor import MonitoredConnection

OWN = pattern(r"(?:(?P<local>ldapi)|(?P<address>\S{1,64}):(?P<port>\d{1,5})) as(?: (?P<account>.*))?", re.ASCII)
EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnConnection:
    """The client's endpoint of the collector's connection, and its bind DN."""

    client: str
    """An address or 'ldapi', as in MonitoredConnection."""
    port: int | None
    account: str


def parse_own_connection(text: str) -> OwnConnection | None:
    """Return the connection in the text of the comment, after `# asked by`; None if it is not one."""
    found = OWN.fullmatch(text)
    if found is None:
        return None
    return OwnConnection(
        client=found["local"] or normalise_address(found["address"]),
        port=None if found["local"] else port_number(found["port"]),
        account=found["account"] or "",
    )


def without_own_connection(
    connections: tuple[MonitoredConnection, ...] | None, current: int | None, asked_by: str
) -> tuple[tuple[MonitoredConnection, ...] | None, int | None]:
    """Return the connections and their number without the collector's own; unchanged if it is not found.

    If the list is hidden, only the number is reduced, because it includes the collector's connection.
    """
    own = parse_own_connection(asked_by)
    if own is None:
        return connections, current
    ours = None if connections is None else _ours(connections, own)
    if connections is not None and ours is None:
        return connections, current
    others = None if connections is None else tuple(connection for connection in connections if connection is not ours)
    return others, current - 1 if current else current


def _ours(connections: Iterable[MonitoredConnection], own: OwnConnection) -> MonitoredConnection | None:
    exact, similar = [], []
    for connection in connections:
        if connection.client_port is not None:
            if (connection.client, connection.client_port) == (own.client, own.port):
                exact.append(connection)
        elif connection.client in {own.client, ""} and _is_waiting(connection):
            similar.append(connection)
    account = comparable(own.account)
    ours = exact or [one for one in similar if comparable(one.account) == account]
    return max(ours, key=lambda one: one.opened or EARLIEST, default=None)


def _is_waiting(connection: MonitoredConnection) -> bool:
    started, completed = connection.operations_started, connection.operations_completed
    return started is None or completed is None or started > completed


def client_address(text: str) -> str:
    """Return a normalised address, 'ldapi' or empty; redacted addresses are returned unchanged."""
    if text == "local" or text.startswith("/"):
        return "ldapi"
    if text in {"", "unknown"}:
        return ""
    normalised = normalise_address(text) if len(text) <= LONGEST_NAME else text[:LONGEST_NAME]
    return text[:LONGEST_NAME] if normalised.endswith(CUT) else normalised


def java_endpoint(text: str) -> tuple[str, int | None]:
    """Return address and port of a Java socket address: `127.0.0.1:5000`, `0:0:0:0:0:0:0:1:5000`.

    A host name before the address, as in `name/127.0.0.1:5000`, is dropped. The port is None if it is not a number.
    """
    address, _, port = text.rpartition("/")[2].rpartition(":")
    number = port_number(port)
    return client_address(address), number if number > 0 else None
