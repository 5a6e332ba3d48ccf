"""Segment: the counts of an access log (docs/how-it-decides.md, "Access logs"); all integers.

    StreamScan.feed(...), .finish() -> Segment      stream_scan.py: the records of one server, in order
    combine(one, *others) -> Segment                combine.py: streams of several servers

The keys that count the rows which a RankedTable removes: a more general key, in the end the same one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.client_row import ClientRow
from ldapdiag.evidence.log.idle_times import IdleRow
from ldapdiag.evidence.log.operation_kinds import NAMES
from ldapdiag.evidence.log.operation_row import OperationRow, ShapeKey, TargetKey
from ldapdiag.evidence.log.shape_row import ShapeRow
from ldapdiag.evidence.log.tables import (
    CAPS,
    OTHER,
    OTHER_RESULT,
    CappedCounts,
    CappedTable,
    Caps,
    RankedCounts,
    RankedTable,
)
from ldapdiag.evidence.log.timeline import Timeline
from ldapdiag.evidence.log.write_times import WriteTimes
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ldapdiag.evidence.log.selection import Selection, Slowest

SAMPLES = 5
SAMPLE_BYTES = 200


def _by_kind() -> list[int]:
    return [0] * len(NAMES)


@dataclass(slots=True, eq=False)
class Segment:
    """The counts of a log."""

    caps: Caps = CAPS

    lines: int = 0
    misread: int = 0
    """Lines that no rule of the grammar matches."""
    samples: list[bytes] = field(default_factory=list)
    """The first few of these lines."""
    passed_over: int = 0
    lost: int = 0
    """Lines that the log reports as lost."""
    first_time: int | None = None
    last_time: int | None = None
    zones: set[bytes] = field(default_factory=set)
    """As written in the stamps; empty where they have none."""
    resolution: int = 1
    """Nanoseconds: the resolution of the coarsest stamps."""

    operations: list[int] = field(default_factory=_by_kind)
    """By kind: requests, and results whose request is not in the log."""
    dropped_requests: list[int] = field(default_factory=_by_kind)
    """By kind: requests dropped with their connection. Their results are not counted as operations again."""
    internal: int = 0
    results: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """By code."""
    continued: int = 0
    """Searches that are a later page of an earlier one."""
    holes: int = 0
    """Missing operation numbers between others of the same connection; 389-ds skips some on its own."""
    selection: Selection | None = None
    """The operations that are counted; None: all."""
    slowest: list[Slowest] = field(default_factory=list)
    """The slowest operations, as many as the selection says: a heap."""
    timeline: Timeline = field(default_factory=Timeline)
    longest_wait: tuple[int, int] = (0, 0)
    """Nanoseconds, and -time."""
    waited: int = 0
    took: int = 0
    """Nanoseconds of all operations, waits included."""
    least_visited: dict[int, int] = field(default_factory=dict)
    """The fewest entries that a search visited, by the bit length of its milliseconds; -1: its time is not logged."""
    bound: dict[bytes, tuple[int, bytes]] = field(default_factory=dict)
    """When and as whom a client's endpoint bound last, by `address:port` (event 2889); no account: closed."""
    writes: WriteTimes = field(default_factory=WriteTimes)
    """Of all writes; empty with a selection."""

    opened: int = 0
    open_before: int = 0
    """Connections that were open before the log began."""
    open_at_end: int = 0
    ended_by_restart: int = 0
    """Connections that were open when the server restarted; they are not in `closed`."""
    server_processes: int = 0
    """Server processes that have ended: one more than restarts."""
    peak: int = 0
    """The most connections at once in any server process that has ended."""
    maybe_clear: int = 0
    """Connections with such BINDs as in `clear_binds` whose beginning, and so TLS, is not in the log."""
    cut_short: set[str] = field(default_factory=set)
    """Names of caps that were hit, other than those of tables."""

    servers: CappedCounts[bytes] = field(init=False)
    """Openings by the server's own address."""
    instances: CappedCounts[tuple[bytes, bytes]] = field(init=False)
    """The (name, version) of each header, as logged; without counts."""
    closed: CappedCounts[bytes] = field(init=False)
    """Close records by close code, as the server writes it."""
    noted: CappedCounts[bytes] = field(init=False)
    """Results of searches by their notes."""
    ciphers: CappedCounts[tuple[bytes, bytes]] = field(init=False)
    """Connections secured by TLS, by (protocol version, cipher), as logged."""
    refused: RankedCounts[tuple[bytes, bytes]] = field(init=False)
    """Connections that the server accepted and closed at once, by (client, reason)."""
    clear_binds: RankedCounts[tuple[bytes, bytes]] = field(init=False)
    """BINDs with a password (simple with a DN, PLAIN) on connections without TLS, by (client, DN).

    Those within the host (loopback, ldapi) included; the DN is empty where 389-ds and OpenDJ log none for PLAIN.
    """
    not_indexed: RankedCounts[tuple[bytes, bytes]] = field(init=False)
    """Candidate lookups without an index, from slapd at level filter: (attribute, kind of index)."""
    lookups: RankedTable[tuple[bytes, bytes], list[int]] = field(init=False)
    """STAT lines of 389-ds by (attribute, kind of index): [lookups, longest ID list, shortest ID list]."""
    modified: RankedCounts[bytes] = field(init=False)
    """MOD requests of slapd by attribute; attributes are in lower case without options, here and above."""
    noticed: RankedCounts[NoticeKey] = field(init=False)
    """Unindexed searches from the errors log of 389-ds, by shape; True: internal ones.

    The access log may contain the same searches, so these are never added to `noted`.
    """
    shapes: RankedTable[ShapeKey, ShapeRow] = field(init=False)
    """The searches."""
    targets: RankedTable[TargetKey, OperationRow] = field(init=False)
    """The operations of all other kinds that have a result."""
    attribution: RankedTable[AttributionKey, list[int]] = field(init=False)
    """[results, nanoseconds, results with notes]."""
    clients: RankedTable[bytes, ClientRow] = field(init=False)
    accounts: RankedCounts[bytes] = field(init=False)
    """Connections by the account they were last bound as."""
    idle_times: RankedTable[tuple[bytes, bytes], IdleRow] = field(init=False)
    """By (client, account that was bound during the idle time)."""

    def __post_init__(self) -> None:
        caps = self.caps
        self.servers = CappedCounts(caps.codes, OTHER)
        self.instances = CappedCounts(caps.codes, (OTHER, OTHER))
        self.closed = CappedCounts(caps.codes, OTHER)
        self.noted = CappedCounts(caps.notes, OTHER)
        self.ciphers = CappedCounts(caps.codes, (OTHER, OTHER))
        self.refused = RankedCounts(caps.clients, of_pairs)
        self.clear_binds = RankedCounts(caps.accounts, of_client)
        self.not_indexed = RankedCounts(caps.shapes, of_pairs)
        self.lookups = RankedTable(caps.shapes, of_pairs)
        self.modified = RankedCounts(caps.shapes, of_all)
        self.noticed = RankedCounts(caps.shapes, of_all_notices)
        self.shapes = RankedTable(caps.shapes, of_all_shapes)
        self.targets = RankedTable(caps.targets, of_kind)
        self.attribution = RankedTable(caps.attribution, fewer_details)
        self.clients = RankedTable(caps.clients, of_all)
        self.accounts = RankedCounts(caps.accounts, of_all)
        self.idle_times = RankedTable(caps.idle_times, of_client)

    def shape(self, key: ShapeKey) -> ShapeRow:
        """Return the row of a shape."""
        row = self.shapes.get(key)
        if row is None:
            row = self.shapes[key] = ShapeRow(key)
        return row

    def target(self, key: TargetKey) -> OperationRow:
        """Return the row of a kind of operation and its target."""
        row = self.targets.get(key)
        if row is None:
            row = self.targets[key] = OperationRow(key)
        return row

    def same_row(self, row: OperationRow) -> OperationRow:
        """Return the row of the same key in this Segment, which may have been removed and begun again."""
        return self.shape(row.key) if isinstance(row, ShapeRow) else self.target(row.key)  # type: ignore[arg-type]  # as the class has it

    def client(self, address: bytes) -> ClientRow:
        """Return the row of a client."""
        row = self.clients.get(address)
        if row is None:
            row = self.clients[address] = ClientRow()
        return row

    def idle_row(self, client: bytes, account: bytes) -> IdleRow:
        """Return the row of the idle times of a client and an account."""
        row = self.idle_times.get((client, account))
        if row is None:
            row = self.idle_times[client, account] = IdleRow()
        return row

    def attribute(self, key: AttributionKey, counts: list[int]) -> None:
        """Count results by kind, shape or target, client, account and result code."""
        cell = self.attribution.get(key)
        if cell is None:
            self.attribution[key] = counts.copy()
            return
        answered, etime, noted = counts
        cell[0] += answered
        cell[1] += etime
        cell[2] += noted

    def index_lookup(self, key: tuple[bytes, bytes], count: int, most: int, least: int) -> None:
        """Count index lookups, with the longest and the shortest ID list."""
        cell = self.lookups.get(key)
        if cell is None:
            cell = self.lookups[key] = [0, most, least]
        cell[0] += count
        cell[1] = max(cell[1], most)
        cell[2] = min(cell[2], least)

    def visited(self, length: int, entries: int) -> None:
        """Keep the fewest visited entries, by the bit length of a search's milliseconds."""
        self.least_visited[length] = min(entries, self.least_visited.get(length, entries))

    def bound_at(self, endpoint: bytes, time: int, account: bytes) -> None:
        """Keep the last BIND or close of a client's endpoint, in whatever order they are read."""
        if endpoint in self.bound or len(self.bound) < self.caps.attribution:
            self.bound[endpoint] = max((time, account), self.bound.get(endpoint, (time, account)))
        else:
            self.cut_short.add("bound")

    def count_code(self, err: int, second: int) -> None:
        """Count a result by its code, and in its interval unless a selection decides about that later."""
        self.results[self.result_code(err)] += 1
        if self.selection is None:
            self.timeline.result(err, second)

    def result_code(self, err: int) -> int:
        """Return the code under which results with code `err` are counted."""
        if err in self.results or len(self.results) < self.caps.results:
            return err
        self.cut_short.add("results")
        return OTHER_RESULT

    def copied(self) -> Segment:
        """Return a copy; pickling takes a quarter of the time of copy.deepcopy."""
        import pickle  # noqa: PLC0415  import late: few Segments are copied

        selection, self.selection = self.selection, None  # functions, which cannot be pickled
        try:
            copy: Segment = pickle.loads(pickle.dumps(self))  # noqa: S301  made here
        finally:
            self.selection = selection
        copy.selection = selection
        return copy

    @property
    def caps_hit(self) -> list[str]:
        """The names of the caps that were hit."""
        tables: dict[str, CappedTable[Any, Any] | RankedTable[Any, Any]] = {
            "shapes": self.shapes,
            "targets": self.targets,
            "clients": self.clients,
            "accounts": self.accounts,
            "idle_times": self.idle_times,
            "attribution": self.attribution,
            "refused": self.refused,
            "clear_binds": self.clear_binds,
            "ciphers": self.ciphers,
            "codes": self.closed,
            "servers": self.servers,
            "instances": self.instances,
            "notes": self.noted,
            "not_indexed": self.not_indexed,
            "lookups": self.lookups,
            "modified": self.modified,
            "noticed": self.noticed,
        }
        within = {"pieces"} if any(row.substring_lengths.full for row in self.shapes.values()) else set()
        within |= {"stopped"} if any(row.stopped.full for row in self.shapes.values()) else set()
        within |= {"sorts"} if any(row.sorts.full for row in self.shapes.values()) else set()
        within |= {"reported"} if any(row.reported.full for row in self.shapes.values()) else set()
        return sorted({name for name, table in tables.items() if table.full} | within | self.cut_short)


