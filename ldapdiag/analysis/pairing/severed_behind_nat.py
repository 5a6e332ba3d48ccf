"""Severed behind a NAT: connections of clients whose address a middlebox translates, and for which it has no entry.

Without the entry, which of the server's sockets is the other end is not known; the client's end is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.pairing.severed import TrackingBox, find_severed
from ldapdiag.analysis.pairing.snapshot_order import nearest_first
from ldapdiag.analysis.pairing.without_entry import MatchedEnds, Pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.pairing.direction import Severed
    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.socket_index import ClientSnapshots
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection


def severed_behind_nat(unjoined: UnjoinedDirection, client: ClientSnapshots, boxes: Sequence[TrackingBox]) -> Severed:
    """Return the connections of a client of which a NAT has no entry; the server shows none of this direction."""
    near = nearest_first(client, unjoined.snapshot)[0]
    pairs = tuple(Pair(None, row) for row in near.established(unjoined.direction).values())
    return find_severed(MatchedEnds(unjoined, near, client.indexes, pairs), boxes)


def count_severed(unjoined: UnjoinedDirection, box: Middlebox, clients: Sequence[ClientSnapshots]) -> int:
    """Return how many connections to this endpoint a NAT may have severed: sockets of the server that are no ghosts."""
    count = 0
    for client in clients:
        for direction in client.directions_to(*unjoined.endpoint):
            if (direction[2], *unjoined.endpoint) in box.translated_clients:
                own = replace(unjoined, client=direction[2], rows=[])
                found = severed_behind_nat(own, client, [TrackingBox(box, None, carries_path=True)])
                count += found.count + sum(found.unproven.values())
    return count
