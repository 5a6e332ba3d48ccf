"""Boxes: the flow tables of what sits between the hosts, looked up by the server's own view of a connection."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.flows import Relay

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ldapdiag.analysis.pairing.socket_index import Way
    from ldapdiag.evidence.flows import FlowTable
    from ldapdiag.evidence.origin import Span
    from ldapdiag.evidence.sockets import Key

CARRIED = "ESTABLISHED"


@dataclass(frozen=True, slots=True)
class Flow:
    """One connection a box keeps state for: how its client's host writes it, and the box's word for its state."""

    client: Key
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A host that tracks flows, with all tellings of its table in one."""

    host: str
    relay: Relay
    whole: bool
    """Whether a flow that is not here is unknown to the box; a text that was cut says so itself."""
    flows: Mapping[Key, Flow]
    """By the key the server's host writes: server ip, port, peer it sees, port."""
    by_way: Mapping[Way, tuple[Key, ...]]
    """The keys of the flows, by the server's endpoint and the peer it sees."""
    clients: frozenset[Key]
    """The flows as their clients' hosts write them."""
    hidden: frozenset[tuple[str, str, int]]
    """Whose address it changes, and the endpoint dialled."""
    translated: frozenset[str]
    """Peer addresses that the box puts in place of the clients' own."""
    unjoined: tuple[Flow, ...]
    """Flows of which the table tells the client's end only."""
    looks: tuple[Span | None, ...]
    """When each telling of its table was taken."""
    origins: tuple[str, ...]

    def carries(self, key: Key) -> bool:
        """Tell whether the box holds this connection as established."""
        flow = self.flows.get(key)
        return flow is not None and flow.state == CARRIED

    def nearest(self, moment: Span | None) -> Span | None:
        """Return when the telling nearest to a moment was taken, one before it if there is any; None if unknown."""
        known = [span for span in self.looks if span is not None]
        if moment is None or len(known) < len(self.looks):
            return None
        before = [span for span in known if span.start <= moment.end]
        return min(before or known, key=moment.seconds_apart)

    def serves(self, way: Way) -> bool:
        """Tell whether the box holds any flow between a server's endpoint and the peer it sees."""
        return way in self.by_way


def boxes_of(tables: Iterable[FlowTable]) -> tuple[Box, ...]:
    """Return one box per host that tracks flows; several tellings of its table are one.

    A proxy's host that tracks packets as well is two: each table knows the legs in its own way.
    """
    by_host: dict[tuple[str, Relay], list[FlowTable]] = defaultdict(list)
    for table in tables:
        by_host[table.origin.host, table.relay].append(table)
    return tuple(_box(host, relay, by_host[host, relay]) for host, relay in sorted(by_host))


def _box(host: str, relay: Relay, tables: list[FlowTable]) -> Box:
    flows: dict[Key, Flow] = {}
    unjoined: list[Flow] = []
    for table in sorted(tables, key=lambda table: table.origin.path):
        for client, server, state in zip(table.client, table.server, table.state, strict=True):
            if server is None:
                unjoined.append(Flow(client, state))
            elif state == CARRIED or server not in flows:
                flows[server] = Flow(client, state)
    by_way: dict[Way, list[Key]] = defaultdict(list)
    for server in flows:
        by_way[server[:3]].append(server)
    changed = [(server, flow.client) for server, flow in flows.items() if flow.client[0] != server[2]]
    joined = [table for table in tables if any(table.server)]
    return Box(
        host=host,
        relay=relay,
        whole=any(table.whole for table in joined or tables),
        flows=flows,
        by_way={way: tuple(keys) for way, keys in by_way.items()},
        clients=frozenset(flow.client for flow in flows.values()),
        hidden=frozenset((client[0], *client[2:]) for _, client in changed),
        translated=frozenset(server[2] for server, _ in changed),
        unjoined=tuple(unjoined),
        looks=tuple(table.origin.taken for table in joined or tables),
        origins=tuple(sorted(table.origin.path for table in tables)),
    )
