"""Segment: what a piece of an access log adds up to (DESIGN 4). Integers only: nanoseconds and counts.

    scan(bytes) -> Segment          scan.py, called by the dialects
    merge(left, right) -> Segment   merge.py: adjacent pieces of one stream; what was cut is paired
    combine(a, b) -> Segment        merge.py: streams of several servers; pairs nothing

A log cut at any record boundary gives the same Segment as the whole, as long as no cap was hit; after that the totals.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from ldapdiag.evidence.log.kinds import NAMES
from ldapdiag.evidence.log.runs import Run
from ldapdiag.evidence.log.tables import CAPS, OTHER, OTHER_RESULT, Caps, ClientRow, Counts, ShapeKey, ShapeRow, Table

SAMPLES = 5
SAMPLE_BYTES = 200

Asker = tuple[bytes, bytes, bytes]
"""Filter without its values, client, account."""


def _by_kind() -> list[int]:
    return [0] * len(NAMES)


@dataclass(slots=True, eq=False)
class Segment:
    """What a piece of a log adds up to, and what waits at its edges (`runs`)."""

    caps: Caps = CAPS
    anchored: bool = False
    """Nothing comes before it: what waits for an earlier piece is decided."""
    runs: list[Run] = field(default_factory=lambda: [Run()])
    """Empty once the stream has been read to its end."""

    lines: int = 0
    misread: int = 0
    """Lines that no rule of the grammar fits."""
    samples: list[bytes] = field(default_factory=list)
    """The first few of them."""
    passed_over: int = 0
    lost: int = 0
    """Lines that are missing, as the log itself says."""
    first_time: int | None = None
    last_time: int | None = None
    zones: set[bytes] = field(default_factory=set)
    """As the stamps write them; empty text where they have none."""
    resolution: int = 1
    """Nanoseconds between two stamps of the coarsest clock."""

    operations: list[int] = field(default_factory=_by_kind)
    """By kind: requests, and results whose request is not in the log."""
    forgotten: list[int] = field(default_factory=_by_kind)
    """Requests let go of with their connection, by kind: their results are no further operations."""
    internal: int = 0
    results: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """By code; bounded where segments are merged, for one piece has only so many lines."""
    continued: int = 0
    """Searches that are a later page of an earlier one."""
    holes: int = 0
    """Operation numbers that are missing between others of their connection; 389-ds skips some by itself."""
    waits: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Operations by the bit length of the nanoseconds they waited for a worker."""
    longest_wait: tuple[int, int] = (0, 0)
    """Nanoseconds, and -time."""
    waited: int = 0
    took: int = 0
    """Nanoseconds of all operations, waiting included."""

    opened: int = 0
    open_before: int = 0
    """Connections that were open before the log began."""
    open_at_end: int = 0
    ended_by_restart: int = 0
    """Connections that were open when the server restarted; they are not in `closed`."""
    lives: int = 0
    """Server lives that have ended."""
    peak: int = 0
    """The most connections at once, of any life that has ended."""
    cut_short: set[str] = field(default_factory=set)
    """What was bounded that is not a table."""

    servers: Counts[bytes] = field(init=False)
    """Openings by the server's own address."""
    instances: Counts[tuple[bytes, bytes]] = field(init=False)
    """Headers by (name, version), as the log says it."""
    closed: Counts[bytes] = field(init=False)
    """Close records by the server's word for why."""
    noted: Counts[bytes] = field(init=False)
    """Results of searches by their notes."""
    not_indexed: Counts[tuple[bytes, bytes]] = field(init=False)
    """slapd at level filter: (attribute, kind of index)."""
    lookups: Table[tuple[bytes, bytes], list[int]] = field(init=False)
    """389-ds' STAT lines: look-ups by (attribute, kind of index); how many, and the most and the least ids of one."""
    modified: Counts[bytes] = field(init=False)
    """slapd: MOD requests by the attributes they touch; attributes in lower case without options, here and above."""
    noticed: Counts[tuple[ShapeKey, bool]] = field(init=False)
    """Unindexed searches that the errors log of 389-ds tells of, by shape; True: the server asked itself.

    A second witness of what the access log may tell, too: never to be added to `noted`.
    """
    shapes: Table[ShapeKey, ShapeRow] = field(init=False)
    attribution: Table[Asker, list[int]] = field(init=False)
    """Results, nanoseconds, results with a note."""
    clients: Table[bytes, ClientRow] = field(init=False)
    accounts: Counts[bytes] = field(init=False)
    """Connections by the account they were bound as at last."""
    failures: Counts[tuple[bytes, bytes, int]] = field(init=False)
    """Failed BINDs by (DN, client, result code)."""

    def __post_init__(self) -> None:
        caps = self.caps
        self.servers = Counts(caps.codes, OTHER)
        self.instances = Counts(caps.codes, (OTHER, OTHER))
        self.closed = Counts(caps.codes, OTHER)
        self.noted = Counts(caps.notes, OTHER)
        self.not_indexed = Counts(caps.shapes, (OTHER, OTHER))
        self.lookups = Table(caps.shapes, (OTHER, OTHER))
        self.modified = Counts(caps.shapes, OTHER)
        self.noticed = Counts(caps.shapes, ((OTHER, OTHER, -1), False))
        self.shapes = Table(caps.shapes, (OTHER, OTHER, -1))
        self.attribution = Table(caps.attribution, (OTHER, OTHER, OTHER))
        self.clients = Table(caps.clients, OTHER)
        self.accounts = Counts(caps.accounts, OTHER)
        self.failures = Counts(caps.failures, (OTHER, OTHER, -1))

    def shape(self, key: ShapeKey) -> ShapeRow:
        """Return the row of a shape, or of all others."""
        row = self.shapes.get(key)
        if row is None:
            key = self.shapes.place(key)
            row = self.shapes.get(key)
            if row is None:
                row = self.shapes[key] = ShapeRow(key)
        return row

    def client(self, address: bytes) -> ClientRow:
        """Return the row of a client, or of all others."""
        row = self.clients.get(address)
        if row is None:
            address = self.clients.place(address)
            row = self.clients.get(address)
            if row is None:
                row = self.clients[address] = ClientRow()
        return row

    def attribute(self, key: Asker, counts: list[int]) -> None:
        """Count searches of a shape by a client and an account."""
        cell = self.attribution.get(key)
        if cell is None:
            cell = self.attribution.setdefault(self.attribution.place(key), [0, 0, 0])
        for place, count in enumerate(counts):
            cell[place] += count

    def looked_up(self, key: tuple[bytes, bytes], count: int, most: int, least: int) -> None:
        """Count look-ups in an index, and keep how many ids they found."""
        cell = self.lookups.get(key)
        if cell is None:
            cell = self.lookups.setdefault(self.lookups.place(key), [0, most, least])
        cell[0] += count
        cell[1] = max(cell[1], most)
        cell[2] = min(cell[2], least)

    def result_code(self, err: int) -> int:
        """Return the code under which results of this one are counted."""
        if err in self.results or len(self.results) < self.caps.results:
            return err
        self.cut_short.add("results")
        return OTHER_RESULT

    @property
    def caps_hit(self) -> list[str]:
        """The names of what did not fit."""
        tables: dict[str, Table[Any, Any]] = {
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
        within = {"pieces"} if any(row.pieces.full for row in self.shapes.values()) else set()
        return sorted({name for name, table in tables.items() if table.full} | within | self.cut_short)
