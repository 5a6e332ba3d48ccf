"""Half-open connections of one direction: rows that are absent at the other end and that churn cannot explain.

Possible ghosts: connections that the client's own table lacks, and that only an unread namespace could have.

So are those of a client that was not read, and does not answer the server's probes. They are no ghosts, because
nothing proves that no container has them, and they are more than a subject that was not judged: a client that crashed
leaves exactly these (docs/how-it-decides.md, "What a ghost is").
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds, probes_unanswered, seconds_since_received
from ldapdiag.analysis.pairing.absence_reasons import ONE_FAMILY
from ldapdiag.analysis.pairing.direction import IDLE_SECONDS, HalfOpen
from ldapdiag.analysis.pairing.skew import AbsentRows, ChurnEvidence, count_opened, exclude_churn, minimum_age_seconds
from ldapdiag.analysis.pairing.snapshot_order import (
    absent_before,
    are_apart,
    decided_by_snapshots,
    in_earlier_snapshot,
    is_before,
    seconds_between,
)
from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.analysis.pairing.classification import Classified, VirtualEndpoint
    from ldapdiag.analysis.pairing.direction import Direction
    from ldapdiag.analysis.pairing.socket_index import ClientIndex
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection

CLOSING_UNSHOWN = "closing at the server, whose table does not show retransmissions (take it with ss -tano)"


@dataclass(frozen=True, slots=True)
class ObservedChurn:
    """What both tables of a direction show of connections that opened or closed between them."""

    interval_seconds: float | None
    """Between the server's table and the client's nearest."""
    time_wait: int | None
    """TIME-WAIT rows at both ends; None when a table does not show them."""
    elsewhere: int
    """The client's connections to a virtual endpoint that are not connections of this server."""
    client_only: list[int]
    """Client ports of connections that the server does not show in any state, or whose FIN it retransmits in vain."""
    other_state: int
    """Connections that the client has established and the server has in another state."""
    closing_unshown: int
    """Those of them that the server closes, and whose retransmissions its table does not show."""
    unnumbered_at_server: int
    unnumbered_at_client: int
    idle_seconds: tuple[float, ...]
    """Idle times of live connections."""


def observe_churn(
    unjoined: UnjoinedDirection, near: ClientIndex, rows: Classified, live: Mapping[int, int]
) -> ObservedChurn:
    """Return what both tables show of churn; `live` are the client's established rows, by port."""
    ports = unjoined.table.remote_port
    at_server = {ports[row] for row in unjoined.rows}
    unmatched = [port for port in live if port not in at_server and port != UNKNOWN_PORT]
    closing = unjoined.server_index.closing_ports(unjoined.direction, unmatched)
    client_only = unjoined.server_index.missing_ports(unjoined.direction, unmatched) if unmatched else []
    client_only += [port for port, retransmitting in closing.items() if retransmitting]
    return ObservedChurn(
        interval_seconds=seconds_between(unjoined.snapshot, near.snapshot),
        time_wait=_time_wait(unjoined, near, rows.virtual),
        elsewhere=rows.virtual.count - rows.virtual.matched if rows.virtual else 0,
        client_only=client_only,
        other_state=len(unmatched) - len(client_only),
        closing_unshown=list(closing.values()).count(None),
        unnumbered_at_server=unjoined.server_index.unnumbered.get(unjoined.direction, 0),
        unnumbered_at_client=near.unnumbered.get(unjoined.direction, 0),
        idle_seconds=_idle_seconds(unjoined, near, rows),
    )


def _time_wait(unjoined: UnjoinedDirection, near: ClientIndex, virtual: VirtualEndpoint | None) -> int | None:
    """Return a direction's connections in TIME-WAIT at either end; None if a table does not show them."""
    if not (unjoined.table.shows_time_wait and near.table.shows_time_wait):
        return None
    directions = (unjoined.direction, *(virtual.directions if virtual else ()))
    at_client = sum(near.time_wait.get(direction, 0) for direction in directions)
    return unjoined.server_index.time_wait.get(unjoined.direction, 0) + at_client


