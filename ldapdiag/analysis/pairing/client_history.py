"""Client history: when a client's host booted, and how its connections have ended since, by its TCP counters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot

SECOND = timedelta(seconds=1)
"""Boot times are whole seconds."""

RESETS = "TcpEstabResets"
"""Connections that went from ESTABLISHED to CLOSED at once (RFC 4022, tcpEstabResets): by a reset received, or one of
the host's own (net/ipv4/tcp.c, tcp_set_state)."""
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
class ClientHistory:
    """The past of a client's host. None: not in the evidence."""

    booted: datetime | None = None
    """The earliest possible time of its boot."""
    resets: int | None = None
    """Resets received since its boot: a lower bound."""
    resets_at_most: int | None = None
    aborted: int | None = None
    """Connections that it has ended alone since its boot: by a timeout, or by a reset of its own."""


NO_HISTORY = ClientHistory()


def history_of(host: Host) -> ClientHistory:
    """Return the history of a client's host, from its description and counters."""
    counters = host.counters.values if host.counters else {}
    return ClientHistory(
        booted=booted_at(host),
        resets=received_resets(counters),
        resets_at_most=counters.get(RESETS),
        aborted=aborted_connections(counters),
    )


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


def booted_at(host: Host) -> datetime | None:
    """Return the earliest possible boot time of a host, by the clock of its snapshots."""
    description = host.description
    if description is None or description.booted is None or description.clock is None:
        return None
    up = description.clock - description.booted
    taken = description.origin.taken
    return (taken.start if taken else description.clock) - up - SECOND


def count_before_boot(snapshot: Snapshot, rows: Iterable[int], booted: datetime | None) -> int:
    """Return how many of a server's rows received their last segment before the client's host booted."""
    if booted is None or snapshot.taken is None:
        return 0
    since_boot = (snapshot.taken.start - booted).total_seconds()
    ages = (column_seconds(snapshot.sockets.last_received, row) for row in rows)
    return sum(age is not None and age > since_boot for age in ages)
