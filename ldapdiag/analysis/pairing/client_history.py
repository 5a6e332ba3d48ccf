"""Client history: since when a client exists, and how its connections have ended since, by its TCP counters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds
from ldapdiag.analysis.pairing.client_age import Since, booted_since, made_since, started_since

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot

RESETS = "TcpEstabResets"
"""Connections that went from ESTABLISHED to CLOSED at once (RFC 4022, tcpEstabResets): by a reset received, or one of
the host's own (net/ipv4/tcp.c, tcp_set_state)."""
OPENED = "TcpActiveOpens"
"""Connections that were opened from this side (RFC 4022, tcpActiveOpens); of each network namespace its own."""
ABORTS = (
    "TcpExtTCPAbortOnTimeout",
    "TcpExtTCPAbortOnData",
    "TcpExtTCPAbortOnClose",
    "TcpExtTCPAbortOnLinger",
    "TcpExtTCPAbortOnMemory",
)
"""Connections that this end ended alone: retransmissions timed out, or it sent a reset (net/ipv4/tcp_timer.c,
tcp_write_err; tcp.c, __tcp_close). Where packets are dropped silently, each dead connection is counted here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndCounts:
    """How a host's connections have ended, by its TCP counters. None: they do not include it."""

    resets: int | None = None
    """Resets received: a lower bound."""
    resets_at_most: int | None = None
    aborted: int | None = None
    """Connections that it has ended alone: by a timeout, or by a reset of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSockets:
    """What a client's socket table shows beside the connections themselves."""

    owners: frozenset[int]
    """The processes that own its connections to the server."""
    all_owned: bool
    """The table shows the owner of each."""
    others: frozenset[int]
    """The processes that own any socket."""
    established: int
    """Established connections that it has opened, to any server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientHistory:
    """The past of a client's host. None: not in the evidence."""

    booted: Since | None = None
    """When it booted."""
    started: Since | None = None
    """When the first of the processes started that may own its connections to the server."""
    owned: bool = False
    """`started` is of the processes that own its present connections to the server."""
    made: Since | None = None
    """When it booted or its namespace was made, for certain: it has no connection from before, nor has a container."""
    opened: int | None = None
    """Connections that its TCP stack has opened since it exists: since the boot, or since its namespace was made."""
    established: int = 0
    """Connections that it has opened and that are established now."""
    ends: EndCounts = EndCounts()
    """Since its boot."""
    recent_ends: EndCounts | None = None
    """Between the first and the last reading of its counters; None where there is one."""


NO_HISTORY = ClientHistory()


def history_of(host: Host, sockets: ClientSockets | None = None) -> ClientHistory:
    """Return the history of a client's host; `sockets` are those of its snapshot nearest to the server's."""
    counters = host.counters.values if host.counters else {}
    owners, others = (sockets.owners, sockets.others) if sockets else ((), ())
    opened = counters.get(OPENED)
    started = started_since(host, owners, others)
    owned = started if sockets is not None and sockets.owners and sockets.all_owned else None
    has_new_stack = sockets is not None and opened == sockets.established
    return ClientHistory(
        booted=booted_since(host),
        started=started,
        owned=bool(owners),
        made=made_since(host, has_new_stack=has_new_stack, started=owned),
        opened=opened,
        established=sockets.established if sockets else 0,
        ends=end_counts(counters),
        recent_ends=end_counts(grown(host.first_counters.values, counters)) if host.first_counters else None,
    )


def end_counts(counters: Mapping[str, int]) -> EndCounts:
    """Return how connections have ended by a host's counters."""
    return EndCounts(
        resets=received_resets(counters),
        resets_at_most=counters.get(RESETS),
        aborted=aborted_connections(counters),
    )


def grown(first: Mapping[str, int], last: Mapping[str, int]) -> Mapping[str, int]:
    """Return by how much counters have grown; without those that have been reset meanwhile."""
    return {name: last[name] - value for name, value in first.items() if last.get(name, -1) >= value}


def received_resets(counters: Mapping[str, int]) -> int | None:
    """Return a lower bound of the resets that a host has received; None when its counters do not include resets.

    Not every abort is counted as a reset: those after the FIN was sent are not.
    """
    if RESETS not in counters:
        return None
    return max(0, counters[RESETS] - sum(counters.get(name, 0) for name in ABORTS))


def aborted_connections(counters: Mapping[str, int]) -> int | None:
    """Return how many connections a host has ended alone; None when its counters do not include them."""
    known = [counters[name] for name in ABORTS if name in counters]
    return sum(known) if known else None


def rows_before(snapshot: Snapshot, rows: Iterable[int], since: Since | None) -> frozenset[int]:
    """Return those of a server's rows that received their last segment before something began."""
    if since is None or snapshot.taken is None:
        return frozenset()
    seconds = (snapshot.taken.end - since.span.start).total_seconds()
    ages = ((row, column_seconds(snapshot.sockets.last_received, row)) for row in rows)
    return frozenset(row for row, age in ages if age is not None and age > seconds)


def rows_after(snapshot: Snapshot, rows: Iterable[int], since: Since | None) -> frozenset[int]:
    """Return those of a server's rows that certainly received their last segment after something began."""
    if since is None or snapshot.taken is None:
        return frozenset()
    seconds = (snapshot.taken.start - since.latest.end).total_seconds()
    ages = ((row, column_seconds(snapshot.sockets.last_received, row)) for row in rows)
    return frozenset(row for row, age in ages if age is not None and age < seconds)


def count_not_opened(history: ClientHistory, ghosts: int) -> int:
    """Return how many of so many ghosts, at least, a client's TCP stack cannot have opened since it exists.

    It counts fewer connections than the ghosts and those that are established now. A count below the latter is no total
    since the beginning (nstat without -a).
    """
    if history.opened is None or history.opened < history.established:
        return 0
    return min(ghosts, max(0, ghosts + history.established - history.opened))
