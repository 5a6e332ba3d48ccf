"""Joining: one direction with the snapshots of the host that owns the client's address.

docs/how-it-decides.md, "Joining the two ends" and "Snapshots and skew".

Ghost evidence: what the tables, counters and times of both ends show of how a direction's ghosts came about.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds, probes_unanswered, retransmits, seconds_since_received
from ldapdiag.analysis.pairing.absence_reasons import AbsenceContext
from ldapdiag.analysis.pairing.classification import Classified, classify
from ldapdiag.analysis.pairing.client_history import (
    ClientHistory,
    ClientSockets,
    count_not_opened,
    history_of,
    is_one_namespace,
    rows_after,
    rows_before,
)
from ldapdiag.analysis.pairing.direction import Direction, JoinKey, Path, PathKind, SocketIdleTimes, TableQuality
from ldapdiag.analysis.pairing.drop_style import GhostEvidence
from ldapdiag.analysis.pairing.half_open import (
    find_ghost_rows,
    find_stranded_rows,
    half_open,
    observe_churn,
    possible_ghost_ports,
)
from ldapdiag.analysis.pairing.samples import sample_ghosts
from ldapdiag.analysis.pairing.skew import AbsentRows
from ldapdiag.analysis.pairing.snapshot_order import nearest_first
from ldapdiag.analysis.pairing.without_entry import MatchedEnds, Pair
from ldapdiag.evidence.flows import Relay
from ldapdiag.evidence.sockets import OF_WINDOWS, TcpState, Timer
from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.socket_index import ClientIndex, ClientSnapshots
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
    from ldapdiag.evidence.origin import Span


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
    outside = tuple(
        middlebox for middlebox in middleboxes if middlebox.relay is Relay.PROXY or middlebox.host != client.host.host
    )
    return AbsenceContext(
        unjoined=unjoined,
        client=client.host,
        near=near,
        indexes=client.indexes,
        middleboxes=outside,
        foreign_ports=frozenset(foreign_ports),
        tracked=any(
            middlebox.whole and middlebox.host == client.host.host
            for middlebox in middleboxes
            if middlebox.relay is Relay.NAT
        ),
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
        of_windows=not OF_WINDOWS.isdisjoint(near.snapshot.tools),
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


BESIDE_SECONDS = 10.0


def sockets_of(unjoined: UnjoinedDirection, near: ClientIndex) -> ClientSockets:
    """Return the processes and the number of the client's sockets."""
    pids = near.table.pid or ()
    rows = near.sockets.get(unjoined.direction, {}).values() if pids else ()
    owners = {pids[row] for row in rows if near.table.state[row] is not TcpState.TIME_WAIT}
    return ClientSockets(
        owners=frozenset(pid for pid in owners if pid),
        all_owned=owners.isdisjoint({None, 0}),
        others=near.processes,
        established=near.established_count,
    )


def ghost_evidence(
    context: AbsenceContext, rows: Classified, absent: AbsentRows, history: ClientHistory
) -> GhostEvidence:
    """Return the evidence about a direction's ghosts."""
    unjoined, known = context.unjoined, absent.rows or ()
    ghosts = () if absent.rows is None else (*known, *(row for row, _ in rows.retransmitting))
    description = context.client.description
    return GhostEvidence(
        without_flow=sum(row in rows.without_flow.rows for row in ghosts),
        lost_by=rows.without_flow.hosts,
        probes_unanswered=sum(probes_unanswered(unjoined.table, row) for row in known),
        retransmitting=len(rows.retransmitting),
        before_boot=len(rows_before(unjoined.snapshot, known, history.booted)),
        before_start=len(rows_before(unjoined.snapshot, known, history.started)),
        not_opened=count_not_opened(history, len(known)),
        dropped_since=_dropped_since(context, known),
        still_carried=sum(any(one.carries(unjoined.key_of(row)) for one in rows.on_path) for row in known),
        client=history,
        all_namespaces_read=description.namespaces_unread == 0 if description else is_one_namespace(context.client),
    )


