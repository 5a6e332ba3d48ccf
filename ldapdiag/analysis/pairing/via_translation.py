"""Via translation: joining a direction whose client address belongs to a NAT or proxy, through its flow table.

Clients behind a NAT that are gone: rows that the NAT still carries for a client whose table lacks them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds, probes_unanswered, seconds_since_received
from ldapdiag.analysis.hosts.host import inner_addresses
from ldapdiag.analysis.pairing.classification import INEXACT_PORT
from ldapdiag.analysis.pairing.client_history import NO_HISTORY, booted_since, history_of, rows_before
from ldapdiag.analysis.pairing.direction import (
    IDLE_SECONDS,
    Direction,
    JoinKey,
    Path,
    PathKind,
    Severed,
    SocketIdleTimes,
    TableQuality,
)
from ldapdiag.analysis.pairing.drop_style import GhostEvidence
from ldapdiag.analysis.pairing.flow_tables import MissingFlows, rows_without_flow_beyond
from ldapdiag.analysis.pairing.half_open import half_open
from ldapdiag.analysis.pairing.severed import count_severed
from ldapdiag.analysis.pairing.skew import ChurnEvidence, count_opened, exclude_churn, minimum_age_seconds
from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.flows import Relay
from ldapdiag.lazy_dataclass import NamedTuple, dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.analysis.pairing.flow_tables import FlowEntry, Middlebox
    from ldapdiag.analysis.pairing.skew import AbsentRows
    from ldapdiag.analysis.pairing.socket_index import ClientSnapshots
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
    from ldapdiag.evidence.sockets import Key

LIVE, ABSENT, CLOSING = "live", "absent", "closing"


class RowTrace(NamedTuple):
    """Where the flow table leads from one of the server's rows: LIVE, ABSENT, CLOSING, or why that is unproven."""

    result: str
    client: ClientSnapshots | None = None
    """The host at the other end, where its table was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedRows:
    """The server's rows of a direction, by where the flow table of the middlebox leads."""

    matched: tuple[int, ...]
    absent: tuple[int, ...]
    unproven: Mapping[str, int]
    hosts: frozenset[str]
    closing: int
    carried: Mapping[int, ClientSnapshots]
    """Rows that the middlebox still carries, and the client whose table lacks them; they are `unproven`."""

    @property
    def count(self) -> int:
        """Return how many rows were traced."""
        return len(self.matched) + len(self.absent) + sum(self.unproven.values()) + self.closing


def join_via_translation(
    unjoined: UnjoinedDirection,
    middlebox: Middlebox,
    clients: Sequence[ClientSnapshots],
    owner: ClientSnapshots | None = None,
    middleboxes: Sequence[Middlebox] = (),
) -> Direction:
    """Join through the flow table: an entry leads to its client's socket; a socket without an entry is a ghost.

    So is one that its client's table lacks and another of the middleboxes, on the server's side, has no entry for.
    The owner of the address has connections of its own, which a list of translated flows alone does not contain.
    """
    table, proxy = unjoined.table, middlebox.relay is Relay.PROXY
    traced = _exclude_incomplete(trace_rows(unjoined, middlebox, clients, owner), unjoined, middlebox)
    booted = rows_of_gone_clients(unjoined, traced.carried)
    lost = rows_without_flow_beyond(middlebox, middleboxes, unjoined, traced.carried)
    gone = booted | lost.rows
    unproven = Counter(traced.unproven) - Counter(_carried_reason(middlebox, traced.carried[row]) for row in gone)
    idle_seconds = tuple(seconds_since_received(table, traced.matched))
    taken = middlebox.nearest_time(unjoined.snapshot.taken)
    absent = exclude_churn(
        traced.absent,
        table.last_received,
        (),
        _churn(unjoined, middlebox),
        minimum_age=minimum_age_seconds(unjoined.snapshot.taken, taken, idle_seconds),
    )
    if not proxy:
        severed = count_severed(unjoined, middlebox, clients) - traced.unproven.get(_same_ports(middlebox), 0)
        absent = absent.excluding(max(0, severed), f"severed at {middlebox.host}, which has no entry for their clients")
    return Direction(
        client=unjoined.client,
        server_address=unjoined.server_address,
        server_port=unjoined.server_port,
        client_hosts=tuple(sorted(traced.hosts)),
        server_count=len(unjoined.rows),
        client_count=len(traced.matched) if traced.hosts or proxy else None,
        matched=len(traced.matched),
        live=len(traced.matched),
        closing=traced.closing,
        ghosts=replace(
            half_open(absent.including(gone), table.remote_port, unproven),
            possible_ports=possible_ports_behind_nat(unjoined, traced.carried.keys() - gone),
        ),
        join=JoinKey.BOX_TABLE,
        path=_path(middlebox),
        evidence=_with_lost(_evidence(unjoined, absent, owner, {row: traced.carried[row] for row in booted}), lost),
        severed=_severed_beyond(middlebox, middleboxes, unjoined, traced),
        idle_times=SocketIdleTimes(
            matched=idle_seconds, ghosts=tuple(seconds_since_received(table, absent.rows or ()))
        ),
        tables=TableQuality(headerless=unjoined.snapshot.headerless),
        origins=tuple(sorted({*unjoined.snapshot.origins, *middlebox.origins})),
    )


