"""Archives of evidence: their members as inputs, with the times and commands of the manifest, if there is one.

An archive is read like a folder: its files, those of its sub-folders, and those of the archives in it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.budget import EXCEEDED
from ldapdiag.sources.captures import manifest
from ldapdiag.sources.captures.manifest import Manifest
from ldapdiag.sources.files.archives import MOST_FILES, Tar, nested, unwrapped
from ldapdiag.sources.files.compressed import name_within
from ldapdiag.sources.files.folders import MOST_DEPTH
from ldapdiag.sources.files.input import HELD_BYTES
from ldapdiag.sources.files.tar import DamagedError
from ldapdiag.sources.files.unreadable import legible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ldapdiag.sources.captures.manifest import ManifestEntry
    from ldapdiag.sources.files.input import Found, Input
    from ldapdiag.sources.files.tar import Member

MOST_MEMBER_BYTES = 512 << 20


def members(archive: Input) -> Iterator[Found]:
    """Yield the members of an archive as inputs. OSError propagates to the caller."""
    yield from _members_of(archive, _inner_members)


def _inner_members(archive: Input) -> Iterator[Found]:
    """Yield the members of an archive in an archive: one in that is passed over."""
    yield from _members_of(archive, nested)


def _members_of(archive: Input, inner: Callable[[Input], Iterator[Found]]) -> Iterator[Found]:
    tar = Tar(archive)
    yield from _Reading(archive, tar, _Survey(archive.label).of_first(tar), inner).members()


@dataclass(slots=True)
class _Survey:
    """The manifests of an archive, as far as it was surveyed."""

    label: str
    manifests: dict[tuple[str, ...], Manifest] = field(default_factory=dict)
    """By the folder that contains it."""
    troubles: list[Gap] = field(default_factory=list)
    """The gaps of damaged manifests."""
    is_complete: bool = False

    def of_first(self, tar: Tar) -> _Survey:
        """Look at the first member, the manifest of a capture, and if it is none, at all headers."""
        self._see(tar, 1)
        return self if self.manifests and not self.troubles else self.of_all(tar)

    def of_all(self, tar: Tar) -> _Survey:
        """Look at all headers."""
        self.troubles.clear()
        self._see(tar, MOST_FILES + 1)
        self.is_complete = True
        return self

    def covers(self, member: Member) -> bool:
        """Return whether the manifest of a member has been found if there is one."""
        parts = _parts(member.name) or ()
        return self.is_complete or any(parts[: len(folder)] == folder for folder in self.manifests)

    def _see(self, tar: Tar, most: int) -> None:
        with suppress(DamagedError):  # reported when the members are read
            for number in range(most):
                member = tar.member(number)
                if member is None:
                    break
                self._take(member)

    def _take(self, member: Member) -> None:
        parts = _parts(member.name)
        if member.content is None or not parts or parts[-1] != manifest.NAME or member.size_bytes > manifest.MOST_BYTES:
            return
        read = manifest.read(member.content.whole(), "/".join((self.label, *parts)))
        if isinstance(read, Gap):
            self.troubles.append(read)
        if read is not None:
            self.manifests[parts[:-1]] = Manifest() if isinstance(read, Gap) else read


@dataclass(slots=True)
class _Reading:
    """The state of reading one archive, member by member."""

    archive: Input
    tar: Tar
    survey: _Survey
    inner: Callable[[Input], Iterator[Found]]
    """Yields the inputs of an archive in this one."""
    expected: dict[tuple[str, ...], ManifestEntry] = field(default_factory=dict)
    """Entries of the manifests that have not been found yet, by their place in the archive."""
    announced: set[tuple[str, ...]] = field(default_factory=set)
    """The folders of the manifests whose entries are expected."""

    def members(self) -> Iterator[Found]:
        """Yield the inputs of the archive, then the gap for listed files that it lacks."""
        yield from self._announce()
        try:
            yield from self._members()
        except DamagedError as error:
            how = advice(str(error), "ask for another copy; the part before the damage is used")
            yield Gap(target=self.archive.label, reason=str(error), how=how)
        yield from manifest.missing(self.expected.values(), self.archive.label)

    def _announce(self) -> Iterator[Gap]:
        """Expect the entries of the manifests found; yield their gaps."""
        yield from self.survey.troubles
        for folder, kept in self.survey.manifests.items():
            if folder not in self.announced:
                self.announced.add(folder)
                self.expected |= {(*folder, *entry.path.split("/")): entry for entry in kept.entries}
                yield from kept.gaps

    def _members(self) -> Iterator[Found]:
        number = 0
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
            if not self.survey.covers(member):
                self.survey.of_all(self.tar)
                yield from self._announce()
                continue
            parts = _parts(member.name) or ("",)
            if parts[-1] != manifest.NAME or parts[:-1] not in self.survey.manifests:
                yield from self._member(number, member)
            number += 1

    def _member(self, number: int, member: Member) -> Iterator[Found]:
        parts = _parts(member.name)
        label = f"{self.archive.label}/{legible('/'.join(parts or (member.name,)))}"
        if parts is None:
            yield PassedOver(target=label, reason="its path points outside the archive")
            return
        if member.content is None:
            yield PassedOver(target=label, reason=member.other)
        elif len(parts) > MOST_DEPTH + 1:
            reason = f"more than {MOST_DEPTH} folders deep in the archive; unpack it and name the folder"
            yield PassedOver(target=label, reason=reason)
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
        folders = parts[:-1] or (name_within(archive).removesuffix(".tar"),)
        path = legible(f"{folders[-1]}/{parts[-1]}")
        entry = self.expected.pop(tuple(map(legible, parts)), None)
        found = self.tar.input_of(
            number, path=path, folder=legible("/".join((self.archive.folder, archive, *folders))), label=label
        )
        if found.file_range is None and (found.size_bytes or 0) < HELD_BYTES:
            found = found.in_memory()
        if _is_cut(found):
            return  # reading the next header reports it
        if entry:
            found = replace(found, taken=entry.taken, asked=entry.asked)
        yield from unwrapped(found, self.inner)


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
