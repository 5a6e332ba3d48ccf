"""The file system of a path, as stat -f prints it.

      File: "/srv/ldap"
        ID: b34f20f61e7b8d8d Namelen: 255     Type: ext2/ext3
    Block size: 1024       Fundamental block size: 1024
    Blocks: Total: 296847     Free: 283512     Available: 263032
    Inodes: Total: 81920      Free: 81601

The type is that of the number in statfs(2): ext2/ext3 stands for ext4, too. The path need not be a mount point.
Source: stat(1) of GNU coreutils.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import FileSystemSpace, Space
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

FILE = pattern(r' {2}File: "(?P<path>.{1,4096})"', re.ASCII)
TYPE = pattern(r" {4}ID: [0-9a-f]{1,32} +Namelen: \S{1,20} +Type: (?P<type>\S.{0,80})", re.ASCII)
SIZES = pattern(r"Block size: (\d{1,12}) +Fundamental block size: (?P<bytes>\d{1,12})", re.ASCII)
BLOCKS = pattern(
    r"Blocks: Total: (?P<total>\d{1,18}) +Free: (?P<free>\d{1,18}) +Available: (?P<available>\d{1,18})", re.ASCII
)
INODES = pattern(r"Inodes: Total: (?P<total>\d{1,18}) +Free: (?P<free>\d{1,18})", re.ASCII)
IGNORED = pattern(r"type-hex .*")
MOST_ROWS = 10_000


def recognises(head: Head) -> bool:
    """Recognise the row of the type, which stat without -f does not have."""
    return any(line.startswith("    ID: ") and TYPE.fullmatch(line) for line in head.lines)


def read(document: Document) -> Iterator[FileSystemSpace]:
    """Read the file system of every path."""
    rows: list[Space] = []
    path = kind = ""
    unit = 0
    for line in document.lines:
        if found := FILE.fullmatch(line):
            path, kind, unit = found["path"], "", 0
        elif found := TYPE.fullmatch(line):
            kind = found["type"].rstrip()
        elif found := SIZES.fullmatch(line.rstrip()):
            unit = int(found["bytes"])
        elif found := BLOCKS.fullmatch(line.rstrip()):
            if path and len(rows) < MOST_ROWS:
                rows.append(_space(path, kind, unit, found))
        elif found := INODES.fullmatch(line.rstrip()):
            rows[-1:] = [_with_inodes(row, path, found) for row in rows[-1:]]
        elif line.strip() and not IGNORED.fullmatch(line):
            document.misread(line)
    if rows:
        yield FileSystemSpace(origin=document.origin(), rows=tuple(rows))


def _with_inodes(row: Space, path: str, inodes: re.Match[str]) -> Space:
    if row.mount_point != path:
        return row
    return replace(row, total_inodes=int(inodes["total"]), free_inodes=int(inodes["free"]))


def _space(path: str, kind: str, unit: int, blocks: re.Match[str]) -> Space:
    total, free, available = (int(blocks[name]) for name in ("total", "free", "available"))
    if not unit:
        return Space(mount_point=path, fs_type=kind)
    return Space(
        mount_point=path,
        fs_type=kind,
        total_bytes=total * unit,
        used_bytes=(total - free) * unit,
        free_bytes=available * unit,
    )


FORMAT = Format(name="stat-f", title="the file system that stat -f prints", recognises=recognises, read=read)
