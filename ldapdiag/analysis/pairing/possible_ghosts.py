"""Possible ghosts: connections that the client's own table lacks, and that only an unread namespace could have.

So are those of a client that was not read, and does not answer the server's probes. They are no ghosts, because
nothing proves that no container has them, and they are more than a subject that was not judged: a client that crashed
leaves exactly these (docs/how-it-decides.md, "What a ghost is").
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds, probes_unanswered
from ldapdiag.analysis.pairing.direction import IDLE_SECONDS
from ldapdiag.analysis.pairing.half_open import ObservedChurn, find_ghost_rows
from ldapdiag.analysis.pairing.snapshot_order import are_apart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.pairing.classification import Classified
    from ldapdiag.analysis.pairing.direction import Direction
    from ldapdiag.analysis.pairing.socket_index import ClientIndex
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection


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
