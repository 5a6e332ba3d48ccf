"""Style: how what stands between the ends parts them, or whether their client is what is gone (connections.md, 2)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.analysis.pairing.direction import Direction

SECOND = timedelta(seconds=1)
"""Boot times are told in whole seconds."""

RESETS = "TcpEstabResets"
"""Connections that went from ESTABLISHED to CLOSED at once (RFC 4022, tcpEstabResets): by a reset received, or one of
our own making (net/ipv4/tcp.c, tcp_set_state)."""
GIVEN_UP = (
    "TcpExtTCPAbortOnTimeout",
    "TcpExtTCPAbortOnData",
    "TcpExtTCPAbortOnClose",
    "TcpExtTCPAbortOnLinger",
    "TcpExtTCPAbortOnMemory",
)
"""Connections ended without the other end's consent: nobody answered any more, or they were reset by this end
(net/ipv4/tcp_timer.c, tcp_write_err; tcp.c, __tcp_close). Where packets are swallowed each dead one is among these."""


class Style(StrEnum):
    """What parted the ends, as far as the evidence tells."""

    SILENT_DROP = "silent-drop"
    """Packets of a forgotten connection are swallowed: neither end hears of it."""
    RESET_TO_CLIENT = "reset-to-client"
    """The client was told by a reset, and the server was not."""
    CLIENT_GONE = "client-gone"
    """The client's host has booted since."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientHost:
    """What a client's host tells of its past. None: not in the evidence."""

    booted: datetime | None = None
    """The earliest that it may have booted."""
    resets: int | None = None
    """Resets received since it booted, at least."""
    resets_at_most: int | None = None
    given_up: int | None = None
    """Connections it has ended alone since then, because nobody answered or by a reset of its own."""


def style_of(direction: Direction) -> Style:
    """Return the style that a direction's signs allow alone.

    A client that retransmits into nothing is packets swallowed. So are unanswered probes, unless the client was told by
    resets: a box may swallow the one side's packets and reset the other's.
    """
    ghosts, host = direction.ghosts, direction.client_host
    resets = host.resets is not None and host.resets >= ghosts
    alone = host.given_up is not None and host.given_up >= ghosts
    if ghosts and direction.outlived >= ghosts:
        return Style.CLIENT_GONE
    if direction.leftovers:
        return Style.SILENT_DROP
    if ghosts and resets and not alone:
        return Style.RESET_TO_CLIENT
    few_resets = host.resets_at_most is not None and host.resets_at_most < ghosts
    if direction.probing or (ghosts and alone and few_resets):
        return Style.SILENT_DROP
    return Style.UNKNOWN


def told_by(host: Host) -> ClientHost:
    """Return what a client's host tells of its past."""
    counted = host.counters.values if host.counters else {}
    return ClientHost(
        booted=booted_at(host),
        resets=received_resets(counted),
        resets_at_most=counted.get(RESETS),
        given_up=given_up(counted),
    )


NOTHING_TOLD = ClientHost()


def received_resets(counters: Mapping[str, int]) -> int | None:
    """Return how many resets a host has received at least; None when that is not among its counters.

    Not all that it has given up were counted as resets: those whose end was sent already were not.
    """
    if RESETS not in counters:
        return None
    return max(0, counters[RESETS] - sum(counters.get(name, 0) for name in GIVEN_UP))


def given_up(counters: Mapping[str, int]) -> int | None:
    """Return how many connections a host has ended alone; None when that is not among its counters."""
    known = [counters[name] for name in GIVEN_UP if name in counters]
    return sum(known) if known else None


def booted_at(host: Host) -> datetime | None:
    """Return the earliest that a host may have booted, by the clock that its looks are timed with."""
    description = host.description
    if description is None or description.booted is None or description.clock is None:
        return None
    up = description.clock - description.booted
    told = description.origin.taken
    return (told.start if told else description.clock) - up - SECOND


def outlived(look: Snapshot, rows: Iterable[int], booted: datetime | None) -> int:
    """Return how many of a server's rows were last heard of before this moment."""
    if booted is None or look.taken is None:
        return 0
    since = (look.taken.start - booted).total_seconds()
    ages = (column_seconds(look.sockets.last_received, row) for row in rows)
    return sum(age is not None and age > since for age in ages)
