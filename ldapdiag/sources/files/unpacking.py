"""What one file holds: itself, or the pieces of an archive, a compressed file or a collection; nothing is ever written.

Told by the first bytes, never by the name. An archive's folders are read as those of a folder are: its files and those
of its sub-folders; a single folder around everything stands for the archive itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import partial
from io import BufferedReader, BytesIO, RawIOBase
from typing import TYPE_CHECKING, Any, cast

from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.sources.budget import Budget
from ldapdiag.sources.captures import manifest, script_output
from ldapdiag.sources.files.compressed import MOST_BYTES, STORED, Decompressed, compression_of, name_within
from ldapdiag.sources.files.find import MOST_FILES
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.files.tar import Content, DamagedError, Member, is_tar, members
from ldapdiag.sources.files.unreadable import legible, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from ldapdiag.sources.captures.manifest import Entry, Manifest

    Found = Input | Gap | PassedOver

HEAD_BYTES = 1 << 16
"""By so many a file is told; a login banner before a collection fits into it."""

HELD_BYTES = 64 << 20
"""What is no longer than this is held in memory and judged only when it is whole; longer ones are read as they come."""

MOST_MEMBER_BYTES = 512 << 20

ANOTHER_COPY = "ask for another copy; what came before is judged"


class Archives(Enum):
    """Which archives are opened."""

    ALL = auto()
    CAPTURES = auto()
    """Those with a manifest: in a folder, where others may be anything."""
    NONE = auto()
    """In an archive."""


class Rejoined(RawIOBase):
    """A stream whose beginning has been looked at, whole again."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head = head
        self._stream = stream

    def readable(self) -> bool:
        """Say yes, as a stream must that is to be buffered."""
        return True

    def fileno(self) -> int:
        """Return the descriptor below, by which a file named twice is known."""
        return self._stream.fileno()

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  any writable buffer, as RawIOBase has it
        """Fill the buffer with what comes next, or with nothing at the end."""
        data = self._head[: len(buffer)] or self._stream.read(len(buffer)) or b""
        self._head = self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def unpacked(
    piece: Input, *, again: bool, archives: Archives = Archives.ALL, budget: Budget | None = None
) -> Iterator[Found]:
    """Yield what a file holds; `again` says that it can be opened more than once."""
    try:
        stream = piece.open()
    except OSError as error:
        yield unreadable(piece.label, error)
        return
    with stream:
        try:
            head = start_of(stream)
        except OSError as error:
            yield unreadable(piece.label, error)
            return
        if again and not _holds_more(head):
            stream.close()
            yield piece
            return
        whole = cast("BinaryIO", Rejoined(head, stream))
        yield from _Unpacking(piece, again, archives, budget or Budget(MOST_BYTES)).held(head, whole)


def start_of(stream: BinaryIO) -> bytes:
    """Return the first bytes; a pipe may hand them over in parts."""
    head = b""
    while len(head) < HEAD_BYTES and (part := stream.read(HEAD_BYTES - len(head))):
        head += part
    return head


def _holds_more(head: bytes) -> bool:
    return bool(compression_of(head) or is_tar(head) or script_output.begins_in(head))


def _nothing(stream: BinaryIO) -> BinaryIO:
    """Return the stream it is given: what opens a piece that is open already."""
    return stream


