"""Store: what is asked of an object store, whichever library reads it, and what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ldapdiag.lazy_dataclass import NamedTuple, dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime


class ObjectError(OSError):
    """An object or a bucket cannot be read; `strerror` states why."""

    def __init__(self, reason: str, how: str) -> None:
        """Keep what to do next, for the gap."""
        super().__init__(None, reason)
        self.strerror = reason
        self.how = how


class Status(NamedTuple):
    """Size, time and identity of an object, by the names of os.stat_result."""

    st_size: int
    st_mtime: float
    """Seconds since 1970; 0: the store does not state it."""
    st_dev: int
    st_ino: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One object as its store lists it."""

    key: str
    bytes: int
    changed: datetime | None = None
    """When it was uploaded."""
    etag: str = ""
    """Its version; empty: the store has none."""

    def status(self, url: str) -> Status:
        """Return the status of the object at a URL; its identity changes with its version."""
        from hashlib import sha256  # noqa: PLC0415  import late: with OpenSSL

        changed = self.changed.timestamp() if self.changed else 0.0
        identity = sha256(f"{url}\0{self.etag}\0{self.bytes}\0{changed}".encode(errors="surrogateescape")).digest()
        return Status(self.bytes, changed, -1, int.from_bytes(identity[:7]))


class Store(Protocol):
    """One bucket. ObjectError propagates to the caller of all methods."""

    def list(self, prefix: str) -> Iterator[Listed]:
        """Yield the objects whose keys begin with a prefix, in any order."""

    def look_up(self, key: str) -> Listed | None:
        """Return one object; None if there is none."""

    def read(self, listed: Listed, start: int, end: int) -> memoryview:
        """Return a range of bytes of the object in the version that was listed."""


REPLACED = "was replaced while it was read"


def replaced() -> ObjectError:
    """Return the error of an object that is not the one that was listed."""
    return ObjectError(REPLACED, "run it again when nothing writes to the object")


def cut(start: int, received: int, asked: int) -> ObjectError:
    """Return the error of an answer that is shorter than the object was when it was listed."""
    reason = f"the answer ended after {received:,} of {asked:,} bytes at byte {start:,}"
    return ObjectError(reason, "run it again; if it repeats, ask those who run the store")
