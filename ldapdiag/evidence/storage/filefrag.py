"""The extents of files that filefrag prints, with every extent (-v) or only their number.

    File size of /srv/ldap/data.mdb is 1048576 (1024 blocks of 1024 bytes)
     ext:     logical_offset:        physical_offset: length:   expected: flags:
       0:        0..      31:      24897..     24928:     32:
       1:       32..    1023:      24961..     25952:    992:      24929: last,encoded,eof
    /srv/ldap/data.mdb: 2 extents found

It counts extents that adjoin on the disk as one. Source: filefrag(8).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import FileExtents
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.origin import Origin

SIZE = pattern(
    r"File size of (?P<path>.{1,4096}) is (?P<bytes>\d{1,19}) \(\d{1,19} blocks? of (?P<unit>\d{1,9}) bytes\)",
    re.ASCII,
)
RANGE = r"\d{1,19}\.\. {0,20}\d{1,19}: {0,20}"
EXTENT = pattern(rf" {{1,20}}\d{{1,12}}: {{1,20}}{RANGE}{RANGE}(?P<length>\d{{1,19}}):(?P<rest>.{{0,200}})", re.ASCII)
COUNT = pattern(
    r"(?P<path>.{1,4096}): (?P<extents>\d{1,12}) extents? found(?:, perfection would be \d{1,12} extents?)?", re.ASCII
)
FAILED = pattern(
    r"(?P<path>.{1,4096}): (?P<reason>FIBMAP/FIEMAP unsupported"
    r"|(?:FIBMAP|FIEMAP|open|f?stat|Permission denied|No such file|Not a regular file|Operation not)\b.{0,200})"
)
IGNORED = pattern(
    r"Filesystem type is: .*|Filesystem cylinder .*| *ext: *logical_offset:.*|Discontinuity.*"
    r"|[#$] ?(?:filefrag .*)?"
)
MOST_FILES = 10_000


@dataclass(slots=True)
class Fragments:
    """What is printed about one file while it is read."""

    bytes: int | None = None
    unit: int = 0
    allocated: int | None = None
    extents: int | None = None
    compressed: bool = False
    unsupported: str = ""

    def add(self, row: re.Match[str]) -> None:
        """Add one extent."""
        flags = row["rest"].rpartition(":")[2].strip().split(",")
        if "inline" in flags:
            return  # within the metadata; its length is in other units
        self.compressed = self.compressed or "encoded" in flags
        self.allocated = (self.allocated or 0) + int(row["length"]) * self.unit


def recognises(head: Head) -> bool:
    """Recognise the line of a file's size, or of its number of extents."""
    return any(
        (line.startswith("File size of ") and SIZE.fullmatch(line)) or (" found" in line and COUNT.fullmatch(line))
        for line in head.lines
    )


def read(document: Document) -> Iterator[FileExtents]:
    """Read every file."""
    files: dict[str, Fragments] = {}
    current = Fragments()
    for line in map(str.rstrip, document.lines):
        if found := SIZE.fullmatch(line):
            current = _of(files, found["path"])
            current.bytes, current.unit = int(found["bytes"]), int(found["unit"])
        elif found := EXTENT.fullmatch(line):
            current.add(found)
        elif found := COUNT.fullmatch(line):
            _of(files, found["path"]).extents = int(found["extents"])
        elif found := FAILED.fullmatch(line):
            _of(files, found["path"]).unsupported = found["reason"]
        elif line and not IGNORED.fullmatch(line):
            document.misread(line)
    origin = document.origin()
    yield from (_extents(path, one, origin) for path, one in files.items())


def _of(files: dict[str, Fragments], path: str) -> Fragments:
    """Return what is known of a file; beyond the limit, what is not kept."""
    if len(files) >= MOST_FILES:
        return files.get(path, Fragments())
    return files.setdefault(path, Fragments())


def _extents(path: str, one: Fragments, origin: Origin) -> FileExtents:
    incomplete = "" if one.extents is not None else "filefrag printed no number of extents"
    return FileExtents(
        origin=origin,
        path=path,
        bytes=one.bytes,
        allocated_bytes=one.allocated,
        extents=one.extents,
        unsupported=one.unsupported or incomplete,
        compressed=one.compressed,
    )


FORMAT = Format(name="filefrag", title="the extents that filefrag prints", recognises=recognises, read=read)