@dataclass(slots=True)
class _Unpacking:
    """One file being unpacked."""

    piece: Input
    again: bool
    archives: Archives
    budget: Budget

    def held(self, head: bytes, stream: BinaryIO) -> Iterator[Found]:
        """Yield what a stream with this beginning holds."""
        compression = compression_of(head)
        if compression is None and is_tar(head):
            compression = STORED
        if compression is None:
            yield from self._plain(self.piece, head, stream)
            return
        raw = Decompressed(stream, compression, self.budget)
        inner = cast("BinaryIO", BufferedReader(raw))
        inner_head = start_of(inner)
        whole = cast("BinaryIO", BufferedReader(cast("Any", Rejoined(inner_head, inner))))
        if is_tar(inner_head):
            yield from self._archive(whole, raw)
        else:
            yield from self._single(inner_head, whole, raw)

    def _plain(self, piece: Input, head: bytes, stream: BinaryIO) -> Iterator[Found]:
        if script_output.begins_in(head):
            yield from script_output.pieces(piece, stream)
        else:
            yield replace(piece, source=partial(_nothing, stream))

    def _single(self, head: bytes, stream: BinaryIO, raw: Decompressed) -> Iterator[Found]:
        """Yield the one file that a compressed file is, under its own name."""
        folder, _, name = self.piece.path.rpartition("/")
        within = name_within(name)
        piece = replace(self.piece, path=f"{folder}/{within}" if folder else within)
        content = stream.read(HELD_BYTES)
        if raw.trouble():
            yield self._gap(
                f"{raw.trouble()}; nothing of it is judged, for a table that ends early shows too few", again=True
            )
            return
        if compression_of(head):
            yield PassedOver(target=piece.label, reason="is compressed twice; decompress it to have it read")
            return
        if len(content) < HELD_BYTES:
            yield from unpacked(replace(piece, source=partial(BytesIO, content)), again=True, budget=self.budget)
            return
        yield from self._plain(piece, head, cast("BinaryIO", BufferedReader(cast("Any", Rejoined(content, stream)))))
        if raw.trouble():
            yield self._gap(raw.trouble())

    def _gap(self, reason: str, *, again: bool = False) -> Gap:
        how = "ask for another copy" if again else ANOTHER_COPY
        if reason.startswith("holds more"):
            how = "unpack it, and name what is evidence of this incident"
        return Gap(target=self.piece.label, reason=reason, how=how)

    def _archive(self, stream: BinaryIO, raw: Decompressed) -> Iterator[Found]:
        if self.archives is Archives.NONE:
            yield PassedOver(target=self.piece.label, reason="is an archive within an archive; name it to read it")
            return
        contents = self._survey() if self.again else _Contents()
        if self.archives is Archives.CAPTURES and contents.manifest is None:
            yield PassedOver(target=self.piece.label, reason="is an archive, and none of ldapdiag; name it to read it")
            return
        reading = _Reading(self.piece, contents, self.budget)
        try:
            yield from reading.members(stream, surveyed=self.again)
        except DamagedError as error:
            yield self._gap(raw.trouble() or str(error))
        yield from reading.rest()

    def _survey(self) -> _Contents:
        """Look through the headers of an archive for the folder around everything, and for a manifest.

        The first member of a capture is its manifest, which says all that is to be known; so this is quick for ours.
        """
        contents = _Contents()
        with self.piece.open() as stream:
            head = start_of(stream)
            compression = compression_of(head) or STORED
            raw = Decompressed(cast("BinaryIO", Rejoined(head, stream)), compression, Budget(self.budget.left))
            try:
                for number, member in enumerate(members(cast("BinaryIO", BufferedReader(raw)))):
                    contents.see(member)
                    if contents.manifest or number > MOST_FILES:
                        break
            except DamagedError:
                pass  # told when it is read
        return contents


@dataclass(slots=True)
class _Contents:
    """What an archive holds, as far as it has been looked through."""

    tops: set[str] = field(default_factory=set)
    """The first folder of each file; empty text for a file without."""
    manifest: Manifest | None = None
    trouble: Gap | None = None
    within: tuple[str, ...] | None = None
    """The folders the manifest lies in: the capture."""

    def see(self, member: Member, told: str = "") -> bool:
        """Take in one member; return whether it was the manifest."""
        parts = _parts(member.name)
        if member.content is None or not parts:
            return False
        self.tops.add(parts[0] if len(parts) > 1 else "")
        if parts[-1] != manifest.NAME or len(parts) > 2 or member.size_bytes > manifest.MOST_BYTES:
            return False
        read = manifest.read(member.content.whole(), f"{told}/{manifest.NAME}")
        if read is None:
            return False
        self.within = parts[:-1]
        self.manifest, self.trouble = (None, read) if isinstance(read, Gap) else (read, None)
        return True

    def top(self) -> tuple[str, ...]:
        """Return the folders around everything: none or one."""
        if self.within is not None:
            return self.within
        return tuple(self.tops) if len(self.tops) == 1 and "" not in self.tops else ()


