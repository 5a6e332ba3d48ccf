"""Captured evidence: named files and folders as inputs, with the times and gaps of manifests and of script output.

The manifests of the captures in a folder: that of a file is two levels above it (CAPTURE/HOST/file).
"""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.log.dialects import recognise
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.budget import Budget
from ldapdiag.sources.captures import manifest, script_output
from ldapdiag.sources.captures.capture_archive import advice, members
from ldapdiag.sources.files.archives import unwrapped
from ldapdiag.sources.files.input import HELD_BYTES, Input
from ldapdiag.sources.files.open_files import OpenFiles
from ldapdiag.sources.files.unreadable import legible, unreadable
from ldapdiag.sources.files.walk import STANDARD_INPUT, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.sources.captures.manifest import Manifest, ManifestEntry
    from ldapdiag.sources.files.input import Found

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