def _evidence(
    unjoined: UnjoinedDirection,
    absent: AbsentRows,
    owner: ClientSnapshots | None,
    gone: Mapping[int, ClientSnapshots],
) -> GhostEvidence:
    """Return the evidence; the history is that of the only client that is gone, else of the owner of the address."""
    lost = {client.host.host: client for client in gone.values()}
    only = next(iter(lost.values())) if len(lost) == 1 and not absent.count else owner
    return GhostEvidence(
        without_flow=absent.count,
        probes_unanswered=sum(probes_unanswered(unjoined.table, row) for row in absent.rows or ()),
        before_boot=len(gone),
        client=history_of(only.host) if only is not None else NO_HISTORY,
    )


def _severed_beyond(
    middlebox: Middlebox, middleboxes: Sequence[Middlebox], unjoined: UnjoinedDirection, traced: TracedRows
) -> Severed:
    """Return connections of both ends that a middlebox beyond the translating one has no entry for, as unproven."""
    lost = rows_without_flow_beyond(middlebox, middleboxes, unjoined, traced.matched)
    if not lost.rows:
        return Severed()
    hosts = " and ".join(lost.hosts)
    reason = f"{hosts} has no entry for them; whether it drops or accepts their next packet is unknown"
    return Severed(unproven={reason: len(lost.rows)}, middlebox=hosts)


def _with_lost(evidence: GhostEvidence, lost: MissingFlows) -> GhostEvidence:
    """Return the evidence with the ghosts that a middlebox beyond the translating one has no entry for."""
    count = len(lost.rows)
    return replace(evidence, without_flow=evidence.without_flow + count, still_carried=count, lost_by=lost.hosts)


def _path(middlebox: Middlebox) -> Path:
    kind = PathKind.PROXY if middlebox.relay is Relay.PROXY else PathKind.NAT
    return Path(kind=kind, translated_by=middlebox.host, middleboxes=(middlebox.host,))


def trace_rows(
    unjoined: UnjoinedDirection,
    middlebox: Middlebox,
    clients: Sequence[ClientSnapshots],
    owner: ClientSnapshots | None,
) -> TracedRows:
    """Trace every row of the server through the flow table to its client."""
    owners = owners_behind(middlebox, clients)
    untracked = _untracked_ports(unjoined, middlebox, clients)
    traces = []
    for key in unjoined.keys():  # noqa: SIM118  not a mapping
        flow = middlebox.flows.get(key)
        if key[3] == UNKNOWN_PORT:
            traces.append(RowTrace(INEXACT_PORT))
        elif flow is not None:
            client = owners.get(flow.client[0])
            traces.append(_trace_flow(flow, middlebox, client, carried=middlebox.carries(key)))
        else:
            traces.append(_trace_without_flow(key, middlebox, owner, is_untracked=key[3] in untracked))
    results = Counter(trace.result for trace in traces)
    rows = list(zip(unjoined.rows, traces, strict=True))
    return TracedRows(
        matched=tuple(row for row, trace in rows if trace.result == LIVE),
        absent=tuple(row for row, trace in rows if trace.result == ABSENT),
        unproven={reason: count for reason, count in results.items() if reason not in {LIVE, ABSENT, CLOSING}},
        hosts=frozenset(trace.client.host.host for trace in traces if trace.client is not None),
        closing=results[CLOSING],
        carried={row: trace.client for row, trace in rows if trace.client and trace.result not in {LIVE, ABSENT}},
    )


def _trace_flow(flow: FlowEntry, middlebox: Middlebox, client: ClientSnapshots | None, *, carried: bool) -> RowTrace:
    address, port, destination, destination_port = flow.client
    if carried and middlebox.relay is Relay.PROXY:
        return RowTrace(LIVE, client)  # its server-side leg is live; proxy_legs judges the client-side leg
    if client is None:
        return RowTrace(f"carried by {middlebox.host} for {address}, whose table was not read")
    if any(index.has_connection((destination, destination_port, address, port)) for index in client.indexes):
        return RowTrace(LIVE, client)
    if carried:
        return RowTrace(_carried_reason(middlebox, client), client)
    return RowTrace(CLOSING)


