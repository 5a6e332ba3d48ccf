"""Access logs set aside: told by their beginning, to be scanned while this thread reads everything else.

A file that is an access log and nothing else needs none of the other grammars; importing these takes as long as
scanning a hundred megabytes. slapd's log is read for what it testifies to as well, and errors logs tell of some
searches only: these go the way of all other files (reading.py).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.dialects import recognise

if TYPE_CHECKING:
    from ldapdiag.sources.files.input import Input

HEAD_BYTES = 1 << 16
NOTICES = "389-errors"
"""An errors log of 389-ds: it tells of some searches, and of more than those."""


class Turn(StrEnum):
    """When a piece is read."""

    NOW = "now"
    """It runs on, it can be opened only once, or it may be a log among other things."""
    AFTER = "after"
    """It is no log: while the logs are scanned."""
    ASIDE = "aside"
    """It is a log: with all other logs."""


def turn_of(piece: Input) -> Turn:
    """Return when to read a piece, by its beginning; OSError is the caller's."""
    if piece.location is None:
        return Turn.NOW
    with piece.open() as stream:
        head = stream.read(HEAD_BYTES)
    dialect = recognise(head if len(head) < HEAD_BYTES else head[: head.rfind(b"\n") + 1])
    if dialect is None:
        return Turn.AFTER
    return Turn.NOW if dialect.family is Family.OPENLDAP or dialect.name == NOTICES else Turn.ASIDE
