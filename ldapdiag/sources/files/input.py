"""Inputs: files, members of archives, streams and answers of targets, with one interface to open them."""

from __future__ import annotations

from dataclasses import field, replace
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.budget import Budget
from ldapdiag.sources.files.layers import Opened, Rejoined, without

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.evidence.log.envelope import Envelope
    from ldapdiag.evidence.origin import Fact, Span
    from ldapdiag.sources.files.compressed import Readable
    from ldapdiag.sources.files.layers import Layer
    from ldapdiag.sources.files.open_files import FileRange
    from ldapdiag.sources.files.spool import Spool

HEAD_BYTES = 1 << 16
"""Size of a head: enough to recognise an input, even after a login banner."""

HELD_BYTES = 64 << 20
"""Inputs up to this size are kept in memory if they must be complete before they are read."""

MOST_BYTES = 1 << 40
"""Limit of decompressed bytes of an input without a budget: it only ends endless input, as logs are streamed."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """What contains the lines of an input, in envelopes."""

    file_range: FileRange | None
    """Where a local file has them, if whole lines of it are decoded without those before them; else None."""
    envelopes: tuple[Envelope, ...]
    """From the outermost."""
    head: bytes = field(default=b"", repr=False)
    """Its first bytes, if they are in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One thing to read; it can be reopened unless it is a stream that was read beyond the kept part."""

    path: str
    """Name in the report: folder/file."""
    folder: str
    """Distinguishes folders of the same name; its last component is the host's name."""
    label: str
    """Name in messages, by which the operator finds it."""
    source: Callable[[], Readable] = field(repr=False)
    """Opens the bytes below all layers."""
    layers: tuple[Layer, ...] = field(default=(), repr=False)
    """Applied in order, from the file to the content of the input."""
    file_range: FileRange | None = None
    """The location of its content in a local file; None if that is decompressed, in memory or in a stream."""
    carrier: Carrier | None = field(default=None, repr=False)
    """What contains its lines, if they are in envelopes."""
    spool: Spool | None = field(default=None, repr=False)
    """The spool of standard input or a pipe."""
    head: bytes = field(default=b"", repr=False)
    """Its first bytes, if they have been read; HEAD_BYTES after `with_head`."""
    is_whole: bool = False
    """True if the head is the whole content."""
    below: bytes = field(default=b"", repr=False)
    """All bytes below its layers, if they are in memory."""
    size_bytes: int | None = None
    """Size of the (compressed) file or member of an archive; None for a stream."""
    compressed: bool = False
    identity: tuple[int, int] | None = None
    """(device, inode) of a regular file."""
    changed: datetime | None = None
    """Time of the last change; for a stream the current time."""
    named: bool = False
    """True if the operator named this file itself."""
    taken: Span | None = None
    """When it was captured, by the clock of the collecting host; None if unknown."""
    asked: str = ""
    """The source of the content, for the manifest: `ss -tanoiep on app1`."""
    budget: Budget | None = field(default=None, compare=False, repr=False)
    """Budget of decompressed bytes, shared with the other inputs of one file."""
    facts: tuple[Fact, ...] = field(default=(), repr=False)
    """The facts, if they have been read."""

    @property
    def name(self) -> str:
        """Return the name of the file, without its folder."""
        return self.path.rpartition("/")[2]

    def open(self) -> Opened:
        """Open it from its first byte on. OSError propagates to the caller."""
        budget = self.budget or Budget(MOST_BYTES)
        if self.is_whole:
            return Opened(BytesIO(self.head), (), budget)
        if self.below:
            return Opened(BytesIO(self.below), self.layers, budget)
        if self.file_range is not None and self.head:
            return Opened(Rejoined(self.head, self.file_range.stream(len(self.head))), (), budget)
        return Opened(self.source(), self.layers, budget)

    def keep(self) -> None:
        """Keep all data of a stream, because it will be read more than once."""
        if self.spool is not None:
            self.spool.keep()

    def with_head(self, size: int = HEAD_BYTES) -> Input:
        """Return the input with its first `size` bytes as head. OSError propagates to the caller."""
        if self.is_whole or len(self.head) >= size:
            return self
        with self.open() as opened:
            head = opened.read(size)
            return replace(self, head=head, is_whole=len(head) < size and not opened.trouble())

    def with_content(self, content: bytes) -> Input:
        """Return the input with other content, without the layers and facts of the original content."""
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
        """Return the input with its content in memory, up to HELD_BYTES. OSError propagates to the caller."""
        return self.with_head(HELD_BYTES)

    def without_head(self) -> Input:
        """Return the input without the data in memory; they are read again."""
        carrier = replace(self.carrier, head=b"") if self.carrier else None
        return replace(self, head=b"", is_whole=False, below=b"", carrier=carrier)

    def within(self, layer: Layer) -> Input:
        """Return the content of a layer as an input, with its head. OSError propagates to the caller."""
        below = self.head if self.is_whole and not self.layers else self.below
        inner = replace(self, layers=(*self.layers, layer), below=below, file_range=None, head=b"", is_whole=False)
        with Opened(BytesIO(self.head), (layer,), self.budget or Budget(MOST_BYTES)) as opened:
            head, trouble = opened.read(HEAD_BYTES), opened.trouble()
        if self.is_whole or len(head) == HEAD_BYTES:
            return replace(inner, head=head, is_whole=len(head) < HEAD_BYTES and not trouble)
        return inner.with_head()  # a block of bzip2 is longer than a head, and UTF-16 becomes shorter

    def after(self, size: int) -> Input:
        """Return the input without its first `size` bytes. OSError propagates to the caller."""
        if self.file_range is None:
            return self.within(without(size))
        start, length = self.file_range.start + size, self.file_range.length
        rest = replace(self.file_range, start=start, length=None if length is None else length - size)
        return self.ranged(rest).with_head()

    def ranged(self, found: FileRange) -> Input:
        """Return the input with another range of its file as content."""
        left = self.size_bytes
        if left is not None and self.file_range is not None:
            left -= found.start - self.file_range.start
        return replace(self, source=found.stream, file_range=found, size_bytes=left, head=b"", is_whole=False)

    def with_status(self) -> Input:
        """Return the input with the size, time and identity of its file. OSError propagates to the caller."""
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
        """Return whether its file was replaced or rewritten since its head was read; additions at its end do not count.

        OSError propagates to the caller.
        """
        if self.is_whole or self.file_range is None or self.file_range.length is not None:
            return False
        if self.identity is None or not self.size_bytes:  # a file of /proc has no size, and its content changes
            return False
        file = self.file_range.file()
        status = file.status
        if (status.st_dev, status.st_ino) != self.identity or status.st_size < self.size_bytes:
            return True
        if moment_of(status.st_mtime) == self.changed:
            return False
        return file.read_at(self.file_range.start, len(self.head)) != self.head


def moment_of(seconds: float) -> datetime | None:
    """Return the time of a file or archive member (given in seconds since 1970); None if it is unset or invalid."""
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds > 0 else None
    except (OverflowError, OSError, ValueError):
        return None


def in_file(found: FileRange, *, path: str, folder: str, label: str) -> Input:
    """Return an input for a range of a file."""
    return Input(path=path, folder=folder, label=label, source=found.stream, file_range=found)


Found = Input | Gap | PassedOver
"""The result of a walk: an input, or the reason why it is not read."""
