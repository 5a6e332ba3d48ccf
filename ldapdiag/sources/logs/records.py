"""Records: what comes chunk by came, cut into whole records; of one that is too long only the beginning is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldapdiag.evidence.log.dialect import Dialect

LONGEST_RECORD = 64 << 20
"""Servers take requests of 4 MB (slapd, OpenDJ) by default, which escaping can make 24 MB in a log."""

KEPT_OF_RECORD = 1 << 16
"""Of a longer one: enough for the scanner to count it."""


class Records:
    """Cuts what comes of a log into whole records; `least` bytes are collected before."""

    def __init__(self, dialect: Dialect, least: int = 0) -> None:
        self._dialect = dialect
        self._least = self._enough = least
        self._came: list[bytes] = []
        self._passed = b""
        """The last byte of what is passed over: the rest of a record that is too long comes."""
        self._next = 0
        self.waiting = 0
        """Bytes that came and were not handed over yet."""
        self.at = 0
        """Where in the log that begins which was handed over last."""
        self.too_long = False
        """That was only the beginning of a record."""

    def whole(self, came: bytes) -> bytes:
        """Return the records that are whole now that more has come; nothing while one goes on."""
        if self._passed:
            came = self._after_record(came)
        self._came.append(came)
        self.waiting += len(came)
        if self.waiting < self._enough:
            return b""
        data = b"".join(self._came)
        if end := self._dialect.cut(data, len(data)):
            return self._hand_over(data, end)
        if len(data) > LONGEST_RECORD:
            self._hand_over(data, len(data))
            self._passed = data[-1:]
            self.too_long = True
            return data[:KEPT_OF_RECORD] + b"\n"
        self._came = [data]
        self._enough = min(2 * len(data), LONGEST_RECORD + 1)
        return b""

    def rest(self) -> bytes:
        """Return what is left where the log ends, or was torn off."""
        data = b"".join(self._came)
        self._passed = b""
        return self._hand_over(data, len(data))

    def _hand_over(self, data: bytes, end: int) -> bytes:
        self.at, self._next = self._next, self._next + end
        self._came, self.waiting = [data[end:]], len(data) - end
        self._enough = self._least
        self.too_long = False
        return data[:end]

    def _after_record(self, came: bytes) -> bytes:
        """Return what comes after the record that is passed over."""
        data = self._passed + came
        border = first_border(self._dialect, data) if self._dialect.anywhere else data.find(b"\n") + 1
        self._next += (border or len(data)) - 1
        self._passed = b"" if border else data[-1:]
        return data[border:] if border else b""


def first_border(dialect: Dialect, data: bytes) -> int:
    """Return where the first record ends that ends in the data; 0 if none does."""
    first, border = 0, dialect.cut(data, len(data))
    while border:
        first, border = border, dialect.cut(data, border - 1)
    return first


def whole_lines(data: bytes) -> bytes:
    """Return the data with an end to the last line: a file may end, or be cut off, in the middle of a record."""
    return data if not data or data.endswith(b"\n") else data + b"\n"


def too_long(label: str, at: int) -> str:
    """Return the note on a record that is too long."""
    return f"{label} has a line of more than {LONGEST_RECORD >> 20} MiB at byte {at}; only its beginning is read"
