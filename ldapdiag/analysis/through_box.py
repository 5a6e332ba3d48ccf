"""Joining a direction whose client address belongs to a box that translates: through the box's own flow table."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ldapdiag.analysis.ages import idle_seconds, probes_unanswered
from ldapdiag.analysis.direction import Direction, Ends, Join, PathKind
from ldapdiag.analysis.skew import Turnover, opened_meanwhile, survivors
from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.boxes import Box
    from ldapdiag.analysis.views import Client


def join_through(ends: Ends, box: Box, clients: Sequence[Client], owner: Client | None = None) -> Direction:
    """Join by the box: a flow it holds leads to its client's socket; a socket it holds no flow for is a ghost.

    The owner of the address has connections of its own, which a list of translated flows alone does not hold.
    """
    table = ends.look.sockets
    owners = {address: client for client in clients for address in client.host.addresses}
    absent: list[int] = []
    unproven: Counter[str] = Counter()
    matched: list[int] = []
    hosts: set[str] = set()
    closing = 0
    strays = _strays(ends, box, clients)
    for row, key in zip(ends.rows, ends.keys(), strict=True):
        flow = box.flows.get(key)
        if flow is None:
            if owner is not None and any(view.holds(key) for view in owner.views):
                matched.append(row)
                hosts.add(owner.host.host)
            elif key[3] in strays:
                unproven[f"open at another host from the same ports, which {box.host} does not show at all"] += 1
            else:
                absent.append(row)
            continue
        client = owners.get(flow.client[0])
        address, port, dialled, dialled_port = flow.client
        if client is None:
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
    turnover = Turnover(reverse=_new(ends, box), time_wait=_closed(ends, box), apart=apart, opened=opened)
    lost = survivors(absent, table.last_received, (), turnover)
    rest = idle_seconds(table, matched)
    return Direction(
        client=ends.client,
        server_address=ends.server_address,
        server_port=ends.server_port,
        client_hosts=tuple(sorted(hosts)),
        server_count=len(ends.rows),
        client_count=len(matched) if hosts else None,
        matched=len(matched),
        join=Join.BOX_TABLE,
        path=PathKind.NAT,
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


def _strays(ends: Ends, box: Box, clients: Sequence[Client]) -> set[int]:
    """Return the ports of clients' connections to the server that the box lacks: its table is a selection."""
    explained = {flow.client for flow in box.flows.values()}
    endpoint = ends.server_address, ends.server_port
    return {
        port
        for client in clients
        for way in client.ways_to(*endpoint)
        for port in client.latest.established(way)
        if (way[2], port, *endpoint) not in explained
    }


def _new(ends: Ends, box: Box) -> int:
    """Return how many connections of the direction the box carries that the server does not have (yet)."""
    known = set(ends.keys())
    return sum(key[:3] == ends.way and key not in known for key in box.flows if box.carries(key))


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
