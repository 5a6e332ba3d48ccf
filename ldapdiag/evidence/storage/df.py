"""The space of file systems that df prints: with types (-T) or without, in units of its header or rounded (-h).

    Filesystem     Type 1024-blocks  Used Available Capacity Mounted on
    /dev/sda1      ext4      296847 13335    263032       5% /srv/ldap

    Filesystem     Type Inodes IUsed IFree IUse% Mounted on
    /dev/sda1      ext4  81920   319 81601    1% /srv/ldap

With -i it prints inodes instead. df breaks the line after a long source, unless it is asked for the form of POSIX (-P).
Source: df(1) of POSIX, of GNU, and df(1M) of Solaris (kbytes, avail, capacity).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import FileSystemSpace, Space
from ldapdiag.evidence.storage.sizes import bytes_of
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

HEADER = pattern(
    r"Filesystem\s{1,1000}(?P<type>Type\s{1,1000})?(?P<unit>(?P<block>\d{1,10}[KMGB]?)-blocks|kbytes|Size|size|Inodes)\s{1,40}"
    r"(?i:i?used)\s{1,40}(?i:avail(?:able)?|ifree)\s{1,40}(?i:capacity|i?use%)\s{1,40}Mounted on\s*",
    re.ASCII,
)
KBYTES = "kbytes"
PERCENT = pattern(r"\d{1,9}%|-", re.ASCII)
AMOUNT = pattern(r"-|-?\d{1,18}(?:[.,]\d{1,3})?(?:[KMGTPE]i?B?)?", re.ASCII)
AMOUNTS = 3
INODES = "Inodes"
"""A header with this word is of inodes."""
LONGEST = 16_384
MOST_ROWS = 10_000


def recognises(head: Head) -> bool:
    """Recognise the header."""
    return any(line.startswith("Filesystem") and HEADER.fullmatch(line) for line in head.lines)


def read(document: Document) -> Iterator[FileSystemSpace]:
    """Read all rows."""
    rows: list[Space] = []
    header: re.Match[str] | None = None
    begun = ""
    for line in document.lines:
        if found := HEADER.fullmatch(line):
            header = found
            continue
        row = _row(f"{begun} {line}" if begun else line, header)
        if row and len(rows) < MOST_ROWS:
            rows.append(row)
        is_begin = row is None and not begun and len(line.split(maxsplit=1)) == 1 and len(line) <= LONGEST
        if row is None and not is_begin and line.strip():
            document.misread(line)
        begun = line.strip() if is_begin else ""
    if rows:
        yield FileSystemSpace(origin=document.origin(), rows=tuple(rows))


def _row(line: str, header: re.Match[str] | None) -> Space | None:
    """Return a row: three amounts before a percentage, and the mount point behind it."""
    if header is None or len(line) > LONGEST:
        return None
    words = line.split()
    before = AMOUNTS + (1 if header["type"] else 0)
    at = next((at for at in range(before + 1, len(words) - 1) if _is_end(words, at)), None)
    if at is None:
        return None
    of_inodes = header["unit"] == INODES
    unit = (bytes_of(header["block"] or "") or 1) if header["unit"] != KBYTES else 1024
    total, used, free = (bytes_of(word, unit) for word in words[at - AMOUNTS : at])
    if words[at - 1].startswith("-") and words[at - 1] != "-":
        free = 0  # below zero, where root has filled what is reserved (BSD, Solaris)
    mounted = Space(
        mount_point=line.split(maxsplit=at + 1)[at + 1].rstrip(),
        source=" ".join(words[: at - before]),
        fs_type=words[at - before] if header["type"] else "",
    )
    if of_inodes:
        return replace(mounted, total_inodes=total or 0, free_inodes=free)
    return replace(mounted, total_bytes=total, used_bytes=used, free_bytes=free)


def _is_end(words: list[str], at: int) -> bool:
    """Return whether the amounts end before this word."""
    is_percent = PERCENT.fullmatch(words[at]) and words[at + 1].startswith("/")
    return bool(is_percent) and all(AMOUNT.fullmatch(word) for word in words[at - AMOUNTS : at])


FORMAT = Format(name="df", title="the space that df prints", recognises=recognises, read=read)
