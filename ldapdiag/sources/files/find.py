"""Captured evidence: files, folders and standard input, found and opened without ever hanging or filling the memory."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from functools import partial
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.files.unreadable import legible, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

CHUNK = 1 << 20
MOST_FILES = 5000
"""Files looked at per folder named; a folder with more is somebody's archive, not one incident's evidence."""

STANDARD_INPUT = "-"


def find(named: str) -> Iterator[Input | Gap | PassedOver]:
    """Yield the pieces of what the operator named: a file, an archive, a folder's files and those of its sub-folders.

    A piece that is yielded may be a stream that runs on: read it before asking for the next.
    """
    from ldapdiag.sources.files.unpacking import unpacked  # noqa: PLC0415  it needs Input, and this is where it is used

    path = Path(named)
    if named != STANDARD_INPUT and path.is_dir():
        yield from _with_manifest(path, _unpacked(files(named)))
        return
    for one in files(named):
        yield from unpacked(one, again=one.location is not None) if isinstance(one, Input) else (one,)


def files(named: str) -> Iterator[Input | Gap | PassedOver]:
    """Yield the files of what the operator named, as they lie there: nothing is unpacked.

    One without a `location` (standard input, a pipe) can be opened only once.
    """
    if named == STANDARD_INPUT:
        where = "standard input"
        yield Input(path=where, folder=where, label=where, source=_standard_input, named=True)
        return
    path = Path(named)
    try:
        mode = path.stat().st_mode
        folder = path.resolve().parent
    except OSError as error:
        yield unreadable(named, error)
        return
    if stat.S_ISDIR(mode):
        found = _in_folder(path, deeper=True)
        yield from islice(found, MOST_FILES)
        if next(found, None) is not None:
            yield Gap(
                target=legible(named),
                reason=f"holds more than {MOST_FILES} files; only the first {MOST_FILES} by name are read",
                how="name the files, or a folder with the evidence of this incident alone",
            )
    elif stat.S_ISSOCK(mode):
        yield Gap(target=legible(named), reason="is a socket, not a file", how="name a file or a folder")
    else:
        yield _piece(named, folder, named=True, again=stat.S_ISREG(mode))


def _unpacked(found: Iterator[Input | Gap | PassedOver]) -> Iterator[Input | Gap | PassedOver]:
    """Yield what the files of a folder hold."""
    from ldapdiag.sources.files.unpacking import Archives, unpacked  # noqa: PLC0415  it needs Input, and this is where it is used

    for one in found:
        yield from unpacked(one, again=True, archives=Archives.CAPTURES) if isinstance(one, Input) else (one,)


def _piece(location: str, folder: Path, *, named: bool, again: bool = True) -> Input:
    return Input(
        path=legible(f"{folder.name}/{Path(location).name}"),
        folder=legible(folder),
        label=legible(location),
        source=partial(FileIO, location),
        named=named,
        location=location if again else None,
    )


def _standard_input() -> BinaryIO:
    return open(0, "rb", buffering=0, closefd=False)


def _with_manifest(folder: Path, found: Iterator[Input | Gap | PassedOver]) -> Iterator[Input | Gap | PassedOver]:
    """Yield what was found in a folder, with the times and the gaps that its manifest keeps, if it has one."""
    from ldapdiag.sources.captures import manifest  # noqa: PLC0415  import late: most evidence was not collected

    location = folder / manifest.NAME
    try:
        with location.open("rb") as stream:
            kept = manifest.read(stream.read(manifest.MOST_BYTES + 1), legible(location))
    except OSError:
        kept = None
    if kept is None:
        yield from found
        return
    yield from (kept,) if isinstance(kept, Gap) else kept.gaps
    expected = {} if isinstance(kept, Gap) else {entry.path: entry for entry in kept.entries}
    for one in found:
        if not isinstance(one, Input):
            yield one
        elif one.label != legible(location):
            entry = expected.pop(one.path, None)
            yield replace(one, taken=entry.taken, asked=entry.asked) if entry else one
    yield from manifest.lacking(expected.values(), legible(folder))


def _in_folder(folder: Path, *, deeper: bool) -> Iterator[Input | Gap | PassedOver]:
    """Yield what a folder holds, by name; `deeper` says that it is the folder named, whose sub-folders are read."""
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
        resolved = folder.resolve()
    except OSError as error:
        yield unreadable(folder, error)
        return
    if not entries:
        reason = "is an empty folder"
        advice = "name the folder that holds the evidence"
        yield (
            Gap(target=legible(folder), reason=reason, how=advice)
            if deeper
            else PassedOver(target=legible(folder), reason=reason)
        )
    for entry in entries:
        yield from _at_entry(entry, resolved, deeper=deeper)


def _at_entry(entry: os.DirEntry[str], folder: Path, *, deeper: bool) -> Iterator[Input | Gap | PassedOver]:
    """Yield what one entry of a folder is; `folder` has no links in it."""
    try:
        mode = entry.stat().st_mode
        leads_back = entry.is_symlink() and Path(entry.path).resolve() in (folder, *folder.parents)
    except OSError as error:
        yield unreadable(entry.path, error)
        return
    if stat.S_ISREG(mode):
        yield _piece(entry.path, folder, named=False)
    elif leads_back:
        yield Gap(
            target=legible(entry.path),
            reason="is a link back to a folder above it, and is not followed",
            how="nothing of this folder is lost; name what it leads to if there is more evidence there",
        )
    elif not stat.S_ISDIR(mode):
        yield PassedOver(target=legible(entry.path), reason="neither a file nor a folder")
    elif deeper:
        yield from _in_folder(Path(entry.path), deeper=False)
    else:
        yield PassedOver(target=legible(entry.path), reason="deeper than a folder's sub-folders; name it to read it")
