"""Compression: recognise it by the first bytes, and decompress without trusting the header."""

from __future__ import annotations

import sys
import zlib
from typing import TYPE_CHECKING, Protocol, cast

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import BinaryIO

    from ldapdiag.sources.budget import Budget

CHUNK = 1 << 16

MOST_MEMORY = 256 << 20
"""Limit for an xz dictionary: a file may request 4 GiB; `xz -9` needs 65 MiB."""

LARGEST_WINDOW = 27
"""The zstd window as a power of two: 128 MiB, the limit of `zstd -d` without --long."""


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes | None:
        """Return the next bytes, at most `size`; empty at the end."""

    def close(self) -> None:
        """Close the stream and those below it."""


class Decompressor(Protocol):
    """The common interface of bz2, lzma and zstd."""

    @property
    def eof(self) -> bool:
        """Return whether the compressed file has ended."""

    @property
    def unused_data(self) -> bytes:
        """Return the bytes after that end."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return at most `max_length` bytes; keep the remainder for the next call."""


class _Gunzip:
    """zlib's decompressor with the interface of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)
        self._waiting = b""

    def decompress(self, data: bytes, max_length: int = 0) -> bytes:
        """Return at most `max_length` bytes; keep the remainder for the next call."""
        out = self._inner.decompress(self._waiting + data, max_length)
        self._waiting = self._inner.unconsumed_tail
        return out

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


def _bz2() -> Decompressor:
    import bz2  # noqa: PLC0415  optional in a build of Python; import late

    return bz2.BZ2Decompressor()


def _xz() -> Decompressor:
    import lzma  # noqa: PLC0415  as above

    return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MOST_MEMORY)


def _zstd_module() -> ModuleType:
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415  as above
    else:
        from backports import zstd  # noqa: PLC0415  an optional library
    return zstd


def fastest() -> str:
    """Return what `packed` compresses with: zstd, or zlib where its library is not installed."""
    try:
        return _zstd_module().__name__.rpartition(".")[2]
    except ImportError:
        return zlib.__name__


def packed(value: object) -> bytes:
    """Return a value for another process of the same installation, pickled and compressed."""
    import pickle  # noqa: PLC0415  import late

    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return zlib.compress(data, 1) if fastest() == zlib.__name__ else cast("bytes", _zstd_module().compress(data, 1))


def unpacked(data: bytes) -> object:
    """Return the value that was packed, by our own process there."""
    import pickle  # noqa: PLC0415  as above

    plain = zlib.decompress(data) if fastest() == zlib.__name__ else _zstd_module().decompress(data)
    return pickle.loads(plain)  # noqa: S301  as Dask does with all results


def _zstd() -> Decompressor:
    zstd = _zstd_module()
    options = {zstd.DecompressionParameter.window_log_max: LARGEST_WINDOW}
    return cast("Decompressor", zstd.ZstdDecompressor(options=options))


@dataclass(frozen=True, slots=True)
class Compression:
    """A compression format: how to recognise and to decompress it."""

    name: str
    package: str
    """The package that decompresses it, for the message if it is missing."""
    magic: bytes
    suffixes: tuple[str, ...]
    """File name suffixes."""
    decompressor: Callable[[], Decompressor]
    """Creates a decompressor; raises ImportError if the library is missing."""


COMPRESSIONS = (
    Compression("gzip", "the module zlib", b"\x1f\x8b", (".gz", ".tgz", ".z"), _Gunzip),
    Compression("bzip2", "the module bz2", b"BZh", (".bz2", ".tbz2", ".tbz"), _bz2),
    Compression("xz", "the module lzma", b"\xfd7zXZ\x00", (".xz", ".txz"), _xz),
    Compression("zstd", "the package backports.zstd", b"\x28\xb5\x2f\xfd", (".zst", ".tzst"), _zstd),
)


def compression_of(head: bytes) -> Compression | None:
    """Return the compression of a file by its first bytes; None if it is not compressed."""
    return next((compression for compression in COMPRESSIONS if head.startswith(compression.magic)), None)


def name_within(name: str) -> str:
    """Return the name of the decompressed file: ss.txt for ss.txt.gz."""
    for compression in COMPRESSIONS:
        for suffix in compression.suffixes:
            if len(name) > len(suffix) and name.lower().endswith(suffix):
                return name[: -len(suffix)]
    return name


def compressing(stream: BinaryIO, suffix: str, moment: float) -> BinaryIO:
    """Return a stream that compresses into another, by a file suffix; `moment` (epoch) is stored in gzip's header.

    Closing it leaves the stream below open.
    """
    if suffix == ".gz":
        from gzip import GzipFile  # noqa: PLC0415  import late: few captures are written

        return cast("BinaryIO", GzipFile(filename="", mode="wb", compresslevel=6, fileobj=stream, mtime=moment))
    return cast("BinaryIO", _zstd_module().ZstdFile(stream, "w", level=9))


def can_compress(suffix: str) -> bool:
    """Return whether this Python has the library for the compression of a file suffix."""
    try:
        return suffix != ".zst" or bool(_zstd_module())
    except ImportError:
        return False


class Decompressed:
    """Decompresses a stream as it is read; damage ends the stream, and `trouble` describes it."""

    def __init__(self, stream: Readable, compression: Compression, budget: Budget) -> None:
        self._stream = stream
        self._compression = compression
        self._budget = budget
        self._decompressor: Decompressor | None = None
        self._pending = b""
        self._ended = False
        self._trouble = ""

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; empty at the end."""
        if self._ended:
            return b""
        if self._budget.left <= 0:
            return self._end(self._budget.exceeded)
        try:
            self._decompressor = self._decompressor or self._compression.decompressor()
        except ImportError:
            return self._end(
                f"is compressed with {self._compression.name}, and this Python lacks {self._compression.package}"
            )
        try:
            data = self._next(self._decompressor, min(size, self._budget.left))
        except Exception as error:  # noqa: BLE001  the libraries' exceptions have no common base class
            return self._end(f"is damaged ({type(error).__name__}: {error})")
        self._budget.left -= len(data)
        return data or self._end("")

    def close(self) -> None:
        """Close the stream below."""
        self._stream.close()

    def trouble(self) -> str:
        """Return why it ended early, as the end of a sentence ('is truncated'); empty if it did not."""
        return self._trouble

    def _end(self, trouble: str) -> bytes:
        self._ended = True
        self._trouble = self._trouble or trouble
        return b""

    def _next(self, decompressor: Decompressor, most: int) -> bytes:
        """Return up to `most` bytes; empty at the end."""
        while True:
            if decompressor.eof:
                following = self._next_file(decompressor)
                if following is None:
                    return b""
                self._decompressor = decompressor = following
            data = decompressor.decompress(self._pending, most)
            self._pending = b""
            if data:
                return data
            if decompressor.eof:
                continue
            self._pending = self._stream.read(CHUNK) or b""
            if not self._pending:
                self._trouble = "is truncated"
                return b""

    def _next_file(self, decompressor: Decompressor) -> Decompressor | None:
        """Start the next of several concatenated compressed files (log rotation, pigz); None if there is none."""
        rest = decompressor.unused_data
        rest += (self._stream.read(CHUNK) or b"") if len(rest) < len(self._compression.magic) else b""
        if not rest.startswith(self._compression.magic):
            return None  # padding of a tape
        self._pending = rest
        return self._compression.decompressor()
