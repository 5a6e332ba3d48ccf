"""Folders: the files in a named folder and its sub-folders, in the order of their names, bounded in depth and number.

ticket-123/notes.txt                         a file beside the evidence
ticket-123/incident/ldap/ss.txt              one folder deeper than the incident
ticket-123/sosreport-app1/proc/net/tcp       the tree of one host
"""

from __future__ import annotations

import stat
from collections import deque
from dataclasses import field
from heapq import nsmallest
from math import inf
from os import DirEntry, scandir, stat_result
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.sources.files.archives import MOST_FILES
from ldapdiag.sources.files.input import moment_of
from ldapdiag.sources.files.unreadable import legible, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_DEPTH = 10
"""Limit of folders between the named folder and a file; the report of a host (sosreport) needs six."""

MOST_FOLDERS = 5000
"""Limit of folders that are read; those nearest to the named folder come first."""

KERNEL_FOLDERS = frozenset({"/proc", "/sys", "/dev"})
"""Folders whose files are made by the kernel; reading some of them waits for ever, or changes something."""


class RegularFile(NamedTuple):
    """A regular file; `folder` is a resolved path."""

    location: str
    folder: Path
    status: stat_result


class _Placed(NamedTuple):
    """A content of the named folder; `names` lead to it from there, and order all contents."""

    names: tuple[str, ...]
    found: RegularFile | Gap | PassedOver


def contents(folder: Path) -> Iterator[RegularFile | Gap | PassedOver]:
    """Yield the contents of a folder and its sub-folders, by name; of more than MOST_FILES files, the newest."""
    survey = _Survey()
    files = nsmallest(MOST_FILES, survey.files(folder), key=lambda one: (-one.found.status.st_mtime, one.names))
    every: list[_Placed | _PlacedFile] = [*files, *survey.others]
    yield from (one.found for one in sorted(every, key=lambda one: one.names))
    if survey.number > MOST_FILES:
        newest = f"all but the newest {MOST_FILES:,} are ignored ({survey.number - MOST_FILES:,}"
        times = (moment_of(seconds) for seconds in (survey.oldest, min(file.found.status.st_mtime for file in files)))
        changed = " and ".join(f"{time:%Y-%m-%d %H:%M}" if time else "1970" for time in times)
        yield Gap(
            target=legible(folder),
            reason=f"contains {survey.number:,} files; {newest}, last changed between {changed} UTC)",
            how="name the files, or a folder with the evidence of this incident alone",
        )
    if survey.waiting:
        yield Gap(
            target=legible(folder),
            reason=f"contains more than {MOST_FOLDERS:,} folders; those deeper inside are not read",
            how="name a folder with the evidence of this incident alone",
        )


class _PlacedFile(NamedTuple):
    """A regular file in its place."""

    names: tuple[str, ...]
    found: RegularFile


@dataclass(slots=True)
class _Survey:
    """The state of one walk: folders nearest to the named one first, links to folders last."""

    others: list[_Placed] = field(default_factory=list)
    """Everything that is no regular file, MOST_FILES at most."""
    number: int = 0
    """Regular files seen."""
    oldest: float = inf
    """The time of their earliest last change, seconds since 1970."""
    waiting: deque[tuple[Path, tuple[str, ...]]] = field(default_factory=deque)
    _links: deque[tuple[Path, tuple[str, ...]]] = field(default_factory=deque)
    _seen: set[tuple[int, int]] = field(default_factory=set)
    """(device, inode) of each folder: the walk never reads one twice."""

    def files(self, folder: Path) -> Iterator[_PlacedFile]:
        """Yield the regular files, and keep everything else in `others`."""
        self.waiting.append((folder, ()))
        while self.waiting and len(self._seen) < MOST_FOLDERS:
            yield from self._in_folder(*self.waiting.popleft())
            if not self.waiting:
                self.waiting, self._links = self._links, deque()

    def _in_folder(self, folder: Path, names: tuple[str, ...]) -> Iterator[_PlacedFile]:
        try:
            status = folder.stat()
            if (status.st_dev, status.st_ino) in self._seen:
                return
            self._seen.add((status.st_dev, status.st_ino))
            resolved = folder.resolve()
            with scandir(folder) as entries:
                is_empty = True
                for entry in entries:
                    is_empty = False
                    yield from self._entry(entry, resolved, (*names, entry.name))
        except OSError as error:
            self._add(names, unreadable(folder, error))
            return
        if is_empty:
            self._add(names, _empty(folder, is_named=not names))

    def _entry(self, entry: DirEntry[str], folder: Path, names: tuple[str, ...]) -> Iterator[_PlacedFile]:
        """Yield an entry that is a regular file; defer a folder; `folder` is a resolved path."""
        try:
            status = entry.stat()
            resolved = Path(entry.path).resolve() if entry.is_symlink() else folder / entry.name
        except OSError as error:
            self._add(names, unreadable(entry.path, error))
            return
        if stat.S_ISREG(status.st_mode):
            self.number += 1
            self.oldest = min(self.oldest, status.st_mtime)
            yield _PlacedFile(names, RegularFile(entry.path, folder, status))
        elif reason := _unfollowed(entry, status, folder, resolved, depth=len(names)):
            self._add(names, reason)
        else:
            (self._links if entry.is_symlink() else self.waiting).append((Path(entry.path), names))

    def _add(self, names: tuple[str, ...], found: Gap | PassedOver) -> None:
        if len(self.others) < MOST_FILES:
            self.others.append(_Placed(names, found))


def _empty(folder: Path, *, is_named: bool) -> Gap | PassedOver:
    reason = "the folder is empty"
    if is_named:
        return Gap(target=legible(folder), reason=reason, how="name the folder that contains the evidence")
    return PassedOver(target=legible(folder), reason=reason)


def _unfollowed(
    entry: DirEntry[str], status: stat_result, folder: Path, resolved: Path, *, depth: int
) -> Gap | PassedOver | None:
    """Return why an entry that is no regular file is not read; None if it is a folder to follow."""
    if entry.is_symlink() and resolved in (folder, *folder.parents):
        return Gap(
            target=legible(entry.path),
            reason="is a link to one of its parent folders and is not followed",
            how="the folder is read completely; name the target of the link if it contains more evidence",
        )
    target = legible(entry.path)
    if not stat.S_ISDIR(status.st_mode):
        return PassedOver(target=target, reason="neither a file nor a folder")
    if str(resolved) in KERNEL_FOLDERS:
        return PassedOver(target=target, reason="a folder of the kernel; name its files to read them")
    if entry.name.startswith("."):
        reason = "a hidden folder; name it to read it"
    elif depth > MOST_DEPTH:
        reason = f"a folder more than {MOST_DEPTH} folders deep; name it to read it"
    else:
        return None
    from ldapdiag.sources.files.weighing import evidence_in  # noqa: PLC0415  import late, with every grammar

    return PassedOver(target=target, reason=reason, files=evidence_in(resolved))
