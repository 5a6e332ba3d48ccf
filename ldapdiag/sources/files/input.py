"""Inputs: a file, a member of an archive, a stream, or the answer of a target; one thing to read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.sources.budget import Budget
from ldapdiag.sources.files.layers import Opened, Rejoined, without

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.evidence.origin import Fact, Span
    from ldapdiag.sources.files.compressed import Readable
    from ldapdiag.sources.files.layers import Layer
    from ldapdiag.sources.files.open_files import FileRange
    from ldapdiag.sources.files.spool import Spool

HEAD_BYTES = 1 << 16
"""Read first, and enough to recognise an input; a login banner before a collection fits into it."""

HELD_BYTES = 64 << 20
"""Inputs up to this size are kept in memory where they must be complete before they are read."""

MOST_BYTES = 1 << 40
"""Decompressed of an input that has no budget: a log is read as it comes, so this only ends what would never end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One thing to read, which can be opened again unless it is a stream that was read beyond what is kept of it."""

    path: str
    """Its name in the report: folder/file."""
    folder: str
    """Distinguishes folders of one name; the last part of it is the host's name."""
    label: str
    """Its name in messages, by which a person finds it."""
    source: Callable[[], Readable] = field(repr=False)
    """Opens the bytes below all layers."""
    layers: tuple[Layer, ...] = field(default=(), repr=False)
    """From the file to the input's own bytes."""
    file_range: FileRange | None = None
    """Where its own bytes are in a file of this host; None where they are decompressed, in memory or in a stream."""
    spool: Spool | None = field(default=None, repr=False)
    """Of standard input or a pipe."""
    head: bytes = field(default=b"", repr=False)
    """Its first bytes, as far as they have been read: HEAD_BYTES once it was looked at."""
    is_whole: bool = False
    """The head is all of it."""
    below: bytes = field(default=b"", repr=False)
    """All bytes below its layers, where these are in memory."""
    size_bytes: int | None = None
    """Of the file, or of the member of an archive: compressed, where it is; None for a stream."""
    compressed: bool = False
    identity: tuple[int, int] | None = None
    """(device, inode) of a regular file."""
    changed: datetime | None = None
    """When it was last written; of a stream: now."""
    named: bool = False
    """True when the operator named this very file."""
    taken: Span | None = None
    """When it was captured, by the clock of the collector; None where that is unknown."""
    asked: str = ""
    """What printed these bytes, for the manifest: `ss -tanoiep on app1`."""
    budget: Budget | None = field(default=None, compare=False, repr=False)
    """Of decompressed bytes, shared with the other inputs of one file."""
    facts: tuple[Fact, ...] = field(default=(), repr=False)
    """Read from it already."""

    @property
    def name(self) -> str:
        """Return the name of the file, without its folder."""
        return self.path.rpartition("/")[2]

    def open(self) -> Opened:
        """Open it from its first byte on. OSError is the caller's."""
        budget = self.budget or Budget(MOST_BYTES)
        if self.is_whole:
            return Opened(BytesIO(self.head), (), budget)
        if self.below:
            return Opened(BytesIO(self.below), self.layers, budget)
        if self.file_range is not None and self.head:
            return Opened(Rejoined(self.head, self.file_range.stream(len(self.head))), (), budget)
        return Opened(self.source(), self.layers, budget)

    def keep(self) -> None:
        """Keep what comes of a stream, because it will be read more than once."""
        if self.spool is not None:
            self.spool.keep()

    def with_head(self, size: int = HEAD_BYTES) -> Input:
        """Return it with its head read. OSError is the caller's."""
        if self.is_whole or len(self.head) >= size:
            return self
        with self.open() as opened:
            head = opened.read(size)
            return replace(self, head=head, is_whole=len(head) < size and not opened.trouble())

    def with_content(self, content: bytes) -> Input:
        """Return an input of these bytes, with nothing left of its own."""
        return replace(
            self,
            source=partial(BytesIO, content),
            layers=(),
            file_range=None,
            spool=None,
            head=b"",
            is_whole=False,
            below=b"",
            size_bytes=len(content),
            compressed=False,
            identity=None,
            facts=(),
        )

    def in_memory(self) -> Input:
        """Return it with all of it in memory, unless it is longer than HELD_BYTES. OSError is the caller's."""
        return self.with_head(HELD_BYTES)

    def without_head(self) -> Input:
        """Return it without what is in memory of it; it is read again."""
        return replace(self, head=b"", is_whole=False, below=b"")

    def within(self, layer: Layer) -> Input:
        """Return the content of a layer as an input, with its head. OSError is the caller's."""
        below = self.head if self.is_whole and not self.layers else self.below
        inner = replace(self, layers=(*self.layers, layer), below=below, file_range=None, head=b"", is_whole=False)
        with Opened(BytesIO(self.head), (layer,), self.budget or Budget(MOST_BYTES)) as opened:
            head, trouble = opened.read(HEAD_BYTES), opened.trouble()
        if self.is_whole or len(head) == HEAD_BYTES:
            return replace(inner, head=head, is_whole=len(head) < HEAD_BYTES and not trouble)
        return inner.with_head()  # a block of bzip2 is longer than a head, and UTF-16 becomes shorter

    def after(self, size: int) -> Input:
        """Return it without its first bytes. OSError is the caller's."""
        if self.file_range is None:
            return self.within(without(size))
        start, length = self.file_range.start + size, self.file_range.length
        rest = replace(self.file_range, start=start, length=None if length is None else length - size)
        return self.ranged(rest).with_head()

    def ranged(self, found: FileRange) -> Input:
        """Return it with another range of its file for its bytes."""
        left = self.size_bytes
        if left is not None and self.file_range is not None:
            left -= found.start - self.file_range.start
        return replace(self, source=found.stream, file_range=found, size_bytes=left, head=b"", is_whole=False)

    def with_status(self) -> Input:
        """Return it with the size, the time and the identity of its file. OSError is the caller's."""
        if self.file_range is None:
            return self
        status = self.file_range.file().status
        return replace(
            self,
            size_bytes=status.st_size,
            changed=moment_of(status.st_mtime),
            identity=(status.st_dev, status.st_ino),
        )

    def has_changed(self) -> bool:
        """Return whether its file is no longer the one whose head was read, but for what was added at its end.

        OSError is the caller's.
        """
        if self.is_whole or self.file_range is None or self.file_range.length is not None:
            return False
        if self.identity is None or not self.size_bytes:  # a file of /proc has no size, and other bytes each time
            return False
        file = self.file_range.file()
        status = file.status
        if (status.st_dev, status.st_ino) != self.identity or status.st_size < self.size_bytes:
            return True
        if moment_of(status.st_mtime) == self.changed:
            return False
        return file.read_at(self.file_range.start, len(self.head)) != self.head


def moment_of(seconds: float) -> datetime | None:
    """Return a time of a file system or an archive, in seconds since 1970; None where it is unset or absurd."""
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds > 0 else None
    except (OverflowError, OSError, ValueError):
        return None


def in_file(found: FileRange, *, path: str, folder: str, label: str) -> Input:
    """Return the input that a range of a file is."""
    return Input(path=path, folder=folder, label=label, source=found.stream, file_range=found)


Found = Input | Gap | PassedOver
"""What a walk yields: an input, or the reason why there is none."""