AttributionKey = tuple[int, bytes, bytes, bytes, int]
"""Kind of operation, filter shape or target, client, account, result code."""
NoticeKey = tuple[ShapeKey, bool]

OTHER_SHAPE: ShapeKey = (OTHER, OTHER, -1)


def of_all(_: bytes) -> bytes:
    """Count a text with all others."""
    return OTHER


def of_pairs(_: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """Count a pair of texts with all others."""
    return OTHER, OTHER


def of_client(key: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """Count what has a client and a DN by the client alone, and then with all others."""
    client, dn = key
    return (OTHER if dn == OTHER else client), OTHER


def of_all_shapes(_: ShapeKey) -> ShapeKey:
    """Count a shape with all others."""
    return OTHER_SHAPE


def of_all_notices(_: NoticeKey) -> NoticeKey:
    """Count a notice with all others."""
    return OTHER_SHAPE, False


def of_kind(key: TargetKey) -> TargetKey:
    """Count a target with all others of its kind of operation."""
    return key[0], OTHER


def fewer_details(key: AttributionKey) -> AttributionKey:
    """Drop the shape; then the account; then the client and the result code."""
    kind, shape, client, account, err = key
    if shape != OTHER:
        return kind, OTHER, client, account, err
    if account != OTHER:
        return kind, OTHER, client, OTHER, err
    return kind, OTHER, OTHER, OTHER, OTHER_RESULT


NO_SUMS = frozenset({"resolution", "peak"})
SUMS = tuple(name for name, kind in Segment.__annotations__.items() if kind == "int" and name not in NO_SUMS)
"""The numbers that add up."""