def _idle_seconds(unjoined: UnjoinedDirection, near: ClientIndex, rows: Classified) -> tuple[float, ...]:
    """Return the idle times of the live connections, by the server's ages, else by the client's."""
    at_server = seconds_since_received(unjoined.table, (row for row, _ in rows.matched))
    at_client = (row for _, row in rows.matched if row is not None)
    return tuple(at_server or seconds_since_received(near.table, at_client))


def half_open(absent: AbsentRows, ports: Sequence[int], unproven: Mapping[str, int] | None = None) -> HalfOpen:
    """Return absent rows as connections, with their ports in a column; `unproven` rows are added to those of churn."""
    excluded = Counter(unproven or {}) + Counter(absent.unproven)
    return HalfOpen(
        count=absent.count,
        ports=absent.ports(ports),
        unproven=dict(sorted(excluded.items())),
        reasons=absent.reasons,
    )


def find_ghost_rows(
    unjoined: UnjoinedDirection,
    server: Host,
    indexes: Sequence[ClientIndex],
    rows: Classified,
    churn: ObservedChurn,
    *,
    collected_live: bool = False,
    openings_bounded: bool = True,
) -> AbsentRows:
    """Return the server's rows that are absent at the client, without churn.

    `collected_live`: ldapdiag itself read the client's host, which takes snapshots before and after unless interrupted.
    Without `openings_bounded`, none is assumed to have been opened since the client's table was taken.
    """
    snapshot, near = unjoined.snapshot, indexes[0].snapshot
    persistent: set[int] = set()
    if rows.absent:
        persistent = in_earlier_snapshot(unjoined, server, [index.snapshot for index in indexes])
        persistent |= absent_before(unjoined, indexes)
    return exclude_churn(
        rows.absent,
        unjoined.table.last_received,
        persistent - rows.dead_since_earlier,
        ChurnEvidence(
            reverse=len(churn.client_only) + churn.other_state + churn.elsewhere,
            time_wait=churn.time_wait,
            interval_seconds=churn.interval_seconds,
            opened=_opened(unjoined, near) if openings_bounded else 0,
            unnumbered=max(0, churn.unnumbered_at_client - churn.unnumbered_at_server),
        ),
        minimum_age=minimum_age_seconds(snapshot.taken, near.taken, churn.idle_seconds),
        bracketed=collected_live or decided_by_snapshots(unjoined, server, indexes),
    )


def _opened(unjoined: UnjoinedDirection, near: Snapshot) -> int | None:
    """Return how many of the server's connections may have been opened since the client's table; None: unbounded."""
    if are_apart(unjoined.snapshot, near):
        return None
    return count_opened(*unjoined.monitored, unjoined.snapshot.taken, near.taken)


def find_stranded_rows(
    unjoined: UnjoinedDirection,
    indexes: Sequence[ClientIndex],
    rows: Classified,
    live: Mapping[int, int],
    churn: ObservedChurn,
) -> AbsentRows:
    """Return the client's rows that are absent at the server, without churn."""
    snapshot, near = unjoined.snapshot, indexes[0]
    lasting = [
        live[port]
        for port in churn.client_only
        if all(index.has_connection((*unjoined.direction, port)) for index in indexes[1:])
    ]
    before = any(is_before(index.snapshot, snapshot) for index in indexes)
    after = any(is_before(snapshot, index.snapshot) for index in indexes)
    stranded = exclude_churn(
        lasting,
        near.table.last_received,
        lasting if before and after else (),
        ChurnEvidence(
            reverse=len(rows.absent) + rows.closing,
            time_wait=churn.time_wait,
            interval_seconds=churn.interval_seconds,
            opened=None
            if are_apart(near.snapshot, snapshot)
            else count_opened(None, (), near.snapshot.taken, snapshot.taken),
            unnumbered=max(0, churn.unnumbered_at_server - churn.unnumbered_at_client),
        ),
        minimum_age=minimum_age_seconds(near.snapshot.taken, snapshot.taken, churn.idle_seconds),
    )
    return _exclude_stranded(stranded, unjoined, rows, churn, fleeting=len(churn.client_only) - len(lasting))


