"""Container host: a client's host that also translates for its containers, whose connections use its own address.

The host's connection tracking shows which of the server's connections are a container's. It proves nothing of the
host's own connections: it keeps entries for minutes after the host has closed them without an answer.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds
from ldapdiag.analysis.pairing.missing_flows import rows_without_flow_beyond
from ldapdiag.analysis.pairing.via_translation import trace_rows
from ldapdiag.evidence.flows import Relay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.pairing.direction import Direction
    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.socket_index import ClientSnapshots
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
    from ldapdiag.analysis.pairing.via_translation import TracedRows


def is_container_host(unjoined: UnjoinedDirection, middlebox: Middlebox, client: ClientSnapshots) -> bool:
    """Return whether the middlebox is the client's own host, and some of these connections are its own."""
    if middlebox.host != client.host.host or middlebox.relay is not Relay.NAT:
        return False
    keys = middlebox.keys_by_direction.get(unjoined.direction, ())
    own_flows = any(middlebox.flows[key].client[0] == unjoined.client for key in keys)
    return own_flows or any(unjoined.direction in index.sockets for index in client.indexes)


def split_rows(
    unjoined: UnjoinedDirection,
    middlebox: Middlebox,
    client: ClientSnapshots,
    clients: Sequence[ClientSnapshots],
    middleboxes: Sequence[Middlebox] = (),
) -> tuple[UnjoinedDirection, TracedRows]:
    """Return the connections that are the host's own, and the traced ones that it translates.

    Those that no known container has and a middlebox on the path has lost are dead, and judged as the host's own.
    Its own may have a translated port, too. Connections opened after its flows were listed may be either.
    """
    flows = {row: middlebox.flows.get(unjoined.key_of(row)) for row in unjoined.rows}
    inner = {row for row, flow in flows.items() if flow is not None and flow.client[:2] != unjoined.key_of(row)[2:]}
    matched = trace_rows(replace(unjoined, rows=sorted(inner)), middlebox, clients, None).matched
    inner -= rows_without_flow_beyond(middlebox, middleboxes, unjoined, inner.difference(matched)).rows
    own = [row for row in unjoined.rows if row not in inner]
    newer = {row for row in own if flows[row] is None and _may_be_newer(middlebox, unjoined, client, row)}
    inner_rows = [row for row in unjoined.rows if row in inner]
    traced = trace_rows(replace(unjoined, rows=inner_rows), middlebox, clients, None)
    if newer:
        reason = f"opened after the flows of {middlebox.host} were listed: the host's own, or a container's"
        traced = replace(traced, unproven=Counter(traced.unproven) + Counter({reason: len(newer)}))
    return replace(unjoined, rows=[row for row in own if row not in newer]), traced


def _has_socket(client: ClientSnapshots, unjoined: UnjoinedDirection, row: int) -> bool:
    port = unjoined.table.remote_port[row]
    return any(port in index.sockets.get(unjoined.direction, {}) for index in client.indexes)


def _may_be_newer(middlebox: Middlebox, unjoined: UnjoinedDirection, client: ClientSnapshots, row: int) -> bool:
    """Return whether a connection without a socket on the host may have been opened after its flows were listed."""
    snapshot = unjoined.snapshot
    if _has_socket(client, unjoined, row):
        return False
    taken = middlebox.nearest_time(snapshot.taken)
    age = column_seconds(snapshot.sockets.last_received, row)
    if taken is None or snapshot.taken is None:
        return False
    return age is None or age <= snapshot.taken.seconds_apart(taken)


def add_translated(own: Direction, inner: TracedRows, middlebox: Middlebox) -> Direction:
    """Return the direction of the host's own connections with those that it translates added."""
    unproven = Counter(own.ghosts.unproven) + Counter(inner.unproven)
    return replace(
        own,
        server_count=own.server_count + inner.count,
        client_count=None if own.client_count is None else own.client_count + len(inner.matched),
        matched=own.matched + len(inner.matched),
        closing=own.closing + inner.closing,
        ghosts=replace(own.ghosts, unproven=dict(sorted(unproven.items()))),
        origins=tuple(sorted({*own.origins, *middlebox.origins})),
    )
