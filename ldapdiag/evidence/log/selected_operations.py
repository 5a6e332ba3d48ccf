"""The operations that a selection takes: whether to count a result, the slowest ones, and the totals of all."""

from __future__ import annotations

from heapq import heappush, heappushpop
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.operation_kinds import NAMES
from ldapdiag.evidence.log.stamps import SECOND

if TYPE_CHECKING:
    from ldapdiag.evidence.log.connection import Account, Connection, OperationResult, Subject
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.evidence.log.selection import Slowest


def selected(
    segment: Segment,
    connection: Connection,
    number: int,
    result: OperationResult,
    subject: Subject,
    account: Account,
    etime: int,
) -> bool:
    """Return whether a result is to be counted; count its code, and keep it if it is one of the slowest."""
    selection = segment.selection
    if selection is None:
        return True
    if not selection.takes(connection, number, subject, account, result.err, etime):
        return False
    segment.timeline.result(result.err, result.time // SECOND)
    if selection.most_shown:
        keep_slowest(segment, (etime, -result.time, -number, -result.op))
    return True


def keep_slowest(segment: Segment, operation: Slowest) -> None:
    """Keep an operation if it is one of the slowest."""
    if segment.selection is None or len(segment.slowest) < segment.selection.most_shown:
        heappush(segment.slowest, operation)
    else:
        heappushpop(segment.slowest, operation)


def count_selected(segment: Segment) -> None:
    """Replace the totals of a finished Segment, counted before the selection, by those of the selected operations.

    Counts of connections stay those of all, and so does the longest wait: of the selected ones it is an upper bound.
    """
    segment.slowest.sort()
    segment.operations = [0] * len(NAMES)
    segment.results.clear()
    segment.noted.clear()
    segment.took = segment.waited = segment.internal = segment.continued = segment.holes = 0
    segment.not_indexed.clear()
    segment.noticed.clear()
    for (kind, *_, err), (count, *_) in segment.attribution.items():
        segment.operations[kind] += count
        segment.results[err] += count
    for row in (*segment.shapes.values(), *segment.targets.values()):
        row.requests = row.answered
        row.abandoned = row.unanswered = 0
        segment.took += row.etime
        segment.waited += row.wait
    for searches in segment.shapes.values():
        for notes, count in searches.noted.items():
            segment.noted.count(notes, count)
    for table in (segment.shapes, segment.targets):
        for key in [key for key, row in table.items() if not row.answered]:
            del table[key]  # type: ignore[arg-type]  # a key of this table
