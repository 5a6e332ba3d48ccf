"""Extents of database files on this host, from the file system's own map (FIEMAP): nothing of their content is read.

    /var/lib/ldap/data.mdb 10485760 4214784 3
    /run/db/id2entry.db 16384 16384 - the file system does not report extents

A line of the text, with tabs: path, bytes, allocated bytes, number of extents, remark. Extents that follow each other
on the disk are one, as filefrag counts them: ext4 describes one run of 1 GiB by eight. FIEMAP_FLAG_SYNC is not set, so
that no data is written to the disk because of the question. Source: Documentation/filesystems/fiemap.rst of Linux.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from time import monotonic
from typing import TYPE_CHECKING

from ldapdiag.evidence.origin import Span
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

with suppress(ImportError):  # on Windows, where nothing here is called
    from fcntl import ioctl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.sources.files.input import Input

LISTED = "database-files"
"""Name of the list that the collection script prints: size and path of each file, the largest first."""
LINE = pattern(r"\d{1,20} (/[A-Za-z0-9._/-]{1,4095})")
PROCESS = pattern(r"process (\d{1,9})\b")
MOST_FILES = 200
MOST_SECONDS = 2.0
"""For the files of one server, within the time limit of the target."""

FS_IOC_FIEMAP = 0xC020660B
REQUEST = struct.Struct("=QQIIII")
"""struct fiemap: start, length, flags, mapped extents, room for extents, reserved."""
EXTENT = struct.Struct("=QQQ16xI12x")
"""struct fiemap_extent: logical, physical, length in bytes, flags."""
WHOLE = (1 << 64) - 1
ROOM = 512
"""Extents of one answer: the kernel is asked for no more than a millisecond's work at a time."""
LAST, UNKNOWN, ENCODED = 0x1, 0x2, 0x8
"""Flags of an extent: the last of the file; its place is not decided yet; its data is compressed or encrypted."""

MOST_EXTENTS = 200_000
"""Of one file: then their number is a lower bound."""

NOT_REPORTED = "the file system does not report extents"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMap:
    """One file as the file system maps it."""

    size_bytes: int | None
    """None: it could not be opened."""
    allocated_bytes: int | None
    extents: int | None
    """None: `remark` gives the reason."""
    remark: str = ""


def with_extents(piece: Input, deadline: float) -> Input:
    """Return the extents of the files that a piece lists, counted until the deadline; any other piece as it is."""
    folder, _, name = piece.path.rpartition("/")
    if not name.startswith(LISTED):
        return piece
    with piece.open() as stream:
        lines = stream.read().decode("ascii", "replace").splitlines()
    paths = [found[1] for line in lines if (found := LINE.fullmatch(line))]
    process = PROCESS.search(piece.asked)
    root = f"/proc/{process[1]}/root" if process else ""
    started = datetime.now(UTC)
    shown = ((path, path.removeprefix(root)) for path in paths[:MOST_FILES])
    text = "".join(extents_text(shown, min(deadline, monotonic() + MOST_SECONDS)))
    if len(paths) > MOST_FILES:
        text += f"# only the largest {MOST_FILES} files\n"
    name = name.replace(LISTED, "file-extents")
    return replace(
        piece,
        path=f"{folder}/{name}",
        label=piece.label.replace(LISTED, "file-extents"),
        source=partial(BytesIO, text.encode()),
        taken=Span(start=started, end=datetime.now(UTC)),
        asked=f"FIEMAP of {piece.asked}",
    )


def extents_text(paths: Iterable[tuple[str, str]], deadline: float) -> Iterator[str]:
    """Yield a line for each file: path on this host, and as its server sees it; after the deadline without a number."""
    for local, shown in paths:
        found = file_map(local, deadline)
        numbers = (found.size_bytes, found.allocated_bytes, found.extents)
        fields = [shown, *("-" if number is None else str(number) for number in numbers), found.remark]
        yield "\t".join(fields) + "\n"


def file_map(path: str, deadline: float) -> FileMap:
    """Return the map of a regular file; no error is raised. A pipe or a device in its place is not opened for long."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return _without(f"cannot open it: {_reason(error)}")
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            return _without("it is no regular file")
        extents, remark = _count(descriptor, deadline)
        return FileMap(size_bytes=state.st_size, allocated_bytes=512 * state.st_blocks, extents=extents, remark=remark)
    finally:
        os.close(descriptor)


def _count(descriptor: int, deadline: float) -> tuple[int | None, str]:
    """Return the number of extents, and a remark on it."""
    count, encoded, start, after = 0, False, 0, None
    while True:
        if monotonic() > deadline:
            return (count, "at least: the time limit has passed") if count else (None, "the time limit has passed")
        try:
            extents = _extents(descriptor, start)
        except OSError as error:
            unsupported = error.errno in {errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL}
            return None, NOT_REPORTED if unsupported else _reason(error)
        for logical, physical, length, flags in extents:
            follows = after is not None and (flags & UNKNOWN or physical in {after[1], after[1] + logical - after[0]})
            count += not follows
            encoded = encoded or bool(flags & ENCODED)
            after = (logical + length, physical + length)
        if not extents or extents[-1][3] & LAST:
            return count, "compressed" if encoded else ""
        if count >= MOST_EXTENTS:
            return count, f"at least: counting ends at {MOST_EXTENTS:,}"
        start = max(start + 1, extents[-1][0] + extents[-1][2])


def _extents(descriptor: int, start: int) -> list[tuple[int, int, int, int]]:
    """Return up to ROOM extents from an offset on: logical and physical offset, length, flags."""
    buffer = bytearray(REQUEST.size + ROOM * EXTENT.size)
    REQUEST.pack_into(buffer, 0, start, WHOLE - start, 0, 0, ROOM, 0)
    ioctl(descriptor, FS_IOC_FIEMAP, buffer)
    mapped = REQUEST.unpack_from(buffer)[3]
    return [EXTENT.unpack_from(buffer, REQUEST.size + number * EXTENT.size) for number in range(mapped)]


def _without(remark: str) -> FileMap:
    return FileMap(size_bytes=None, allocated_bytes=None, extents=None, remark=remark)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
