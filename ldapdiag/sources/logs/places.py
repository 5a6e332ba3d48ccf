"""Where logs may lie: files, globs the shell did not expand, folders, archives, compressed files, standard input.

What a file is comes from its first bytes, never from its name; nothing is written, and nothing is held in memory.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from glob import glob, has_magic
from io import BytesIO, FileIO
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.evidence.document import encoding_of
from ldapdiag.sources.files.compressed import compression_of, name_within
from ldapdiag.sources.files.find import MOST_FILES, STANDARD_INPUT, files
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.files.tar import DamagedError, is_tar, members
from ldapdiag.sources.files.unreadable import legible, unreadable
from ldapdiag.sources.logs.layers import (
    READ,
    REMEMBERED,
    Opened,
    Packed,
    Remembered,
    Slice,
    buffered,
    decompressing,
    in_utf8,
    without,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from ldapdiag.sources.files.tar import Member
    from ldapdiag.sources.logs.layers import Layer


NotALog = Gap | PassedOver
"""Why a file is not read: could not be (Gap), or is no access log (PassedOver)."""

HEAD_BYTES = 1 << 16
"""By so many a log is told."""

ZEROS = bytes(16)
"""Fewer of them may belong to a text in UTF-16."""

MOST_ZEROS = 1 << 34
"""So many bytes are looked at for the end of the zeros that a log begins with."""

UTF8_MARK = "\ufeff".encode()


@dataclass(frozen=True, slots=True)
class Region:
    """The log's own bytes, in a file that anybody can open."""

    location: str
    start: int = 0
    length: int | None = None
    """None: to the file's end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one log lies."""

    path: str
    """What the report shows: folder/file."""
    folder: str
    told: str
    """Where it is, for a person who looks for it."""
    source: Callable[[], BinaryIO] = field(repr=False)
    layers: tuple[Layer, ...] = field(default=(), repr=False)
    region: Region | None = None
    """None where the bytes must be decompressed or come through a pipe."""
    size_bytes: int | None = None
    """Of the file, or of an archive's member: compressed, where it is; None for a pipe."""
    compressed: bool = False
    changed: datetime | None = None
    """No line of it is later; of a pipe: now."""
    again: bool = True
    """False for a pipe, which is read only once (its beginning can be looked at before)."""
    note: str = ""
    """What is passed over at its beginning, and why: a sentence."""
    head: bytes = field(default=b"", repr=False)
    """The first HEAD_BYTES: what is in an archive is not unpacked again to look at it."""

    def open(self) -> Opened:
        """Open the log. OSError is the caller's."""
        return Opened(self.source(), self.layers)

    def start(self) -> bytes:
        """Read the first bytes. OSError is the caller's."""
        with self.open() as opened:
            return opened.start(HEAD_BYTES)

    def within(self, layer: Layer) -> Place:
        """Return what lies inside a layer. OSError is the caller's."""
        inner = replace(self, layers=(*self.layers, layer), region=None)
        with Opened(BytesIO(self.head), (layer,)) as opened:
            head = opened.start(HEAD_BYTES)
        if len(head) < HEAD_BYTES <= len(self.head):
            head = inner.start()  # a block of bzip2 is longer than that, and UTF-16 becomes shorter
        return replace(inner, head=head)


def slice_of(region: Region, offset: int, size: int) -> bytes:
    """Return some bytes of a region, counted in its file."""
    with FileIO(region.location) as stream:
        end = region.start + region.length if region.length is not None else offset + size
        stream.seek(offset)
        return stream.read(max(0, min(size, end - offset))) or b""


def places(named: str) -> Iterator[Place | NotALog]:
    """Yield where logs may lie in what the operator named, and why the rest is not read."""
    names = [named]
    if named != STANDARD_INPUT and has_magic(named) and not Path(named).exists():
        names = sorted(glob(named)) or names  # noqa: PTH207  Path.glob takes no absolute pattern
    for name in names:
        for one in files(name):
            yield from _in_piece(one) if isinstance(one, Input) else (one,)


def _in_piece(piece: Input) -> Iterator[Place | NotALog]:
    place = Place(path=piece.path, folder=piece.folder, told=piece.label, source=piece.open)
    try:
        if piece.location is None:
            place = replace(place, source=Remembered(piece.open()), again=False, changed=datetime.now(UTC))
        else:
            status = Path(piece.location).stat()
            changed = datetime.fromtimestamp(status.st_mtime, UTC)
            region = Region(piece.location)
            place = replace(place, region=region, size_bytes=status.st_size, changed=changed)
        yield from _unwrapped(replace(place, head=place.start()))
    except OSError as error:
        yield unreadable(piece.label, error)


def _unwrapped(place: Place, *, archive: bool = True) -> Iterator[Place | NotALog]:
    """Yield the logs inside of what lies there; `archive` says that it may be one."""
    compression = compression_of(place.head)
    if compression:
        folder, _, name = place.path.rpartition("/")
        path = f"{folder}/{name_within(name)}" if folder else name_within(name)
        inner = replace(place.within(decompressing(compression)), path=path, compressed=True)
        yield from _archive(inner) if archive and is_tar(inner.head) else _text(inner)
    elif is_tar(place.head) and archive:
        yield from _archive(place)
    else:
        yield from _text(place)


