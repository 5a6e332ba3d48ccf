"""The layers around a log's bytes (gzip, a tar, UTF-16), and how to open through them, again and again.

`access.20261120-090625.gz`, written by Windows, is `(decompressing(GZIP), in_utf8("utf-16"))` around a file.
"""

from __future__ import annotations

import codecs
from io import BufferedReader, BytesIO, FileIO, RawIOBase
from typing import TYPE_CHECKING, Any, Self, cast

from ldapdiag.sources.budget import Budget
from ldapdiag.sources.files.compressed import Decompressed
from ldapdiag.sources.files.tar import Content, DamagedError, members

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from ldapdiag.sources.files.compressed import Compression
    from ldapdiag.sources.files.tar import Member

    Layer = Callable[[BinaryIO], BinaryIO]

MOST_BYTES = 1 << 40
"""Decompressed, of one file: a log is read as it comes and fills no memory, so this only ends what would never end."""

READ = 1 << 20
"""Bytes asked for at once: a decompressor hands over what 64 KiB of its input make, which is seldom more."""

REMEMBERED = 8 << 20
"""Bytes of a pipe kept so that its beginning can be looked at before it is read."""


class Opened:
    """A log that is open: its own bytes, how many of the file they have cost so far, and what went wrong."""

    def __init__(self, source: BinaryIO, layers: tuple[Layer, ...]) -> None:
        self._tap = Tap(source)
        self._streams: list[BinaryIO] = [source]
        self.top = cast("BinaryIO", self._tap)
        """The log's own bytes."""
        for layer in layers:
            self.top = layer(self.top)
            self._streams.append(self.top)
        self._some: Callable[[int], bytes | None] = getattr(self.top, "some", self.top.read)
        """What has been decompressed need not be copied twice more."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._tap.close()

    def read(self, size: int = READ) -> bytes:
        """Return some of the next bytes, none at the end. OSError is the caller's."""
        return self._some(size) or b""

    def start(self, size: int) -> bytes:
        """Return the next bytes, as many as asked for unless it ends before."""
        parts = []
        while size > 0 and (part := self.read(min(READ, size))):
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @property
    def cost(self) -> int:
        """The bytes of the file (compressed, where it is) that have been read."""
        return self._tap.taken

    def trouble(self) -> str:
        """Return what ended it before its time, as the end of a sentence ('is cut off'); nothing if it ended well."""
        for stream in self._streams:
            if isinstance(stream, Decompressed | _Lost) and stream.trouble():
                return stream.trouble()
            if isinstance(stream, Content) and stream.left:
                return "is cut off"
        return ""


class Slice(Content):
    """A part of a file: a member of a tar that is not compressed."""

    def __init__(self, location: str, start: int, length: int) -> None:
        self._file = FileIO(location)
        self._file.seek(start)
        super().__init__(cast("BinaryIO", self._file), length)

    def close(self) -> None:
        """Close the file, too."""
        super().close()
        self._file.close()


class Packed:
    """A compressed tar: unpacked from one member to the next as they are asked for, from its beginning to go back.

    One member is read at a time.
    """

    def __init__(self, open_it: Callable[[], Opened]) -> None:
        self._open = open_it
        self._opened: Opened | None = None
        self._members: Iterator[tuple[int, Member]] = iter(())
        self._passed = -1

    def __del__(self) -> None:
        self._close()

    def member(self, number: int) -> BinaryIO:
        """Return the content of a member, counted from 0. OSError is the caller's."""
        if self._opened is None or number <= self._passed:
            self._close()
            self._opened = self._open()
            self._members = enumerate(members(buffered(self._opened.top)))
        try:
            for passed, found in self._members:
                self._passed = passed
                if passed == number and found.content:
                    return cast("BinaryIO", found.content)
        except DamagedError as error:
            return cast("BinaryIO", _Lost(str(error)))
        return cast("BinaryIO", _Lost("has changed since it was found"))

    def _close(self) -> None:
        if self._opened is not None:
            self._opened.close()


class Tap(RawIOBase):
    """The file itself, below all layers: counts what is taken."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self.taken = 0

    def readable(self) -> bool:
        """Say yes, as a stream must that is to be buffered."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  any writable buffer, as RawIOBase has it
        """Fill the buffer with what comes next, or with nothing at the end."""
        data = self._source.read(len(buffer)) or b""
        self.taken += len(data)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file, too."""
        super().close()
        self._source.close()


class Remembered:
    """A pipe, which can be read only once: its beginning is kept, so that it can be opened again until it is read."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.beginning = bytearray()

    def more(self, size: int) -> bytes:
        """Return the next bytes of the pipe, which is closed where it ends."""
        if self.stream.closed:
            return b""
        data = self.stream.read(size) or b""
        if not data:
            self.stream.close()
        elif len(self.beginning) < REMEMBERED:
            self.beginning += data
        return data

    def __call__(self) -> BinaryIO:
        """Return the pipe from its beginning, as far as that is kept."""
        return cast("BinaryIO", _FromTheBeginning(self))


class _FromTheBeginning(RawIOBase):
    def __init__(self, remembered: Remembered) -> None:
        self._remembered = remembered
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  any writable buffer, as RawIOBase has it
        kept = self._remembered.beginning
        data = bytes(kept[self._at : self._at + len(buffer)]) or self._remembered.more(len(buffer))
        self._at += len(data)
        buffer[: len(data)] = data
        return len(data)


def decompressing(compression: Compression) -> Layer:
    """Return the layer of a compression."""

    def layer(stream: BinaryIO) -> BinaryIO:
        return cast("BinaryIO", Decompressed(stream, compression, Budget(MOST_BYTES), MOST_BYTES))

    return layer


def buffered(stream: BinaryIO) -> BinaryIO:
    """Return a stream that takes more at once than it is asked for: a tar is read in blocks of 512 bytes."""
    return cast("BinaryIO", BufferedReader(cast("Any", stream), READ))


def in_utf8(encoding: str) -> Layer:
    """Return the layer of a text in another encoding."""

    def layer(stream: BinaryIO) -> BinaryIO:
        return cast("BinaryIO", _Transcoded(stream, encoding))

    return layer


def without(size: int) -> Layer:
    """Return the layer of a beginning that is passed over: a byte-order mark."""

    def layer(stream: BinaryIO) -> BinaryIO:
        left = size
        while left and (part := stream.read(min(left, READ))):
            left -= len(part)
        return stream

    return layer


class _Transcoded(RawIOBase):
    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="backslashreplace")
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  any writable buffer, as RawIOBase has it
        while not self._rest:
            part = self._stream.read(READ) or b""
            self._rest = self._decoder.decode(part, final=not part).encode()
            if not part:
                break
        data = self._rest[: len(buffer)]
        self._rest = self._rest[len(data) :]
        buffer[: len(data)] = data
        return len(data)


class _Lost(BytesIO):
    """A member that could not be reached: empty, and it says why."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self._why = why

    def trouble(self) -> str:
        return self._why
