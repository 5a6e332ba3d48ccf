"""ReportedUse: which indexes a server says that it used for a search, and how much it examined (event 1644).

DNT_index:94168:N; member     the used indexes with the number of entries expected of each; the attributes of the
                              filter for which none could be used
"""

from __future__ import annotations

from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.lazy_pattern import pattern

NAMES_BYTES = 200
"""Bytes kept of the names of one search's indexes or attributes, which come from a log."""
USED = pattern(rb"([^\s:;,]{1,100}):(\d{1,18})(?::[^\s:;,]{0,20})?")
NAME = pattern(rb"[^\s,;]++")
NOTHING = frozenset({b"none", b"-"})


class ReportedUse(NamedTuple):
    """What searches of one shape are counted by."""

    indexes: bytes = b""
    """Names in order of their text, separated by blanks; empty: none are in the log."""
    preventing: bytes = b""
    """Attributes of the filter for which no index could be used, likewise, in lower case."""


class Examined(NamedTuple):
    """What a server reports on the work of one search."""

    use: ReportedUse
    visited: int
    """Entries that it examined."""
    pages: int = 0
    """Database pages that it looked at; and those of them that it read from the disk."""
    from_disk: int = 0
    expected: int = 0
    """Entries that the server expected of the used indexes before it looked: an estimate, summed over them."""


def reported_use(used: bytes, preventing: bytes) -> tuple[ReportedUse, int]:
    """Return the names in UsedIndexes and AttributesPreventingOptimization, and the number of entries expected."""
    found = {name: int(count) for name, count in USED.findall(used)}
    names = {name.lower() for name in NAME.findall(preventing)} - NOTHING
    return ReportedUse(_joined(found), _joined(names)), sum(found.values())


def _joined(names: dict[bytes, int] | set[bytes]) -> bytes:
    return b" ".join(sorted(names))[:NAMES_BYTES]
