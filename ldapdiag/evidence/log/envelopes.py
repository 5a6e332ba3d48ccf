"""All envelopes, and which of them the lines of a log are in."""

from __future__ import annotations

from ldapdiag.evidence.log.dialects import recognise
from ldapdiag.evidence.log.envelope import Envelope, decoded
from ldapdiag.evidence.log.json_envelopes import CONTAINER, JOURNAL
from ldapdiag.evidence.log.line_envelopes import CRI, SHORT_FULL, SHORT_UNIX, SYSLOGS, TOOL
from ldapdiag.evidence.log.xml_envelope import EVENTS

ENVELOPES = (JOURNAL, CONTAINER, CRI, SHORT_FULL, SHORT_UNIX, *SYSLOGS, TOOL, EVENTS)
"""A new envelope is a line here."""

DEEPEST = 4
"""Envelopes within each other: syslog in the journal in Docker's log, shown by docker compose."""


def envelopes_of(head: bytes) -> tuple[Envelope, ...]:
    """Return the envelopes around the lines of a log that begins with these bytes, from the outermost; mostly none.

    They are those in which most lines are recognised.
    """
    return _best(head, DEEPEST)[1]


def _best(head: bytes, deepest: int) -> tuple[int, tuple[Envelope, ...]]:
    """Return the number of recognised lines, and the envelopes around them."""
    candidates = [envelope for envelope in ENVELOPES if envelope.carries(head)] if deepest else []
    if not candidates and deepest == DEEPEST:
        return 0, ()  # most files: their dialect is recognised later, if they are logs
    dialect = recognise(head)
    best: tuple[int, tuple[Envelope, ...]] = (dialect.recognised(head) if dialect else 0, ())
    for envelope in candidates:
        lines, inner = _best(decoded(envelope, head), deepest - 1)
        if lines > best[0] or (lines == best[0] > 0 and envelope.splits):
            best = lines, (envelope, *inner)
    return best
