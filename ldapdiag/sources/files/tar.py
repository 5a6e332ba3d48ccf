"""The tar format: read forwards only, in bounded memory and without recursion, whatever the headers contain.

The standard library decodes the headers. The iteration over them is implemented here, because with hostile long names,
pax records and sparse maps tarfile needs unbounded memory or recursion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from tarfile import TarInfo

    from ldapdiag.sources.files.compressed import Readable

BLOCK = 512
MAGIC = b"ustar"
MAGIC_AT = 257
LONGEST_HEADER = 1 << 16
"""Limit for a long name or for pax records, in bytes; the longest usable path has 4,096."""

CHUNK = 1 << 16
HARD_LINK, LINK, CHARACTER_DEVICE, BLOCK_DEVICE, FOLDER, FIFO = b"1", b"2", b"3", b"4", b"5", b"6"
LONG_NAME, LONG_LINK, SPARSE = b"L", b"K", b"S"
PAX, PAX_OF_ALL, PAX_OF_SOLARIS = b"x", b"g", b"X"
EXTENSIONS = (LONG_NAME, LONG_LINK, PAX, PAX_OF_ALL, PAX_OF_SOLARIS)
"""Headers that describe the member after them."""

LINKS = (HARD_LINK, LINK)
WITHOUT_CONTENT = (*LINKS, CHARACTER_DEVICE, BLOCK_DEVICE, FIFO, FOLDER)


class DamagedError(Exception):
    """The tar cannot be read any further; the message is the end of a sentence: 'is truncated'."""


class Content:
    """The content of one member as a stream; read it before requesting the next member."""

    def __init__(self, stream: Readable, size: int) -> None:
        self._stream = stream
        self.left = size
        """Unread bytes."""

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; empty at the end."""
        data = (self._stream.read(min(size, self.left)) or b"") if self.left else b""
        self.left -= len(data)
        return data

    def close(self) -> None:
        """Do nothing: the tar stays open for the next member."""

    def trouble(self) -> str:
        """Return 'is truncated' if the tar ended before its member; else empty."""
        return "is truncated" if self.left else ""

    def whole(self) -> bytes:
        """Return all unread bytes; raise DamagedError if the tar ends early."""
        data = bytearray()
        while self.left:
            part = self._stream.read(min(CHUNK, self.left))
            if not part:
                raise DamagedError("is truncated")
            self.left -= len(part)
            data += part
        return bytes(data)

    def skip(self) -> None:
        """Skip all unread bytes; raise DamagedError if the tar ends early."""
        while self.left:
            part = self._stream.read(min(CHUNK, self.left))
            if not part:
                raise DamagedError("is truncated")
            self.left -= len(part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One file, link or device of a tar."""

    name: str
    """The unmodified name; bytes that are not UTF-8 are surrogates."""
    size_bytes: int
    content: Content | None
    """None for a link or a device."""
    other: str = ""
    """Why it is not read, if it is not a regular file: 'is a link'."""
    changed: float = 0
    """Time of the last change, seconds since 1970 (the header's mtime)."""


def is_tar(head: bytes) -> bool:
    """Return whether a file with this head is a tar."""
    return head[MAGIC_AT : MAGIC_AT + len(MAGIC)] == MAGIC


def members(stream: Readable) -> Iterator[Member]:
    """Yield files, links and devices in order, without folders; raise DamagedError if the tar is damaged."""
    records: dict[str, str] = {}
    while (header := _header(stream)) is not None:
        if header.type in EXTENSIONS:
            _extend(records, header, _block_content(stream, header.size))
            continue
        name = records.get("path", header.name)
        size = _size(records.get("size"), header.size)
        other = _other(header, sparse=any(key.startswith("GNU.sparse") for key in records))
        records = {}
        content = Content(stream, 0 if header.type in WITHOUT_CONTENT else size)
        if header.type != FOLDER:
            yield Member(
                name=name, size_bytes=size, content=None if other else content, other=other, changed=header.mtime
            )
        content.skip()
        if header.type not in WITHOUT_CONTENT:
            Content(stream, -size % BLOCK).skip()


def _header(stream: Readable) -> TarInfo | None:
    """Return the next header; None at the end."""
    try:
        block = Content(stream, BLOCK).whole()
    except DamagedError:
        raise DamagedError("lacks its last block: it is truncated") from None
    if not block.strip(b"\0"):
        return None
    from tarfile import HeaderError, TarInfo  # noqa: PLC0415  import late: most inputs are no archive

    try:
        header = TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (HeaderError, ValueError) as error:
        raise DamagedError(f"is damaged ({error})") from error
    if header.size < 0:
        raise DamagedError("is damaged (a member of negative size)")
    if header.type == SPARSE:  # its map may have an unlimited number of blocks
        raise DamagedError("contains a sparse file; the remainder is not read; pack it without --sparse")
    return header


def _other(header: TarInfo, *, sparse: bool) -> str:
    if header.type in LINKS:
        return "is a link; links in archives are not followed"
    if sparse:
        return "is a sparse file; pack it without --sparse"
    return "" if header.isreg() else "neither a file nor a folder"


def _block_content(stream: Readable, size: int) -> bytes:
    if size > LONGEST_HEADER:
        raise DamagedError(f"is damaged (a header of {size} bytes)")
    data = Content(stream, size).whole()
    Content(stream, -size % BLOCK).skip()
    return data


def _extend(records: dict[str, str], header: TarInfo, data: bytes) -> None:
    """Record the description of the next member."""
    if header.type == LONG_NAME:
        records["path"] = data.partition(b"\0")[0].decode(errors="surrogateescape")
    elif header.type in {PAX, PAX_OF_SOLARIS}:
        records.update(_pax(data))


def _pax(data: bytes) -> dict[str, str]:
    r"""Return pax records by keyword (`27 path=…\n`: the number is the length of the whole record)."""
    records = {}
    while data:
        length, _, _ = data[:20].partition(b" ")
        if not length.isdigit() or not len(length) + 2 < int(length) <= len(data):
            raise DamagedError("is damaged (pax records)")
        record = data[len(length) + 1 : int(length)].removesuffix(b"\n")
        key, _, value = record.decode(errors="surrogateescape").partition("=")
        records[key] = value
        data = data[int(length) :]
    return records


def _size(record: str | None, size: int) -> int:
    if record is None:
        return size
    if not (record.isascii() and record.isdigit() and len(record) < 20):
        raise DamagedError("is damaged (an invalid size)")
    return int(record)
