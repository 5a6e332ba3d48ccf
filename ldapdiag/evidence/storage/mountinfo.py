"""/proc/PID/mountinfo: the mounts of the namespace of one process.

    36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
    ID parent device root mount-point options [tags] - type source super-options

Source: proc(5); show_mountinfo in fs/proc_namespace.c.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import Mount
from ldapdiag.evidence.storage.mount_options import LONGEST, options_of, table_of, unescaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.storage import MountTable

ROW = re.compile(
    r"\d{1,10} \d{1,10} (?P<device>\d{1,10}:\d{1,10}) (?P<root>\S+) (?P<point>\S+) (?P<options>\S+)"
    r"(?: [a-z_]+(?::\d+)?)* - (?P<type>\S+) (?P<source>\S*) (?P<super>\S+)\s*",
    re.ASCII,
)


def recognises(head: Head) -> bool:
    """Recognise a row."""
    return any(_row(line) for line in head.lines)


def read(document: Document) -> Iterator[MountTable]:
    """Read all rows."""
    return table_of(document, _mounts(document), always_shows_atime=True)


def _mounts(document: Document) -> Iterator[Mount]:
    for line in document.lines:
        if row := _row(line):
            yield Mount(
                mount_point=unescaped(row["point"]),
                source=unescaped(row["source"]),
                fs_type=unescaped(row["type"]),
                options=options_of(row["options"]),
                super_options=options_of(row["super"]),
                device=row["device"],
                root=unescaped(row["root"]),
            )
        elif line.strip():
            document.misread(line)


def _row(line: str) -> re.Match[str] | None:
    return ROW.fullmatch(line) if len(line) <= LONGEST else None


FORMAT = Format(name="mountinfo", title="the mounts of a process", recognises=recognises, read=read)
