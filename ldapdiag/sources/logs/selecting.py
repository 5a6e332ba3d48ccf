"""Selecting: the chunks of a log scanned in order with a selection, and the original lines of the slowest operations.

An operation is selected by the client and the account of its connection, which an earlier chunk may show. So each chunk
is scanned after the one before it has been merged, by the reference scanner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.sources.logs.original_lines import OriginalLines
from ldapdiag.sources.logs.period import Place
from ldapdiag.sources.logs.scanning import InProcess, Scanned, divided, scan_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.evidence.log.selection import Selection
    from ldapdiag.sources.logs.chunks import Chunk
    from ldapdiag.sources.logs.period import Period


class Selecting(InProcess):
    """Scans the chunks of one stream with a selection."""

    def __init__(self, selection: Selection, so_far: Callable[[], Segment]) -> None:
        """`so_far` returns the Segment of all chunks before the one that is scanned."""
        self._selection = selection
        self._so_far = so_far
        self.lines = OriginalLines()

    def scanned_chunk(self, chunk: Chunk, period: Period | None) -> Iterator[Scanned]:
        """Yield the results of one chunk, and look for the lines of the slowest operations in it."""
        records = divided(chunk, period)
        if records is None:
            yield Scanned(chunk=chunk, replaced=True)
            return
        for place, data in records.parts:
            runs = self._so_far().runs
            segment = scan_part(chunk, place, data, self._selection, runs[-1] if runs else None)
            yield Scanned(chunk=chunk.bare, parts=((place, segment),))
            if place in {Place.WITHIN, Place.UNTIMED}:
                self.lines.look(self._so_far().slowest, chunk, data)
            else:
                self.lines.pass_over(chunk, data)
        yield Scanned(chunk=chunk.bare, cost=chunk.cost, shrunk_at=records.shrunk_at)
