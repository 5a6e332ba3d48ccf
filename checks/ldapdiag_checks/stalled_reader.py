"""stalled-reader: clients that do not read what the server sends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated

from ldapdiag.analysis.hosts.ages import MANY_TRIES, column_seconds, retransmits
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.hosts.ldap_sockets import why_incomplete
from ldapdiag.analysis.hosts.listeners import unfit_because
from ldapdiag.analysis.hosts.snapshots import Snapshot
from ldapdiag.analysis.load.responsiveness import Responsiveness
from ldapdiag.analysis.pairing.snapshot_order import STANDS_SECONDS, Stay, stays
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.addresses import endpoint
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.sockets import SS_COMMAND, SocketTable, Timer
from ldapdiag.finding import NO_COMMAND, Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.wording import counted

HOW = f"on the server: {SS_COMMAND}"

Direction = tuple[str, str, int]
"""Client address, and the server's address and port."""


@check(group="server", number=MainNumber("connections", "connections that wait for the client"))
def judge(
    server: Instance,
    host: Host,
    responsiveness: Responsiveness | None = None,
    *,
    high_connections: Annotated[int, Threshold("connections", "so many of one client or more are high")] = 10,
    medium_connections: Annotated[int, Threshold("connections", "so many or more are medium; fewer are low")] = 3,
) -> Iterator[Verdict]:
    """Clients that do not read what the server sends.

    ## What it looks at
    The server's established sockets with unacknowledged data (Send-Q), by client address, and the timer of each:
    persist means that the client's window is closed and it does not read; on, after one retransmission or more,
    that nothing is acknowledged. Data sent for the first time is in transit and does not count, and neither does what
    does not stand still: a window is closed for a moment, and a packet is lost, on every busy connection. So one counts
    that has been so for 2 s by the age of its unacknowledged data (ss -i), or after 4 retransmissions or unanswered
    window probes (3 s), or if a snapshot 2 s earlier or more shows the same data in the same queue. Where neither was
    read, it is not judged.

    - certain: every window is closed.
    - likely: otherwise, because a client that is gone, or a path that drops packets, looks the same.

    ## Severity
    By default:

    - high: 10 connections of one client or more.
    - medium: 3 or more.
    - low: fewer.

    ## Why it matters
    The server keeps the answers in memory, and 389-ds also a worker thread, until the client reads or the server
    gives up (nsslapd-ioblocktimeout: 10 s; olcWriteTimeout: never). A few such clients can block all others.

    ## What to do
    Ask the client's operator why it does not read: most often it processes a large result entry by entry, or the
    process is stopped. Use paged searches, limit the size of results, and set the write timeout.

    ## When it is harmless
    A slow line during a large answer: ten seconds later Send-Q has changed.
    """
    if responsiveness is not None and (doubt := responsiveness.doubt) is not None:
        yield NotJudged.lacking(doubt, subject=server.name)
        return
    unfit = "is not in the evidence" if host.latest is None else unfit_because(host.latest.sockets, server.ports)
    if unfit or host.latest is None:
        yield NotJudged.without(SocketTable, server.name, f"the table of {host.host}'s sockets {unfit}", how=HOW)
        return
    missing = why_incomplete(host.latest, host.host)
    directions = _directions(host.latest.sockets, server)
    stay = _stays(host, (row for rows in directions.values() for row in rows))
    for direction, rows in sorted(directions.items()):
        yield _verdict(direction, rows, server, host.latest, stay, missing, (high_connections, medium_connections))
    if not directions and missing is not None:
        yield NotJudged.lacking(missing, subject=host.host)
    elif not directions:
        yield Clear(subject=host.host, reason="no connection is established at the server")


def severity_of(connections: int, limits: tuple[int, int]) -> Severity:
    """Return how bad it is, by the connections that are high and medium."""
    high, medium = limits
    return Severity.HIGH if connections >= high else Severity.MEDIUM if connections >= medium else Severity.LOW


def _directions(table: SocketTable, server: Instance) -> Mapping[Direction, Sequence[int]]:
    """Return the rows of the server's established connections by client address and endpoint."""
    found: dict[Direction, list[int]] = defaultdict(list)
    for row in table.established_at(server.ports):
        found[table.remote_address[row], table.local_address[row], table.local_port[row]].append(row)
    return found


