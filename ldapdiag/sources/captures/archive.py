"""Writing of captures: the unchanged inputs and their manifest, in a folder or archive that `diagnose` reads.

    NAME/manifest.json      first, because it contains the times of the other files
    NAME/app1/sockets-1.txt
    NAME/ldap/cn-monitor.ldif

It is written under a temporary name beside the target and renamed at the end. An incomplete capture remains only where
the destination is full: losing the evidence would be worse.

The destination of a capture, checked before an hour of collecting: it is free, writable, and has space.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tarfile
from dataclasses import field
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, cast

from ldapdiag.errors import UsageError
from ldapdiag.evidence.bundle import Gap
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.captures import manifest
from ldapdiag.sources.captures.manifest import ClockOffset, Manifest, ManifestEntry
from ldapdiag.sources.files.compressed import can_compress, compressing
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.files.unreadable import legible, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import BinaryIO

    from ldapdiag.sources.files.compressed import Readable

ARCHIVES = {".tar.gz": ".gz", ".tgz": ".gz", ".tar.zst": ".zst", ".tzst": ".zst"}
"""File name suffixes of archives, and the suffix of the compression."""

OTHER_ARCHIVES = (".tar", ".zip", ".7z", ".gz", ".bz2", ".tbz2", ".xz", ".txz", ".zst", ".rar", ".json", ".txt")
"""File name suffixes that are refused: not supported as archives, and unusual for folders."""

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
CHUNK = 1 << 20
LONGEST_NAME = 100
"""Characters of a file name; file systems allow 255 bytes."""

UNSAFE = pattern(r"[^\w.+@=,:-]")


def ready(path: Path, *, with_key: bool = False) -> None:
    """Check before collection that a capture can be written to a path; raise UsageError with the reason if not."""
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
        raise refused(path, error) from error
    check(path)


def _taken(path: Path) -> bool:
    """Return whether a capture would overwrite something; an empty folder may be replaced."""
    if path.is_dir() and not _suffix(path):
        return any(path.iterdir())
    return path.exists() or path.is_symlink()


def write(
    path: Path,
    inputs: Iterable[Input],
    *,
    gaps: Iterable[Gap] = (),
    offsets: Mapping[str, ClockOffset] | None = None,
    taken_at: datetime | None = None,
) -> Manifest:
    """Write a capture and return its manifest; raise UsageError if it cannot be written.

    Each input is opened twice: to determine its length, and to copy it. An unreadable input becomes a gap.
    `gaps` are read after the inputs, because the iterator of the inputs may add to them.
    """
    ready(path)
    taken_at = taken_at or datetime.now(UTC)
    plan = _Plan()
    for one in inputs:
        plan.add(one)
    kept = Manifest(entries=tuple(entry for _, entry in plan.planned), gaps=(*gaps, *plan.gaps))
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with _target(path, partial, taken_at) as target:
            listed = manifest.as_json(kept, taken_at, offsets or {})
            target.file(manifest.NAME, BytesIO(listed), len(listed), taken_at)
            for one, entry in plan.planned:
                with one.open() as stream:
                    target.file(entry.path, stream, entry.size_bytes or 0, entry.taken.end if entry.taken else taken_at)
        partial.rename(path)
    except FullError as error:
        raise _kept(path, partial, error) from error
    except OSError as error:
        raise refused(path, error) from error
    finally:
        _remove(partial)
    return kept


def write_key(path: Path, mapping: Mapping[str, str]) -> Path:
    """Write the mapping of an anonymised capture beside it, readable by its owner only; return the path."""
    key = _key(path)
    try:
        with os.fdopen(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), "w") as file:
            json.dump(mapping, file, indent=1)
    except OSError as error:
        raise refused(key, error) from error
    return key


def _key(path: Path) -> Path:
    return path.with_name(f"{_stem(path)}.map.json")


def safe_name(text: str) -> str:
    """Return a name for a file or folder without characters that are special to a file system or a shell."""
    name = UNSAFE.sub("_", text)[:LONGEST_NAME]
    return f"_{name}" if not name or name[0] in "-." else name


def _suffix(path: Path) -> str:
    """Return the suffix of the compression of an archive, by its name; an empty string for a folder."""
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


def _kept(path: Path, partial: Path, error: FullError) -> UsageError:
    """Return the error of a destination that is full, after keeping what was written."""
    try:
        partial.rename(path)
    except OSError:
        return refused(path, error)
    reason = f"{(error.strerror or str(error)).lower()}; it is incomplete, and ldapdiag diagnose names what it lacks"
    return UsageError(f"cannot write all of {legible(path)}: {reason}; choose another --output and collect again")


def _remove(partial: Path) -> None:
    """Remove an unfinished capture."""
    if partial.is_dir():
        shutil.rmtree(partial, ignore_errors=True)
    else:
        partial.unlink(missing_ok=True)


@dataclass(slots=True)
class _Plan:
    """The inputs to write, and their names in the capture."""

    planned: list[tuple[Input, ManifestEntry]] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    _folders: dict[str, str] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def add(self, one: Input) -> None:
        """Add an input, or a gap if it cannot be read."""
        try:
            size = _length(one)
        except OSError as error:
            self.gaps.append(unreadable(one.label, error))
            return
        folder = self._folder(one.folder)
        path = self._unused(f"{folder}/{safe_name(one.path.rpartition('/')[2])}")
        entry = ManifestEntry(path=path, folder=folder, asked=one.asked, taken=one.taken, size_bytes=size)
        self.planned.append((one, entry))

    def _folder(self, folder: str) -> str:
        if folder not in self._folders:
            self._folders[folder] = self._unused(safe_name(folder.rstrip("/").rpartition("/")[2]))
        return self._folders[folder]

    def _unused(self, name: str) -> str:
        """Return the name, with a number if it is in use; some file systems ignore case."""
        stem, dot, end = name.rpartition(".") if "." in name.rpartition("/")[2] else (name, "", "")
        number = 1
        while name.casefold() in self._names:
            number += 1
            name = f"{stem}-{number}{dot}{end}"
        self._names.add(name.casefold())
        return name


def _length(one: Input) -> int:
    length = 0
    with one.open() as stream:
        while data := stream.read(CHUNK):
            length += len(data)
    return length


class _Target(Protocol):
    """The interface of the folder or archive that a capture is written to."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...
    def file(self, name: str, stream: Readable, size: int, moment: datetime) -> None:
        """Write one file of `size` bytes, last changed at `moment`."""


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
        """Write one file, readable by its owner only."""
        location = self._root / name
        location.parent.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        descriptor = os.open(location, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            left = size
            try:
                while left and (data := stream.read(min(CHUNK, left))):
                    Guarded(file).write(data)
                    left -= len(data)
            except FullError:
                location.unlink()  # an incomplete table shows too few connections
                raise
        os.utime(location, (moment.timestamp(), moment.timestamp()))


class _Archive:
    """An archive being written, without user names and with permissions for the owner only."""

    def __init__(self, location: Path, top: str, suffix: str, taken_at: datetime) -> None:
        self._location = location
        self._top = safe_name(top)
        self._suffix = suffix
        self._taken_at = taken_at

    def __enter__(self) -> Self:
        descriptor = os.open(self._location, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._compressing = compressing(cast("BinaryIO", Guarded(self._file)), self._suffix, self._taken_at.timestamp())
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
        self._tar.addfile(header, cast("BinaryIO", stream))  # tarfile only reads from it

    def _header(self, name: str, moment: datetime) -> tarfile.TarInfo:
        header = tarfile.TarInfo(name)
        header.mtime = int(moment.timestamp())
        return header


LEAST_FREE_BYTES = 16 << 20
"""A capture of a few hosts without access logs fits into this."""

PROBE_BYTES = 1 << 16
"""Written once, because a file system over its quota reports free space."""


class FullError(OSError):
    """A destination that accepts no more bytes; what it contains by then is kept."""


class Guarded:
    """A file being written: its errors differ from those of the evidence that is copied into it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes | memoryview) -> int:
        """Write all bytes. Raise FullError if the destination refuses them."""
        left = memoryview(data).cast("B")
        size = len(left)
        while left:
            left = left[self._some(left) :]
        return size

    def _some(self, data: memoryview) -> int:
        try:
            return self._file.write(data)
        except OSError as error:
            raise FullError(error.errno, error.strerror) from error

    def flush(self) -> None:
        """Do nothing: the file has no buffer."""

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._file.tell()


def refused(path: Path, error: OSError) -> UsageError:
    """Return the error of a destination that cannot be written."""
    return UsageError(
        f"cannot write {legible(path)}: {(error.strerror or str(error)).lower()}; choose another --output"
    )


def check(path: Path) -> None:
    """Raise UsageError if nothing can be created at a path, or if there is too little space."""
    if path.is_dir() and path.is_mount():
        how = f"name an archive or a folder in it, as in {legible(path / 'capture.tar.gz')}"
        raise UsageError(f"cannot replace {legible(path)}: it is a mount point; {how}")
    folder = path.absolute().parent
    probe = folder / f".{path.name}.{secrets.token_hex(4)}.probe"
    try:
        free = _free_bytes(folder)
        _probe(probe)
    except OSError as error:
        raise refused(path, error) from error
    if free is not None and free < LEAST_FREE_BYTES:
        room = f"{free / (1 << 20):.1f} MiB free, and a capture needs {LEAST_FREE_BYTES >> 20} MiB or more"
        raise UsageError(f"cannot write {legible(path)}: its file system has {room}; choose another --output")


def _probe(probe: Path) -> None:
    descriptor = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            Guarded(file).write(bytes(PROBE_BYTES))
            os.fsync(file.fileno())
    finally:
        probe.unlink(missing_ok=True)


def _free_bytes(folder: Path) -> int | None:
    """Return the space that this user may fill; None where the system does not report it."""
    if not hasattr(os, "statvfs"):
        return None
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize
