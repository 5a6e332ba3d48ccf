"""The row of the searches of one shape, base class and scope in a Segment. Times in nanoseconds."""

from __future__ import annotations

import operator

from ldapdiag.evidence.log.operation_row import OperationRow, ShapeKey
from ldapdiag.evidence.log.reported_use import ReportedUse
from ldapdiag.evidence.log.sorting import Sorting
from ldapdiag.evidence.log.substrings import UNKNOWN_LENGTHS, has_substrings
from ldapdiag.evidence.log.tables import OTHER, OTHER_RESULT, CappedTable, add, among

OTHER_STOP = (OTHER_RESULT, OTHER)
MOST_LENGTHS = 100
"""Different substring lengths in one row: more than all combinations of two substrings."""
MOST_SORTS = 100
"""Different sorts in one row; an application has a few, but a client may ask for any."""
OTHER_SORT = Sorting(OTHER)
MOST_VISITED = 4
"""The place of a maximum in the counts of a ReportedUse; the others are sums."""
MOST_USES = 20
"""Different combinations of used indexes and attributes without one, in one row."""
OTHER_USE = ReportedUse(OTHER, OTHER)
MOST_STOPPED = 100
"""Different combinations of code and notes in one row."""
IN_MEMORY = 0
"""The candidates of a sort in memory, where sorts are counted by how they were done."""

NONE = -1
"""Entries of the largest result, where there is no such result."""


class ShapeRow(OperationRow):
    """The searches of one shape, base class and scope."""

    __slots__ = (
        "has_substrings",
        "most_entries",
        "most_limited",
        "noted",
        "reported",
        "sorts",
        "stopped",
        "substring_lengths",
    )

    key: ShapeKey

    def __init__(self, key: ShapeKey) -> None:
        super().__init__(key)
        self.most_entries = NONE
        """Of the largest complete result: code 0, no page."""
        self.most_limited = NONE
        """Of the largest result that a limit or a page ended: at least so many entries match."""
        self.noted: dict[bytes, int] = {}
        self.has_substrings = has_substrings(key[0])
        self.substring_lengths: CappedTable[bytes, list[int]] = CappedTable(MOST_LENGTHS, UNKNOWN_LENGTHS)
        """By the lengths of the filter's substrings, behind `STOPPED_LENGTHS` where a limit or a refusal stopped the
        search: [results, nanoseconds, results with notes, most entries]."""
        self.stopped: CappedTable[tuple[int, bytes], list[int]] = CappedTable(MOST_STOPPED, OTHER_STOP)
        """Results that a limit or a refusal stopped, by code and notes: [results, nanoseconds, waiting, entries, most
        entries]. They are in the other counts, too."""
        self.sorts: CappedTable[Sorting, list[int]] = CappedTable(MOST_SORTS, OTHER_SORT)
        """By their SORT and VLV lines, candidates only as far as they are special: [results, nanoseconds, unindexed
        results, candidates sorted, most of them at once]."""
        self.reported: CappedTable[ReportedUse, list[int]] = CappedTable(MOST_USES, OTHER_USE)
        """Where the log has it, by the indexes that the server reports: [results, nanoseconds, entries returned,
        entries visited, most of them at once, pages, pages from disk, entries expected of the indexes]."""

    def measured(self, lengths: bytes, answered: int, etime: int, noted: int, most: int) -> None:
        """Count results by the lengths of their filter's substrings."""
        cell = self.substring_lengths.get(lengths)
        if cell is None:
            cell = self.substring_lengths.setdefault(self.substring_lengths.place(lengths), [0, 0, 0, NONE])
        cell[0] += answered
        cell[1] += etime
        cell[2] += noted
        cell[3] = max(cell[3], most)

    def stop(self, key: tuple[int, bytes], counts: list[int]) -> None:
        """Count results that a limit or a refusal stopped."""
        cell = self.stopped.get(key)
        if cell is None:
            cell = self.stopped.setdefault(self.stopped.place(key), [0, 0, 0, 0, 0])
        answered, etime, wait, entries, most = counts
        cell[0] += answered
        cell[1] += etime
        cell[2] += wait
        cell[3] += entries
        cell[4] = max(cell[4], most)

    def sorted(self, sorting: Sorting, answered: int, etime: int, unindexed: int, candidates: int, most: int) -> None:
        """Count results by their SORT and VLV lines."""
        key = sorting if sorting.candidates < IN_MEMORY else sorting._replace(candidates=IN_MEMORY)
        cell = self.sorts.get(key)
        if cell is None:
            cell = self.sorts.setdefault(self.sorts.place(key), [0, 0, 0, 0, 0])
        cell[0] += answered
        cell[1] += etime
        cell[2] += unindexed
        cell[3] += candidates
        cell[4] = max(cell[4], most)

    def examined(self, use: ReportedUse, counts: list[int]) -> None:
        """Count results by the indexes that the server reports."""
        cell = self.reported.get(use)
        if cell is None:
            cell = self.reported.setdefault(self.reported.place(use), [0] * len(counts))
        most = max(cell[MOST_VISITED], counts[MOST_VISITED])
        cell[:] = map(operator.add, cell, counts)
        cell[MOST_VISITED] = most

    def merge_searches(self, other: ShapeRow, notes: CappedTable[bytes, int]) -> None:
        """Add the counts of another row; notes that are not in `notes` are counted as other."""
        self.merge(other)
        add(self.noted, among(other.noted, notes))
        self.most_entries = max(self.most_entries, other.most_entries)
        self.most_limited = max(self.most_limited, other.most_limited)
        if self.has_substrings:
            for lengths, cell in other.substring_lengths.items():
                self.measured(lengths, *cell)
            self.substring_lengths.full |= other.substring_lengths.full
        for (err, noted), cell in other.stopped.items():
            self.stop((err, noted if noted in notes or not noted else OTHER), cell)
        self.stopped.full |= other.stopped.full
        for sorting, cell in other.sorts.items():
            self.sorted(sorting, *cell)
        self.sorts.full |= other.sorts.full
        for use, cell in other.reported.items():
            self.examined(use, cell)
        self.reported.full |= other.reported.full
