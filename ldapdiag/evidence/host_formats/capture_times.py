"""A file that contains only times: when the other files of its folder were captured.

    2026-11-20T08:57:42.874Z
    2026-11-20T08:57:43.466Z

One time for the start and one for the end of the capture, in ISO 8601 with zone. The name of the file must contain
'captured', 'taken' or 'date'.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.host_facts import CaptureTimes
from ldapdiag.evidence.origin import Span
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

IN_NAME = ("captured", "taken", "date")
TIME = pattern(
    r"(?:19|20|21)\d\d-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)? ?(?:Z|[+-]\d\d(?::?\d\d)?)", re.ASCII
)


def recognises(head: Head) -> bool:
    """Recognise the file by its name, and by containing only times."""
    lines = [line.strip() for line in head.lines if line.strip()]
    named = any(part in head.name.lower() for part in IN_NAME)
    return named and bool(lines) and all(TIME.fullmatch(line) for line in lines)


def read(document: Document) -> Iterator[CaptureTimes]:
    """Read the span from the earliest to the latest time."""
    start: datetime | None = None
    end: datetime | None = None
    for line in document.lines:
        if not line.strip():
            continue
        moment = _moment(line.strip())
        if moment is None:
            document.misread(line)
            continue
        start = moment if start is None else min(start, moment)
        end = moment if end is None else max(end, moment)
    if start and end:
        document.note(f"Taken for the capture time of its folder, because of its name ({document.name}).")
        yield CaptureTimes(origin=document.origin(), span=Span(start=start, end=end))


def _moment(text: str) -> datetime | None:
    """Return the time in a line; None for any other line."""
    if not TIME.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text.replace(" +", "+").replace(" -", "-").replace(" Z", "Z"))
    except ValueError:
        return None


FORMAT = Format(name="capture-times", title="the times of a capture", recognises=recognises, read=read)
