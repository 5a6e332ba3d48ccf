"""Accounts: the server's connections by bind DN and by client.

As cn=monitor lists them, or of a domain controller as its socket table and its events 2889 have the same client's port.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import ClassVar

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.hosts.listeners import unfit_because
from ldapdiag.analysis.log.spellings import ANONYMOUS, display_name, ranked
from ldapdiag.analysis.pairing.direction import Direction
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.addresses import normalise_address, port_number
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.lazy_dataclass import dataclass

BELIEVED_HOURS = 24
"""How long an event 2889 names the account of its port: a client may use the port again for a BIND without event."""
IN_MONITOR = "in cn=monitor"
BY_EVENTS = f"likely, by the last event 2889 of the same port within {BELIEVED_HOURS} h"
UNNAMED = "not named by an event 2889"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """The connections that a server lists, by account and client, and by client port where it shows ports."""

    kind: ClassVar[str] = "accounts"
    how: ClassVar[str] = f"{Monitor.how}; Active Directory: its events 2889, which only unsigned BINDs have"

    server: str
    """The server, by the name of its instance."""
    by_account: Mapping[str, int]
    """Most connections first; DNs that differ only in case are one, in their commonest spelling."""
    by_client: Mapping[str, int]
    by_client_and_account: Mapping[str, Mapping[str, int]]
    """Per client address, its connections by account."""
    by_endpoint: Mapping[tuple[str, int], str]
    """Per client endpoint (address, port), its account; empty where the server does not publish ports."""
    origins: tuple[str, ...]
    source: str = IN_MONITOR

    @property
    def is_listed(self) -> bool:
        """Return whether the server lists the connections with their accounts."""
        return self.source == IN_MONITOR

    def of_ghost_connections(self, direction: Direction) -> Mapping[str, int] | None:
        """Return the accounts of a direction's ghosts; None where the server's list does not identify the ghosts."""
        return self._of_ports(direction, direction.ghosts.ports, direction.ghosts.count)

    def of_severed_connections(self, direction: Direction) -> Mapping[str, int] | None:
        """Return the accounts of a direction's severed connections; None where the server's list does not show them."""
        return self._of_ports(direction, direction.severed.ports, direction.severed.count)

    def of_all_connections(self, direction: Direction) -> Mapping[str, int] | None:
        """Return the accounts of all connections of a direction; None where the server's list lacks some of them."""
        known = self.by_client_and_account.get(direction.client)
        return known if known and sum(known.values()) >= direction.server_count else None

    def _of_ports(self, direction: Direction, ports: tuple[int, ...] | None, count: int) -> Mapping[str, int] | None:
        if ports is not None and self.by_endpoint:
            endpoints = [(direction.client, port) for port in ports]
            if all(endpoint in self.by_endpoint for endpoint in endpoints):
                return ranked(Counter(self.by_endpoint[endpoint] for endpoint in endpoints))
        return self._only_account(direction, count)

    def _only_account(self, direction: Direction, count: int) -> Mapping[str, int] | None:
        known = self.by_client_and_account.get(direction.client, {})
        return {next(iter(known)): count} if len(known) == 1 else None


@provides(Accounts)
def count_accounts(server: Instance, host: Host | None = None) -> Accounts | Missing:
    """Count the connections that a server's monitor lists, or whose accounts are in its events 2889."""
    if (inapplicable := server.not_a_directory) is not None:
        return inapplicable
    monitor = server.monitor
    if monitor is None or monitor.connections is None:
        if host is not None and (found := _by_events(server, host)):
            return found
        reason = f"no cn=monitor of {server.name}" if monitor is None else f"{monitor.origin.path} lists no connections"
        return Missing(host=server.name, reason=reason, lacks=(Monitor.kind,), how=Monitor.how)
    spelling = common_spellings(connection.account for connection in monitor.connections)
    by_client: dict[str, Counter[str]] = defaultdict(Counter)
    by_endpoint: dict[tuple[str, int], str] = {}
    for connection in monitor.connections:
        account = spelling[connection.account.lower()]
        by_client[connection.client][account] += 1
        if connection.client_port is not None:
            by_endpoint[connection.client, connection.client_port] = account
    by_account = Counter[str]()
    for accounts in by_client.values():
        by_account.update(accounts)
    return Accounts(
        server=server.name,
        by_account=ranked(by_account),
        by_client=ranked(Counter({client: accounts.total() for client, accounts in by_client.items()})),
        by_client_and_account={client: ranked(accounts) for client, accounts in by_client.items()},
        by_endpoint=by_endpoint,
        origins=(monitor.origin.path,),
    )


def _by_events(server: Instance, host: Host) -> Accounts | None:
    """Join the established sockets of the latest table and the last event 2889 of the same endpoint; None: no pair.

    A client with such a socket has its other ones as UNNAMED. That a port was closed and used again by a BIND without
    event is not excluded, as only closes by the server are logged: so an event counts for BELIEVED_HOURS, before the
    table or, where its time is not known, before the last event.
    """
    bound = [log.segment.bound for log in server.access_logs]
    if not any(bound) or host.latest is None or unfit_because(host.latest.sockets, server.ports):
        return None
    latest, before = host.latest.sockets, host.latest.taken
    last: dict[tuple[str, int], tuple[int, bytes]] = {}
    for endpoint, found in chain.from_iterable(one.items() for one in bound):
        address, _, number = endpoint.decode().rpartition(":")
        key = normalise_address(address), port_number(number)
        if before is None or found[0] <= before.end.timestamp() * SECOND:
            last[key] = max(found, last.get(key, found))
    until = before.end.timestamp() * SECOND if before else max((time for time, _ in last.values()), default=0)
    last = {key: one for key, one in last.items() if until - one[0] <= BELIEVED_HOURS * 3600 * SECOND}
    rows = latest.established_at(server.ports)
    ends = [(latest.remote_address[row], latest.remote_port[row]) for row in rows]
    named = {end: display_name(last[end][1]) for end in ends if last.get(end, (0, b""))[1]}
    known = {client for client, _ in named}
    by_client: dict[str, Counter[str]] = {client: Counter() for client in known}
    for client, port in ends:
        if client in known:
            by_client[client][named.get((client, port), UNNAMED)] += 1
    return (
        Accounts(
            server=server.name,
            by_account=ranked(Counter(named.values())),
            by_client=ranked(Counter(client for client, _ in ends)),
            by_client_and_account={client: ranked(accounts) for client, accounts in by_client.items()},
            by_endpoint={end: named.get(end, UNNAMED) for end in ends if end[0] in known},
            origins=tuple(log.origin.path for log in server.access_logs),
            source=BY_EVENTS,
        )
        if named
        else None
    )


def common_spellings(accounts: Iterable[str]) -> dict[str, str]:
    """Return the commonest spelling of DNs that differ only in case, by the DN in lower case (RFC 4514)."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for account in accounts:
        counts[account.lower()][account or ANONYMOUS] += 1
    return {key: next(iter(ranked(of_spelling))) for key, of_spelling in counts.items()}
