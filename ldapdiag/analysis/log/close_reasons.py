"""CloseReasons: how the connections of one client ended, by the kinds of the server's close codes.

IdleCuts: what an access log shows of the connections of one client that the server's idle timeout closed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from math import ceil
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.spellings import OTHER_NAME, UNKNOWN_NAME
from ldapdiag.evidence.log.idle_times import at_least_seconds
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.close_codes import close_reason
from ldapdiag.servers.close_reasons import CloseKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.log.traffic import Traffic
    from ldapdiag.analysis.log.workload import ClientActivity
    from ldapdiag.evidence.family import Family

UNCLEAN = (CloseKind.CLIENT_GONE, CloseKind.NETWORK)
CLOSED_BY_SERVER = (CloseKind.IDLE, CloseKind.RESTART, CloseKind.SERVER)
"""A connection that the server closed was no probe, even without operations."""


@dataclass(slots=True, kw_only=True)
class CloseReasons:
    """How the connections of one client ended."""

    client: str
    by_kind: Counter[CloseKind] = field(default_factory=Counter)
    """Closes by kind, probes left out."""
    probes: int = 0
    """Connections without any operation that the client closed."""
    codes: dict[str, int] = field(default_factory=dict)
    """Closes by the server's own code, probes included."""

    @property
    def unclean(self) -> int:
        """Return how many ended without UNBIND or by a network failure."""
        return sum(self.by_kind[kind] for kind in UNCLEAN)

    @property
    def close_count(self) -> int:
        """Return how many ended otherwise than by a restart of the server."""
        return self.by_kind.total() - self.by_kind[CloseKind.RESTART]


def close_reasons_of(client: ClientActivity, family: Family | None) -> CloseReasons:
    """Return how a client's connections ended, by the close codes of this family's log."""
    reasons = CloseReasons(client=client.address, codes=dict(client.closes))
    for code, count in client.closes.items():
        kind = close_reason(family, code).kind
        probes = 0 if kind in CLOSED_BY_SERVER else client.without_operations.get(code, 0)
        reasons.probes += probes
        reasons.by_kind[kind] += count - probes
    return reasons


NEARLY = 0.8
"""The part of the timeout from which an idle time is nearly as long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleCuts:
    """The connections of one client that the idle timeout closed, and those that it used again just in time."""

    client: str
    cut: int
    closes: int
    """All its connections that ended, a restart of the server and probes left out."""
    opened: int
    reopened: int
    """Connections that it opened after others of its own had ended, at least: the server never had more at once."""
    shortest: int
    """Seconds: no connection was closed by the timeout after a shorter idle time (to the second, up to 2 minutes)."""
    used_late: int
    """Requests on connections that had been idle for 80 % of that time or more, and for no longer than it."""

    @property
    def used_share(self) -> float:
        """Return which part of the connections that were idle for 80 % of the timeout was used again before it."""
        return self.used_late / (self.used_late + self.cut)


def idle_cuts(traffic: Traffic, *, streams: int = 1) -> Iterator[IdleCuts]:
    """Yield what each client's connections show, of those clients of which the idle timeout closed any.

    Of several `streams` of logs the peak is that of one, so it bounds nothing.
    """
    family = traffic.workload.family
    peak = traffic.segment.peak if streams <= 1 else 0
    for client in traffic.workload.clients:
        if client.address in {OTHER_NAME, UNKNOWN_NAME}:
            continue
        shortest = min(_seconds(client, family), default=None)
        reasons = close_reasons_of(client, family)
        if shortest is None or not (cut := reasons.by_kind[CloseKind.IDLE]):
            continue
        beyond = client.idle_times.from_seconds(max(shortest + 1, 1))
        yield IdleCuts(
            client=client.address,
            cut=cut,
            closes=reasons.close_count,
            opened=client.opened,
            reopened=max(0, client.opened - peak) if peak else 0,
            shortest=shortest,
            used_late=client.idle_times.from_seconds(max(1, ceil(NEARLY * shortest))) - beyond,
        )


def _seconds(client: ClientActivity, family: Family | None) -> Iterator[int]:
    """Yield the lower edges of the idle times that the idle timeout ended."""
    for code, times in client.idle_before_close.items():
        if close_reason(family, code).kind is CloseKind.IDLE:
            yield from map(at_least_seconds, times.buckets)
