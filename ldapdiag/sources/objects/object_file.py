"""ObjectFile: one object, read at any offset; a stream of it keeps several requests under way."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.allocation import keep_freed_memory

if TYPE_CHECKING:
    from ldapdiag.sources.objects.store import Listed, Status, Store

FIRST_BYTES = 1 << 16
"""Size of the first request of a stream: often only the head is read."""
REQUEST_BYTES = 8 << 20
"""Size of the others. Smaller ones cost more processor time, larger ones more memory."""
AHEAD = 3
"""Requests under way for one stream: at 30 ms each, these are 800 MB/s."""


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """One object in the version that was listed. ObjectError propagates to the caller of all methods."""

    url: str
    store: Store = field(repr=False)
    listed: Listed

    @property
    def status(self) -> Status:
        """Return its size, time and identity when it was listed."""
        return self.listed.status(self.url)

    def read_at(self, start: int, length: int) -> bytes:
        """Return `length` bytes from an offset, fewer only at the end of the object."""
        end = min(start + length, self.listed.bytes)
        steps = range(start, end, REQUEST_BYTES)
        return b"".join(self.store.read(self.listed, step, min(step + REQUEST_BYTES, end)) for step in steps)

    def stream(self, start: int, length: int | None) -> ObjectReader:
        """Return a stream of a range of it; None: to its end."""
        end = self.listed.bytes if length is None else min(start + length, self.listed.bytes)
        return ObjectReader(self, start, end)


class ObjectReader:
    """A stream of a range of an object, in constant memory."""

    def __init__(self, file: ObjectFile, start: int, end: int) -> None:
        self._file = file
        self._asked = start
        """The offset up to which it was requested."""
        self._end = end
        self._waiting: deque[Future[memoryview]] = deque()
        self._threads: ThreadPoolExecutor | None = None
        self._left = memoryview(b"")
        """The rest of an answer, from `_at` on."""
        self._at = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; empty at the end."""
        if self._at == len(self._left) and size:
            self._left, self._at = self._next(), 0
        begin, self._at = self._at, min(self._at + size, len(self._left))
        return bytes(self._left[begin : self._at])

    def _next(self) -> memoryview:
        """Return the answer to the next request; from the second on, others follow ahead of their use."""
        if self._threads is None and not self._waiting:
            first, self._asked = self._asked, min(self._asked + FIRST_BYTES, self._end)
            keep_freed_memory()
            self._threads = ThreadPoolExecutor(AHEAD, thread_name_prefix="object")
            return self._request(first, self._asked)
        while self._threads and len(self._waiting) < AHEAD and self._asked < self._end:
            begin, self._asked = self._asked, min(self._asked + REQUEST_BYTES, self._end)
            self._waiting.append(self._threads.submit(self._request, begin, self._asked))
        return self._waiting.popleft().result() if self._waiting else memoryview(b"")

    def _request(self, begin: int, end: int) -> memoryview:
        return self._file.store.read(self._file.listed, begin, end) if begin < end else memoryview(b"")

    def close(self) -> None:
        """Ask for no more."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        self._waiting.clear()
        self._asked = self._end

    @staticmethod
    def trouble() -> str:
        """Return nothing: an object that ends early is an error."""
        return ""
