"""A capture, written: the inputs as they came and their manifest, as a folder or archive that `diagnose` reads.

    NAME/manifest.json      first, because it contains the times of the other files
    NAME/app1/sockets-1.txt
    NAME/ldap/cn-monitor.ldif

Nothing half-written is left behind: all goes to a temporary name beside the target, which takes its place at the end.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import tarfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING, Protocol, Self, cast

from ldapdiag.errors import UsageError
from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources.captures import manifest
from ldapdiag.sources.captures.manifest import ClockOffset, Manifest, ManifestEntry
from ldapdiag.sources.files.compressed import can_compress, compressing
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.files.unreadable import legible, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from ldapdiag.sources.files.compressed import Readable

ARCHIVES = {".tar.gz": ".gz", ".tgz": ".gz", ".tar.zst": ".zst", ".tzst": ".zst"}
"""The ends of names that ask for an archive, and how each is compressed."""

OTHER_ARCHIVES = (".tar", ".zip", ".7z", ".gz", ".bz2", ".tbz2", ".xz", ".txz", ".zst", ".rar", ".json", ".txt")
"""The ends of names that no folder has."""

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
CHUNK = 1 << 20
LONGEST_NAME = 100
"""Characters of a file name, of which systems allow 255 bytes."""

UNSAFE = re.compile(r"[^\w.+@=,:-]")


def ready(path: Path, *, with_key: bool = False) -> None:
    """Refuse a name that no capture can be written to, before anything is collected; UsageError with the reason."""
    if not can_compress(_suffix(path)):
        how = "install backports.zstd, or end the name with .tar.gz"
        raise UsageError(f"cannot write {legible(path)}: this Python has no zstd library; {how}")
    if with_key and _key(path).exists():
        raise UsageError(f"{legible(_key(path))} already exists and is not overwritten; choose another --output")
    try:
        if _taken(path):
            raise UsageError(f"{legible(path)} already exists and is not overwritten; choose another --output")
        if not path.absolute().parent.is_dir():
            raise UsageError(f"cannot write {legible(path)}: no such folder: {legible(path.parent)}; create it first")
    except OSError as error:
        raise _refused(path, error) from error


def _taken(path: Path) -> bool:
    """Tell whether something is there that a capture would destroy; an empty folder is nothing."""
    if path.is_dir() and not _suffix(path):
        return any(path.iterdir())
    return path.exists() or path.is_symlink()


def write(
    path: Path,
    pieces: Iterable[Input],
    *,
    gaps: Iterable[Gap] = (),
    offsets: Mapping[str, ClockOffset] | None = None,
    taken_at: datetime | None = None,
) -> Manifest:
    """Write a capture and return its manifest; UsageError when it cannot be written.

    Each input is opened twice: once to learn its length, once to copy it. One that cannot be read becomes a gap.
    `gaps` are read after the inputs: the iterator of the inputs may still add to them.
    """
    ready(path)
    taken_at = taken_at or datetime.now(UTC)
    plan = _Plan()
    for piece in pieces:
        plan.add(piece)
    kept = Manifest(entries=tuple(entry for _, entry in plan.planned), gaps=(*gaps, *plan.gaps))
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with _target(path, partial, taken_at) as target:
            listed = manifest.as_json(kept, taken_at, offsets or {})
            target.file(manifest.NAME, BytesIO(listed), len(listed), taken_at)
            for piece, entry in plan.planned:
                with piece.open() as stream:
                    target.file(entry.path, stream, entry.size_bytes or 0, entry.taken.end if entry.taken else taken_at)
        partial.rename(path)
    except OSError as error:
        raise _refused(path, error) from error
    finally:
        _remove(partial)
    return kept


def write_key(path: Path, mapping: Mapping[str, str]) -> Path:
    """Write what stands for what in an anonymised capture beside it, for its owner alone, and return where."""
    key = _key(path)
    try:
        with os.fdopen(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), "w") as file:
            json.dump(mapping, file, indent=1)
    except OSError as error:
        raise _refused(key, error) from error
    return key


def _key(path: Path) -> Path:
    return path.with_name(f"{_stem(path)}.map.json")


def safe_name(text: str) -> str:
    """Return a name for a file or folder that no system and no shell takes for anything else."""
    name = UNSAFE.sub("_", text)[:LONGEST_NAME]
    return f"_{name}" if not name or name[0] in "-." else name


def _suffix(path: Path) -> str:
    """Return how an archive of this name is compressed, an empty text for a folder."""
    name = path.name.lower()
    for end, suffix in ARCHIVES.items():
        if name.endswith(end) and len(name) > len(end):
            return suffix
    if name.endswith(OTHER_ARCHIVES) or name in {"", ".."}:
        raise UsageError(
            f"cannot write {legible(path)}: unsupported type of archive; "
            f"end the name with one of {', '.join(ARCHIVES)}, or name a new or empty folder"
        )
    return ""


def _stem(path: Path) -> str:
    name = path.name
    return next((name[: -len(end)] for end in ARCHIVES if name.lower().endswith(end)), name)


def _refused(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"cannot write {legible(path)}: {(error.strerror or str(error)).lower()}; choose another --output"
    )


def _remove(partial: Path) -> None:
    """Remove what is left of an unfinished capture."""
    if partial.is_dir():
        shutil.rmtree(partial, ignore_errors=True)
    else:
        partial.unlink(missing_ok=True)


@dataclass(slots=True)
class _Plan:
    """What will be written, and under which names."""

    planned: list[tuple[Input, ManifestEntry]] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    _folders: dict[str, str] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def add(self, piece: Input) -> None:
        """Plan a piece, or keep why it cannot be read."""
        try:
            size = _length(piece)
        except OSError as error:
            self.gaps.append(unreadable(piece.label, error))
            return
        folder = self._folder(piece.folder)
        path = self._unused(f"{folder}/{safe_name(piece.path.rpartition('/')[2])}")
        entry = ManifestEntry(path=path, folder=folder, asked=piece.asked, taken=piece.taken, size_bytes=size)
        self.planned.append((piece, entry))

    def _folder(self, folder: str) -> str:
        if folder not in self._folders:
            self._folders[folder] = self._unused(safe_name(folder.rstrip("/").rpartition("/")[2]))
        return self._folders[folder]

    def _unused(self, name: str) -> str:
        """Return the name, with a number where it is taken; upper and lower case are one on some systems."""
        stem, dot, end = name.rpartition(".") if "." in name.rpartition("/")[2] else (name, "", "")
        number = 1
        while name.casefold() in self._names:
            number += 1
            name = f"{stem}-{number}{dot}{end}"
        self._names.add(name.casefold())
        return name


def _length(piece: Input) -> int:
    length = 0
    with piece.open() as stream:
        while part := stream.read(CHUNK):
            length += len(part)
    return length


class _Target(Protocol):
    """What a capture is written into."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...
    def file(self, name: str, stream: Readable, size: int, moment: datetime) -> None:
        """Write one file of so many bytes."""