def _exclude_stranded(
    stranded: AbsentRows, unjoined: UnjoinedDirection, rows: Classified, churn: ObservedChurn, *, fleeting: int
) -> AbsentRows:
    """Return the stranded rows without those that another reason explains."""
    if not unjoined.rows and not unjoined.snapshot.covers(unjoined.server_address):
        return AbsentRows(unproven={f"{ONE_FAMILY} on the server": len(churn.client_only)})
    unproven = dict(stranded.unproven)
    if stranded.count and unjoined.table.is_cut:
        unproven["the server's table ends within a line, and its remainder may contain them"] = stranded.count
        stranded = AbsentRows()
    if stranded.count and any(unjoined.table.remote_port[row] == UNKNOWN_PORT for row in unjoined.rows):
        unproven["the server's table has truncated or named ports, and may contain them"] = stranded.count
        stranded = AbsentRows()
    if rows.virtual and churn.elsewhere:
        unproven[f"connected to {rows.virtual.endpoint}, where another server may have them"] = churn.elsewhere
    if churn.closing_unshown:
        unproven[CLOSING_UNSHOWN] = churn.closing_unshown
    if fleeting:
        unproven["not in every snapshot of the client: opened or closed between them"] = fleeting
    return replace(stranded, unproven=unproven)


def possible_ghost_ports(
    unjoined: UnjoinedDirection,
    server: Host,
    indexes: Sequence[ClientIndex],
    rows: Classified,
    churn: ObservedChurn,
    *,
    ghosts: int,
    collected_live: bool,
) -> tuple[int, ...]:
    """Return the client ports of absent rows that another namespace may have, or that may just have been opened.

    Churn that would leave a trace does not explain them. Where ages are known, only those count that have been idle for
    IDLE_SECONDS: a container's connection in use is no ghost. Beside `ghosts` that are proven, only what a namespace
    may have is possible.
    """
    together = not are_apart(unjoined.snapshot, indexes[0].snapshot)
    only = replace(rows, absent=(*rows.elsewhere, *(rows.absent if together and not ghosts else ())))
    if not only.absent:
        return ()
    absent = find_ghost_rows(
        unjoined, server, indexes, only, churn, collected_live=collected_live, openings_bounded=not together
    ).rows
    table = unjoined.table
    ages = ((row, column_seconds(table.last_received, row)) for row in absent or ())
    return tuple(sorted(table.remote_port[row] for row, age in ages if age is None or age > IDLE_SECONDS))


def unanswered_ports(unjoined: UnjoinedDirection) -> tuple[int, ...]:
    """Return the client ports of rows whose keepalive probes are unanswered, whatever the client's end may be."""
    table = unjoined.table
    return tuple(sorted(table.remote_port[row] for row in unjoined.rows if probes_unanswered(table, row)))


def possible_sentences(direction: Direction, reasons: str) -> Iterator[str]:
    """Yield what is known of possible ghosts, and what would prove them; `reasons` are those that exclude a proof."""
    clients = " and ".join(direction.client_hosts)
    if direction.missing is not None:
        yield (
            f"The server's keepalive probes on them are unanswered: {direction.client} crashed, is unreachable at the "
            f"moment, or a middlebox drops the packets. Its end was not read: {direction.missing.reason}."
        )
        yield f"What would prove it: {direction.missing.how or 'the socket table of the client'}; a second snapshot."
        return
    yield (
        f"The table of {clients} does not contain them. They are dead if {clients} crashed or was started again; that "
        f"they are live is not excluded: {reasons}."
    )
    yield (
        "What would prove it: tables with ages (ss -tanoiep) of the client, the server and the client again; the "
        f"sockets of every network namespace of {clients}, as root (--sudo, or nsenter -t PID -n ss -tanoiep); sysctl "
        "net.ipv4.ip_forward there (0: nothing is behind its address); when it booted (uptime)."
    )
