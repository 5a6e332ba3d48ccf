"""Compressed bytes: told by their first few, and decompressed without trusting what they say of themselves."""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from dataclasses import dataclass
from gzip import GzipFile
from io import RawIOBase
from typing import TYPE_CHECKING, Any, Protocol, cast

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from ldapdiag.sources.budget import Budget

CHUNK = 1 << 16
MOST_BYTES = 2 << 30
"""Decompressed, in all that one name on the command line leads to; a bomb is bigger, one incident's evidence is not."""

MOST_MEMORY = 256 << 20
"""For an xz dictionary, which its file may ask to be 4 GiB; `xz -9` needs 65 MiB."""

LARGEST_WINDOW = 27
"""Of zstd, as a power of two: 128 MiB, what `zstd -d` allows without --long."""


class Decompressor(Protocol):
    """What bz2, lzma and zstd have in common."""

    eof: bool
    unused_data: bytes

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes:
        """Return at most `max_length` bytes; the rest waits for the next call."""


class _Gunzip:
    """zlib's decompressor with the face of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)
        self._tail = b""

    def decompress(self, data: bytes, max_length: int = 0) -> bytes:
        """Return at most `max_length` bytes; the rest waits for the next call."""
        out = self._inner.decompress(self._tail + data, max_length)
        self._tail = self._inner.unconsumed_tail
        return out

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


class _Stored:
    """No compression at all: a plain tar keeps to the same bounds."""

    eof = False
    unused_data = b""

    def __init__(self) -> None:
        self._tail = b""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return at most `max_length` bytes; the rest waits for the next call."""
        data = self._tail + data
        self._tail = data[max_length:]
        return data[:max_length]


@dataclass(frozen=True, slots=True)
class Compression:
    """One way to compress: how to tell it, and how to undo it."""

    magic: bytes
    suffixes: tuple[str, ...]
    """Of file names."""
    decompressor: Callable[[], Any]


COMPRESSIONS = (
    Compression(b"\x1f\x8b", (".gz", ".tgz", ".z"), _Gunzip),
    Compression(b"BZh", (".bz2", ".tbz2", ".tbz"), bz2.BZ2Decompressor),
    Compression(
        b"\xfd7zXZ\x00", (".xz", ".txz"), lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MOST_MEMORY)
    ),
    Compression(
        b"\x28\xb5\x2f\xfd",
        (".zst", ".tzst"),
        lambda: zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: LARGEST_WINDOW}),
    ),
)
STORED = Compression(b"", (), _Stored)


def compression_of(head: bytes) -> Compression | None:
    """Return how a file that begins with these bytes is compressed; None when it is not."""
    return next((one for one in COMPRESSIONS if head.startswith(one.magic)), None)


def name_within(name: str) -> str:
    """Return the name that a compressed file has when it is decompressed: ss.txt.gz is ss.txt."""
    for compression in COMPRESSIONS:
        for suffix in compression.suffixes:
            if len(name) > len(suffix) and name.lower().endswith(suffix):
                return name[: -len(suffix)]
    return name


def compressing(stream: BinaryIO, suffix: str, moment: float) -> BinaryIO:
    """Return a stream that compresses into another, by a file's suffix; `moment` (epoch) goes into gzip's header.

    Close it; the stream below stays open.
    """
    if suffix == ".gz":
        return cast("BinaryIO", GzipFile(filename="", mode="wb", compresslevel=6, fileobj=stream, mtime=moment))
    return cast("BinaryIO", zstd.ZstdFile(stream, "w", level=9))


class Decompressed(RawIOBase):
    """A compressed stream, decompressed as it is read; whatever is wrong with it ends it, and `trouble` says what.

    `budget` is what is left of `most_bytes`.
    """

    def __init__(
        self, stream: BinaryIO, compression: Compression, budget: Budget, most_bytes: int = MOST_BYTES
    ) -> None:
        self._most_bytes = most_bytes
        self._stream = stream
        self._compression = compression
        self._budget = budget
        self._decompressor: Decompressor = compression.decompressor()
        self._pending = b""
        self._ended = False
        self._trouble = ""

    def readable(self) -> bool:
        """Say yes, as a stream must that is to be buffered."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  any writable buffer, as RawIOBase has it
        """Fill the buffer with what comes next, or with nothing at the end."""
        data = self.some(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def some(self, most: int) -> bytes:
        """Return what comes next, or nothing at the end: `read` without copying it twice."""
        if self._ended:
            return b""
        if self._budget.left <= 0:
            return self._end(f"holds more than {self._most_bytes >> 30} GiB; what comes after that is not read")
        try:
            data = self._some(min(most, self._budget.left))
        except (OSError, EOFError, ValueError, MemoryError, zlib.error, lzma.LZMAError, zstd.ZstdError) as error:
            return self._end(f"is damaged ({type(error).__name__}: {error})")
        self._budget.left -= len(data)
        return data or self._end("")

    def trouble(self) -> str:
        """Return what ended it: nothing (so far), or the end of a sentence, as in 'is cut off'."""
        return self._trouble

    def _end(self, trouble: str) -> bytes:
        self._ended = True
        self._trouble = self._trouble or trouble
        return b""

    def _some(self, most: int) -> bytes:
        """Return up to `most` bytes; none at the end."""
        while True:
            if self._decompressor.eof and not self._another():
                return b""
            data = self._decompressor.decompress(self._pending, most)
            self._pending = b""
            if data:
                return data
            if self._decompressor.eof:
                continue
            self._pending = self._stream.read(CHUNK) or b""
            if not self._pending:
                if self._compression is not STORED:
                    self._trouble = "is cut off"
                return b""

    def _another(self) -> bool:
        """Begin the next of several compressed files joined to one (as log rotation and pigz do), if there is one."""
        rest = self._decompressor.unused_data
        rest += (self._stream.read(CHUNK) or b"") if len(rest) < len(self._compression.magic) else b""
        if not rest.startswith(self._compression.magic):
            return False  # padding, which tapes have
        self._decompressor = self._compression.decompressor()
        self._pending = rest
        return True
