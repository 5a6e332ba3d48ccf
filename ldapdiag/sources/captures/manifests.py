"""The manifests of the captures in a folder: that of a file is two levels above it (CAPTURE/HOST/file)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources.captures import manifest
from ldapdiag.sources.files.unreadable import legible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.sources.captures.manifest import Manifest, ManifestEntry
    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.files.open_files import OpenFiles


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