@dataclass(slots=True)
class _Reading:
    """One archive being read, member by member."""

    piece: Input
    contents: _Contents
    budget: Budget
    expected: dict[str, Entry] = field(default_factory=dict)
    """What the manifest lists and has not come yet."""

    def members(self, stream: BinaryIO, *, surveyed: bool) -> Iterator[Found]:
        """Yield the pieces of a tar; DamagedError where it cannot be followed."""
        self._expect()
        for number, member in enumerate(members(stream)):
            if number >= MOST_FILES + 1:
                yield Gap(
                    target=self.piece.label,
                    reason=f"holds more than {MOST_FILES} files; only the first {MOST_FILES} are read",
                    how="name an archive with the evidence of this incident alone",
                )
                return
            if self._is_manifest(member, surveyed=surveyed):
                if self.contents.trouble:
                    yield self.contents.trouble
                if self.contents.manifest:
                    yield from self.contents.manifest.gaps
            else:
                yield from self._member(member)

    def rest(self) -> Iterator[Found]:
        """Yield the gap of what the manifest lists and the archive lacks."""
        yield from manifest.lacking(self.expected.values(), self.piece.label)

    def _expect(self) -> None:
        entries = self.contents.manifest.entries if self.contents.manifest else ()
        self.expected = {entry.path: entry for entry in entries}

    def _is_manifest(self, member: Member, *, surveyed: bool) -> bool:
        if surveyed:
            return self.contents.within is not None and _parts(member.name) == (*self.contents.within, manifest.NAME)
        if self.contents.manifest or not self.contents.see(member, self.piece.label):
            return False
        self._expect()
        return True

    def _member(self, member: Member) -> Iterator[Found]:
        parts = _parts(member.name)
        told = f"{self.piece.label}/{legible('/'.join(parts or (member.name,)))}"
        if parts is None:
            yield PassedOver(target=told, reason="its path leads out of the archive")
            return
        top = self.contents.top()
        if parts[: len(top)] == top:
            parts = parts[len(top) :]
        if member.content is None:
            yield PassedOver(target=told, reason=member.other)
        elif len(parts) > 2:
            yield PassedOver(target=told, reason="deeper than an archive's sub-folders; unpack it and name the folder")
        elif member.size_bytes > MOST_MEMBER_BYTES:
            yield Gap(
                target=told,
                reason=f"is longer than {MOST_MEMBER_BYTES >> 20} MiB and is not read",
                how="unpack it and name the file, if it is evidence",
            )
        else:
            yield from self._file(parts, told, member.content)

    def _file(self, parts: tuple[str, ...], told: str, content: Content) -> Iterator[Found]:
        """Yield what one file of the archive holds."""
        archive = self.piece.path.rpartition("/")[2]
        folders = self.contents.top() + parts[:-1] or (name_within(archive).removesuffix(".tar"),)
        path = legible(f"{folders[-1]}/{parts[-1]}")
        entry = self.expected.pop(path, None)
        piece = Input(
            path=path,
            folder=legible("/".join((self.piece.folder, archive, *folders))),
            label=told,
            source=partial(_nothing, cast("BinaryIO", content)),
            taken=entry.taken if entry else None,
            asked=entry.asked if entry else "",
        )
        held = content.left <= HELD_BYTES
        if held:
            piece = replace(piece, source=partial(BytesIO, content.whole()))
        yield from unpacked(piece, again=held, archives=Archives.NONE, budget=self.budget)


def _parts(name: str) -> tuple[str, ...] | None:
    """Return the folders and the file that a member's name consists of; None for one that leads out of the archive."""
    parts = tuple(part for part in name.split("/") if part not in {"", "."})
    return None if name.startswith("/") or ".." in parts or "\0" in name else parts
