"""The properties of ZFS datasets that zfs get prints: a table, or fields between tabulators (-H).

    NAME       PROPERTY  VALUE     SOURCE
    tank/ldap  sync      standard  default
    tank/ldap → sync → disabled → local          (→ is a tabulator)

Source: zfs-get(8), zfs(1M).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import ZfsProperties
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

HEADER = pattern(r"NAME +PROPERTY +VALUE +SOURCE *", re.ASCII)
DATASET = r"[A-Za-z][\w.:%/@# -]{0,1023}"
ROW = pattern(
    rf"(?P<name>{DATASET})\t(?P<key>[a-z][\w:@.-]{{0,255}})\t(?P<value>[^\t]{{0,4096}})\t(?P<source>[^\t]{{0,1100}})",
    re.ASCII,
)
SOURCE = pattern(r"-|local|default|temporary|received|inherited from .*|none", re.ASCII)
KEY = pattern(r"[a-z][\w:@.-]{0,255}", re.ASCII)
KNOWN = frozenset(
    {"sync", "logbias", "atime", "relatime", "recordsize", "compression", "mountpoint", "primarycache", "type", "used"}
)
"""Properties by which rows with tabulators are recognised: they have no header."""
LONGEST = 8192
MOST_VALUES = 200_000


def recognises(head: Head) -> bool:
    """Recognise the header, or a row of fields with a property that every dataset has."""
    return any(
        (line.startswith("NAME ") and HEADER.fullmatch(line))
        or ("\t" in line and (row := _fields(line)) and row[1] in KNOWN)
        for line in head.lines
    )


def read(document: Document) -> Iterator[ZfsProperties]:
    """Read all values."""
    datasets: dict[str, dict[str, str]] = {}
    columns: tuple[int, int, int] | None = None
    room = MOST_VALUES
    for line in document.lines:
        if HEADER.fullmatch(line):
            columns = (line.index("PROPERTY"), line.index("VALUE"), line.index("SOURCE"))
            continue
        found = _fields(line) or _columns(line, columns)
        if found and room:
            room -= 1
            datasets.setdefault(found[0], {})[found[1]] = found[2]
        elif line.strip() and not found:
            document.misread(line)
    if datasets and room:
        yield ZfsProperties(origin=document.origin(), datasets=datasets)


def _fields(line: str) -> tuple[str, str, str] | None:
    """Return dataset, property and value of a row with tabulators."""
    found = ROW.fullmatch(line) if len(line) <= LONGEST else None
    return (found["name"], found["key"], found["value"]) if found and SOURCE.fullmatch(found["source"]) else None


def _columns(line: str, columns: tuple[int, int, int] | None) -> tuple[str, str, str] | None:
    """Return dataset, property and value of a row of the table."""
    if columns is None or len(line) > LONGEST or "\t" in line:
        return None
    key, value, source = columns
    name = line[:key].strip()
    found = line[key:value].strip(), line[value:source].strip()
    if not (re.fullmatch(DATASET, name, re.ASCII) and KEY.fullmatch(found[0]) and line[source:].strip()):
        return None
    return name, *found


FORMAT = Format(name="zfs-get", title="the properties of ZFS datasets", recognises=recognises, read=read)
