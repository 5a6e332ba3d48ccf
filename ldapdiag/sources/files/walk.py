"""The walk: find inputs in files, folders, globs and standard input, without blocking and in bounded memory."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ldapdiag.evidence.bundle import Gap
from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.sources.files.folders import RegularFile, contents
from ldapdiag.sources.files.input import Input, moment_of
from ldapdiag.sources.files.open_files import FileRange, OpenFiles
from ldapdiag.sources.files.unreadable import legible, unreadable
from ldapdiag.sources.objects.addresses import object_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ldapdiag.sources.files.compressed import Readable
    from ldapdiag.sources.files.input import Found

STANDARD_INPUT = "-"
MAGIC = frozenset("*?[")
"""Of a glob."""


def walk(named: str, files: OpenFiles | None = None) -> Iterator[Found]:
    """Yield the inputs with their heads: the named file, or those of the named folder and its sub-folders."""
    if (address := object_address(named)) is not None:
        from ldapdiag.sources.files.objects import inputs_of  # noqa: PLC0415  import late: most inputs are files

        yield from inputs_of(address)
        return
    yield from map(with_head, listed(named, files or OpenFiles()))


def with_head(found: Found) -> Found:
    """Return an input with its head, or the gap of one that cannot be read."""
    if not isinstance(found, Input):
        return found
    try:
        return found.with_head()
    except OSError as error:
        return unreadable(found.label, error)


def expanded(named: str) -> list[str]:
    """Return the names that match a glob which the shell has not expanded; the name itself if there is no match.

    A store is asked for the objects that match a pattern when they are found.
    """
    if named == STANDARD_INPUT or MAGIC.isdisjoint(named) or object_address(named) or Path(named).exists():
        return [named]
    from glob import glob  # noqa: PLC0415  import late

    return sorted(glob(named)) or [named]  # noqa: PTH207  Path.glob takes no absolute pattern


def listed(named: str, files: OpenFiles) -> Iterator[Found]:
    """Yield the inputs as walk does, without their heads: no file is opened."""
    if named == STANDARD_INPUT:
        where = "standard input"
        yield _stream(_standard_input, _Names(where, where, where), _status_of_standard_input())
        return
    if (address := object_address(named)) is not None:
        from ldapdiag.sources.files.objects import listed_of  # noqa: PLC0415  import late, as above

        yield from listed_of(address)
        return
    path = Path(named)
    try:
        status = path.stat()
        folder = path.resolve().parent
    except OSError as error:
        yield unreadable(named, error)
        return
    if stat.S_ISDIR(status.st_mode):
        for found in contents(path):
            yield _file(found, files) if isinstance(found, RegularFile) else found
    elif stat.S_ISSOCK(status.st_mode):
        yield Gap(target=legible(named), reason="is a socket, not a file", how="name a file or a folder")
    elif stat.S_ISREG(status.st_mode):
        yield replace(_file(RegularFile(named, folder, status), files), named=True)
    else:
        yield _stream(partial(FileIO, named), _named(named, folder), status)


class _Names(NamedTuple):
    """The names of an input."""

    path: str
    folder: str
    label: str


def _named(location: str, folder: Path) -> _Names:
    return _Names(legible(f"{folder.name}/{Path(location).name}"), legible(folder), legible(location))


def _file(regular: RegularFile, files: OpenFiles) -> Input:
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
