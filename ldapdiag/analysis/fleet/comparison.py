"""Comparison: what differs between the servers of a fleet.

Clients that use one of several servers only: they know no other, or a balancer sends them there.

Clients that moved from one server to another: their use of the one ends where that of the other begins.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from ldapdiag.analysis.fleet.balance import Balance, balance_of
from ldapdiag.analysis.fleet.differences import DifferingSearch, differing_searches
from ldapdiag.analysis.log.spellings import OTHER_NAME, UNKNOWN_NAME
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.lazy_dataclass import NamedTuple, dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.analysis.fleet.clocks import TimeRange
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
    def with_affinity(self) -> tuple[ClientWithAffinity, ...]:
        """Return the clients that use one server only."""
        return clients_with_affinity(self.fleet)

    @cached_property
    def moved(self) -> tuple[MovedClients, ...] | None:
        """Return the clients that moved from one server to another; None: not judged."""
        return moved_clients(self.fleet)

    @cached_property
    def versions(self) -> dict[str, tuple[str, ...]]:
        """Return the servers by version, the commonest first; empty where all that are known are equal."""
        counts = Counter(version for replica in self.replicas for version in replica.workload.versions)
        of = {
            version: tuple(replica.name for replica in self.replicas if version in replica.workload.versions)
            for version, _ in counts.most_common()
        }
        return of if len(of) > 1 else {}


FEWEST_CONNECTIONS = 50
"""Connections of a client, below which a balancer may have sent them all to one server by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientWithAffinity:
    """A client whose connections were all to one server."""

    client: str
    server: str
    connections: int
    share: float
    """Of the connections of that server, 0 to 1."""


def clients_with_affinity(fleet: Fleet) -> tuple[ClientWithAffinity, ...]:
    """Return these clients, those with the most connections first; none if most clients are so."""
    opened: dict[str, Counter[str]] = {}
    for replica in fleet.replicas:
        for client in replica.workload.client_uses:
            if client.address != OTHER_NAME and client.opened:
                opened.setdefault(client.address, Counter())[replica.name] += client.opened
    totals = {one.name: max(1, one.workload.segment.opened) for one in fleet.replicas}
    found = []
    for address, counts in opened.items():
        ((server, count),) = counts.most_common(1)
        if count >= FEWEST_CONNECTIONS and len(counts) == 1:
            share = count / totals[server]
            found.append(ClientWithAffinity(client=address, server=server, connections=count, share=share))
    return tuple(sorted(found, key=lambda one: (-one.connections, one.client)))


SETTLED = 300 * SECOND
SETTLED_SHARE = 20
"""A client must use the one server so long before, and the other after: also this part (1/20) of the common time."""
OVERLAP = 5 * SECOND
"""By which its use of the one may end after that of the other begins: a pool closes its last connections later."""
GAP = 10
"""It may use neither for this part (1/10) of the shorter use."""
TOGETHER = 300 * SECOND
"""Clients that moved within this time are one statement."""
ENOUGH = 8
"""Connections of a client to each of the two, from which on a balancer does not part them so by chance."""
SILENT = 300
"""Seconds that a silence of the first server may begin before or after, or an interval of its time axis."""
FEWEST_MOVED = 3
"""Clients that moved together, which suffice with fewer connections if half of the clients there did so."""
LOSSY = frozenset({"clients", "connections"})
"""Caps beyond which a client's use is known in part only."""


class Use(NamedTuple):
    """A client's use of a server: the first and the last time, and its connections."""

    replica: Replica
    first: int
    last: int
    opened: int


class _Move(NamedTuple):
    client: str
    before: Use
    after: Use


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedClients:
    """Clients that moved between two servers in the same minutes. Times in nanoseconds since 1970."""

    clients: tuple[str, ...]
    source: str
    target: str
    begin: int
    """The earliest last use of `source`."""
    end: int
    """The latest first use of `target`."""
    silent: bool
    """`source` has no record for a time that begins then."""


def moved_clients(fleet: Fleet) -> tuple[MovedClients, ...] | None:
    """Return these clients by time; None: not judged, for too little common time or more clients than a log keeps."""
    if fleet.common is None or any(LOSSY.intersection(replica.workload.segment.caps_hit) for replica in fleet.replicas):
        return None
    uses = _uses(fleet.replicas)
    moves: dict[tuple[str, str], list[_Move]] = {}
    for client, of in uses.items():
        if len(of) == 2 and not any(use.replica.not_compared or use.replica.is_idle for use in of):
            before, after = sorted(of, key=lambda use: (use.first, use.last))
            if _ends_where_the_other_begins(before, after, fleet.common):
                pair = (before.replica.name, after.replica.name)
                moves.setdefault(pair, []).append(_Move(client, before, after))
    found = [one for each in moves.values() for group in _together(each) for one in _certain(group, uses.values())]
    return tuple(sorted(found, key=lambda one: (one.begin, one.source, one.target)))


def _uses(replicas: Iterable[Replica]) -> dict[str, list[Use]]:
    uses: dict[str, list[Use]] = {}
    for replica in replicas:
        for address, opened, first, last in replica.workload.client_uses:
            if first <= last and address not in {OTHER_NAME, UNKNOWN_NAME}:
                uses.setdefault(address, []).append(Use(replica, first - replica.ahead, last - replica.ahead, opened))
    return uses


def _ends_where_the_other_begins(before: Use, after: Use, common: TimeRange) -> bool:
    first, last = before.last - max(before.first, common.begin), min(after.last, common.end) - after.first
    shorter = min(first, last)
    is_settled = shorter >= max(SETTLED, common.length // SETTLED_SHARE)
    return is_settled and -OVERLAP <= after.first - before.last <= shorter // GAP


def _together(moves: list[_Move]) -> Iterator[list[_Move]]:
    """Yield the moves between two servers in groups of the same minutes."""
    group: list[_Move] = []
    for move in sorted(moves, key=lambda one: (one.before.last, one.client)):
        if group and move.before.last - group[0].before.last > TOGETHER:
            yield group
            group = []
        group.append(move)
    if group:
        yield group


def _certain(group: list[_Move], uses: Iterable[list[Use]]) -> Iterator[MovedClients]:
    """Yield a group, without the clients that a balancer may have sent to one server and then to the other."""
    source = group[0].before.replica
    begin = group[0].before.last
    there = sum(use.replica is source and use.first < begin <= use.last + TOGETHER for each in uses for use in each)
    if len(group) < FEWEST_MOVED or len(group) * 2 < there:
        group = [one for one in group if min(one.before.opened, one.after.opened) >= ENOUGH]
    if not group:
        return
    begin, end = group[0].before.last, max(one.after.first for one in group)
    axis = source.workload.time_axis
    near = max(axis.step if axis else 0, SILENT) * SECOND
    yield MovedClients(
        clients=tuple(sorted(one.client for one in group)),
        source=source.name,
        target=group[0].after.replica.name,
        begin=begin,
        end=max(begin, end),
        silent=any(begin - near <= silence.begin <= end + near for silence in source.silences),
    )
