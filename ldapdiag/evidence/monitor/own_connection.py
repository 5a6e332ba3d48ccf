"""Our own connection among those a server lists: whoever asked is no part of the incident, and is left out.

    # asked by 10.77.3.9:51234 as cn=Directory Manager
    # asked by ldapi as gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth

The collector writes this comment above what it was answered (`live.ldap.directory`). 389-ds and DSEE publish no ports:
there ours is the newest of our address and account that still waits for an answer, for it waits for this very entry.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import normalise_address, port_number
from ldapdiag.evidence.ldif import comparable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.monitor import MonitoredConnection

ASKER = re.compile(r"(?:(?P<local>ldapi)|(?P<address>\S{1,64}):(?P<port>\d{1,5})) as(?: (?P<account>.*))?", re.ASCII)
LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnConnection:
    """Our end of the connection, and who we are on it."""

    client: str
    """As MonitoredConnection has it: an address, or 'ldapi'."""
    port: int | None
    account: str


def parse_own_connection(told: str) -> OwnConnection | None:
    """Return whom the comment names; None when it names nobody."""
    found = ASKER.fullmatch(told)
    if found is None:
        return None
    return OwnConnection(
        client=found["local"] or normalise_address(found["address"]),
        port=None if found["local"] else port_number(found["port"]),
        account=found["account"] or "",
    )


def without_own_connection(
    connections: tuple[MonitoredConnection, ...] | None, current: int | None, told: str
) -> tuple[tuple[MonitoredConnection, ...] | None, int | None]:
    """Return the connections and their counter without the one that asked; as they are when it is not found.

    Where the list is hidden, the counter alone is lowered: it counts whoever reads it.
    """
    own = parse_own_connection(told)
    if own is None:
        return connections, current
    ours = None if connections is None else _ours(connections, own)
    if connections is not None and ours is None:
        return connections, current
    others = None if connections is None else tuple(one for one in connections if one is not ours)
    return others, current - 1 if current else current


def _ours(connections: Iterable[MonitoredConnection], own: OwnConnection) -> MonitoredConnection | None:
    exact, alike = [], []
    for one in connections:
        if one.client_port is not None:
            if (one.client, one.client_port) == (own.client, own.port):
                exact.append(one)
        elif one.client in {own.client, ""} and _is_waiting(one):
            alike.append(one)
    account = comparable(own.account)
    ours = exact or [one for one in alike if comparable(one.account) == account]
    return max(ours, key=lambda one: one.opened or LONG_AGO, default=None)


def _is_waiting(connection: MonitoredConnection) -> bool:
    started, completed = connection.operations_started, connection.operations_completed
    return started is None or completed is None or started > completed
