"""A client's host that translates for others as well: its containers' connections leave under its own address.

Which of the server's connections are a container's the host's connection tracking tells. Of the host's own connections
it tells nothing: it is an end of them, and remembers for minutes what it has closed without an answer.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds
from ldapdiag.analysis.pairing.via_translation import follow
from ldapdiag.evidence.flows import Relay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.pairing.direction import Direction, UnjoinedDirection
    from ldapdiag.analysis.pairing.flow_tables import Box
    from ldapdiag.analysis.pairing.socket_index import ClientSnapshots
    from ldapdiag.analysis.pairing.via_translation import Followed


def is_end_too(ends: UnjoinedDirection, box: Box, client: ClientSnapshots) -> bool:
    """Tell whether the box is the client's own host, and some of these connections are its own."""
    if box.host != client.host.host or box.relay is not Relay.NAT:
        return False
    own_flows = (box.flows[key].client[0] == ends.client for key in box.by_way.get(ends.way, ()))
    return any(ends.way in view.sockets for view in client.views) or any(own_flows)


def taken_apart(
    ends: UnjoinedDirection, box: Box, client: ClientSnapshots, clients: Sequence[ClientSnapshots]
) -> tuple[UnjoinedDirection, Followed]:
    """Return the connections that are the host's own, and what became of those that it translates.

    Its own may be given another port, too. What was opened after its flows were listed may be either.
    """
    flows = {row: box.flows.get(ends.key_of(row)) for row in ends.rows}
    inner = [row for row, flow in flows.items() if flow is not None and flow.client[:2] != ends.key_of(row)[2:]]
    own = [row for row in ends.rows if row not in set(inner)]
    doubtful = [row for row in own if flows[row] is None and _may_be_newer(box, ends, client, row)]
    followed = follow(replace(ends, rows=inner), box, clients, None)
    if doubtful:
        followed.unproven[f"opened since {box.host} told its flows: whose they are is not known"] += len(doubtful)
    return replace(ends, rows=[row for row in own if row not in set(doubtful)]), followed


def _may_be_newer(box: Box, ends: UnjoinedDirection, client: ClientSnapshots, row: int) -> bool:
    """Tell whether a connection of which the host has no socket may have been opened after its flows were listed."""
    port = ends.look.sockets.remote_port[row]
    if any(port in view.sockets.get(ends.way, {}) for view in client.views):
        return False
    moment = box.nearest(ends.look.taken)
    age = column_seconds(ends.look.sockets.last_received, row)
    if moment is None or ends.look.taken is None:
        return False
    return age is None or age <= ends.look.taken.seconds_apart(moment)


def together(own: Direction, inner: Followed, box: Box) -> Direction:
    """Return the direction with what the host translates for others added to its own."""
    return replace(
        own,
        server_count=own.server_count + inner.count,
        client_count=None if own.client_count is None else own.client_count + len(inner.matched),
        matched=own.matched + len(inner.matched),
        closing=own.closing + inner.closing,
        unproven=dict(sorted((Counter(own.unproven) + inner.unproven).items())),
        origins=tuple(sorted({*own.origins, *box.origins})),
    )
