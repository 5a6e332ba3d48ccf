"""The dialects of access logs, and the recognition of a log by its content.

Dialects are imported in order as they are tried. The most frequent come first, so most logs need only a few of them.
"""

from __future__ import annotations

import copyreg
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.dialect import Dialect
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.evidence.log.tables import CAPS, Caps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ldapdiag.evidence.log.segment import Segment


GRAMMAR_VERSION = 18
"""The version of the Segments that scanners produce: raised with every change to them.

A native scanner of another version is not used.
"""


def _of(grammar: Any) -> Dialect:  # noqa: ANN401  a module, or one of slapd's grammars
    """Return the dialect that a grammar defines."""
    parts = {"cut": grammar.cut, "anywhere": grammar.CUT_ANYWHERE} if hasattr(grammar, "cut") else {}
    return Dialect(
        name=grammar.NAME,
        family=grammar.FAMILY,
        recognised=grammar.recognised,
        scan=grammar.scan,
        is_export=getattr(grammar, "IS_EXPORT", False),
        stamps=getattr(grammar, "stamps", None),
        times=getattr(grammar, "times", None),
        **parts,
    )


NOTICES = "389-errors"
"""The dialect of the errors log of 389-ds."""

LOOKED_AT = 40
"""Lines of a head that are looked at first; where most of them are of no dialect, all lines are."""

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
"""The modules of all dialects. A new dialect is a module and a line here."""


def dialects() -> Iterator[Dialect]:
    """Yield every dialect."""
    for module in GRAMMARS:
        yield from _dialects_in(module)


@cache
def _dialects_in(name: str) -> tuple[Dialect, ...]:
    """Return the dialects of a module: its `DIALECTS`, or the module itself."""
    module = import_module(f"{__package__}.{name}")
    return tuple(map(_of, getattr(module, "DIALECTS", (module,))))


def recognise(head: bytes, *, notices: bool = True) -> Dialect | None:
    """Return the dialect that most of these first lines of a log belong to, or None; of equals the first in GRAMMARS.

    A single line decides nothing: a client can put a line feed and a line of another server into a filter. Without
    `notices`, the errors log of 389-ds is none: it has some searches among other messages.
    """
    few = b"".join(_from_all_of(head))
    found, lines = _most_frequent(few, notices=notices)
    return found if few == head or _are_most(lines, few) else _most_frequent(head, notices=notices)[0]


def _from_all_of(head: bytes) -> Iterator[bytes]:
    """Yield about LOOKED_AT lines of a head, from all of it: the lines that a client has forged are in one place."""
    at, distance = 0, len(head) // LOOKED_AT
    while at < len(head):
        end = head.find(b"\n", at) + 1 or len(head)
        yield head[at:end]
        at = head.find(b"\n", max(end - 1, at + distance)) + 1 or len(head)


def _most_frequent(head: bytes, *, notices: bool) -> tuple[Dialect | None, int]:
    """Return the dialect of most lines, and their number."""
    best, most = None, 0
    for dialect in dialects():
        lines = dialect.recognised(head) if notices or dialect.name != NOTICES else 0
        if lines > most:
            best, most = dialect, lines
            if _are_most(lines, head):
                break  # the other dialects need not be imported
    return best, most


def _are_most(lines: int, head: bytes) -> bool:
    return 2 * lines > head.count(b"\n") + (not head.endswith(b"\n"))


def named(name: str) -> Dialect:
    """Return the dialect with this name."""
    return next(dialect for dialect in dialects() if dialect.name == name)


def _by_name(dialect: Dialect) -> tuple[Callable[[str], Dialect], tuple[str]]:
    return named, (dialect.name,)


copyreg.pickle(Dialect, _by_name)  # worker processes look a dialect up; its patterns take long to pickle


def scan_stream(dialect: Dialect, data: bytes, hints: Hints | None = None, caps: Caps = CAPS) -> Segment:
    """Return the counts of a whole stream, given as whole records."""
    from ldapdiag.evidence.log.stream_scan import StreamScan  # noqa: PLC0415  import late: the native scanner has its own

    scan = StreamScan(caps=caps)
    scan.feed(dialect, data, hints or Hints())
    return scan.finish()
