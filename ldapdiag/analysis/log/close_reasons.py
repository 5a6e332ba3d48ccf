"""CloseReasons: how the connections of one client ended, by the kinds of the server's close codes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.servers.close_codes import close_reason
from ldapdiag.servers.close_reasons import CloseKind

if TYPE_CHECKING:
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
