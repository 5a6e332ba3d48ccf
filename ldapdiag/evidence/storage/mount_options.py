r"""The parts of mount tables that several of them have: escaped characters, lists of options, limits.

/srv/my\040disk is "/srv/my disk"; context="a,b" is one option.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.storage import Mount, MountTable
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.evidence.document import Document

ESCAPED = pattern(r"\\([0-3][0-7]{2})", re.ASCII)
OPTION = pattern(r'(?:[^,"]|"[^"]*"?)+')
LONGEST = 16_384
"""Characters of a row; the lower folders of an overlay are the longest."""
MOST_MOUNTS = 10_000
"""Of a table; a longer one is not used: the mount that contains a path may be among the remainder."""


def unescaped(text: str) -> str:
    """Return a name with its octal escapes replaced: blank, tab, line break, backslash, number sign."""
    return ESCAPED.sub(lambda found: chr(int(found[1], 8)), text) if "\\" in text else text


def options_of(text: str) -> tuple[str, ...]:
    """Return the options of a list; a comma within double quotes is part of an option."""
    return tuple(unescaped(option) for option in OPTION.findall(text))


def table_of(document: Document, rows: Iterable[Mount], *, always_shows_atime: bool = False) -> Iterator[MountTable]:
    """Yield the table of these rows, unless there is none or there are too many.

    Other tables than mountinfo show access times only if some row has relatime, the kernel's default: the file
    /etc/mtab, which mount prints on old systems, contains only what was asked for.
    """
    mounts: list[Mount] = []
    for mount in rows:
        if len(mounts) <= MOST_MOUNTS:
            mounts.append(mount)
    if mounts and len(mounts) <= MOST_MOUNTS:
        yield MountTable(
            origin=document.origin(),
            mounts=tuple(mounts),
            complete=any(mount.mount_point == "/" for mount in mounts),
            shows_atime=always_shows_atime
            or any("relatime" in (*mount.options, *mount.super_options) for mount in mounts),
        )
