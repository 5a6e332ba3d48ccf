"""Spools: keep data of standard input and pipes, which can be read only once, so that they can be read again.

The first KEPT_BYTES are always kept in memory: enough to recognise the input. Up to SPOOLED_BYTES are kept if the input
must be read twice: an archive, whose manifest may be at any position, or a log for which there is more than one reader.
More than KEPT_BYTES are kept in an anonymous temporary file.
"""

from __future__ import annotations

from tempfile import SpooledTemporaryFile
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.sources.files.compressed import Readable

KEPT_BYTES = 8 << 20
SPOOLED_BYTES = 2 << 30


class Spool:
    """A stream that can be reopened as long as its bytes are kept."""

    def __init__(self, source: Callable[[], Readable]) -> None:
        self._open = source
        self._source: Readable | None = None
        self._ended = False
        self._kept = SpooledTemporaryFile(max_size=KEPT_BYTES)  # noqa: SIM115  its lifetime is that of its readers
        self._most = KEPT_BYTES
        self._size = 0
        """Bytes received."""
        self._lock = Lock()

    def __del__(self) -> None:
        if hasattr(self, "_kept"):
            self._kept.close()
            self._end()

    def keep(self) -> None:
        """Keep all further data up to SPOOLED_BYTES: the stream will be read more than once."""
        self._most = SPOOLED_BYTES

    @staticmethod
    def always_keeps(end: int) -> bool:
        """Return whether the bytes before an offset can always be read again."""
        return end <= KEPT_BYTES

    def open(self) -> SpoolReader:
        """Return a stream of the data from the first byte on. OSError propagates to the caller."""
        with self._lock:
            if self._source is None and not self._ended:
                self._source = self._open()
        return SpoolReader(self)

    def read_at(self, at: int, size: int) -> bytes:
        """Return up to `size` bytes at an offset, kept or from the source. OSError propagates to the caller."""
        with self._lock:
            if at < self._size:
                return self._again(at, size)
            return self._more(size)

    def _again(self, at: int, size: int) -> bytes:
        if at >= min(self._size, self._most):
            raise OSError(
                f"it must be read twice, but only its first {self._most >> 20} MiB are kept; save it to a file"
            )
        self._kept.seek(at)
        return self._kept.read(min(size, self._most - at))

    def _more(self, size: int) -> bytes:
        data = self._source.read(size) if self._source else b""
        if not data:
            self._end()
            return b""
        if self._size < self._most:
            self._keep(data[: self._most - self._size])
        self._size += len(data)
        return data

    def _keep(self, data: bytes) -> None:
        self._kept.seek(self._size)
        try:
            self._kept.write(data)
        except OSError:  # no space left; the data kept before may be lost, too
            self._most = 0

    def _end(self) -> None:
        self._ended = True
        if self._source is not None:
            self._source.close()
            self._source = None


class SpoolReader:
    """A stream of the bytes of a spool from the first on."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._at = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; empty at the end. OSError propagates to the caller."""
        data = self._spool.read_at(self._at, size)
        self._at += len(data)
        return data

    def close(self) -> None:
        """Do nothing: the stream may be read again."""
