"""Lanes: which parts one native scan takes in, one after the other."""

from __future__ import annotations

from queue import Queue
from typing import TYPE_CHECKING

from ldapdiag.sources.logs import native

if TYPE_CHECKING:
    from ldapdiag.sources.logs.parts import Part
    from ldapdiag.sources.logs.scanning import Scanned

MOST_FILES = 8
"""In one lane; all are kept open, for a rotation may rename them."""

CARRIED = 4
"""Parts that were decompressed and are not scanned yet."""


class Lane:
    """Parts that one scan takes in, one after the other, and what it says of them."""

    def __init__(self, first: Part) -> None:
        self.first = first
        self.parts: Queue[Part | None] = Queue(0 if first.stretch else CARRIED)
        """None: there are no more."""
        self.said: Queue[Scanned | BaseException | None] = Queue(1)
        """None: that was all."""
        self.bytes = 0
        self._files: set[str] = set()

    def takes(self, part: Part, most: int) -> bool:
        """Tell whether a part is to go on where the one before it ended."""
        if (part.stretch is None) is not (self.first.stretch is None) or part.dialect is not self.first.dialect:
            return False
        if part.dialect.name == native.YEARLESS and part.hints != self.first.hints:
            return False  # the year is told by the file
        if part.stretch is None:
            return True
        if part.told != self.first.told and self.first.at > 0:
            return False  # should its file turn out to be cut off before it, all that it says is dropped
        return self.bytes + part.stretch.length <= most and len(self._files | {part.told}) <= MOST_FILES

    def count(self, part: Part) -> None:
        """Count a part that is given to it."""
        if part.stretch is not None:
            self._files.add(part.told)
            self.bytes += part.stretch.length
