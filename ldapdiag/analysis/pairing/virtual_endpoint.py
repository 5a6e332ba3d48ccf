"""Virtual endpoints: connections of a client to an address that is translated to the server's (VIP, DNAT).

They are joined by the client's own address and port alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.analysis.pairing.socket_index import ClientIndex, DirectionKey
from ldapdiag.evidence.addresses import LDAP_PORTS, endpoint

if TYPE_CHECKING:
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection

EPHEMERAL_PORTS = 28232
"""Linux net.ipv4.ip_local_port_range 32768-60999: the probability that two connections share a port by chance."""

MINIMUM_SHARE = 0.05
"""A virtual endpoint needs at least this share of the client's connections to it to be connections of this server."""

MINIMUM_PAIRS = 3
"""Beside other live connections, or on another port than LDAP's, fewer are chance unless they explain everything."""


@dataclass(frozen=True, slots=True)
class VirtualEndpoint:
    """The virtual endpoints to which the client connects instead of the server's own, or beside it."""

    endpoint: str
    directions: tuple[DirectionKey, ...]
    count: int
    """The client's established connections to them."""
    matched: int
    """Those of them that are connections of this server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualMatches:
    """Absent rows after virtual endpoints were tried."""

    absent: tuple[int, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    """(server row, client row)"""
    unproven: Mapping[str, int] = field(default_factory=dict)
    virtual: VirtualEndpoint | None = None


def match_virtual_endpoints(
    unjoined: UnjoinedDirection, absent: Sequence[int], near: ClientIndex, *, has_live: bool
) -> VirtualMatches:
    """Match absent rows by the client's address and port, where it connects to virtual endpoints.

    There may be several, beside the server's own address.
    """
    ports = unjoined.table.remote_port
    wanted = {ports[row]: row for row in absent}
    found = _to_other_endpoints(unjoined, near, wanted) if wanted else {}
    directions: list[DirectionKey] = []
    matched: list[tuple[int, int]] = []
    unproven: dict[str, int] = {}
    for direction in sorted(found, key=lambda direction: (-len(found[direction]), direction)):
        pairs = [(row, other) for row, other in found[direction] if ports[row] in wanted]
        if not pairs or not _exceeds_chance(unjoined, len(pairs), len(near.established(direction))):
            continue
        few = len(pairs) < min(MINIMUM_PAIRS, len(wanted))
        is_ldap = direction[1] in {*LDAP_PORTS, unjoined.server_port}
        if not few or (is_ldap and not (has_live or matched)):
            directions.append(direction)
            matched += pairs
        elif direction[0] != unjoined.server_address and (is_ldap or len(pairs) > 1):
            unproven[_doubtful(direction)] = unproven.get(_doubtful(direction), 0) + len(pairs)
        else:
            continue  # another service
        wanted = {port: row for port, row in wanted.items() if row not in dict(pairs)}
    return VirtualMatches(
        absent=tuple(wanted.values()),
        pairs=tuple(matched),
        unproven=unproven,
        virtual=_virtual(near, directions, len(matched)),
    )


def _doubtful(direction: DirectionKey) -> str:
    return f"connected from the same ports to {endpoint(*direction[:2])}, which may be a virtual address of the server"


def _virtual(near: ClientIndex, directions: Sequence[DirectionKey], matched: int) -> VirtualEndpoint | None:
    if not directions:
        return None
    names = " and ".join(endpoint(*direction[:2]) for direction in directions)
    count = sum(len(near.established(direction)) for direction in directions)
    return VirtualEndpoint(names, tuple(directions), count, matched)


def _to_other_endpoints(
    unjoined: UnjoinedDirection, near: ClientIndex, wanted: Mapping[int, int]
) -> dict[DirectionKey, list[tuple[int, int]]]:
    """Return the client's established connections from wanted ports to other endpoints, by direction.

    What the server shows under the endpoint that the client connects to (on another port) is not translated.
    """
    found = {}
    for direction in near.directions_by_address.get(unjoined.client, ()):
        if direction != unjoined.direction:
            common = {port: row for port, row in near.established(direction).items() if port in wanted}
            missing = unjoined.server_index.missing_ports(direction, common)
            if missing:
                found[direction] = [(wanted[port], common[port]) for port in missing]
    return found


def _exceeds_chance(unjoined: UnjoinedDirection, pairs: int, connections: int) -> bool:
    """Return whether so many of the client's connections to an endpoint share a port with a row by more than chance."""
    by_chance = 3 * len(unjoined.rows) / EPHEMERAL_PORTS
    return pairs >= max(MINIMUM_SHARE, by_chance) * connections
