"""Archives: the first bytes of a file decide how it is unpacked, never its name; nothing is written to disk.

A tar is read forwards only. Its members can still be opened in any order: an earlier one is reached by reading the tar
again from its beginning.

Lines out of their envelopes (Docker's log, CRI, the journal, syslog): a layer around a file, as compression is.
"""

from __future__ import annotations

import codecs
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import PassedOver
from ldapdiag.evidence.document import encoding_of
from ldapdiag.evidence.log.envelopes import envelopes_of
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.budget import Budget
from ldapdiag.sources.files.compressed import compression_of, name_within
from ldapdiag.sources.files.input import HEAD_BYTES, Carrier, Input, in_file, moment_of
from ldapdiag.sources.files.layers import READ, Buffered, Lost, Rejoined, decompressing, in_utf8, trouble_of
from ldapdiag.sources.files.tar import DamagedError, is_tar, members

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ldapdiag.evidence.log.envelope import Decoding, Envelope, Takes
    from ldapdiag.sources.files.compressed import Readable
    from ldapdiag.sources.files.input import Found
    from ldapdiag.sources.files.layers import Opened
    from ldapdiag.sources.files.tar import Member

MOST_FILES = 5000
"""Limit of files per folder or archive; the evidence of one incident has fewer."""

FILES_OF_A_HOST = 10
"""The weight of an archive that is not opened: the files that a collection has of one host."""


def unwrapped(outer: Input, archive: Callable[[Input], Iterator[Found]]) -> Iterator[Found]:
    """Yield the inputs in a file: itself, without compression and envelopes; `archive` yields those in a tar.

    OSError propagates to the caller.
    """
    compression = compression_of(outer.head)
    inner = outer
    if compression:
        folder, _, name = outer.path.rpartition("/")
        path = f"{folder}/{name_within(name)}" if folder else name_within(name)
        inner = replace(outer.within(decompressing(compression)), path=path, compressed=True)
    if is_tar(inner.head):
        inner.keep()
        yield from archive(replace(inner, path=outer.path))
    elif compression_of(inner.head):
        yield PassedOver(target=outer.label, reason="is compressed twice; decompress it first")
    else:
        yield without_envelopes(inner)


def nested(archive: Input) -> Iterator[PassedOver]:
    """Yield the reason why a tar inside a tar is not read."""
    reason = "is an archive inside an archive; unpack it first"
    yield PassedOver(target=archive.label, reason=reason, files=FILES_OF_A_HOST)


