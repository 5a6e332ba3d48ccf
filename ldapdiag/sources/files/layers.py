"""Layers around the content of an input (gzip, UTF-16, a byte-order mark), and opening through them.

`access.20261120-090625.gz`, written by Windows, is `(decompressing(GZIP), in_utf8("utf-16"))` around a file.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Self

from ldapdiag.sources.files.compressed import Decompressed

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.sources.budget import Budget
    from ldapdiag.sources.files.compressed import Compression, Readable

    Layer = Callable[[Readable, Budget], Readable]

READ = 1 << 20
"""Bytes requested at once: a decompressor returns the output of 64 KiB of its input, which is rarely more."""


def trouble_of(stream: Readable) -> str:
    """Return why a stream ended early, as the end of a sentence; empty if it did not, or is none that may."""
    trouble: Callable[[], str] | None = getattr(stream, "trouble", None)
    return trouble() if trouble else ""


class Opened:
    """An open input: its content, the number of bytes read from the file, and any trouble."""

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
        """Close all streams."""
        self._top.close()

    def some(self, size: int = READ) -> bytes:
        """Return the next bytes, at most `size`; empty at the end. OSError propagates to the caller."""
        return self._top.read(size) or b""

    def read(self, size: int = -1) -> bytes:
        """Return exactly the next `size` bytes, fewer only at the end; all without a size."""
        chunks = []
        while size and (chunk := self.some(READ if size < 0 else min(READ, size))):
            chunks.append(chunk)
            size -= len(chunk) if size > 0 else 0
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    @property
    def cost(self) -> int:
        """Bytes read from the (compressed) file."""
        return self._counter.taken

    def trouble(self) -> str:
        """Return why it ended early, as the end of a sentence ('is truncated'); empty if it did not."""
        return next(filter(None, map(trouble_of, self._streams)), "")


class Counter:
    """Counts the bytes read from the file, below all layers."""

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
    """An empty stream in place of an unreachable member of an archive, with the reason."""

    def __init__(self, why: str) -> None:
        self._why = why

    def read(self, _size: int) -> bytes:
        """Return no bytes."""
        return b""

    def close(self) -> None:
        """Do nothing."""

    def trouble(self) -> str:
        """Return the reason, as the end of a sentence."""
        return self._why


class Rejoined:
    """A stream with the first bytes, which were read before, put in front again."""

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
        """Close the stream of the remaining bytes."""
        self._rest.close()

    def trouble(self) -> str:
        """Return why the remaining stream ended early; empty if it did not."""
        return trouble_of(self._rest)


class Buffered:
    """A buffer that reads ahead, because a tar is read in blocks of 512 bytes."""

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
    """Converts text in another encoding to UTF-8."""

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
    """Return the layer that decompresses."""
    return lambda stream, budget: Decompressed(stream, compression, budget)


def in_utf8(encoding: str) -> Layer:
    """Return the layer that converts text of an encoding to UTF-8."""
    return lambda stream, _: Transcoded(stream, encoding)


def without(size: int) -> Layer:
    """Return the layer that omits the first `size` bytes (a byte-order mark, zeros)."""

    def layer(stream: Readable, _: Budget) -> Readable:
        left = size
        while left and (part := stream.read(min(left, READ))):
            left -= len(part)
        return stream

    return layer
