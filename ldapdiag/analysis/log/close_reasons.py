"""Ends: how the connections of a client ended, by what the server's words for it have in common."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.servers.close_codes import close_reason
from ldapdiag.servers.close_reasons import CloseKind

if TYPE_CHECKING:
    from ldapdiag.analysis.log.workload import ClientActivity
    from ldapdiag.evidence.family import Family

WRONG = (CloseKind.CLIENT_GONE, CloseKind.NETWORK)
NOT_ASKED = (CloseKind.IDLE, CloseKind.RESTART, CloseKind.SERVER)
"""Ends that the server made: such a connection was no probe."""


@dataclass(slots=True, kw_only=True)
class CloseReasons:
    """How the connections of one client ended."""

    client: str
    by_kind: Counter[CloseKind] = field(default_factory=Counter)
    """Of connections with an operation."""
    probes: int = 0
    """Connections without any, which the client ended."""
    codes: dict[str, int] = field(default_factory=dict)

    @property
    def unclean(self) -> int:
        """Return how many ended without a goodbye."""
        return sum(self.by_kind[nature] for nature in WRONG)

    @property
    def close_count(self) -> int:
        """Return how many ended, but by a restart."""
        return self.by_kind.total() - self.by_kind[CloseKind.RESTART]


def close_reasons_of(client: ClientActivity, family: Family | None) -> CloseReasons:
    """Return how a client's connections ended, in the words of this product's log."""
    ends = CloseReasons(client=client.address, codes=dict(client.closes))
    for code, count in client.closes.items():
        kind, silent = close_reason(family, code).kind, client.without_operations.get(code, 0)
        if kind in NOT_ASKED:
            silent = 0
        ends.probes += silent
        ends.by_kind[kind] += count - silent
    return ends
