"""Objects as files: any range, and a stream with requests under way, have the bytes of the object."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.sources.objects import object_file
from ldapdiag.sources.objects.object_file import ObjectFile, ObjectReader
from ldapdiag.sources.objects.store import Listed, ObjectError

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTENT = bytes(range(256)) * 5


@dataclass
class MemoryStore:
    """A store of one object, which counts the requests under way; `breaks_at`: from this byte on it answers no more."""

    content: bytes
    breaks_at: int | None = None
    under_way: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def list(self, _: str) -> Iterator[Listed]:
        yield self.listed

    def look_up(self, _: str) -> Listed:
        return self.listed

    @property
    def listed(self) -> Listed:
        return Listed(key="access", bytes=len(self.content), etag="1")

    def read(self, _: Listed, start: int, end: int) -> memoryview:
        with self.lock:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        try:
            if self.breaks_at is not None and end > self.breaks_at:
                raise ObjectError("the store answered 503, also after retries", "later")
            return memoryview(self.content)[start:end]
        finally:
            with self.lock:
                self.under_way -= 1

    @property
    def file(self) -> ObjectFile:
        return ObjectFile("s3://bucket/access", self, self.listed)


@pytest.fixture(autouse=True)
def small_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_file, "FIRST_BYTES", 7)
    monkeypatch.setattr(object_file, "REQUEST_BYTES", 64)


def stream(file: ObjectFile, start: int, length: int | None, sizes: list[int]) -> bytes:
    reader, parts, turn = file.stream(start, length), [], 0
    while part := reader.read(sizes[turn % len(sizes)]):
        parts.append(part)
        turn += 1
    reader.close()
    return b"".join(parts)


@given(
    st.integers(0, len(CONTENT)),
    st.none() | st.integers(0, 2 * len(CONTENT)),
    st.lists(st.integers(1, 200), min_size=1, max_size=4),
)
def test_a_stream_has_the_bytes_of_the_range(start: int, length: int | None, sizes: list[int]) -> None:
    end = None if length is None else start + length
    assert stream(MemoryStore(CONTENT).file, start, length, sizes) == CONTENT[start:end]


@given(st.integers(0, 2 * len(CONTENT)), st.integers(0, 2 * len(CONTENT)))
def test_a_range_has_the_bytes_of_the_object(start: int, length: int) -> None:
    assert MemoryStore(CONTENT).file.read_at(start, length) == CONTENT[start : start + length]


def test_a_head_alone_is_one_small_request() -> None:
    store = MemoryStore(CONTENT)
    reader = store.file.stream(0, None)
    assert reader.read(5) == CONTENT[:5]
    reader.close()
    assert store.most == 1


def until_error(reader: ObjectReader) -> Iterator[bytes]:
    with pytest.raises(ObjectError, match="503"):
        yield from iter(lambda: reader.read(1000), b"")


def test_an_error_is_raised_after_the_bytes_before_it() -> None:
    reader = MemoryStore(CONTENT, breaks_at=300).file.stream(0, None)
    read = b"".join(until_error(reader))
    reader.close()
    assert read
    assert CONTENT.startswith(read)
    assert len(read) <= 300


def test_another_version_is_another_file() -> None:
    first, second = (ObjectFile("s3://b/a", MemoryStore(CONTENT), Listed(key="a", bytes=1, etag=tag)) for tag in "12")
    assert first.status != second.status
    assert first.status == ObjectFile("s3://b/a", MemoryStore(b""), Listed(key="a", bytes=1, etag="1")).status
