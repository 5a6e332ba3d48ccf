"""The dialects of access logs: which there are, and which of them a log is, told by its content.

A dialect is imported when its turn comes: most logs are of one, and the first ones are the most frequent.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.dialect import Dialect
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.tables import CAPS, Caps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.log.line_scan import Hints
    from ldapdiag.evidence.log.segment import Segment


GRAMMAR_VERSION = 2
"""Of what scanners make of a log: rises with whatever changes a Segment. A native scanner of another is not used."""


def _of(grammar: Any) -> Dialect:  # noqa: ANN401  a module, or one of slapd's grammars
    """Return the dialect whose grammar a module holds."""
    parts = {"cut": grammar.cut, "anywhere": grammar.CUT_ANYWHERE} if hasattr(grammar, "cut") else {}
    return Dialect(name=grammar.NAME, family=grammar.FAMILY, recognises=grammar.recognises, scan=grammar.scan, **parts)


GRAMMARS = (
    "ds389_text",
    "ds389_json",
    "ds389_notice",
    "dsee",
    "openldap",
    "opendj_text",
    "opendj_json",
    "ping_text",
    "ping_json",
    "active_directory_1644",
)
"""The modules of every dialect we read. A new one costs its module and one line above."""


def dialects() -> Iterator[Dialect]:
    """Yield every dialect."""
    for module in GRAMMARS:
        yield from _dialects_in(module)


@cache
def _dialects_in(name: str) -> tuple[Dialect, ...]:
    """Return the dialects of a module: itself, or those that it lists."""
    module = import_module(f"{__package__}.{name}")
    return tuple(map(_of, getattr(module, "DIALECTS", (module,))))


def recognise(head: bytes) -> Dialect | None:
    """Return the dialect of a log that begins with these bytes, or None."""
    return next((dialect for dialect in dialects() if dialect.recognises(head)), None)


def named(name: str) -> Dialect:
    """Return the dialect of this name."""
    return next(dialect for dialect in dialects() if dialect.name == name)


def scan_chunk(dialect: Dialect, data: bytes, hints: Hints | None = None, caps: Caps = CAPS) -> Segment:
    """Return what whole records of one stream add up to."""
    scan = Scan(hints, caps)
    if data:
        dialect.scan(data, scan)
    return scan.finish()
