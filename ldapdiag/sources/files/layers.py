"""Layers around the bytes of an input (gzip, UTF-16, a byte-order mark), and how to open it through them.

`access.20261120-090625.gz`, written by Windows, is `(decompressing(GZIP), in_utf8("utf-16"))` around a file.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from ldapdiag.sources.files.compressed import Decompressed

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.sources.budget import Budget
    from ldapdiag.sources.files.compressed import Compression, Readable

    Layer = Callable[[Readable, Budget], Readable]

READ = 1 << 20
"""Bytes asked for at once: a decompressor hands over what 64 KiB of its input make, which is seldom more."""


@runtime_checkable
class Breakable(Protocol):
    """A stream that may end before its time."""

    def trouble(self) -> str:
        """Return what ended it before its time, as the end of a sentence; nothing if it ended well."""


class Opened:
    """An input that is open: its own bytes, how many bytes of the file they took so far, and what went wrong."""

    def __init__(self, source: Readable, layers: tuple[Layer, ...], budget: Budget) -> None:
        self._counter = Counter(source)
        self._streams: list[Readable] = [source, self._counter]
        for layer in layers:
            self._streams.append(layer(self._streams[-1], budget))
        self._top = self._streams[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it."""
        self._top.close()

    def some(self, size: int = READ) -> bytes:
        """Return some of the next bytes, none at the end. OSError is the caller's."""
        return self._top.read(size) or b""

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes: as many as asked for unless it ends before, all without a size."""
        parts = []
        while size and (part := self.some(READ if size < 0 else min(READ, size))):
            parts.append(part)
            size -= len(part) if size > 0 else 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @property
    def cost(self) -> int:
        """The bytes of the file (compressed, where it is) that have been read."""
        return self._counter.taken

    def trouble(self) -> str:
        """Return what ended it before its time, as the end of a sentence ('is cut off'); nothing if it ended well."""
        for stream in self._streams:
            if isinstance(stream, Breakable) and (trouble := stream.trouble()):
                return trouble
        return ""


class Counter:
    """The file itself, below all layers: counts the bytes that are read of it."""

    def __init__(self, source: Readable) -> None:
        self._source = source
        self.taken = 0

    def read(self, size: int) -> bytes:
        """Return some of the next bytes, none at the end."""
        data = self._source.read(size) or b""
        self.taken += len(data)
        return data

    def close(self) -> None:
        """Close the file."""
        self._source.close()


class Lost:
    """A member of an archive that could not be reached: empty, with the reason."""

    def __init__(self, why: str) -> None:
        self._why = why

    def read(self, _size: int) -> bytes:
        """Return nothing."""
        return b""

    def close(self) -> None:
        """Do nothing."""

    def trouble(self) -> str:
        """Return the reason, as the end of a sentence."""
        return self._why


class Rejoined:
    """A stream whose first bytes were read before, whole again."""

    def __init__(self, head: bytes, rest: Readable) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int) -> bytes:
        """Return some of the next bytes, none at the end."""
        if not self._head:
            return self._rest.read(size) or b""
        data, self._head = self._head[:size], self._head[size:]
        return data

    def close(self) -> None:
        """Close the rest."""
        self._rest.close()

    def trouble(self) -> str:
        """Return what ended the rest before its time; nothing if it ended well."""
        return self._rest.trouble() if isinstance(self._rest, Breakable) else ""


class Buffered:
    """A stream that takes more at once than it is asked for: a tar is read in blocks of 512 bytes."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._waiting = b""
        self._at = 0

    def read(self, size: int) -> bytes:
        """Return some of the next bytes, none at the end."""
        if self._at >= len(self._waiting):
            self._waiting, self._at = self._stream.read(READ) or b"", 0
        data = self._waiting[self._at : self._at + size]
        self._at += len(data)
        return data

    def close(self) -> None:
        """Close the stream below."""
        self._stream.close()


class Transcoded:
    """A text in another encoding, as UTF-8."""

    def __init__(self, stream: Readable, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="backslashreplace")
        self._waiting = b""

    def read(self, size: int) -> bytes:
        """Return some of the next bytes, none at the end."""
        while not self._waiting:
            part = self._stream.read(READ) or b""
            self._waiting = self._decoder.decode(part, final=not part).encode()
            if not part:
                break
        data, self._waiting = self._waiting[:size], self._waiting[size:]
        return data

    def close(self) -> None:
        """Close the stream below."""
        self._stream.close()


def decompressing(compression: Compression) -> Layer:
    """Return the layer of a compression."""
    return lambda stream, budget: Decompressed(stream, compression, budget)


def in_utf8(encoding: str) -> Layer:
    """Return the layer of a text in another encoding."""
    return lambda stream, _: Transcoded(stream, encoding)


def without(size: int) -> Layer:
    """Return the layer of a beginning that is left out: a byte-order mark."""

    def layer(stream: Readable, _: Budget) -> Readable:
        left = size
        while left and (part := stream.read(min(left, READ))):
            left -= len(part)
        return stream

    return layer
