"""Archives of evidence: their members as inputs, with the times and commands of the manifest, if there is one.

An archive is read like a folder: its files and those of its direct sub-folders. A single top folder around all members
counts as the archive itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.sources.budget import EXCEEDED
from ldapdiag.sources.captures import manifest
from ldapdiag.sources.files.archives import MOST_FILES, Tar, nested, unwrapped
from ldapdiag.sources.files.compressed import name_within
from ldapdiag.sources.files.input import HELD_BYTES
from ldapdiag.sources.files.tar import DamagedError
from ldapdiag.sources.files.unreadable import legible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.sources.captures.manifest import Manifest, ManifestEntry
    from ldapdiag.sources.files.input import Found, Input
    from ldapdiag.sources.files.tar import Member

MOST_MEMBER_BYTES = 512 << 20


def members(archive: Input) -> Iterator[Found]:
    """Yield the members of an archive as inputs. OSError propagates to the caller."""
    tar = Tar(archive)
    yield from _Reading(archive, tar, _survey(archive, tar)).members()


def only_captures(archive: Input) -> Iterator[Found]:
    """Yield the inputs of a capture; another archive may contain anything. OSError propagates to the caller."""
    tar = Tar(archive)
    contents = _survey(archive, tar)
    if contents.manifest is None:
        reason = "is an archive that ldapdiag did not write; name it to read it"
        yield PassedOver(target=archive.label, reason=reason)
    else:
        yield from _Reading(archive, tar, contents).members()


@dataclass(slots=True)
class _Contents:
    """The contents of an archive, as far as it was surveyed."""

    tops: set[str] = field(default_factory=set)
    """The top folder of each file; an empty string for a file without one."""
    manifest: Manifest | None = None
    trouble: Gap | None = None
    within: tuple[str, ...] | None = None
    """The folder that contains the manifest (none or one name); None without a manifest."""
    next: int = 0
    """Number of the first member to read."""

    def see(self, number: int, member: Member, label: str) -> None:
        """Record one member."""
        parts = _parts(member.name)
        if member.content is None or not parts:
            return
        self.tops.add(parts[0] if len(parts) > 1 else "")
        if parts[-1] != manifest.NAME or len(parts) > 2 or member.size_bytes > manifest.MOST_BYTES:
            return
        read = manifest.read(member.content.whole(), f"{label}/{manifest.NAME}")
        if read is not None:
            self.next = 0 if number else 1
            self.within = parts[:-1]
            self.manifest, self.trouble = (None, read) if isinstance(read, Gap) else (read, None)

    def top(self) -> tuple[str, ...]:
        """Return the top folder around all members: none or one name."""
        if self.within is not None:
            return self.within
        return tuple(self.tops) if len(self.tops) == 1 and "" not in self.tops else ()


def _survey(archive: Input, tar: Tar) -> _Contents:
    """Read the headers of an archive to find the top folder and the manifest.

    The first member of a capture is its manifest, which determines both, so this is quick for captures.
    """
    contents = _Contents()
    try:
        for number in range(MOST_FILES + 1):
            member = tar.member(number)
            if member is None:
                break
            contents.see(number, member, archive.label)
            if contents.manifest:
                break
    except DamagedError:
        pass  # reported when the members are read
    return contents


@dataclass(slots=True)
class _Reading:
    """The state of reading one archive, member by member."""

    archive: Input
    tar: Tar
    contents: _Contents
    expected: dict[str, ManifestEntry] = field(default_factory=dict)
    """Entries of the manifest that have not been found yet, by path."""

    def members(self) -> Iterator[Found]:
        """Yield the inputs of the archive, then the gap for listed files that it lacks."""
        if self.contents.trouble:
            yield self.contents.trouble
        if self.contents.manifest:
            yield from self.contents.manifest.gaps
            self.expected = {entry.path: entry for entry in self.contents.manifest.entries}
        try:
            yield from self._members()
        except DamagedError as error:
            how = advice(str(error), "ask for another copy; the part before the damage is used")
            yield Gap(target=self.archive.label, reason=str(error), how=how)
        yield from manifest.missing(self.expected.values(), self.archive.label)

    def _members(self) -> Iterator[Found]:
        number = self.contents.next
        while (member := self.tar.member(number)) is not None:
            if number > MOST_FILES:
                yield Gap(
                    target=self.archive.label,
                    reason=f"contains more than {MOST_FILES:,} files; only the first {MOST_FILES:,} are read",
                    how="name an archive with the evidence of this incident alone",
                )
                return
            if self.archive.budget and self.tar.cost > self.archive.budget.most:
                raise DamagedError(self.archive.budget.exceeded)
            if self.contents.within is None or _parts(member.name) != (*self.contents.within, manifest.NAME):
                yield from self._member(number, member)
            number += 1

    def _member(self, number: int, member: Member) -> Iterator[Found]:
        parts = _parts(member.name)
        label = f"{self.archive.label}/{legible('/'.join(parts or (member.name,)))}"
        if parts is None:
            yield PassedOver(target=label, reason="its path points outside the archive")
            return
        top = self.contents.top()
        if parts[: len(top)] == top:
            parts = parts[len(top) :]
        if member.content is None:
            yield PassedOver(target=label, reason=member.other)
        elif len(parts) > 2:
            yield PassedOver(
                target=label, reason="more than one folder deep in the archive; unpack it and name the folder"
            )
        elif member.size_bytes > MOST_MEMBER_BYTES:
            yield Gap(
                target=label,
                reason=f"is larger than {MOST_MEMBER_BYTES >> 20} MiB and is not read",
                how="unpack it and name the file, if it is evidence",
            )
        else:
            yield from self._file(number, parts, label)

    def _file(self, number: int, parts: tuple[str, ...], label: str) -> Iterator[Found]:
        """Yield the inputs in one file of the archive, with their time."""
        archive = self.archive.name
        folders = self.contents.top() + parts[:-1] or (name_within(archive).removesuffix(".tar"),)
        path = legible(f"{folders[-1]}/{parts[-1]}")
        entry = self.expected.pop(path, None)
        found = self.tar.input_of(
            number, path=path, folder=legible("/".join((self.archive.folder, archive, *folders))), label=label
        )
        if found.file_range is None and (found.size_bytes or 0) < HELD_BYTES:
            found = found.in_memory()
        if _is_cut(found):
            return  # reading the next header reports it
        if entry:
            found = replace(found, taken=entry.taken, asked=entry.asked)
        yield from unwrapped(found, nested)


def _is_cut(found: Input) -> bool:
    """Return whether the archive ended inside a member. OSError propagates to the caller."""
    size = found.size_bytes or 0
    if found.file_range is not None:
        start, end = found.file_range.bounds()
        return end - start < size
    return not found.is_whole and size < HELD_BYTES


def _parts(name: str) -> tuple[str, ...] | None:
    """Return the folder and file names in a member's path; None if the path points outside the archive."""
    parts = tuple(part for part in name.split("/") if part not in {"", "."})
    return None if name.startswith("/") or ".." in parts or "\0" in name else parts


def advice(trouble: str, otherwise: str) -> str:
    """Return what to do about an input that was not read to its end."""
    return "unpack it and name only the evidence of this incident" if trouble.startswith(EXCEEDED) else otherwise
