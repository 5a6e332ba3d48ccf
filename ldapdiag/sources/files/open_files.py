"""Open files: local regular files, opened once and read by all readers at their own offsets; and objects, alike."""

from __future__ import annotations

import os
from collections import OrderedDict
from dataclasses import field
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ldapdiag.sources.objects.object_file import ObjectFile, ObjectReader

MOST_OPEN = 64
"""Files that a walk keeps open between reading their heads and the remainder; systems allow at least 256."""

READ = 1 << 20


class OpenFile:
    """One open file; it is closed when no reader refers to it."""

    def __init__(self, location: str) -> None:
        """Open the file. OSError propagates to the caller."""
        self.descriptor = os.open(location, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
        self._lock = Lock()

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)

    @property
    def status(self) -> os.stat_result:
        """Return the current size, times and identity."""
        return os.fstat(self.descriptor)

    def stream(self, start: int, length: int | None) -> RangeReader:
        """Return a stream of a range; None: to the end of the file."""
        return RangeReader(self, start, length)

    def read_at(self, start: int, length: int) -> bytes:
        """Return `length` bytes from an offset, fewer only at the end of the file. OSError propagates to the caller."""
        chunks = []
        while length > 0 and (chunk := self._some_at(start, length)):
            chunks.append(chunk)
            start += len(chunk)
            length -= len(chunk)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _some_at(self, start: int, length: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self.descriptor, length, start)
        with self._lock:
            os.lseek(self.descriptor, start, os.SEEK_SET)
            return os.read(self.descriptor, length)


class Files(Protocol):
    """Where files are opened."""

    def clear(self) -> None:
        """Close all."""

    def get(self, location: str, /) -> OpenFile | ObjectFile:
        """Return an open file. OSError propagates to the caller."""


@dataclass(frozen=True, slots=True)
class OneObject:
    """One object, in the version that was listed."""

    object_file: ObjectFile

    def clear(self) -> None:
        """Do nothing: an object is not kept open."""

    def get(self, _: str, /) -> ObjectFile:
        """Return the object."""
        return self.object_file


class OpenFiles:
    """The most recently used open files; beyond the limit the least recently used one is closed."""

    def __init__(self, most: int = MOST_OPEN) -> None:
        self._most = most
        self._files: OrderedDict[str, OpenFile] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[OpenFiles], tuple[int]]:
        """Pickle it without the files: another process opens its own."""
        return OpenFiles, (self._most,)

    def clear(self) -> None:
        """Close all of them: a removed file uses disk space as long as it is open."""
        with self._lock:
            self._files.clear()

    def get(self, location: str) -> OpenFile:
        """Return an open file; open it if necessary. OSError propagates to the caller."""
        with self._lock:
            file = self._files.pop(location, None) or OpenFile(location)
            self._files[location] = file
            if len(self._files) > self._most:
                self._files.popitem(last=False)
            return file


@dataclass(frozen=True, slots=True)
class FileRange:
    """A range of bytes of a local file, which any thread or process can read, or of an object."""

    location: str
    start: int = 0
    length: int | None = None
    """None: to the end of the file at the time of reading."""
    files: Files = field(default_factory=OpenFiles, compare=False, repr=False)

    @property
    def is_local(self) -> bool:
        """Return whether it is a range of a local file; else of an object."""
        return not isinstance(self.files, OneObject)

    def local_file(self) -> OpenFile | None:
        """Return the open file, which others can open by its location; None: it is an object. OSError propagates."""
        file = self.file()
        return file if isinstance(file, OpenFile) else None

    def file(self) -> OpenFile | ObjectFile:
        """Return the open file. OSError propagates to the caller."""
        return self.files.get(self.location)

    def bounds(self) -> tuple[int, int]:
        """Return the offsets of its start and its current end. OSError propagates to the caller."""
        size = self.file().status.st_size
        return self.start, size if self.length is None else min(size, self.start + self.length)

    def read_at(self, offset: int, size: int) -> bytes:
        """Return its bytes from an offset in the file, at most `size`. OSError propagates to the caller."""
        if self.length is not None:
            size = min(size, self.start + self.length - offset)
        return self.file().read_at(offset, size)

    def stream(self, skipped: int = 0) -> RangeReader | ObjectReader:
        """Return a stream of its bytes without the first `skipped`. OSError propagates to the caller."""
        return self.file().stream(self.start + skipped, None if self.length is None else self.length - skipped)


class RangeReader:
    """A stream of a range of a file; several streams can share one open file."""

    def __init__(self, file: OpenFile, start: int, length: int | None) -> None:
        self._file: OpenFile | None = file
        self._at = start
        self.left = length
        """Unread bytes of the range; None if it extends to the end of the file."""

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; empty at the end. OSError propagates to the caller."""
        size = size if self.left is None else min(size, self.left)
        data = self._file.read_at(self._at, size) if self._file and size else b""
        self._at += len(data)
        self.left = None if self.left is None else self.left - len(data)
        return data

    def close(self) -> None:
        """Release the file."""
        self._file = None

    def trouble(self) -> str:
        """Return 'is truncated' if the file ended before the range; else empty."""
        return "is truncated" if self.left else ""
