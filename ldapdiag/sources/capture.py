"""Captured evidence: files, folders and standard input, found and opened without ever hanging or filling the memory."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap, PassedOver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

CHUNK = 1 << 20
MOST_FILES = 5000
"""Files opened per folder; a folder with more is somebody's archive, not one incident's evidence."""

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One file to read. `path` is what the report shows, `folder` tells apart folders of one name."""

    location: str
    path: str
    folder: str
    named: bool
    """True when the operator named this very file."""

    def open(self) -> BinaryIO:
        """Open it for reading."""
        if self.location == STANDARD_INPUT:
            return sys.stdin.buffer
        return open(self.location, "rb", buffering=0)  # noqa: PTH123  closed by whoever reads it


def find(named: str) -> Iterator[Piece | Gap | PassedOver]:
    """Yield the files of what the operator named: itself, or a folder's files and those of its sub-folders."""
    if named == STANDARD_INPUT:
        yield Piece(location=named, path="standard input", folder="standard input", named=True)
        return
    path = Path(named)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        yield unreadable(named, error)
        return
    if stat.S_ISDIR(mode):
        yield from _in_folder(path, deeper=True)
    else:
        folder = path.resolve().parent
        yield Piece(location=named, path=f"{folder.name}/{path.name}", folder=str(folder), named=True)


def unreadable(path: str, error: OSError) -> Gap:
    """Return the gap of a path that cannot be opened: what was tried, why not, what to do."""
    how = {
        "FileNotFoundError": "check the spelling; a folder, a file or - is expected",
        "PermissionError": "run as a user who may read it, or ask its owner for a copy",
    }.get(type(error).__name__)
    return Gap(target=path, reason=f"cannot read it: {(error.strerror or str(error)).lower()}", how=how)


def _in_folder(folder: Path, *, deeper: bool) -> Iterator[Piece | Gap | PassedOver]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield unreadable(str(folder), error)
        return
    files = []
    for entry in entries:
        try:
            mode = entry.stat().st_mode
        except OSError as error:
            yield unreadable(entry.path, error)
            continue
        if stat.S_ISREG(mode):
            files.append(entry)
        elif stat.S_ISDIR(mode) and deeper:
            yield from _in_folder(Path(entry.path), deeper=False)
        elif stat.S_ISDIR(mode):
            yield PassedOver(target=entry.path, reason="deeper than a folder's sub-folders; name it to read it")
        else:
            yield PassedOver(target=entry.path, reason="neither a file nor a folder")
    if len(files) > MOST_FILES:
        yield Gap(
            target=str(folder),
            reason=f"holds {len(files)} files; the first {MOST_FILES} by name are read",
            how="name the files, or a folder with the evidence of this incident alone",
        )
    resolved = folder.resolve()
    for entry in files[:MOST_FILES]:
        yield Piece(
            location=entry.path,
            path=f"{resolved.name}/{entry.name}",
            folder=str(resolved),
            named=False,
        )
