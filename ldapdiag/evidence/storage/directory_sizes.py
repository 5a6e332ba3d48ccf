"""How many names directories contain, as ldapdiag collects it: path, number, path without symbolic links, remark.

    /var/lib/ldap → 12                                                 (→ is a tabulator; the last two may lack)
    /srv/ldap/log → 100000 → /mnt/disk2/log → at least                 (counting stopped)
    /srv/ldap/db → - → /srv/ldap/db → not read

Characters of a path may be octal escapes, as in /proc/mounts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import DirectorySize
from ldapdiag.evidence.storage.mount_options import unescaped
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

ROW = pattern(
    r"(?P<path>/[^\t]{0,4096})\t {0,20}(?P<names>\d{1,12}|-)"
    r"(?:\t(?P<real>(?:/[^\t]{0,4096})?)(?:\t(?P<remark>[a-z ]{0,80}))?)?",
    re.ASCII,
)
AT_LEAST = "at least"
MOST_ROWS = 10_000


def recognises(head: Head) -> bool:
    """Recognise a row."""
    return any("\t" in line and ROW.fullmatch(line) for line in head.lines)


def read(document: Document) -> Iterator[DirectorySize]:
    """Read every directory."""
    rows: list[re.Match[str]] = []
    for line in document.lines:
        row = ROW.fullmatch(line)
        if row and row["names"] != "-" and len(rows) < MOST_ROWS:
            rows.append(row)
        elif line.strip() and not row:
            document.misread(line)
    origin = document.origin()
    for row in rows:
        yield DirectorySize(
            origin=origin,
            path=unescaped(row["path"]),
            names=int(row["names"]),
            complete=row["remark"] != AT_LEAST,
            real_path=unescaped(row["real"] or ""),
        )


FORMAT = Format(name="directory-sizes", title="numbers of names in directories", recognises=recognises, read=read)
