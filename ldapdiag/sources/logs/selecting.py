"""Selecting: the chunks of a log scanned in order with a selection, and the original lines of the slowest operations.

Original lines: the records of the slowest operations, as they are in the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ldapdiag.evidence.log.selection import LONGEST_SHOWN, OriginalLine, ShownOperation
from ldapdiag.sources.logs.period import Place
from ldapdiag.sources.logs.scanning import InOrder, Scanned, records_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ldapdiag.evidence.log.connection import OperationResult
    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.line_scan import Hints
    from ldapdiag.evidence.log.scan import Scan
    from ldapdiag.evidence.log.selection import Slowest
    from ldapdiag.sources.logs.chunks import Chunk
    from ldapdiag.sources.logs.period import Period


class Selecting(InOrder):
    """Reads the chunks of one stream for a scan with a selection."""

    def __init__(self, slowest: Callable[[], Sequence[Slowest]]) -> None:
        """`slowest` returns the slowest operations so far."""
        self._slowest = slowest
        self.lines = OriginalLines()

    def scanned_chunk(self, chunk: Chunk, period: Period | None) -> Iterator[Scanned]:
        """Yield the results of one chunk, and look for the lines of the slowest operations in it."""
        scanned, parts = records_of(chunk, period)
        for place, records in parts:
            yield Scanned(chunk=chunk.bare, parts=((place, records),))
            if place in {Place.WITHIN, Place.UNTIMED}:
                self.lines.look(self._slowest(), chunk, records.data)
            else:
                self.lines.pass_over(chunk, records.data)
        yield scanned


class OriginalLines:
    """Finds the records of operations, chunk by chunk."""

    def __init__(self) -> None:
        self._found: dict[Slowest, tuple[OriginalLine, ...]] = {}
        self._label = ""
        self._lines = 0
        """Of this file, before the chunk."""

    def look(self, slowest: Iterable[Slowest], chunk: Chunk, data: bytes) -> None:
        """Look for the operations whose results are in the records of a chunk."""
        if chunk.label != self._label:
            self._label, self._lines = chunk.label, 0
        wanted = [operation for operation in slowest if operation not in self._found]
        kept = {operation: self._found[operation] for operation in slowest if operation in self._found}
        if wanted:
            kept.update(self._located(wanted, chunk, data))
        self._found = kept
        self.pass_over(chunk, data)

    def pass_over(self, chunk: Chunk, data: bytes) -> None:
        """Count the lines of records in which nothing is looked for."""
        if chunk.label != self._label:
            self._label, self._lines = chunk.label, 0
        self._lines += data.count(b"\n")

    def shown(self, slowest: Iterable[Slowest]) -> tuple[ShownOperation, ...]:
        """Return the slowest operations with their records, the slowest first."""
        return tuple(
            ShownOperation(
                etime=etime,
                time=-earlier,
                connection=-number,
                operation=-op,
                lines=self._found.get((etime, earlier, number, op), ()),
            )
            for etime, earlier, number, op in sorted(slowest, reverse=True)
        )

    def _located(
        self, wanted: list[Slowest], chunk: Chunk, data: bytes
    ) -> Iterator[tuple[Slowest, tuple[OriginalLine, ...]]]:
        numbers = [b"%d" % -number for _, _, number, _ in wanted if number <= 0]
        kept = _Records(chunk.hints)
        line = self._lines + 1
        for record in single_records(chunk.dialect, data):
            if len(numbers) < len(wanted) or any(number in record for number in numbers):
                kept.read(chunk.dialect, record, OriginalLine(file=chunk.label, number=line, text=_cut(record)))
            line += record.count(b"\n")
        for operation in wanted:
            yield operation, kept.of(operation)


def single_records(dialect: Dialect, data: bytes) -> Iterator[bytes]:
    """Yield the records of whole records, one after the other."""
    start = at = 0
    while at := data.find(b"\n", at) + 1:
        if dialect.cut(data, at) == at:
            yield data[start:at]
            start = at
    if start < len(data):
        yield data[start:]


def _cut(record: bytes) -> bytes:
    text = record.rstrip(b"\r\n")
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + b"..."


class _Records:
    """A substitute for Scan that keeps the latest record of each request and the records of results."""

    def __init__(self, hints: Hints) -> None:
        self.hints = hints
        self.lines = 0
        self._line: OriginalLine | None = None
        self._requests: dict[tuple[int, int], OriginalLine] = {}
        self._results: dict[tuple[int, int], list[tuple[int, tuple[OriginalLine, ...]]]] = {}

    def read(self, dialect: Dialect, record: bytes, line: OriginalLine) -> None:
        """Read one record."""
        self._line = line
        dialect.scan(record, cast("Scan", self))

    def of(self, operation: Slowest) -> tuple[OriginalLine, ...]:
        """Return the records of an operation: those of the result at its time, else of the last one."""
        _, earlier, number, op = operation
        results = self._results.get((-number, -op), [])
        return next((lines for time, lines in results if time == -earlier), results[-1][1] if results else ())

    def request(self, number: int, op: int, *_: object, **__: object) -> None:
        """Keep the record of a request."""
        if self._line is not None:
            self._requests[number, op] = self._line

    bind = search = request

    def result(self, number: int, result: OperationResult, *_: object, **__: object) -> None:
        """Keep the record of a result, with that of its request."""
        if self._line is None:
            return
        request = self._requests.pop((number, result.op), None)
        lines = (self._line,) if request is None or request is self._line else (request, self._line)
        self._results.setdefault((number, result.op), []).append((result.time, lines))

    def search_without_connection(self, result: OperationResult, **_: object) -> None:
        """Keep a record that has both."""
        self.result(-1, result)

    def __getattr__(self, _: str) -> object:
        """Return a method that ignores any other event."""
        return lambda *_, **__: None