def _target(path: Path, partial: Path, taken_at: datetime) -> _Target:
    suffix = _suffix(path)
    return _Archive(partial, _stem(path), suffix, taken_at) if suffix else _Folder(partial)


class _Folder:
    """A folder being written."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __enter__(self) -> Self:
        self._root.mkdir(mode=PRIVATE_FOLDER)
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def file(self, name: str, stream: Readable, size: int, moment: datetime) -> None:
        """Write one file, readable by its owner alone."""
        location = self._root / name
        location.parent.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        descriptor = os.open(location, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        with os.fdopen(descriptor, "wb") as file:
            left = size
            while left and (part := stream.read(min(CHUNK, left))):
                file.write(part)
                left -= len(part)
        os.utime(location, (moment.timestamp(), moment.timestamp()))


class _Archive:
    """An archive being written, without names of users and with no rights but the owner's."""

    def __init__(self, location: Path, top: str, suffix: str, taken_at: datetime) -> None:
        self._location = location
        self._top = safe_name(top)
        self._suffix = suffix
        self._taken_at = taken_at

    def __enter__(self) -> Self:
        self._file = os.fdopen(os.open(self._location, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), "wb")
        self._compressing = compressing(self._file, self._suffix, self._taken_at.timestamp())
        self._tar = tarfile.open(fileobj=self._compressing, mode="w", format=tarfile.PAX_FORMAT)
        self._folders: set[str] = set()
        return self

    def __exit__(self, *error: object) -> None:
        with self._file, self._compressing:
            if error[0] is None:
                self._tar.close()

    def file(self, name: str, stream: Readable, size: int, moment: datetime) -> None:
        """Add one file."""
        header = self._header(f"{self._top}/{name}", moment)
        header.mode = PRIVATE_FILE
        header.size = size
        self._tar.addfile(header, cast("BinaryIO", stream))  # of which it reads alone

    def _header(self, name: str, moment: datetime) -> tarfile.TarInfo:
        header = tarfile.TarInfo(name)
        header.mtime = int(moment.timestamp())
        return header
