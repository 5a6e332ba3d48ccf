"""Records: split the incoming data of a log into whole records; overlong records are truncated."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.log.dialect import Dialect

LONGEST_RECORD = 64 << 20
"""Servers take requests of 4 MB (slapd, OpenDJ) by default, which escaping can make 24 MB in a log."""

KEPT_OF_RECORD = 1 << 16
"""Bytes kept of a longer record: enough for the scanner to count it."""


class Records:
    """Splits incoming data into whole records; collects at least `least` bytes before each split."""

    def __init__(self, dialect: Dialect, least: int = 0) -> None:
        self._dialect = dialect
        self._least = self._enough = least
        self._pending: list[bytes] = []
        self._skipped = b""
        """The last byte of the skipped data while the remainder of an overlong record arrives; else empty."""
        self._next = 0
        self.waiting = 0
        """Bytes received and not returned yet."""
        self.at = 0
        """Offset in the log of the data returned last."""
        self.too_long = False
        """True if the data returned last are the truncated beginning of an overlong record."""

    def whole(self, data: bytes) -> bytes:
        """Take the next data and return the records that are complete; empty while a record is incomplete."""
        if self._skipped:
            data = self._after_record(data)
        if self._dialect.anywhere and self.waiting + len(data) >= self._enough:
            end = self._dialect.cut(data, len(data))
            if end:  # the last boundary is in the new data: the usual case, without a copy of the remainder
                return self._taken([*self._pending, memoryview(data)[:end]], data[end:])
        self._pending.append(data)
        self.waiting += len(data)
        if self.waiting < self._enough:
            return b""
        data = b"".join(self._pending)
        if end := self._dialect.cut(data, len(data)):
            return self._taken([memoryview(data)[:end]], data[end:])
        if len(data) > LONGEST_RECORD:
            self._taken([data], b"")
            self._skipped = data[-1:]
            self.too_long = True
            return data[:KEPT_OF_RECORD] + b"\n"
        self._pending = [data]
        self._enough = min(2 * len(data), LONGEST_RECORD + 1)
        return b""

    def remainder(self) -> bytes:
        """Return the remaining data at the end of the log, or where it was truncated."""
        self._skipped = b""
        return self._taken(self._pending, b"")

    def _taken(self, parts: Sequence[bytes | memoryview], rest: bytes) -> bytes:
        """Return the parts as one, and keep the rest."""
        whole = b"".join(parts)
        self.at, self._next = self._next, self._next + len(whole)
        self._pending, self.waiting = [rest], len(rest)
        self._enough = self._least
        self.too_long = False
        return whole

    def _after_record(self, data: bytes) -> bytes:
        """Return the data after the overlong record; empty if it has not ended."""
        data = self._skipped + data
        boundary = first_boundary(self._dialect, data) if self._dialect.anywhere else data.find(b"\n") + 1
        self._next += (boundary or len(data)) - 1
        self._skipped = b"" if boundary else data[-1:]
        return data[boundary:] if boundary else b""


def first_boundary(dialect: Dialect, data: bytes) -> int:
    """Return the offset after the first complete record in the data; 0 if there is none."""
    first, boundary = 0, dialect.cut(data, len(data))
    while boundary:
        first, boundary = boundary, dialect.cut(data, boundary - 1)
    return first


def whole_lines(data: bytes) -> bytes:
    """Return the data with a line feed at the end: a file may end, or be truncated, in the middle of a record."""
    return data if not data or data.endswith(b"\n") else data + b"\n"


def too_long(label: str, at: int) -> str:
    """Return the note on an overlong record."""
    return f"{label} has a line of more than {LONGEST_RECORD >> 20} MiB at byte {at}; only its beginning is read"
