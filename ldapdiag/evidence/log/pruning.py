"""Pruning: keep the costliest rows of the tables of a Segment; the cheaper ones are added to more general rows.

A row that is removed is cheaper than all that stay, so what is costly in the whole log stays visible wherever it
begins. A key loses what its row had whenever this is removed: `omitted` is the sum of these costs, the bound of the
error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldapdiag.evidence.log.client_row import ClientRow
    from ldapdiag.evidence.log.idle_times import IdleRow
    from ldapdiag.evidence.log.operation_row import OperationRow
    from ldapdiag.evidence.log.segment import Segment

COUNTS = ("refused", "clear_binds", "not_indexed", "modified", "noticed", "accounts")


def prune(segment: Segment, *, final: bool = False) -> bool:
    """Remove the cheapest rows of the tables that have too many; `final`: at the end, when there may be no more.

    Return whether rows of operations were removed, which a scan may refer to.
    """
    has_removed = _prune_operations(segment, final=final)
    for address, client in segment.clients.removed(_work_of_client, final=final):
        segment.client(address).merge(client, segment.closed)
    while removed_lookups := segment.lookups.removed(_count_of_cell, final=final):
        for index, counts in removed_lookups:
            segment.index_lookup(index, *counts)
    while removed_idle_times := segment.idle_times.removed(_longest_of_row, final=final):
        for of, row in removed_idle_times:
            segment.idle_row(*of).merge(row, segment.closed)
    for name in COUNTS:
        table = getattr(segment, name)
        while removed_counts := table.removed(_count, final=final):
            for general, count in removed_counts:
                table.count(general, count)
    return has_removed


def _prune_operations(segment: Segment, *, final: bool) -> bool:
    has_removed = False
    while removed := segment.shapes.removed(_time_of_row, final=final):
        has_removed = True
        for shape, searches in removed:
            segment.shape(shape).merge_searches(searches, segment.noted)
    while removed_targets := segment.targets.removed(_time_of_row, final=final):
        has_removed = True
        for target, row in removed_targets:
            segment.target(target).merge(row)
    while removed_cells := segment.attribution.removed(_time_of_cell, final=final):
        for key, cell in removed_cells:
            segment.attribute(key, cell)
    return has_removed


def _time_of_row(row: OperationRow) -> tuple[int, int]:
    return row.etime, row.requests


def _time_of_cell(cell: list[int]) -> tuple[int, int]:
    return cell[1], cell[0]


def _count_of_cell(cell: list[int]) -> tuple[int, int]:
    return cell[0], cell[1]


def _work_of_client(row: ClientRow) -> tuple[int, int]:
    return row.opened + row.operations, 0


def _longest_of_row(row: IdleRow) -> tuple[int, int]:
    return row.longest, row.count


def _count(count: int) -> tuple[int, int]:
    return count, 0