class Tar:
    """Random access to the members of a tar: forwards, or from the beginning again. Read one member at a time."""

    def __init__(self, archive: Input) -> None:
        self._archive = archive
        self._opened: Opened | None = None
        self._members: Iterator[Member] = iter(())
        self._at = -1
        self._member: Member | None = None
        self._head = b""
        """The beginning of the content, if no more of it has been read."""
        self._is_read = False

    def member(self, number: int) -> Member | None:
        """Go to a member by its number, from 0; None if there are fewer. Raise DamagedError or OSError."""
        if self._opened is None or number < self._at or (number == self._at and self._is_read):
            self._restart()
        while self._at < number:
            try:
                self._member = next(self._members, None)
            except DamagedError as error:
                trouble = self._opened.trouble() if self._opened else ""
                self._opened = None
                raise DamagedError(trouble or str(error)) from error
            self._at, self._head, self._is_read = self._at + 1, b"", False
            if self._member is None:
                return None
        return self._member

    @property
    def cost(self) -> int:
        """Bytes read from the file; in a plain tar the offset of the content of the current member."""
        return self._opened.cost if self._opened else 0

    def input_of(self, number: int, *, path: str, folder: str, label: str) -> Input:
        """Return a member as an input, with its head. Raise DamagedError or OSError."""
        found = self.member(number)
        size = found.size_bytes if found else 0
        changed = moment_of(found.changed) if found else None
        if (tar := self._archive.file_range) is not None:
            place = replace(tar, start=tar.start + self.cost, length=size)
            member = in_file(place, path=path, folder=folder, label=label)
            return replace(member, size_bytes=size, changed=changed, budget=self._archive.budget).with_head()
        source = partial(self.content, number)
        head = self._read_head(found)
        return Input(
            path=path,
            folder=folder,
            label=label,
            source=source,
            head=head,
            is_whole=len(head) == size,
            size_bytes=size,
            changed=changed,
            budget=self._archive.budget,
        )

    def content(self, number: int) -> Readable:
        """Return a stream of the content of a member. OSError propagates to the caller."""
        try:
            found = self.member(number)
        except DamagedError as error:
            return Lost(str(error))
        if found is None or found.content is None:
            return Lost("has changed since it was found")
        head, self._head, self._is_read = self._head, b"", True
        return Rejoined(head, found.content)

    def _restart(self) -> None:
        budget = self._archive.budget
        archive = replace(self._archive, budget=Budget(budget.most) if budget else None)
        self._opened = archive.open()
        # A plain tar is read without a buffer, so that `cost` is the offset of the content of a member.
        stream = self._opened if archive.file_range else Buffered(self._opened)
        self._members, self._at, self._member, self._is_read = members(stream), -1, None, False

    def _read_head(self, found: Member | None) -> bytes:
        while found and found.content and len(self._head) < HEAD_BYTES:
            data = found.content.read(HEAD_BYTES - len(self._head))
            if not data:
                break
            self._head += data
        return self._head


def without_envelopes(one: Input) -> Input:
    """Return the lines in the envelopes of an input as an input; unchanged if it has none. OSError propagates."""
    text = _in_utf8(one)
    whole = text.head if text.is_whole else text.head[: text.head.rfind(b"\n") + 1] or text.head
    envelopes = envelopes_of(whole)
    if not envelopes:
        return one
    one = text
    has_lines = all(envelope.decoding is None for envelope in envelopes)
    carrier = Carrier(one.file_range if has_lines else None, envelopes, whole)
    for envelope in envelopes:
        one = one.within(Unwrapping(envelope))
    return replace(one, carrier=carrier)


def _in_utf8(one: Input) -> Input:
    """Return an input as UTF-8 without a mark: Windows writes UTF-16 where PowerShell redirects the output."""
    encoding = encoding_of(one.head)
    if encoding != "utf-8":
        return one.within(in_utf8(encoding))
    return one.after(len(codecs.BOM_UTF8)) if one.head.startswith(codecs.BOM_UTF8) else one


@dataclass(frozen=True, slots=True)
class Unwrapping:
    """The layer that takes the lines out of an envelope."""

    envelope: Envelope
    share: Callable[[], Takes] | None = None
    """Makes what decides for each line whether it is passed on; None: all are."""

    def __call__(self, stream: Readable, _: Budget) -> Decoded:
        """Return the lines in a stream."""
        return Decoded(stream, self.envelope.decoder(self.share() if self.share else None))


class Decoded:
    """The lines in an envelope, as a stream."""

    def __init__(self, stream: Readable, decoder: Decoding) -> None:
        self._stream = stream
        self._decoder = decoder
        self._waiting = memoryview(b"")
        self._is_over = False

    def read(self, size: int) -> bytes:
        """Return some of the next bytes, none at the end."""
        while not self._waiting and not self._is_over:
            part = self._stream.read(READ) or b""
            self._is_over = not part
            self._waiting = memoryview(self._decoder.feed(part) if part else self._decoder.finish())
        data, self._waiting = self._waiting[:size], self._waiting[size:]
        return bytes(data)

    def close(self) -> None:
        """Close the stream below."""
        self._stream.close()

    def trouble(self) -> str:
        """Return why the stream below ended early; empty if it did not."""
        return trouble_of(self._stream)
