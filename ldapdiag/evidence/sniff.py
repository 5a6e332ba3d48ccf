"""Which kind of evidence a file is: told by its content, never by its name (but for files of bare numbers)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.document import lines_of
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.socket_text import ss

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAD_BYTES = 1 << 16

FORMATS: tuple[Format, ...] = (ss.FORMAT,)
"""Every grammar we read. A new one costs its module and one line here."""


def head_of(name: str, start: bytes, *, whole: bool) -> Head:
    """Return the beginning of a file as lines; `whole` says that the file ends there."""
    lines = list(lines_of([start]))
    if not whole and len(lines) > 1:
        lines.pop()
    return Head(name=name, lines=tuple(lines))


def recognise(head: Head, formats: Sequence[Format] = FORMATS) -> Format | None:
    """Return the format that recognises this head, or None."""
    return next((candidate for candidate in formats if candidate.recognises(head)), None)
