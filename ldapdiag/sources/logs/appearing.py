"""Appearing logs: files that come into the followed folders and globs, each read once.

access -> access.20261120-090000      the followed file under a new name, known by its inode
access.1, a copy, then access cut     logrotate's copytruncate: known by its beginning
access.1.gz                           what was read before; a compressed file does not grow
slapd-2026-11-21.log                  new records: it continues slapd-2026-11-20.log
"""

from __future__ import annotations

import stat
from contextlib import suppress
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.sources.files.folders import RegularFile, contents
from ldapdiag.sources.files.input import HEAD_BYTES
from ldapdiag.sources.files.walk import expanded
from ldapdiag.sources.logs.log_files import LogFile, find_logs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import tzinfo

    from ldapdiag.sources.logs.following import Tail

    Inode = tuple[int, int]

COMPARED_BYTES = 1 << 10
"""Bytes at the beginning of two files by which one is known as a copy of the other: several records."""

MOST_BEGINNINGS = 1_000
"""Beginnings of files that are kept: those of the last ones that were followed."""


class Appearing:
    """Finds the logs that appear among what the operator named."""

    def __init__(self, named: Sequence[str], zone: tzinfo | None) -> None:
        """Take what is there now as known; call it before the logs are searched for the first time."""
        self._named = named
        self._zone = zone
        self._beginnings: dict[object, bytes] = {}
        self._logs: set[Inode] = set()
        """The files that have been read."""
        self._others = {inode: one.status.st_size for inode, one in self._present().items()}
        """The sizes of the files that were no plain logs when they were read last."""

    def know(self, files: Iterable[LogFile]) -> None:
        """Take these logs as known."""
        for file in files:
            if file.input.identity is not None:
                self._logs.add(file.input.identity)
                self._others.pop(file.input.identity, None)
            if found := file.input.file_range:
                with suppress(OSError):  # reported when the file is read
                    self._remember(file.input.identity, found.read_at(found.start, COMPARED_BYTES))

    def new_logs(self, tails: Iterable[Tail]) -> Iterator[LogFile]:
        """Yield the plain logs that have appeared or got their first record, and are no copies of what was read."""
        present = self._present()
        self._logs &= present.keys()  # the inode of a removed file may be used again
        self._others = {inode: size for inode, size in self._others.items() if inode in present}
        for tail in tails:
            self._logs |= tail.inodes()
            self._remember((id(tail), tail.generation), tail.beginning(COMPARED_BYTES))
        for inode, one in present.items():
            if inode not in self._logs and self._may_be_log(inode, one.status.st_size):
                self._others[inode] = one.status.st_size
                for file in find_logs([one.location], self._zone):
                    if isinstance(file, LogFile) and _grows(file) and not self._is_copy(file):
                        self.know([file])
                        yield file

    def _present(self) -> dict[Inode, RegularFile]:
        """Return the regular files in the named folders and of the named globs."""
        found = {}
        for named in self._named:
            for name in expanded(named):
                for one in _files_of(Path(name), is_glob=has_magic(named)):
                    found[one.status.st_dev, one.status.st_ino] = one
        return found

    def _may_be_log(self, inode: Inode, size: int) -> bool:
        """Return whether a file is new, or has grown since its head was too short to recognise it."""
        before = self._others.get(inode, 0)
        return before < HEAD_BYTES and size != before

    def _remember(self, key: object, beginning: bytes) -> None:
        self._beginnings.pop(key, None)
        self._beginnings[key] = beginning
        while len(self._beginnings) > MOST_BEGINNINGS:
            del self._beginnings[next(iter(self._beginnings))]

    def _is_copy(self, file: LogFile) -> bool:
        found = file.input.file_range
        beginning = found.read_at(found.start, COMPARED_BYTES) if found else b""
        for known in self._beginnings.values():
            shorter = min(known, beginning, key=len)
            if _has_record(shorter) and known[: len(shorter)] == beginning[: len(shorter)]:
                return True
        return False


def _files_of(path: Path, *, is_glob: bool) -> Iterator[RegularFile]:
    with suppress(OSError):  # it has been removed
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            yield from (one for one in contents(path) if isinstance(one, RegularFile))
        elif is_glob and stat.S_ISREG(status.st_mode):
            yield RegularFile(str(path), path.parent, status)


def _grows(file: LogFile) -> bool:
    """Return whether a log is a plain file, which may get more records."""
    return file.input.file_range is not None and file.input.file_range.length is None


def _has_record(beginning: bytes) -> bool:
    """Return whether a beginning has more than the header of 389-ds, which all its files have alike."""
    return any(line and not line.startswith(b"\t") for line in beginning.split(b"\n")[:-1])
