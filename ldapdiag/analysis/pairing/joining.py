"""Joining: one direction with the snapshots of the host that owns the client's address.

docs/how-it-decides.md, "Joining the two ends" and "Snapshots and skew".
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.analysis.hosts.ages import seconds_since_received
from ldapdiag.analysis.pairing.absence_reasons import AbsenceContext
from ldapdiag.analysis.pairing.classification import Classified, classify
from ldapdiag.analysis.pairing.client_history import (
    ClientHistory,
    history_of,
    rows_before,
)
from ldapdiag.analysis.pairing.direction import Direction, JoinKey, Path, PathKind, SocketIdleTimes, TableQuality
from ldapdiag.analysis.pairing.ghost_evidence import (
    find_losses,
    ghost_evidence,
    idle_of_running_clients,
    longest_if_all_probed,
    longest_probed,
    sockets_of,
)
from ldapdiag.analysis.pairing.half_open import find_ghost_rows, find_stranded_rows, half_open, observe_churn
from ldapdiag.analysis.pairing.possible_ghosts import possible_ghost_ports
from ldapdiag.analysis.pairing.samples import sample_ghosts
from ldapdiag.analysis.pairing.skew import AbsentRows
from ldapdiag.analysis.pairing.snapshot_order import nearest_first
from ldapdiag.analysis.pairing.without_entry import MatchedEnds, Pair
from ldapdiag.evidence.flows import Relay
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.socket_index import ClientIndex, ClientSnapshots
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection


class Joined(NamedTuple):
    """A direction, and the sockets of its connections that both tables show as established."""

    direction: Direction
    matched: MatchedEnds | None = None


def join(
    unjoined: UnjoinedDirection,
    server: Host,
    client: ClientSnapshots,
    middleboxes: Sequence[Middlebox],
    foreign_ports: Collection[int] = (),
    shared_ports: Collection[int] = (),
    inner_ports: Collection[int] = (),
) -> Joined:
    """Join one direction, and claim only what neither skew nor an incomplete table can explain.

    `foreign_ports` are those of AbsenceContext. `shared_ports` are the client's ports that another server with the same
    address has; `inner_ports` those that other network namespaces of the client's machine have open to this server,
    which does not show them.
    """
    indexes = nearest_first(client, unjoined.snapshot)
    near = indexes[0]
    history = history_of(client.host, sockets_of(unjoined, near))
    context = _context(unjoined, client, near, middleboxes, foreign_ports, history)
    rows = classify(context, indexes)
    live = {port: row for port, row in near.established(unjoined.direction).items() if port not in shared_ports}
    churn = observe_churn(unjoined, near, rows, live)
    described = client.host.description is not None
    absent = find_ghost_rows(unjoined, server, indexes, rows, churn, collected_live=described)
    absent = _exclude_inner(absent, client.host.host, len(set(inner_ports) - rows.ports_at_other_hosts))
    dead = absent.including([row for row, _ in rows.retransmitting])
    ghosts = half_open(dead, unjoined.table.remote_port, rows.unproven)
    possible = possible_ghost_ports(
        unjoined, server, indexes, rows, churn, ghosts=absent.count, collected_live=described
    )
    stranded = find_stranded_rows(unjoined, indexes, rows, live, churn)
    virtual = rows.virtual.count if rows.virtual else 0
    pairs = tuple(Pair(row, client_row) for row, client_row in rows.matched if client_row is not None)
    losses = find_losses(unjoined, near, rows)
    direction = Direction(
        client=unjoined.client,
        server_address=unjoined.server_address,
        server_port=unjoined.server_port,
        client_hosts=(client.host.host,),
        server_count=len(unjoined.rows),
        client_count=len(live) + near.unnumbered.get(unjoined.direction, 0) + virtual,
        matched=len(rows.matched),
        closing=rows.closing,
        ghosts=replace(ghosts, possible_ports=possible),
        stranded=half_open(stranded, near.table.local_port),
        join=JoinKey.CLIENT_ENDPOINT if rows.virtual else JoinKey.FOUR_TUPLE,
        path=_path(rows),
        evidence=ghost_evidence(context, rows, absent, history),
        idle_times=SocketIdleTimes(
            matched=churn.idle_seconds,
            before_loss=losses.idle_seconds,
            one_event=losses.one_event,
            lost_sooner=losses.lost_sooner,
            ghosts=tuple(seconds_since_received(unjoined.table, dead.rows or ())),
            ghosts_of_running_clients=idle_of_running_clients(unjoined, absent, history, rows.on_path),
            probed=longest_probed(near, rows),
            timers_shown=near.table.timer is not None,
            all_probed=longest_if_all_probed(near, rows),
        ),
        tables=_quality(unjoined, near),
        samples=sample_ghosts(unjoined, dead.rows or (), near, client.host.host, rows.on_path),
        origins=_origins(unjoined, near, rows.on_path),
    )
    return Joined(direction, MatchedEnds(unjoined, near, client.indexes, pairs))


def _context(
    unjoined: UnjoinedDirection,
    client: ClientSnapshots,
    near: ClientIndex,
    middleboxes: Sequence[Middlebox],
    foreign_ports: Collection[int],
    history: ClientHistory,
) -> AbsenceContext:
    """Return the context of absences; connection tracking of the client's own host proves nothing of its sockets."""
    outside = tuple(one for one in middleboxes if one.relay is Relay.PROXY or one.host != client.host.host)
    return AbsenceContext(
        unjoined=unjoined,
        client=client.host,
        near=near,
        indexes=client.indexes,
        middleboxes=outside,
        foreign_ports=frozenset(foreign_ports),
        tracked=any(one.whole and one.host == client.host.host for one in middleboxes if one.relay is Relay.NAT),
        predating=rows_before(unjoined.snapshot, unjoined.rows, history.made),
    )


def _exclude_inner(absent: AbsentRows, client: str, inner: int) -> AbsentRows:
    """Return the absent rows without as many as other network namespaces of the client's machine have.

    Their address is translated there, and only that machine's connection tracking shows to which ports.
    """
    connections = counted(inner, "connection")
    reason = f"other network namespaces of {client} have {connections} with translated ports (conntrack -L there)"
    return absent.excluding(inner, reason)


def _quality(unjoined: UnjoinedDirection, near: ClientIndex) -> TableQuality:
    return TableQuality(
        headerless=unjoined.snapshot.headerless or near.snapshot.headerless,
        partial=not near.table.shows_all_programs,
        unreadable=near.snapshot.unreadable,
    )


def _path(rows: Classified) -> Path:
    """Return the path; the sockets of a proxy's own end are joined as any client's."""
    proxy = any(middlebox.relay is Relay.PROXY for middlebox in rows.on_path)
    return Path(
        kind=PathKind.NAT if rows.virtual else PathKind.PROXY if proxy else PathKind.DIRECT,
        translated_by=rows.virtual.endpoint if rows.virtual else None,
        middleboxes=tuple(middlebox.host for middlebox in rows.on_path),
    )


def _origins(unjoined: UnjoinedDirection, near: ClientIndex, on_path: Sequence[Middlebox]) -> tuple[str, ...]:
    paths = {path for middlebox in on_path for path in middlebox.origins}
    return tuple(sorted({*unjoined.snapshot.origins, *near.snapshot.origins, *paths}))
