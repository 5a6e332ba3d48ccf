"""Accounts: who holds the server's connections, by bind DN and by client."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.log.spellings import ANONYMOUS
from ldapdiag.analysis.pairing.direction import Direction
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.monitor import Monitor


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """The connections that a server lists, counted by account, by client, and by client port where it shows ports."""

    kind: ClassVar[str] = "accounts"
    how: ClassVar[str] = Monitor.how

    host: str
    by_account: Mapping[str, int]
    """Most connections first; DNs that differ only in case are one, in the spelling seen most."""
    by_client: Mapping[str, int]
    by_client_and_account: Mapping[str, Mapping[str, int]]
    """Per client address, its connections by account."""
    by_endpoint: Mapping[tuple[str, int], str]
    """Per client endpoint, its account; only where the server publishes ports."""
    origins: tuple[str, ...]

    def of_ghost_connections(self, direction: Direction) -> Mapping[str, int] | None:
        """Return the accounts of a direction's ghosts; None when the server's list cannot tell them from the living."""
        if direction.ghost_ports is not None and self.by_endpoint:
            endpoints = [(direction.client, port) for port in direction.ghost_ports]
            if all(one in self.by_endpoint for one in endpoints):
                return ordered(Counter(self.by_endpoint[one] for one in endpoints))
        return self._if_only_one(direction, direction.ghosts)

    def of_all_connections(self, direction: Direction) -> Mapping[str, int] | None:
        """Return the accounts of all connections of a direction; None when the server's list has none of them."""
        known = self.by_client_and_account.get(direction.client)
        return known if known and sum(known.values()) >= direction.server_count else None

    def _if_only_one(self, direction: Direction, count: int) -> Mapping[str, int] | None:
        known = self.by_client_and_account.get(direction.client, {})
        return {next(iter(known)): count} if len(known) == 1 else None


def count_accounts(server: Instance) -> Accounts | Missing:
    """Count the connections a server's monitor lists."""
    monitor = server.monitor
    if monitor is None or monitor.connections is None:
        reason = f"no cn=monitor of {server.host}" if monitor is None else f"{monitor.origin.path} lists no connections"
        return Missing(host=server.host, reason=reason, lacks=(Monitor.kind,), how=Monitor.how)
    name_of = common_spellings(connection.account for connection in monitor.connections)
    of_client: dict[str, Counter[str]] = defaultdict(Counter)
    of_port: dict[tuple[str, int], str] = {}
    for connection in monitor.connections:
        account = name_of[connection.account.lower()]
        of_client[connection.client][account] += 1
        if connection.client_port is not None:
            of_port[connection.client, connection.client_port] = account
    by_account = Counter[str]()
    for accounts in of_client.values():
        by_account.update(accounts)
    return Accounts(
        host=server.host,
        by_account=ordered(by_account),
        by_client=ordered(Counter({client: accounts.total() for client, accounts in of_client.items()})),
        by_client_and_account={client: ordered(accounts) for client, accounts in of_client.items()},
        by_endpoint=of_port,
        origins=(monitor.origin.path,),
    )


def common_spellings(accounts: Iterable[str]) -> dict[str, str]:
    """Return one spelling for DNs that differ only in case: the one seen most (RFC 4514 names compare caselessly)."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for account in accounts:
        seen[account.lower()][account or ANONYMOUS] += 1
    return {key: next(iter(ordered(spelling))) for key, spelling in seen.items()}


def ordered(counts: Counter[str]) -> dict[str, int]:
    """Return counts, the largest first, ties by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
