"""Open files: regular files of this host, opened once and read at positions by every reader that needs them."""

from __future__ import annotations

import os
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

MOST_OPEN = 64
"""Files that a walk keeps open between looking at their first bytes and reading them; systems allow 256 at least."""

READ = 1 << 20


class OpenFile:
    """One open file; it is closed when its last reader is gone."""

    def __init__(self, location: str) -> None:
        """Open it. OSError is the caller's."""
        self.descriptor = os.open(location, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
        self._lock = Lock()

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)

    @property
    def status(self) -> os.stat_result:
        """Return its size, times and identity, as they are now."""
        return os.fstat(self.descriptor)

    def read_at(self, start: int, length: int) -> bytes:
        """Return bytes of the file; fewer only where it ends. OSError is the caller's."""
        parts = []
        while length > 0 and (part := self._some_at(start, length)):
            parts.append(part)
            start += len(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _some_at(self, start: int, length: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self.descriptor, length, start)
        with self._lock:
            os.lseek(self.descriptor, start, os.SEEK_SET)
            return os.read(self.descriptor, length)


class OpenFiles:
    """The files opened last; beyond MOST_OPEN the one that was used longest ago is closed."""

    def __init__(self, most: int = MOST_OPEN) -> None:
        self._most = most
        self._files: OrderedDict[str, OpenFile] = OrderedDict()
        self._lock = Lock()

    def clear(self) -> None:
        """Close all of them: a removed file uses disk space as long as it is open."""
        with self._lock:
            self._files.clear()

    def get(self, location: str) -> OpenFile:
        """Return a file, opened now unless it is open. OSError is the caller's."""
        with self._lock:
            file = self._files.pop(location, None) or OpenFile(location)
            self._files[location] = file
            if len(self._files) > self._most:
                self._files.popitem(last=False)
            return file


@dataclass(frozen=True, slots=True)
class FileRange:
    """A range of the bytes of a file of this host, which any thread or process can read."""

    location: str
    start: int = 0
    length: int | None = None
    """None: to the file's end, wherever that is when it is read."""
    files: OpenFiles = field(default_factory=OpenFiles, compare=False, repr=False)

    def file(self) -> OpenFile:
        """Return the open file. OSError is the caller's."""
        return self.files.get(self.location)

    def bounds(self) -> tuple[int, int]:
        """Return where it begins and ends in its file, as that is now. OSError is the caller's."""
        size = self.file().status.st_size
        return self.start, size if self.length is None else min(size, self.start + self.length)

    def read_at(self, offset: int, size: int) -> bytes:
        """Return some of its bytes; `offset` counts from the beginning of the file. OSError is the caller's."""
        if self.length is not None:
            size = min(size, self.start + self.length - offset)
        return self.file().read_at(offset, size)

    def stream(self, skipped: int = 0) -> RangeReader:
        """Return a stream of its bytes, without the first ones. OSError is the caller's."""
        return RangeReader(self.file(), self.start + skipped, None if self.length is None else self.length - skipped)


class RangeReader:
    """A stream of a range of a file; as many as are wanted read one open file."""

    def __init__(self, file: OpenFile, start: int, length: int | None) -> None:
        self._file: OpenFile | None = file
        self._at = start
        self.left = length
        """Bytes of the range that were not read; None where it reaches to the end of the file."""

    def read(self, size: int) -> bytes:
        """Return some of the next bytes, none at the end. OSError is the caller's."""
        size = size if self.left is None else min(size, self.left)
        data = self._file.read_at(self._at, size) if self._file and size else b""
        self._at += len(data)
        self.left = None if self.left is None else self.left - len(data)
        return data

    def close(self) -> None:
        """Let go of the file."""
        self._file = None

    def trouble(self) -> str:
        """Return 'is cut off' where the file ended before the range did."""
        return "is truncated" if self.left else ""
