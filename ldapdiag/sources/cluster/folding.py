"""Folding: the results of a stream's tasks become one Segment, in the order of the tasks, on the workers.

Each fold takes the state before it, so that a stream is a chain of folds in its own order, whatever ends first: tables
that are full keep the same rows for any number of workers.
"""

from __future__ import annotations

import pickle
import zlib
from dataclasses import dataclass, field

from ldapdiag.sources.cluster.scan_tasks import ScanResult
from ldapdiag.sources.logs.access_log import no_cycles
from ldapdiag.sources.logs.merging import Merging, Remarks
from ldapdiag.sources.logs.period import Period
from ldapdiag.sources.logs.scanning import Scanned


@dataclass(slots=True)
class FoldedStream:
    """A stream, as far as it is folded."""

    merging: Merging
    taken: int = 0
    """Tasks."""
    remarks: list[tuple[int, Remarks]] = field(default_factory=list)
    """About the files of tasks, each with the number of the task."""
    crash: str = ""
    """Why the last task did not come to its end."""

    def packed(self) -> bytes:
        """Return it as bytes, whose size Dask knows."""
        return zlib.compress(pickle.dumps(self, pickle.HIGHEST_PROTOCOL), 1)

    @staticmethod
    def unpacked(data: bytes) -> FoldedStream:
        """Return the state that was packed. It comes from our own task."""
        state: FoldedStream = pickle.loads(zlib.decompress(data))  # noqa: S301  as Dask does with all results
        return state

    def take(self, result: ScanResult) -> None:
        """Add the result of the next task."""
        number, self.taken = self.taken, self.taken + 1
        if self.merging.ended or self.crash:
            return
        lost = {gap.target for _, remarks in self.remarks for gap in remarks.gaps}
        result.remarks.gaps = [gap for gap in result.remarks.gaps if gap.target not in lost]
        self.remarks.append((number, result.remarks))
        for scanned in result.scanned():
            if scanned.chunk.label in lost:
                continue  # another part of an object: its records do not adjoin those before the gap
            if self._ends_with(scanned):
                return
        self.crash = result.crash

    def _ends_with(self, scanned: Scanned) -> bool:
        self.merging.take(scanned)
        return self.merging.ended


def fold(stream: str, period: Period | None, state: bytes | None, /, *results: bytes) -> bytes:
    """Return the state of a stream after further results of scan tasks; `stream` is its name, for remarks."""
    with no_cycles():
        folded = FoldedStream(Merging(stream, period)) if state is None else FoldedStream.unpacked(state)
        for result in results:
            folded.take(ScanResult.unpacked(result))
        return folded.packed()
