"""A client's host that translates for others as well: its containers' connections leave under its own address.

Which of the server's connections are a container's the host's connection tracking tells. Of the host's own connections
it tells nothing: it is an end of them, and remembers for minutes what it has closed without an answer.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.through_box import follow
from ldapdiag.evidence.flows import Relay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.boxes import Box
    from ldapdiag.analysis.direction import Direction, Ends
    from ldapdiag.analysis.through_box import Followed
    from ldapdiag.analysis.views import Client


def is_end_too(ends: Ends, box: Box, client: Client) -> bool:
    """Tell whether the box is the client's own host, and some of these connections are its own."""
    if box.host != client.host.host or box.relay is not Relay.NAT:
        return False
    own_flows = (box.flows[key].client[0] == ends.client for key in box.by_way.get(ends.way, ()))
    return any(ends.way in view.sockets for view in client.views) or any(own_flows)


def taken_apart(ends: Ends, box: Box, clients: Sequence[Client]) -> tuple[Ends, Followed]:
    """Return the connections that are the host's own, and what became of those that it translates."""
    flows = {row: box.flows.get(ends.key_of(row)) for row in ends.rows}
    inner = [row for row, flow in flows.items() if flow is not None and flow.client[0] != ends.client]
    own = [row for row in ends.rows if row not in set(inner)]
    return replace(ends, rows=own), follow(replace(ends, rows=inner), box, clients, None)


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