def _text(place: Place) -> Iterator[Place | NotALog]:
    """Yield the place of a text in UTF-8, whatever it is written in."""
    if place.head.startswith(ZEROS):
        yield from _after_zeros(place)
        return
    encoding = encoding_of(place.head)
    if compression_of(place.head):
        yield PassedOver(target=place.told, reason="is compressed twice; decompress it to have it read")
    elif is_tar(place.head):
        yield PassedOver(target=place.told, reason="is an archive within an archive; unpack it to have it read")
    elif encoding != "utf-8":
        yield place.within(in_utf8(encoding))
    elif place.head.startswith(UTF8_MARK):
        yield _without(place, len(UTF8_MARK))
    else:
        yield place


def _after_zeros(place: Place) -> Iterator[Place | NotALog]:
    """Yield a log that begins with zeros: copytruncate cut it off, and its server went on writing where it was."""
    size = _zeros(place)
    if size is None:
        yield PassedOver(target=place.told, reason="is nothing but zeros, as far as it is looked into")
        return
    note = f"{place.told} begins with {size} zero bytes (cut off while a server wrote to it); what follows is read"
    yield from _text(replace(_without(place, size), note=note))


def _zeros(place: Place) -> int | None:
    """Return how many zeros a log begins with; None if nothing else comes. OSError is the caller's."""
    size = _hole(place.region) if place.region else 0
    most = size + (MOST_ZEROS if place.again else REMEMBERED // 2)
    with place.open() as opened:
        while size < most:
            region = place.region
            data = slice_of(region, region.start + size, READ) if region else opened.read()
            if text := data.lstrip(b"\0"):
                return size + len(data) - len(text)
            if not data:
                return None
            size += len(data)
    return None


def _hole(region: Region) -> int:
    """Return how many bytes at the beginning of a file were never written: they need not be read to be zeros."""
    if region.length is None and hasattr(os, "SEEK_DATA"):
        with FileIO(region.location) as stream, suppress(OSError):  # it has nothing else, or cannot tell
            return max(0, os.lseek(stream.fileno(), region.start, os.SEEK_DATA) - region.start)
    return 0


def _without(place: Place, size: int) -> Place:
    """Return a log without its first bytes. OSError is the caller's."""
    region = place.region and replace(place.region, start=place.region.start + size)
    if region and region.length is not None:
        region = replace(region, length=region.length - size)
    if region is None:
        return place.within(without(size))
    head = slice_of(region, region.start, HEAD_BYTES)
    left = None if place.size_bytes is None else place.size_bytes - size
    return replace(place, layers=(*place.layers, without(size)), region=region, size_bytes=left, head=head)


def _archive(place: Place) -> Iterator[Place | NotALog]:
    """Yield what the members of a tar are; each can be opened by itself, for their true order is not the tar's."""
    if not place.again:
        how = "save it to a file and name that: its logs are not read in the order in which they were packed"
        yield Gap(target=place.told, reason="is an archive that comes through a pipe", how=how)
        return
    packed = Packed(place.open)
    with place.open() as opened:
        # A plain tar is read without a buffer, so that what has been taken of the file is where the member begins.
        stream = opened.top if place.region else buffered(opened.top)
        try:
            for number, found in enumerate(members(stream)):
                if number >= MOST_FILES:
                    yield Gap(target=place.told, reason=f"holds more than {MOST_FILES} files; only those are read")
                    return
                if place.region:
                    region = Region(place.region.location, opened.cost, found.size_bytes)
                    inner = replace(place, source=partial(_slice, region), region=region)
                else:
                    inner = replace(place, source=partial(packed.member, number), layers=())
                yield from _member(inner, found)
        except DamagedError as error:
            how = "ask for another copy; what came before is read"
            yield Gap(target=place.told, reason=opened.trouble() or str(error), how=how)


def _member(place: Place, found: Member) -> Iterator[Place | NotALog]:
    told = f"{place.told}/{legible(found.name)}"
    if found.content is None:
        yield PassedOver(target=told, reason=found.other)
        return
    archive = place.path.rpartition("/")[2]
    folders = [part for part in legible(found.name).split("/") if part not in {"", "."}]
    name = folders.pop() if folders else archive
    inner = replace(
        place,
        head=Opened(cast("BinaryIO", found.content), ()).start(HEAD_BYTES),
        path=f"{folders[-1] if folders else name_within(archive).removesuffix('.tar')}/{name}",
        folder="/".join((place.folder, archive, *folders)),
        told=told,
        size_bytes=found.size_bytes,
        changed=_moment(found.changed),
    )
    try:
        yield from _unwrapped(inner, archive=False)
    except OSError as error:
        yield unreadable(told, error)


def _slice(region: Region) -> BinaryIO:
    return cast("BinaryIO", Slice(region.location, region.start, region.length or 0))


def _moment(seconds: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds > 0 else None
    except (OverflowError, OSError, ValueError):
        return None
