"""Inputs of logs: files, globs, folders, archives, compressed files and streams, as UTF-8 text."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.evidence.document import encoding_of
from ldapdiag.sources.files.archives import MOST_FILES, Tar, nested, unwrapped
from ldapdiag.sources.files.compressed import name_within
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.files.layers import READ, in_utf8
from ldapdiag.sources.files.tar import DamagedError
from ldapdiag.sources.files.unreadable import legible, unreadable
from ldapdiag.sources.files.walk import expanded, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.sources.files.input import Found
    from ldapdiag.sources.files.open_files import FileRange
    from ldapdiag.sources.files.tar import Member

ZEROS = bytes(16)
"""A shorter run of zeros may belong to UTF-16 text."""

MOST_ZEROS = 1 << 34
"""Limit of the search for the end of the zeros at the beginning of a log, in bytes."""

MOST_ZEROS_OF_STREAM = 4 << 20
"""The limit for a stream: half of what a Spool keeps of it, so that it can be read again."""

UTF8_MARK = "\ufeff".encode()


def log_inputs(named: str) -> Iterator[Found]:
    """Yield the inputs that may be logs among what the operator named, and the reasons for all others."""
    for name in expanded(named):
        for found in walk(name):
            yield from inputs_in(found)


def inputs_in(found: Found) -> Iterator[Found]:
    """Yield the inputs that may be logs in a file: itself without compression and envelopes, or members of a tar."""
    if not isinstance(found, Input):
        yield found
        return
    try:
        yield from unwrapped(found, _members)
    except OSError as error:
        yield unreadable(found.label, error)


def _members(archive: Input) -> Iterator[Found]:
    """Yield the members of a tar as inputs that can be opened in any order: the tar's order is not that of the logs."""
    tar = Tar(archive)
    try:
        for number in range(MOST_FILES + 1):
            found = tar.member(number)
            if found is None:
                return
            yield from _member(archive, tar, number, found)
    except DamagedError as error:
        how = "ask for another copy; the part before the damage is read"
        yield Gap(target=archive.label, reason=str(error), how=how)
        return
    yield Gap(
        target=archive.label, reason=f"contains more than {MOST_FILES:,} files; only the first {MOST_FILES:,} are read"
    )


def _member(archive: Input, tar: Tar, number: int, found: Member) -> Iterator[Found]:
    label = f"{archive.label}/{legible(found.name)}"
    if found.content is None:
        yield PassedOver(target=label, reason=found.other)
        return
    folders = [part for part in legible(found.name).split("/") if part not in {"", "."}]
    name = folders.pop() if folders else archive.name
    folder = folders[-1] if folders else name_within(archive.name).removesuffix(".tar")
    member = tar.input_of(
        number, path=f"{folder}/{name}", folder="/".join((archive.folder, archive.name, *folders)), label=label
    )
    try:
        yield from unwrapped(member, nested)
    except OSError as error:
        yield unreadable(label, error)


def as_text(one: Input) -> tuple[Input, str] | PassedOver:
    """Return a log as UTF-8 text, and a sentence on the omitted beginning, if any. OSError propagates to the caller."""
    note = ""
    if one.head.startswith(ZEROS):
        size = _zeros(one)
        if size is None:
            return PassedOver(target=one.label, reason="contains only zero bytes at its beginning")
        # logrotate's copytruncate truncated it, and its server kept its offset
        note = (
            f"{one.label} begins with {size} zero bytes (truncated while a server wrote to it); the remainder is read"
        )
        one = one.after(size)
    encoding = encoding_of(one.head)
    if encoding != "utf-8":
        return one.within(in_utf8(encoding)), note
    return (one.after(len(UTF8_MARK)) if one.head.startswith(UTF8_MARK) else one), note


def _zeros(one: Input) -> int | None:
    """Return the number of zeros at the beginning of a log; None if no other byte follows within the limit.

    OSError propagates to the caller.
    """
    found = one.file_range
    size = _hole(found) if found else 0
    rest = one.ranged(replace(found, start=found.start + size)) if found and size else one
    most = size + (MOST_ZEROS_OF_STREAM if one.spool else MOST_ZEROS)
    with rest.open() as opened:
        while size < most and (data := opened.some(READ)):
            if text := data.lstrip(b"\0"):
                return size + len(data) - len(text)
            size += len(data)
    return None


def _hole(found: FileRange) -> int:
    """Return the size of the hole at the beginning of a sparse file in bytes, found without reading its zeros."""
    if found.length is None and hasattr(os, "SEEK_DATA") and (file := found.local_file()):
        with suppress(OSError):  # the file is one hole, or the file system does not support SEEK_DATA
            return max(0, os.lseek(file.descriptor, found.start, os.SEEK_DATA) - found.start)
    return 0
