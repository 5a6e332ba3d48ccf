"""/proc/PID/mountinfo: the mounts of the namespace of one process.

    36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
    ID parent device root mount-point options [tags] - type source super-options

A mount below a folder that a later mount covers is not among them: no path leads to it any more.
Source: proc(5); show_mountinfo in fs/proc_namespace.c.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import Mount
from ldapdiag.evidence.storage.mount_options import LONGEST, MOST_MOUNTS, options_of, table_of, unescaped
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.storage import MountTable

ROW = pattern(
    r"(?P<id>\d{1,10}) (?P<parent>\d{1,10}) (?P<device>\d{1,10}:\d{1,10}) (?P<root>\S+) (?P<point>\S+) (?P<options>\S+)"
    r"(?: [a-z_]+(?::\d+)?)* - (?P<type>\S+) (?P<source>\S*) (?P<super>\S+)\s*",
    re.ASCII,
)

DEEPEST = 100
"""Folders above a mount point, and mounts upon mounts, that are looked at."""

Row = tuple[str, str, Mount]
"""Its number, its parent's number, and the mount."""


def recognises(head: Head) -> bool:
    """Recognise a row."""
    return any(_row(line) for line in head.lines)


def read(document: Document) -> Iterator[MountTable]:
    """Read all rows."""
    rows: list[Row] = []
    for line in document.lines:
        if row := _row(line):
            if len(rows) <= MOST_MOUNTS:
                rows.append((row["id"], row["parent"], _mount(row)))
        elif line.strip():
            document.misread(line)
    return table_of(document, _reachable(rows), always_shows_atime=True)


def _mount(row: re.Match[str]) -> Mount:
    return Mount(
        mount_point=unescaped(row["point"]),
        source=unescaped(row["source"]),
        fs_type=unescaped(row["type"]),
        options=options_of(row["options"]),
        super_options=options_of(row["super"]),
        device=row["device"],
        root=unescaped(row["root"]),
    )


def _reachable(rows: list[Row]) -> Iterator[Mount]:
    """Yield the mounts that a path leads to: of two on one parent, the upper folder's covers all below it."""
    points = {(parent, mount.mount_point.rstrip("/")) for _, parent, mount in rows}
    covered = {number for number, parent, mount in rows if any((parent, one) in points for one in _above(mount))}
    parents = {number: parent for number, parent, _ in rows}
    for number, _, mount in rows:
        at = number
        for _ in range(DEEPEST):
            if at in covered or at not in parents:
                break
            at = parents[at]
        if at not in covered:
            yield mount


def _above(mount: Mount) -> Iterator[str]:
    """Yield the folders above a mount point, without the / at their end."""
    parts = mount.mount_point.rstrip("/").split("/")[: DEEPEST + 1]
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def _row(line: str) -> re.Match[str] | None:
    return ROW.fullmatch(line) if len(line) <= LONGEST else None


FORMAT = Format(name="mountinfo", title="the mounts of a process", recognises=recognises, read=read)
