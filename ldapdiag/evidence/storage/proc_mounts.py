r"""Mounts in one line each: /proc/mounts and /etc/mtab of Linux, /etc/mnttab of Solaris.

    /dev/sda1 /srv/my\040ldap ext4 rw,relatime 0 0
    /dev/dsk/c0t0d0s0 → / → ufs → rw,logging,xattr,dev=2200000 → 1234567890      (→ is a tabulator)

Not fstab, which lists what is to be mounted: its last number is the order of fsck, and its options need no ro or rw.
Source: proc(5), fstab(5); mnttab(4) of Solaris.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import Mount
from ldapdiag.evidence.storage.mount_options import LONGEST, options_of, table_of, unescaped
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.storage import MountTable

LINUX = pattern(r"(?P<source>\S*) (?P<point>/\S*) (?P<type>[\w.-]{1,64}) (?P<options>r[ow](?:,\S*)?) 0 0", re.ASCII)
SOLARIS = pattern(
    r"(?P<source>[^\t]+)\t(?P<point>/[^\t]*)\t(?P<type>[\w-]{1,32})\t(?P<options>[^\t ]*)\t\d{1,12}", re.ASCII
)
FSTAB = pattern(r"\S+\s+\S+\s+\S+\s+\S+(?:\s+\d){0,2}\s*|\s*#.*", re.ASCII)


def recognises(head: Head) -> bool:
    """Recognise rows; among rows of fstab, those that look like these are none."""
    rows = [line for line in head.lines if _row(line)]
    return bool(rows) and not any(FSTAB.fullmatch(line) and not _row(line) for line in head.lines)


def read(document: Document) -> Iterator[MountTable]:
    """Read all rows."""
    return table_of(document, _mounts(document))


def _mounts(document: Document) -> Iterator[Mount]:
    for line in document.lines:
        if row := _row(line):
            yield Mount(
                mount_point=unescaped(row["point"]),
                source=unescaped(row["source"]),
                fs_type=row["type"],
                super_options=options_of(row["options"]),
            )
        elif line.strip():
            document.misread(line)


def _row(line: str) -> re.Match[str] | None:
    if len(line) > LONGEST:
        return None
    return SOLARIS.fullmatch(line) if "\t" in line else LINUX.fullmatch(line.rstrip())


FORMAT = Format(name="proc-mounts", title="a table of mounts", recognises=recognises, read=read)
