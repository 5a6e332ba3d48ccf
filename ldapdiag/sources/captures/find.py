"""Captured evidence: named files and folders as inputs, with the times and gaps of manifests and of script output.

The manifests of the captures in a folder: that of a file is two levels above it (CAPTURE/HOST/file).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.evidence.log.dialects import recognise
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.budget import EXCEEDED, Budget
from ldapdiag.sources.captures import manifest, script_output
from ldapdiag.sources.captures.manifest import Manifest
from ldapdiag.sources.files.archives import MOST_FILES, Tar, nested, unwrapped
from ldapdiag.sources.files.compressed import name_within
from ldapdiag.sources.files.folders import MOST_DEPTH
from ldapdiag.sources.files.input import HELD_BYTES, Input
from ldapdiag.sources.files.open_files import OpenFiles
from ldapdiag.sources.files.tar import DamagedError
from ldapdiag.sources.files.unreadable import legible, unreadable
from ldapdiag.sources.files.walk import STANDARD_INPUT, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ldapdiag.sources.captures.manifest import ManifestEntry
    from ldapdiag.sources.files.input import Found
    from ldapdiag.sources.files.tar import Member

MOST_MEMBER_BYTES = 512 << 20

MOST_BYTES = 2 << 30
"""Limit on the decompressed bytes of one named file; only a decompression bomb exceeds it."""

CHANGED = "changed while it was read"
"""The trouble of a file that was rewritten between recognition and the end of reading."""


def find(named: str) -> Iterator[Found]:
    """Yield the inputs in a named file, archive or folder, sub-folders included.

    One that is yielded is read, or not read, before the next is asked for: it may be the next member of an archive.
    """
    path = Path(named)
    if named != STANDARD_INPUT and path.is_dir():
        files = OpenFiles()
        yield from _with_manifests(walk(named, files), Manifests(path, files))
    else:
        for found in walk(named):
            yield from within(found) if isinstance(found, Input) else (found,)


def within(one: Input) -> Iterator[Found]:
    """Yield the inputs in a file: itself, or those in an archive, a compressed file or the output of the script."""
    one = replace(one, budget=one.budget or Budget(MOST_BYTES))
    try:
        for found in unwrapped(one.with_head(), members):
            yield from _in_sections(found)
    except OSError as error:
        yield unreadable(one.label, error)


def _in_sections(found: Found) -> Iterator[Found]:
    """Yield an input, complete if it has to be, or the sections of the script's output."""
    whole = _whole(found) if isinstance(found, Input) else found
    if isinstance(whole, Input) and script_output.begins_in(whole.head):
        whole.keep()
        yield from script_output.sections(whole)
    else:
        yield whole


def _whole(one: Input) -> Found:
    """Return a compressed input with its whole content, or the gap of one that is truncated or damaged.

    The beginning of a log alone is usable; an input of more than HELD_BYTES is read while it is decompressed.
    """
    if not one.compressed or one.is_whole or is_log(one):
        return one
    one.keep()
    with one.open() as opened:
        content, trouble = opened.read(HELD_BYTES), opened.trouble()
    if trouble:
        return incomplete(one, trouble)
    return replace(one, head=content, is_whole=True) if len(content) < HELD_BYTES else one


def incomplete(one: Input, trouble: str) -> Gap:
    """Return the gap of a truncated, damaged or changed input that is not a log: none of it is analysed."""
    if trouble.startswith("is compressed"):
        return Gap(target=one.label, reason=trouble, how="install it, or decompress the file elsewhere")
    again = "run it again when nothing writes to the file"
    how = again if trouble == CHANGED else advice(trouble, "ask for another copy")
    reason = f"{trouble}; it is not used, because an incomplete table shows too few connections"
    return Gap(target=one.label, reason=reason, how=how, files=1)


def is_log(one: Input) -> bool:
    """Return whether an input is an access log, or a log that contains access records."""
    return recognise(one.head[: one.head.rfind(b"\n") + 1]) is not None


def _with_manifests(found: Iterator[Found], manifests: Manifests) -> Iterator[Found]:
    """Yield the inputs in the files of a folder, with the times and the gaps of the manifests in it."""
    for file in found:
        if not isinstance(file, Input):
            yield file
            continue
        yield from manifests.announce(file)
        if not manifests.is_manifest(file):
            for one in within(file):
                yield manifests.described(one, file) if isinstance(one, Input) else one
    yield from manifests.missing()


@dataclass(slots=True)
class Manifests:
    """The manifests found so far, each read when the first file of its capture is."""

    root: Path
    """The named folder; a manifest outside it does not count."""
    files: OpenFiles
    _entries: dict[Path, dict[str, ManifestEntry] | None] = field(default_factory=dict)
    """By the folder of the capture, its entries that have not been found yet; None where there is no manifest."""

    def announce(self, one: Input) -> Iterator[Gap]:
        """Yield the gaps of a file's manifest when its first file is reached."""
        location = self._location(one)
        if location is None:
            return
        for capture in (location.parent, location.parent.parent):
            if capture not in self._entries:
                kept = self._read(capture) if self.root in (capture, *capture.parents) else None
                self._entries[capture] = _entries(kept)
                if kept is not None:
                    yield from (kept,) if isinstance(kept, Gap) else kept.gaps

    def is_manifest(self, one: Input) -> bool:
        """Return whether a file is the manifest of a capture; call `announce` first."""
        location = self._location(one)
        return location is not None and location.name == manifest.NAME and self._entries[location.parent] is not None

    def described(self, found: Input, file: Input) -> Input:
        """Return an input found in a file with what the manifest records about it."""
        location = self._location(file)
        entries = self._entries.get(location.parent.parent) if location and found.label == file.label else None
        entry = (entries or {}).pop(found.path, None)
        return replace(found, taken=entry.taken, asked=entry.asked) if entry else found

    def missing(self) -> Iterator[Gap]:
        """Yield the gap of each capture that lacks files of its manifest."""
        for capture, entries in self._entries.items():
            yield from manifest.missing((entries or {}).values(), legible(capture))

    def _location(self, one: Input) -> Path | None:
        return Path(one.file_range.location) if one.file_range is not None else None

    def _read(self, capture: Path) -> Manifest | Gap | None:
        location = capture / manifest.NAME
        try:
            data = self.files.get(str(location)).read_at(0, manifest.MOST_BYTES + 1)
        except OSError:
            return None
        return manifest.read(data, legible(location))


def _entries(kept: Manifest | Gap | None) -> dict[str, ManifestEntry] | None:
    if kept is None:
        return None
    return {} if isinstance(kept, Gap) else {entry.path: entry for entry in kept.entries}


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
