"""Balance: the share of each server in connections, operations and time, against an even one.

Clients that use several servers show that these are a pool; a server whose clients use no other may have a role of its
own: one of another site, or for one application.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.spellings import OTHER_NAME
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ldapdiag.analysis.fleet.replicas import Fleet, Replica

UNEVEN = 2.0
"""A replica has an uneven load from so many times the even share on."""
SPREAD = 0.9
"""A client with at most this share of its connections at one server uses several."""
FEWEST = 100
"""Connections of all servers, below which their shares are chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadShare:
    """One server's part of the load of all, 0 to 1."""

    replica: Replica
    connections: float
    operations: float
    etime: float
    spread: float
    """Of this server's connections, the part of clients that use other servers, too."""

    @property
    def most(self) -> float:
        """Return the larger of its shares of connections and operations."""
        return max(self.connections, self.operations)


@dataclass(frozen=True, slots=True)
class Balance:
    """The shares of all servers."""

    shares: tuple[LoadShare, ...]
    """Of the replicas that are compared, in their order."""
    even: float
    """The share that each server with load would have."""

    @property
    def working(self) -> tuple[LoadShare, ...]:
        """Return the servers with load."""
        return tuple(share for share in self.shares if not share.replica.is_idle)

    @property
    def overloaded(self) -> tuple[LoadShare, ...]:
        """Return the servers with at least UNEVEN times the even share, the largest first."""
        uneven = [one for one in self.working if one.most >= UNEVEN * self.even]
        return tuple(sorted(uneven, key=lambda one: -one.most))

    @property
    def idle(self) -> tuple[LoadShare, ...]:
        """Return the servers without load."""
        return tuple(share for share in self.shares if share.replica.is_idle)


def balance_of(fleet: Fleet) -> Balance | None:
    """Return the shares; None for fewer than two servers, too few connections, or logs of different times."""
    replicas = [replica for replica in fleet.replicas if not replica.not_compared]
    opened = sum(replica.workload.segment.opened for replica in replicas)
    if len(replicas) < 2 or fleet.common is None or opened < FEWEST:
        return None
    totals = [
        sum(getattr(replica, name) for replica in replicas) or 1.0 for name in ("connections", "operations", "etime")
    ]
    spread = _spread(fleet)
    shares = tuple(
        LoadShare(
            replica=one,
            connections=one.connections / totals[0],
            operations=one.operations / totals[1],
            etime=one.etime / totals[2],
            spread=spread[one.name],
        )
        for one in replicas
    )
    working = sum(not replica.is_idle for replica in replicas)
    return Balance(shares, 1 / working if working else 1.0)


def _spread(fleet: Fleet) -> Mapping[str, float]:
    """Return, by server, the part of its connections that clients opened which use several servers."""
    totals, largest = Counter[str](), Counter[str]()
    opened = {
        replica.name: {
            client.address: client.opened for client in replica.workload.client_uses if client.address != OTHER_NAME
        }
        for replica in fleet.replicas
    }
    for counts in opened.values():
        for client, count in counts.items():
            totals[client] += count
            largest[client] = max(largest[client], count)
    several = {client for client, total in totals.items() if largest[client] <= SPREAD * total}
    return {
        name: sum(count for client, count in counts.items() if client in several) / max(1, sum(counts.values()))
        for name, counts in opened.items()
    }
