"""Flow tables: the connections that middleboxes track, by the key that the server's host writes.

Missing flows: what it proves that a middlebox on the path has no entry for a connection that the server shows.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds, seconds_since_received
from ldapdiag.analysis.pairing.skew import minimum_age_seconds
from ldapdiag.evidence.flows import Relay
from ldapdiag.lazy_dataclass import NamedTuple, dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ldapdiag.analysis.pairing.socket_index import DirectionKey
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
    from ldapdiag.evidence.flows import FlowTable
    from ldapdiag.evidence.origin import Span
    from ldapdiag.evidence.sockets import Key

CARRIED = "ESTABLISHED"


@dataclass(frozen=True, slots=True)
class FlowEntry:
    """One tracked connection: its key as the client's host writes it, and its state in the middlebox's own term."""

    client: Key
    state: str
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Middlebox:
    """A host that tracks flows, with all its flow tables merged."""

    host: str
    relay: Relay
    whole: bool
    """Whether the tables are complete, so that a flow that is not here is not tracked."""
    tracks: bool
    """Whether packets pass through its connection tracking: of a host that does not use it, the table is empty."""
    versions: frozenset[str] = frozenset()
    """The IP versions (ip, ip6) that entries and rules show to be tracked; none: only that some packet is."""
    flows: Mapping[Key, FlowEntry]
    """By the key that the server's host writes: server address, port, peer address, port."""
    keys_by_direction: Mapping[DirectionKey, tuple[Key, ...]]
    """The keys of `flows`."""
    client_keys: frozenset[Key]
    """The flows' keys as their clients' hosts write them."""
    translated_clients: frozenset[tuple[str, str, int]]
    """Client addresses that are translated, with the endpoint that the client connects to."""
    translated: frozenset[str]
    """Peer addresses that replace the clients' own."""
    unjoined: tuple[FlowEntry, ...]
    """Flows of which the table has the client's end only."""
    times: tuple[Span | None, ...]
    """When each flow table was taken."""
    longest_left: Mapping[tuple[str, int] | None, float]
    """The longest time left of an established flow, in seconds, to each server endpoint; by None: of all flows."""
    origins: tuple[str, ...]
    program: str = ""
    """The program that forwards, where only its sockets show the flows."""
    forwards_to: frozenset[tuple[str, int]] = frozenset()
    """The endpoints of established flows of which its host is no end."""
    on_route: bool = False
    """The routes of both ends of the direction that is judged lead through it."""

    def carries(self, key: Key) -> bool:
        """Return whether the middlebox has an entry for this connection as established."""
        flow = self.flows.get(key)
        return flow is not None and flow.state == CARRIED

    def tracks_packets_to(self, address: str) -> bool:
        """Return whether packets of this IP version pass through its connection tracking; Linux tracks each alone."""
        return self.tracks and (not self.versions or _version(address) in self.versions)

    def kept_seconds(self, server: tuple[str, int]) -> float | None:
        """Return for how long it keeps idle flows to a server at least; None: no flow shows it.

        A rule or zone may have a timeout of its own, so other flows count only where there is none to this server.
        """
        return self.longest_left.get(server, self.longest_left.get(None))

    def lost_early(self, key: Key, idle_seconds: float) -> bool:
        """Return whether it has no entry for a connection that was idle for less than it keeps entries.

        Its idle timeout did not drop that: a restart, a failover, a flush or a full table did, or the end of the
        connection.
        """
        kept = self.kept_seconds(key[:2]) if self.relay is Relay.NAT and key not in self.flows else None
        return kept is not None and idle_seconds < kept

    def nearest_time(self, moment: Span | None) -> Span | None:
        """Return when the table nearest to a moment was taken, preferably before it; None if unknown."""
        known = [span for span in self.times if span is not None]
        if moment is None or len(known) < len(self.times):
            return None
        before = [span for span in known if span.start <= moment.end]
        return min(before or known, key=moment.seconds_apart)


def merge_flow_tables(tables: Iterable[FlowTable], snapshot: int = 0) -> tuple[Middlebox, ...]:
    """Return one middlebox per host and relay.

    Of tables whose folders name snapshots, those of the given number count, or of the last one if it is 0: an entry of
    another snapshot would show a connection that has ended since.
    A proxy's host that tracks packets as well counts as two: each table lists the legs in its own way.
    """
    by_host: dict[tuple[str, Relay], list[FlowTable]] = defaultdict(list)
    for table in tables:
        by_host[table.origin.host, table.relay].append(table)
    for key, several in list(by_host.items()):
        number = snapshot or max(table.origin.snapshot for table in several)
        by_host[key] = [table for table in several if table.origin.snapshot in {0, number}]
    return tuple(_merge(host, relay, by_host[host, relay]) for host, relay in sorted(by_host) if by_host[host, relay])


def _version(address: str) -> str:
    return "ip6" if ":" in address else "ip"


