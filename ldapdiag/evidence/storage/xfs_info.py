"""The geometry of XFS that xfs_info and mkfs.xfs print.

    meta-data=/dev/sda1              isize=512    agcount=4, agsize=20480 blks
    data     =                       bsize=4096   blocks=81920, imaxpct=25
    log      =internal log           bsize=4096   blocks=16384, version=2

Source: xfs_info(8).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import XfsGeometry
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

SECTION = pattern(r"(?:meta-data|data|naming|log|realtime|) {0,12}", re.ASCII)
VALUE = pattern(r"([a-z0-9_-]{1,20})=(\d{1,18})", re.ASCII)
FIRST = "meta-data"
LONGEST = 2048
MOST = 1_000
"""File systems of a text."""


def recognises(head: Head) -> bool:
    """Recognise the first row."""
    return any(line.startswith("meta-data=") and _row(line) for line in head.lines)


def read(document: Document) -> Iterator[XfsGeometry]:
    """Read every file system."""
    sections: dict[str, tuple[str, dict[str, int]]] = {}
    found: list[dict[str, tuple[str, dict[str, int]]]] = []
    for line in document.lines:
        row = _row(line)
        if row is None:
            if line.strip():
                document.misread(line)
            continue
        section, what, values = row
        if section == FIRST:
            sections = {}
            if len(found) < MOST:
                found.append(sections)
        if section:
            sections[section] = what, values
    for one in found:
        yield XfsGeometry(
            origin=document.origin(),
            device=one[FIRST][0],
            log=one.get("log", ("", {}))[0],
            block_bytes=one.get("data", ("", {}))[1].get("bsize"),
        )


def _row(line: str) -> tuple[str, str, dict[str, int]] | None:
    """Return the section of a row, empty for one that continues, what stands before its values, and these."""
    section, equals, rest = line[:LONGEST].partition("=")
    words = rest.split()
    at = next((at for at, word in enumerate(words) if "=" in word), None)
    if not equals or at is None or not SECTION.fullmatch(section):
        return None
    values = {name: int(number) for name, number in VALUE.findall(" ".join(words[at:]))}
    return section.strip(), " ".join(words[:at]), values


FORMAT = Format(name="xfs-info", title="the geometry of XFS", recognises=recognises, read=read)
