"""The dialects of access logs: which there are, and which of them a log is, told by its content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log import (
    active_directory_1644,
    ds389_json,
    ds389_notice,
    ds389_text,
    dsee,
    opendj_json,
    opendj_text,
    openldap,
    ping_json,
    ping_text,
)
from ldapdiag.evidence.log.dialect import Dialect
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.tables import CAPS, Caps

if TYPE_CHECKING:
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.evidence.log.tally import Hints


def _of(grammar: Any) -> Dialect:  # noqa: ANN401  a module, or one of slapd's grammars
    """Return the dialect whose grammar a module holds."""
    parts = {"cut": grammar.cut} if hasattr(grammar, "cut") else {}
    return Dialect(name=grammar.NAME, family=grammar.FAMILY, recognises=grammar.recognises, scan=grammar.scan, **parts)


GRAMMARS = (
    ds389_text,
    ds389_json,
    ds389_notice,
    dsee,
    *openldap.DIALECTS,
    opendj_text,
    opendj_json,
    ping_text,
    ping_json,
    active_directory_1644,
)
DIALECTS: tuple[Dialect, ...] = tuple(_of(grammar) for grammar in GRAMMARS)
"""Every dialect we read. A new one costs its module and one line above."""


def recognise(head: bytes) -> Dialect | None:
    """Return the dialect of a log that begins with these bytes, or None."""
    return next((dialect for dialect in DIALECTS if dialect.recognises(head)), None)


def named(name: str) -> Dialect:
    """Return the dialect of this name."""
    return next(dialect for dialect in DIALECTS if dialect.name == name)


def scan_chunk(dialect: Dialect, data: bytes, hints: Hints | None = None, caps: Caps = CAPS) -> Segment:
    """Return what whole records of one stream add up to."""
    scan = Scan(hints, caps)
    if data:
        dialect.scan(data, scan)
    return scan.finish()