def _merge(host: str, relay: Relay, tables: list[FlowTable]) -> Middlebox:
    flows: dict[Key, FlowEntry] = {}
    unjoined: list[FlowEntry] = []
    for table in sorted(tables, key=lambda table: table.origin.path):
        rows = zip(table.client, table.server, table.state, table.seconds_left, strict=True)
        for client, server, state, left in rows:
            if server is None:
                unjoined.append(FlowEntry(client, state))
            elif state == CARRIED or server not in flows:
                flows[server] = FlowEntry(client, state, left)
    keys: dict[DirectionKey, list[Key]] = defaultdict(list)
    for server in flows:
        keys[server[:3]].append(server)
    translated = [(server, flow.client) for server, flow in flows.items() if flow.client[0] != server[2]]
    joined = [table for table in tables if any(table.server)]
    return Middlebox(
        host=host,
        relay=relay,
        whole=any(table.whole for table in joined or tables),
        tracks=any(len(table) or table.tracks for table in tables),
        versions=frozenset(_version(server[0]) for server in flows),
        flows=flows,
        keys_by_direction={direction: tuple(found) for direction, found in keys.items()},
        client_keys=frozenset(flow.client for flow in flows.values()),
        translated_clients=frozenset((client[0], *client[2:]) for _, client in translated),
        translated=frozenset(server[2] for server, _ in translated),
        unjoined=tuple(unjoined),
        longest_left=_longest_left(tables),
        times=tuple(table.origin.taken for table in joined or tables),
        origins=tuple(sorted(table.origin.path for table in tables)),
    )


def _longest_left(tables: Iterable[FlowTable]) -> Mapping[tuple[str, int] | None, float]:
    """Return the longest time left of established flows, by server endpoint and, by None, of all."""
    longest: dict[tuple[str, int] | None, float] = {}
    for table in tables:
        for server, state, left in zip(table.server, table.state, table.seconds_left, strict=True):
            if state == CARRIED and left is not None:
                for endpoint in (None, server[:2] if server else None):
                    longest[endpoint] = max(left, longest.get(endpoint, left))
    return longest


class MissingFlows(NamedTuple):
    """The server's rows that are dead because a middlebox has no entry for them, and the middleboxes."""

    rows: frozenset[int]
    hosts: tuple[str, ...]


def rows_without_flow(
    middleboxes: Sequence[Middlebox], unjoined: UnjoinedDirection, rows: Collection[int], live: Collection[int]
) -> MissingFlows:
    """Return those of the server's rows that some middlebox would have an entry for if they were live.

    A flow table that lacks most of the live connections was truncated or belongs to another path. It was also taken at
    its own time: it proves nothing of a connection that was opened later, or that may have closed before.
    """
    found: dict[str, set[int]] = {}
    for middlebox in middleboxes:
        if 2 * sum(middlebox.carries(unjoined.key_of(row)) for row in live) >= len(live):
            absent = (row for row in rows if unjoined.key_of(row) not in middlebox.flows)
            found[middlebox.host] = {row for row in absent if _existed(middlebox, unjoined, row, live)}
    return MissingFlows(
        frozenset(row for lacking in found.values() for row in lacking),
        tuple(sorted(host for host in found if found[host])),
    )


def rows_without_flow_beyond(
    translator: Middlebox,
    others: Sequence[Middlebox],
    unjoined: UnjoinedDirection,
    rows: Collection[int],
) -> MissingFlows:
    """Return those of the rows that a translator carries, and a middlebox between it and the server does not.

    That one must have connections of this direction that are in use: its table then has their keys as the server does.
    What has been idle for nearly as long as those rows may be dead as well, and is not asked for.
    """
    keys = {row: unjoined.key_of(row) for row in unjoined.rows}
    between = [
        other
        for other in others
        if other.relay is Relay.NAT
        and other.whole
        and other.host not in {translator.host, unjoined.table.origin.host}
        and any(map(other.carries, keys.values()))
    ]
    lacking = [
        row for row in rows if translator.carries(keys[row]) and any(keys[row] not in one.flows for one in between)
    ]
    in_use = _in_use(unjoined, lacking)
    return rows_without_flow(between if in_use else (), unjoined, lacking, in_use)


def _in_use(unjoined: UnjoinedDirection, idle: Sequence[int]) -> Sequence[int]:
    """Return the rows that were idle for less than half as long as any of these; none where no ages are known."""
    shortest = min(seconds_since_received(unjoined.table, idle), default=0.0)
    ages = ((row, column_seconds(unjoined.table.last_received, row)) for row in unjoined.rows)
    return [row for row, age in ages if age is not None and 2 * age < shortest]


def _existed(middlebox: Middlebox, unjoined: UnjoinedDirection, row: int, live: Collection[int]) -> bool:
    """Return whether a connection existed, by its age, when the flow table was taken; true where times are unknown."""
    snapshot = unjoined.snapshot
    taken = middlebox.nearest_time(snapshot.taken)
    age = column_seconds(snapshot.sockets.last_received, row)
    if age is None or taken is None or snapshot.taken is None:
        return True
    minimum = minimum_age_seconds(snapshot.taken, taken, seconds_since_received(snapshot.sockets, live))
    return age > max(snapshot.taken.seconds_apart(taken), minimum)