def _verdict(
    direction: Direction,
    rows: Sequence[int],
    server: Instance,
    snapshot: Snapshot,
    stays_of: Mapping[int, Stay],
    missing: Missing | None,
    limits: tuple[int, int],
) -> Verdict:
    (client, address, port), table = direction, snapshot.sockets
    subject = f"{client} -> {endpoint(address, port)}"
    if table.send_queue is None:
        return NotJudged.without(SocketTable, subject, f"the table of {server.name} has no column Send-Q", how=HOW)
    waiting = [row for row in rows if table.send_queue[row]]
    timers = [table.timer[row] if table.timer else None for row in waiting]
    stay = {row: stays_of[row] for row in waiting if row in stays_of}
    if stalled := [row for row, one in stay.items() if one is Stay.STANDS]:
        return _finding(direction, stalled, server, snapshot, severity_of(len(stalled), limits))
    if unknown := [row for row, one in stay.items() if one is Stay.UNKNOWN]:
        return NotJudged.without(
            SocketTable,
            subject,
            f"{counted(len(unknown), 'connection')} with a closed window or a retransmission in one snapshot "
            "without ages, which does not show whether the data stands",
            how=f"{HOW} (it shows ages; netstat: twice, 5 s apart)",
        )
    if None in timers:
        reason = (
            f"{len(waiting):,} of {counted(len(rows), 'connection')} with data in Send-Q, but the table shows no timers"
        )
        return NotJudged.without(SocketTable, subject, reason, how=HOW)
    if missing is not None:
        return NotJudged.lacking(missing, subject=subject)
    return Clear(
        subject=subject,
        reason=f"{len(rows):,} established, {len(waiting):,} with data in transit, none seen to stand for "
        f"{STANDS_SECONDS:.0f} s",
    )


def _stays(host: Host, rows: Iterable[int]) -> Mapping[int, Stay]:
    """Return which stalled rows stand; once for all clients, because each look reads the whole table."""
    table = host.snapshots[-1].sockets
    if table.send_queue is None:
        return {}
    stalled = (row for row in rows if table.send_queue[row] and _is_stalled(table, row))
    return dict(stays(host.snapshots, stalled, _age, _has_not_moved))


def _is_stalled(table: SocketTable, row: int) -> bool:
    """Return whether the client's window is closed, or sent data is unacknowledged and was sent again."""
    return retransmits(table, row) or (table.timer is not None and table.timer[row] is Timer.PERSIST)


def _tries(table: SocketTable, row: int) -> int:
    column = table.retransmits if retransmits(table, row) else table.probes
    return column[row] if column is not None else 0


def _age(table: SocketTable, row: int) -> float | None:
    """Return for how long the data has been in the queue at least; None where the table does not show it."""
    if _tries(table, row) >= MANY_TRIES:
        return STANDS_SECONDS
    return column_seconds(table.busy, row) or None


def _has_not_moved(one: SocketTable, old: int, table: SocketTable, row: int) -> bool:
    """Return whether an earlier row of a socket shows the same data waiting, or fewer attempts to send it."""
    if one.send_queue is None or table.send_queue is None or not _is_stalled(one, old):
        return False
    again = _tries(table, row) > _tries(one, old) > 0
    return again or (one.send_queue[old] == table.send_queue[row])


def _finding(
    direction: Direction, rows: Sequence[int], server: Instance, snapshot: Snapshot, severity: Severity
) -> Finding:
    client, address, port = direction
    table = snapshot.sockets
    size = sum(table.send_queue[row] for row in rows) if table.send_queue else 0
    closed = sum(table.timer[row] is Timer.PERSIST for row in rows) if table.timer else 0
    count = counted(len(rows), "connection")
    sentences = [f"{closed:,} with a closed window: the client does not read."] if closed else []
    if closed < len(rows):
        sentences.append(
            f"{len(rows) - closed:,} retransmitting: the client is gone, its host is stuck, or packets are lost."
        )
    return Finding(
        subject=f"{client} -> {endpoint(address, port)}",
        severity=severity,
        confidence=Confidence.CERTAIN if closed == len(rows) else Confidence.LIKELY,
        title=f"{client} does not read {counted(size, 'byte')} from {server.name} on {count}",
        detail="\n".join(
            [
                *sentences,
                "Until it reads, the server keeps the answers in memory, and perhaps a worker thread for each.",
                f"{NO_COMMAND}ask the operator of {client} why it does not read. A large result needs paged searches.",
            ]
        ),
        observed={
            "server": endpoint(address, port),
            "client": client,
            "connections": len(rows),
            "bytes": size,
        },
        server=server.name,
        hosts=(server.host,),
        origins=snapshot.origins,
    )
