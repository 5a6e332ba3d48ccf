"""/proc/PID/limits: the resource limits of one process.

    Limit                     Soft Limit           Hard Limit           Units
    Max open files            20000                20000                files

Source: proc(5); fs/proc/base.c.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.host_facts import ProcessLimits
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

HEADER = pattern(r"Limit\s{1,40}Soft Limit\s{1,40}Hard Limit\s{1,40}Units\s*")
ROW = pattern(
    r"(Max [a-z ]{3,24}?)\s{1,40}(unlimited|\d{1,20})\s{1,40}(unlimited|\d{1,20})(?:\s{1,40}[a-z]{2,12})?\s*", re.ASCII
)
OPEN_FILES = "Max open files"


def recognises(head: Head) -> bool:
    """Recognise the file by its header or its row of open files."""
    return any(HEADER.fullmatch(line) or _is_open_files(line) for line in head.lines)


def read(document: Document) -> Iterator[ProcessLimits]:
    """Read the row of open files; the other rows are ignored."""
    found: re.Match[str] | None = None
    for line in document.lines:
        row = ROW.fullmatch(line)
        if row and row[1] == OPEN_FILES:
            if found:
                document.note("It contains the limits of several processes; those of the last one are used.")
            found = row
        elif not row and line.strip() and not HEADER.fullmatch(line):
            document.misread(line)
    if found:
        yield ProcessLimits(
            origin=document.origin(), open_files_soft=_limit(found[2]), open_files_hard=_limit(found[3])
        )


def _is_open_files(line: str) -> bool:
    row = ROW.fullmatch(line)
    return row is not None and row[1] == OPEN_FILES


def _limit(text: str) -> int | None:
    return None if text == "unlimited" else int(text)


FORMAT = Format(name="proc-limits", title="the limits of a process", recognises=recognises, read=read)
