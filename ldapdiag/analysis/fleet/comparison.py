"""Comparison: what differs between the servers of a fleet."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ldapdiag.analysis.fleet.balance import Balance, balance_of
from ldapdiag.analysis.fleet.differing_searches import DifferingSearch, differing_searches
from ldapdiag.analysis.fleet.faithful_clients import FaithfulClient, faithful_clients
from ldapdiag.analysis.fleet.moved_clients import MovedClients, moved_clients

if TYPE_CHECKING:
    from ldapdiag.analysis.fleet.replicas import Fleet, Replica


@dataclass(frozen=True)
class Comparison:
    """Several servers side by side."""

    fleet: Fleet

    @property
    def replicas(self) -> tuple[Replica, ...]:
        """Return the servers, by name."""
        return self.fleet.replicas

    @cached_property
    def balance(self) -> Balance | None:
        """Return the shares of the servers; None where they cannot be compared."""
        return balance_of(self.fleet)

    @cached_property
    def searches(self) -> tuple[DifferingSearch, ...]:
        """Return the searches that some servers answer in another way than the others."""
        return differing_searches(self.fleet)

    @cached_property
    def faithful(self) -> tuple[FaithfulClient, ...]:
        """Return the clients that use one server only."""
        return faithful_clients(self.fleet)

    @cached_property
    def moved(self) -> tuple[MovedClients, ...] | None:
        """Return the clients that moved from one server to another; None: not judged."""
        return moved_clients(self.fleet)

    @cached_property
    def versions(self) -> dict[str, tuple[str, ...]]:
        """Return the servers by version, the commonest first; empty where all that are known are equal."""
        counts = Counter(version for one in self.replicas for version in one.workload.versions)
        of = {
            version: tuple(one.name for one in self.replicas if version in one.workload.versions)
            for version, _ in counts.most_common()
        }
        return of if len(of) > 1 else {}

    @cached_property
    def notable(self) -> frozenset[str]:
        """Return the servers that differ from the others."""
        uneven = (*self.balance.overloaded, *self.balance.idle) if self.balance else ()
        return frozenset(
            {one.server for one in self.searches}
            | {one.replica.name for one in uneven}
            | {one.name for one in self.replicas if one.silences}
        )

    @cached_property
    def _connections(self) -> dict[str, float]:
        if self.balance is None:
            return {}
        return {one.replica.name: one.connections for one in self.balance.shares}

    def share_of(self, replica: Replica) -> float:
        """Return a server's share of the connections; 0 where they cannot be compared."""
        return self._connections.get(replica.name, 0.0)

    def load_of(self, replica: Replica) -> float:
        """Return what servers are ordered by: the share of connections, else operations each second."""
        return self.share_of(replica) if self.balance else replica.operations