def _dropped_since(context: AbsenceContext, ghosts: Sequence[int]) -> int:
    """Return how many ghosts the client still had when its counters were first read."""
    first = context.client.first_counters.origin.taken if context.client.first_counters else None
    then = next((index for index in context.indexes if first and _is_beside(index.snapshot, first)), None)
    if then is None:
        return 0
    return sum(then.has_connection(context.unjoined.key_of(row)) for row in ghosts)


def _is_beside(snapshot: Snapshot, reading: Span) -> bool:
    """Return whether a snapshot belongs to a reading of counters, which follows it in a collection."""
    return snapshot.taken is not None and reading.seconds_apart(snapshot.taken) <= BESIDE_SECONDS


def idle_of_running_clients(
    unjoined: UnjoinedDirection, absent: AbsentRows, history: ClientHistory, on_path: Sequence[Middlebox]
) -> tuple[float, ...]:
    """Return the idle times of the ghosts whose client's host and processes are older than their last segment.

    Those that a middlebox has lost before its timeout are not among them.
    """
    running = rows_after(unjoined.snapshot, absent.rows or (), history.booted)
    running &= rows_after(unjoined.snapshot, running, history.started if history.owned else None)
    ages = ((row, column_seconds(unjoined.table.last_received, row)) for row in running)
    dropped = (age for row, age in ages if age is not None and not _lost_early(unjoined, row, age, on_path))
    return tuple(sorted(dropped))


def _lost_early(unjoined: UnjoinedDirection, row: int, seconds: float, on_path: Sequence[Middlebox]) -> bool:
    return any(middlebox.lost_early(unjoined.key_of(row), seconds) for middlebox in on_path)


class Losses(NamedTuple):
    """Connections whose packets are not answered any more."""

    idle_seconds: tuple[float, ...]
    """For how long each was idle before its first unanswered segment (lastrcv - busy)."""
    one_event: bool
    """There is a moment at which all of them were idle."""
    lost_sooner: bool
    """Others were lost while a middlebox of the path had them, or must have had them."""


def find_losses(unjoined: UnjoinedDirection, near: ClientIndex, rows: Classified) -> Losses:
    """Find the connections that retransmit.

    A middlebox that still has a connection has not dropped its state: its packets are lost for another reason. One
    that has lost it before its timeout did so for another reason, too.
    """
    idle: list[float] = []
    ages: list[tuple[float, float]] = []
    lost_sooner = False
    for at_server, row in (*rows.retransmitting, *rows.matched) if near.table.retransmits is not None else ():
        if row is None or not retransmits(near.table, row):
            continue
        if any(middlebox.carries(unjoined.key_of(at_server)) for middlebox in rows.on_path):
            lost_sooner = True
            continue
        received, busy = column_seconds(near.table.last_received, row), column_seconds(near.table.busy, row)
        if received is None or not busy:
            continue
        seconds = round(received - busy, 3)
        if _lost_early(unjoined, at_server, seconds, rows.on_path):
            lost_sooner = True
        else:
            idle.append(seconds)
            ages.append((received, busy))
    one_event = bool(ages) and min(received for received, _ in ages) >= max(busy for _, busy in ages)
    return Losses(tuple(sorted(idle)), one_event, lost_sooner)


def longest_probed(near: ClientIndex, rows: Classified) -> float | None:
    """Return the longest time without a packet on the client's sockets with keepalive, whose probes are answered."""
    timer, answered = near.table.timer, near.table.last_acknowledged
    probing = [row for _, row in rows.matched if row is not None and timer and timer[row] is Timer.KEEPALIVE]
    silent = [column_seconds(answered, row) or 0.0 for row in probing]
    return max(silent, default=None)


def longest_if_all_probed(near: ClientIndex, rows: Classified) -> float | None:
    """Return that time if all live sockets of the client send probes and the table shows their answers, else None."""
    live = [row for _, row in rows.matched if row is not None]
    timer, answered = near.table.timer, near.table.last_acknowledged
    if not live or timer is None or answered is None or any(timer[row] is not Timer.KEEPALIVE for row in live):
        return None
    return longest_probed(near, rows)
