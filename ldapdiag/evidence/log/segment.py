"""Segment: the counts of a chunk of an access log (docs/how-it-decides.md, "Access logs"); all integers.

    scan(bytes) -> Segment          scan.py, called by the dialects
    merge(left, right) -> Segment   merge.py: adjacent chunks of one stream, paired across the cut
    combine(a, b) -> Segment        merge.py: streams of several servers, nothing is paired

A log cut at any record boundary gives the same Segment as the whole; where a cap was hit, the same totals.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from ldapdiag.evidence.log.operation_kinds import NAMES
from ldapdiag.evidence.log.runs import Run
from ldapdiag.evidence.log.tables import (
    CAPS,
    OTHER,
    OTHER_RESULT,
    CappedCounts,
    CappedTable,
    Caps,
    ClientRow,
    ShapeKey,
    ShapeRow,
)

SAMPLES = 5
SAMPLE_BYTES = 200

AttributionKey = tuple[bytes, bytes, bytes]
"""Filter shape, client, account."""


def _by_kind() -> list[int]:
    return [0] * len(NAMES)


@dataclass(slots=True, eq=False)
class Segment:
    """The counts of a chunk of a log, and the connections that are undecided at its edges (`runs`)."""

    caps: Caps = CAPS
    anchored: bool = False
    """No chunk comes before it, so nothing is undecided at its left edge."""
    runs: list[Run] = field(default_factory=lambda: [Run()])
    """Empty after the end of the stream."""

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
    """By code; bounded in a merge, as one chunk has a bounded number of lines."""
    continued: int = 0
    """Searches that are a later page of an earlier one."""
    holes: int = 0
    """Missing operation numbers between others of the same connection; 389-ds skips some on its own."""
    waits: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Operations by the bit length of their wait for a worker thread in nanoseconds."""
    longest_wait: tuple[int, int] = (0, 0)
    """Nanoseconds, and -time."""
    waited: int = 0
    took: int = 0
    """Nanoseconds of all operations, waits included."""

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
    cut_short: set[str] = field(default_factory=set)
    """Names of caps that were hit, other than those of tables."""

    servers: CappedCounts[bytes] = field(init=False)
    """Openings by the server's own address."""
    instances: CappedCounts[tuple[bytes, bytes]] = field(init=False)
    """Headers by (name, version), as logged."""
    closed: CappedCounts[bytes] = field(init=False)
    """Close records by close code, as the server writes it."""
    noted: CappedCounts[bytes] = field(init=False)
    """Results of searches by their notes."""
    not_indexed: CappedCounts[tuple[bytes, bytes]] = field(init=False)
    """Candidate lookups without an index, from slapd at level filter: (attribute, kind of index)."""
    lookups: CappedTable[tuple[bytes, bytes], list[int]] = field(init=False)
    """STAT lines of 389-ds by (attribute, kind of index): [lookups, longest ID list, shortest ID list]."""
    modified: CappedCounts[bytes] = field(init=False)
    """MOD requests of slapd by attribute; attributes are in lower case without options, here and above."""
    noticed: CappedCounts[tuple[ShapeKey, bool]] = field(init=False)
    """Unindexed searches from the errors log of 389-ds, by shape; True: internal ones.

    The access log may contain the same searches, so these are never added to `noted`.
    """
    shapes: CappedTable[ShapeKey, ShapeRow] = field(init=False)
    attribution: CappedTable[AttributionKey, list[int]] = field(init=False)
    """[results, nanoseconds, results with notes, results refused (counting.REFUSED)]."""
    clients: CappedTable[bytes, ClientRow] = field(init=False)
    accounts: CappedCounts[bytes] = field(init=False)
    """Connections by the account they were last bound as."""
    failures: CappedCounts[tuple[bytes, bytes, int]] = field(init=False)
    """Failed BINDs by (DN, client, result code)."""

    def __post_init__(self) -> None:
        caps = self.caps
        self.servers = CappedCounts(caps.codes, OTHER)
        self.instances = CappedCounts(caps.codes, (OTHER, OTHER))
        self.closed = CappedCounts(caps.codes, OTHER)
        self.noted = CappedCounts(caps.notes, OTHER)
        self.not_indexed = CappedCounts(caps.shapes, (OTHER, OTHER))
        self.lookups = CappedTable(caps.shapes, (OTHER, OTHER))
        self.modified = CappedCounts(caps.shapes, OTHER)
        self.noticed = CappedCounts(caps.shapes, ((OTHER, OTHER, -1), False))
        self.shapes = CappedTable(caps.shapes, (OTHER, OTHER, -1))
        self.attribution = CappedTable(caps.attribution, (OTHER, OTHER, OTHER))
        self.clients = CappedTable(caps.clients, OTHER)
        self.accounts = CappedCounts(caps.accounts, OTHER)
        self.failures = CappedCounts(caps.failures, (OTHER, OTHER, -1))

    def shape(self, key: ShapeKey) -> ShapeRow:
        """Return the row of a shape; beyond the cap, the row of all others."""
        row = self.shapes.get(key)
        if row is None:
            key = self.shapes.place(key)
            row = self.shapes.get(key)
            if row is None:
                row = self.shapes[key] = ShapeRow(key)
        return row

    def client(self, address: bytes) -> ClientRow:
        """Return the row of a client; beyond the cap, the row of all others."""
        row = self.clients.get(address)
        if row is None:
            address = self.clients.place(address)
            row = self.clients.get(address)
            if row is None:
                row = self.clients[address] = ClientRow()
        return row

    def attribute(self, key: AttributionKey, counts: list[int]) -> None:
        """Count searches by shape, client and account."""
        cell = self.attribution.get(key)
        if cell is None:
            cell = self.attribution.setdefault(self.attribution.place(key), [0, 0, 0, 0])
        for place, count in enumerate(counts):
            cell[place] += count

    def index_lookup(self, key: tuple[bytes, bytes], count: int, most: int, least: int) -> None:
        """Count index lookups, with the longest and the shortest ID list."""
        cell = self.lookups.get(key)
        if cell is None:
            cell = self.lookups.setdefault(self.lookups.place(key), [0, most, least])
        cell[0] += count
        cell[1] = max(cell[1], most)
        cell[2] = min(cell[2], least)

    def result_code(self, err: int) -> int:
        """Return the code under which results with code `err` are counted."""
        if err in self.results or len(self.results) < self.caps.results:
            return err
        self.cut_short.add("results")
        return OTHER_RESULT

    @property
    def caps_hit(self) -> list[str]:
        """The names of the caps that were hit."""
        tables: dict[str, CappedTable[Any, Any]] = {
            "shapes": self.shapes,
            "clients": self.clients,
            "accounts": self.accounts,
            "attribution": self.attribution,
            "failures": self.failures,
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
        return sorted({name for name, table in tables.items() if table.full} | within | self.cut_short)
