"""Joining a direction whose client address belongs to a box that translates: through the box's own flow table."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ldapdiag.analysis.ages import idle_seconds, probes_unanswered
from ldapdiag.analysis.direction import Direction, Ends, Join, PathKind
from ldapdiag.analysis.skew import Turnover, opened_meanwhile, survivors
from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.flows import Relay
from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.boxes import Box
    from ldapdiag.analysis.views import Client


def join_through(ends: Ends, box: Box, clients: Sequence[Client]) -> Direction:
    """Join by the box: a flow it holds leads to its client's socket; a socket it holds no flow for is a ghost."""
    table, proxy = ends.look.sockets, box.relay is Relay.PROXY
    owners = {address: client for client in clients for address in client.host.addresses}
    absent: list[int] = []
    unproven: Counter[str] = Counter()
    matched: list[int] = []
    hosts: set[str] = set()
    closing = 0
    for row, key in zip(ends.rows, ends.keys(), strict=True):
        if key[3] == UNKNOWN_PORT:
            unproven["the server's table shows their port cut, or a name for it (take it with -n, without -A)"] += 1
            continue
        flow = box.flows.get(key)
        if flow is None:
            absent.append(row)
            continue
        client = owners.get(flow.client[0])
        address, port, dialled, dialled_port = flow.client
        if proxy and box.carries(key):
            matched.append(row)  # its own leg lives; what became of the client's is held.py's
            hosts.update([client.host.host] if client else [])
        elif client is None:
            unproven[f"carried by {box.host} for {address}, whose table was not read"] += 1
        elif any(view.holds((dialled, dialled_port, address, port)) for view in client.views):
            matched.append(row)
            hosts.add(client.host.host)
        elif box.carries(key):
            hosts.add(client.host.host)
            unproven[f"carried by {box.host}, but not in the table of {client.host.host} (a container, or churn)"] += 1
        else:
            closing += 1
    apart = ends.look.taken.seconds_apart(box.taken) if ends.look.taken and box.taken else None
    opened = opened_meanwhile(ends.shown.monitor, ends.client, ends.look.taken, box.taken)
    turnover = Turnover(reverse=0, time_wait=_closed(ends, box), apart=apart, opened=opened)
    if absent and (blind := _blind(ends, box)):
        unproven[blind] += len(absent)
        absent = []
    lost = survivors(absent, table.last_received, (), turnover)
    rest = idle_seconds(table, matched)
    return Direction(
        client=ends.client,
        server_address=ends.server_address,
        server_port=ends.server_port,
        client_hosts=tuple(sorted(hosts)),
        server_count=len(ends.rows),
        client_count=len(matched) if hosts or proxy else None,
        matched=len(matched),
        join=Join.BOX_TABLE,
        path=PathKind.PROXY if proxy else PathKind.NAT,
        translated_by=box.host,
        ghosts=lost.count,
        ghost_ports=None if lost.rows is None else tuple(sorted(table.remote_port[row] for row in lost.rows)),
        closing=closing,
        unproven=dict(sorted((unproven + Counter(lost.unproven)).items())),
        skew_excluded=lost.because,
        boxes=(box.host,),
        box_lacks=lost.count,
        probing=sum(probes_unanswered(table, row) for row in lost.rows or ()),
        rests=tuple(rest),
        selected=ends.look.selected,
        origins=tuple(sorted({*ends.look.origins, *box.origins})),
    )


def _blind(ends: Ends, box: Box) -> str | None:
    """Return why the box's table may lack flows that the box has; None when it shows all of this direction."""
    if not box.whole:
        return f"the text of {box.host}'s table is not whole: they may be in what was cut"
    if not box.serves(ends.way):
        return f"the table of {box.host} holds no connection of this direction: it may be a selection, or no box of it"
    return None


def _closed(ends: Ends, box: Box) -> int | None:
    """Return how many connections of the direction closed lately, by the server's TIME-WAIT and by the box's."""
    table = ends.look.sockets
    if not table.shows_time_wait:
        return None
    end = (ends.server_address, ends.server_port, ends.client)
    at_server = sum(
        state is TcpState.TIME_WAIT and key[:3] == end for state, key in zip(table.state, table.keys(), strict=True)
    )
    return at_server + sum(key[:3] == end and not box.carries(key) for key in box.flows)
