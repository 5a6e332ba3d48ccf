"""The walk: find inputs in files, folders, globs and standard input, without blocking and in bounded memory."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from glob import glob, has_magic
from heapq import nlargest
from io import FileIO
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.sources.files.archives import MOST_FILES
from ldapdiag.sources.files.input import Input, moment_of
from ldapdiag.sources.files.open_files import FileRange, OpenFiles
from ldapdiag.sources.files.unreadable import legible, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ldapdiag.sources.files.compressed import Readable
    from ldapdiag.sources.files.input import Found

STANDARD_INPUT = "-"


def walk(named: str, files: OpenFiles | None = None) -> Iterator[Found]:
    """Yield the inputs with their heads: the named file, or those of the named folder and its sub-folders."""
    for found in _found(named, files or OpenFiles()):
        if isinstance(found, Input):
            try:
                yield found.with_head()
            except OSError as error:
                yield unreadable(found.label, error)
        else:
            yield found


def expanded(named: str) -> list[str]:
    """Return the names that match a glob which the shell has not expanded; the name itself if there is no match."""
    if named == STANDARD_INPUT or not has_magic(named) or Path(named).exists():
        return [named]
    return sorted(glob(named)) or [named]  # noqa: PTH207  Path.glob takes no absolute pattern


def _found(named: str, files: OpenFiles) -> Iterator[Found]:
    if named == STANDARD_INPUT:
        where = "standard input"
        yield _stream(_standard_input, _Names(where, where, where), _status_of_standard_input())
        return
    path = Path(named)
    try:
        status = path.stat()
        folder = path.resolve().parent
    except OSError as error:
        yield unreadable(named, error)
        return
    if stat.S_ISDIR(status.st_mode):
        yield from _newest(path, files)
    elif stat.S_ISSOCK(status.st_mode):
        yield Gap(target=legible(named), reason="is a socket, not a file", how="name a file or a folder")
    elif stat.S_ISREG(status.st_mode):
        yield replace(_file(_RegularFile(named, folder, status), files), named=True)
    else:
        yield _stream(partial(FileIO, named), _named(named, folder), status)


def _newest(folder: Path, files: OpenFiles) -> Iterator[Found]:
    """Yield the contents of a folder, in order; of more than MOST_FILES files, the newest."""
    others: list[tuple[int, Gap | PassedOver]] = []
    number = 0

    def regular() -> Iterator[tuple[int, _RegularFile]]:
        nonlocal number
        for found in _in_folder(folder, deeper=True):
            if isinstance(found, _RegularFile):
                number += 1
                yield number, found
            elif len(others) < MOST_FILES:
                others.append((number, found))

    kept = nlargest(MOST_FILES, regular(), key=lambda one: (one[1].status.st_mtime, -one[0]))
    for _, found in sorted([*kept, *others], key=itemgetter(0)):
        yield _file(found, files) if isinstance(found, _RegularFile) else found
    if number > MOST_FILES:
        left_out = number - MOST_FILES
        yield Gap(
            target=legible(folder),
            reason=f"contains {number:,} files; all but the newest {MOST_FILES:,} are ignored ({left_out:,})",
            how="name the files, or a folder with the evidence of this incident alone",
        )


class _Names(NamedTuple):
    """The names of an input."""

    path: str
    folder: str
    label: str


class _RegularFile(NamedTuple):
    """A regular file; `folder` is a resolved path."""

    location: str
    folder: Path
    status: os.stat_result


def _named(location: str, folder: Path) -> _Names:
    return _Names(legible(f"{folder.name}/{Path(location).name}"), legible(folder), legible(location))


def _file(regular: _RegularFile, files: OpenFiles) -> Input:
    found, status = FileRange(regular.location, files=files), regular.status
    names = _named(regular.location, regular.folder)
    return Input(
        path=names.path,
        folder=names.folder,
        label=names.label,
        source=found.stream,
        file_range=found,
        size_bytes=status.st_size,
        changed=moment_of(status.st_mtime),
        identity=(status.st_dev, status.st_ino),
    )


def _stream(source: Callable[[], Readable], names: _Names, status: os.stat_result | None) -> Input:
    """Return an input for standard input or a pipe."""
    from ldapdiag.sources.files.spool import Spool  # noqa: PLC0415  import late: most inputs are files

    spool = Spool(source)
    return Input(
        path=names.path,
        folder=names.folder,
        label=names.label,
        source=spool.open,
        spool=spool,
        changed=datetime.now(UTC),
        identity=(status.st_dev, status.st_ino) if status else None,
        named=True,
    )


def _standard_input() -> BinaryIO:
    return open(0, "rb", buffering=0, closefd=False)


def _status_of_standard_input() -> os.stat_result | None:
    with suppress(OSError):
        return os.fstat(0)
    return None


def _in_folder(folder: Path, *, deeper: bool) -> Iterator[_RegularFile | Gap | PassedOver]:
    """Yield the contents of a folder, by name; `deeper` for the named folder, whose sub-folders are read."""
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
        resolved = folder.resolve()
    except OSError as error:
        yield unreadable(folder, error)
        return
    if not entries:
        reason = "is an empty folder"
        advice = "name the folder that contains the evidence"
        yield (
            Gap(target=legible(folder), reason=reason, how=advice)
            if deeper
            else PassedOver(target=legible(folder), reason=reason)
        )
    for entry in entries:
        yield from _at_entry(entry, resolved, deeper=deeper)


def _at_entry(entry: os.DirEntry[str], folder: Path, *, deeper: bool) -> Iterator[_RegularFile | Gap | PassedOver]:
    """Yield the files in one entry of a folder, or why there are none; `folder` is a resolved path."""
    try:
        status = entry.stat()
        leads_back = entry.is_symlink() and Path(entry.path).resolve() in (folder, *folder.parents)
    except OSError as error:
        yield unreadable(entry.path, error)
        return
    if stat.S_ISREG(status.st_mode):
        yield _RegularFile(entry.path, folder, status)
    elif leads_back:
        yield Gap(
            target=legible(entry.path),
            reason="is a link to one of its parent folders and is not followed",
            how="the folder is read completely; name the target of the link if it contains more evidence",
        )
    elif not stat.S_ISDIR(status.st_mode):
        yield PassedOver(target=legible(entry.path), reason="neither a file nor a folder")
    elif deeper:
        yield from _in_folder(Path(entry.path), deeper=False)
    else:
        yield PassedOver(target=legible(entry.path), reason="a folder inside a sub-folder; name it to read it")
