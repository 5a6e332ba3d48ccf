r"""The extents of files as ldapdiag collects them (FS_IOC_FIEMAP): path, bytes, allocated bytes, extents, remark.

    /srv/ldap/data.mdb → 1048576 → 1048576 → 4 →                                    (→ is a tabulator)
    /dev/shm/data.mdb → 1048576 → 1048576 → - → the file system does not report extents
    /srv/btrfs/data.mdb → 1048576 → 524288 → 8 → compressed
    /srv/btrfs/large.mdb → 1048576 → 524288 → 200000 → at least: the time limit has passed
    # only the largest 200 files

A blank, tabulator, line break or backslash in a path may be an octal escape, as in /proc/mounts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import FileExtents
from ldapdiag.evidence.storage.mount_options import unescaped
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

ROW = pattern(
    r"(?P<path>/[^\t]{1,4096})\t(?P<bytes>\d{1,19}|-)\t(?P<allocated>\d{1,19}|-)\t(?P<extents>\d{1,12}|-)\t"
    r"(?P<remark>[^\t]{0,200})",
    re.ASCII,
)
COMPRESSED, AT_LEAST = "compressed", "at least"
COMMENT = pattern(r"# .*")
MOST_FILES = 10_000


def recognises(head: Head) -> bool:
    """Recognise a row."""
    return any("\t" in line and ROW.fullmatch(line) for line in head.lines)


def read(document: Document) -> Iterator[FileExtents]:
    """Read every file."""
    rows: list[re.Match[str]] = []
    for line in document.lines:
        row = ROW.fullmatch(line)
        if row and len(rows) < MOST_FILES:
            rows.append(row)
        elif line.strip() and not row and not COMMENT.fullmatch(line):
            document.misread(line)
    origin = document.origin()
    for row in rows:
        remark = row["remark"].strip()
        extents = _number(row["extents"])
        yield FileExtents(
            origin=origin,
            path=unescaped(row["path"]),
            bytes=_number(row["bytes"]),
            allocated_bytes=_number(row["allocated"]),
            extents=extents,
            complete=not remark.startswith(AT_LEAST),
            unsupported="" if extents is not None else remark or "no reason was given",
            compressed=remark == COMPRESSED,
        )


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


FORMAT = Format(name="file-extents", title="a list of extents", recognises=recognises, read=read)