def _carried_reason(middlebox: Middlebox, client: ClientSnapshots) -> str:
    return f"carried by {middlebox.host}, but not in the table of {client.host.host} (a container, or churn)"


def _trace_without_flow(
    key: Key, middlebox: Middlebox, owner: ClientSnapshots | None, *, is_untracked: bool
) -> RowTrace:
    if owner is not None and any(index.has_connection(key) for index in owner.indexes):
        return RowTrace(LIVE, owner)
    if is_untracked:
        return RowTrace(_same_ports(middlebox))
    return RowTrace(ABSENT)


def _same_ports(middlebox: Middlebox) -> str:
    return f"another host has connections from the same ports, which {middlebox.host} does not list"


def owners_behind(middlebox: Middlebox, clients: Sequence[ClientSnapshots]) -> dict[str, ClientSnapshots]:
    """Return the hosts by address; container addresses, which any machine may have, on the middlebox's machine only."""
    machine = next((client.machine for client in clients if client.host.host == middlebox.host), "")
    owners = {address: client for client in clients for address in client.host.addresses}
    for client in clients:
        if machine and client.machine == machine:
            owners |= dict.fromkeys(inner_addresses(client.host) - owners.keys(), client)
    return owners


def _exclude_incomplete(traced: TracedRows, unjoined: UnjoinedDirection, middlebox: Middlebox) -> TracedRows:
    """Return the rows without absent ones, if the flow table may lack entries that the middlebox has."""
    if not traced.absent:
        return traced
    host = middlebox.host
    if not middlebox.whole:
        reason = f"the flow table of {host} was truncated, and may contain them"
    elif unjoined.direction not in middlebox.keys_by_direction:
        reason = (
            f"the flow table of {host} has no connection of this direction: a selection, or {host} is not on the path"
        )
    else:
        return traced
    return replace(traced, absent=(), unproven=Counter(traced.unproven) + Counter({reason: len(traced.absent)}))


def _untracked_ports(unjoined: UnjoinedDirection, middlebox: Middlebox, clients: Sequence[ClientSnapshots]) -> set[int]:
    """Return the ports of clients' connections to the server that the flow table lacks: it is a selection."""
    return {
        port
        for client in clients
        for direction in client.directions_to(*unjoined.endpoint)
        for port in client.latest.established(direction)
        if (direction[2], port, *unjoined.endpoint) not in middlebox.client_keys
    }


def _churn(unjoined: UnjoinedDirection, middlebox: Middlebox) -> ChurnEvidence:
    """Return what the server's table and the flow table show of connections that opened or closed."""
    snapshot = unjoined.snapshot
    taken = middlebox.nearest_time(snapshot.taken)
    at_server = set(unjoined.keys())
    tracked = middlebox.keys_by_direction.get(unjoined.direction, ())
    closed = sum(not middlebox.carries(key) for key in tracked)
    time_wait = unjoined.server_index.time_wait.get(unjoined.direction, 0) + closed
    return ChurnEvidence(
        reverse=sum(key not in at_server and middlebox.carries(key) for key in tracked),
        time_wait=time_wait if snapshot.sockets.shows_time_wait else None,
        interval_seconds=snapshot.taken.seconds_apart(taken) if snapshot.taken and taken else None,
        opened=count_opened(*unjoined.monitored, snapshot.taken, taken),
    )


def rows_of_gone_clients(unjoined: UnjoinedDirection, carried: Mapping[int, ClientSnapshots]) -> frozenset[int]:
    """Return the rows that received their last segment before their client's host booted: nothing there has them."""
    rows_of: dict[str, list[int]] = defaultdict(list)
    hosts = {client.host.host: client.host for client in carried.values()}
    for row, client in carried.items():
        rows_of[client.host.host].append(row)
    gone: set[int] = set()
    for name, host in hosts.items():
        booted = booted_since(host)
        if booted is not None and not booted.assumed:
            gone |= rows_before(unjoined.snapshot, rows_of[name], booted)
    return frozenset(gone)


def possible_ports_behind_nat(unjoined: UnjoinedDirection, rows: Iterable[int]) -> tuple[int, ...]:
    """Return the ports of rows that have been idle for so long that churn explains none of them."""
    table = unjoined.table
    ages = ((row, column_seconds(table.last_received, row)) for row in rows)
    return tuple(sorted(table.remote_port[row] for row, age in ages if age is not None and age > IDLE_SECONDS))
