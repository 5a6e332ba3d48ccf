"""Clients that use one of several servers only: they know no other, or a balancer sends them there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.spellings import OTHER_NAME

if TYPE_CHECKING:
    from ldapdiag.analysis.fleet.replicas import Fleet

FEWEST = 50
"""Connections of a client, below which a balancer may have sent them all to one server by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaithfulClient:
    """A client whose connections were all to one server."""

    client: str
    server: str
    connections: int
    share: float
    """Of the connections of that server, 0 to 1."""


def faithful_clients(fleet: Fleet) -> tuple[FaithfulClient, ...]:
    """Return these clients, those with the most connections first; none if most clients are so."""
    opened: dict[str, Counter[str]] = {}
    for replica in fleet.replicas:
        for client in replica.workload.clients:
            if client.address != OTHER_NAME and client.opened:
                opened.setdefault(client.address, Counter())[replica.name] += client.opened
    totals = {one.name: max(1, one.workload.segment.opened) for one in fleet.replicas}
    found = []
    for address, counts in opened.items():
        ((server, count),) = counts.most_common(1)
        if count >= FEWEST and len(counts) == 1:
            share = count / totals[server]
            found.append(FaithfulClient(client=address, server=server, connections=count, share=share))
    return tuple(sorted(found, key=lambda one: (-one.connections, one.client)))
