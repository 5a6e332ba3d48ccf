"""Lacking: what it proves that a box on the path has no flow of a connection that the server shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds, seconds_since_received
from ldapdiag.analysis.pairing.skew import at_least

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ldapdiag.analysis.pairing.direction import UnjoinedDirection
    from ldapdiag.analysis.pairing.flow_tables import Box


def lacked_by(
    boxes: Sequence[Box], ends: UnjoinedDirection, rows: Collection[int], living: Collection[int]
) -> frozenset[int]:
    """Return those of the server's rows that some box would have if they lived.

    A table that lacks most of the living ones as well was cut, or is of another path. And it was taken at a moment of
    its own: of a connection that was opened later it says nothing, nor of one that may have closed before.
    """
    told: set[int] = set()
    for box in boxes:
        if 2 * sum(box.carries(ends.key_of(row)) for row in living) >= len(living):
            told |= {row for row in rows if ends.key_of(row) not in box.flows and _was_there(box, ends, row, living)}
    return frozenset(told)


def _was_there(box: Box, ends: UnjoinedDirection, row: int, living: Collection[int]) -> bool:
    """Tell whether a connection was there, by its age, when the box's table was taken; where times are told at all."""
    look = ends.look
    moment = box.nearest(look.taken)
    age = column_seconds(look.sockets.last_received, row)
    if age is None or moment is None or look.taken is None:
        return True
    least = at_least(look.taken, moment, seconds_since_received(look.sockets, living))
    return age > max(look.taken.seconds_apart(moment), least)
