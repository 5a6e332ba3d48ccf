"""Spellings: one name for spellings that compare as equal, shown in the commonest spelling.

    uid=Joe,ou=people      UID=joe, OU=people         one DN (RFC 4514; caseIgnoreMatch)
    (displayName=?)        (displayname=?)            one filter shape (RFC 4512, 2.5)

Log text is bytes; bytes that are not UTF-8 are shown as backslash escapes.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.connection import UNKNOWN
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ANONYMOUS = "anonymous"
"""The account of a connection without bind DN."""
UNKNOWN_NAME = "unknown"
"""A client, account or search that is not in the log."""
OTHER_NAME = "other"
"""Those beyond a cap."""

BLANKS = pattern(rb"(?<! ) *([,+=]) *")
"""Blanks around the separators of a DN, which some clients write."""


def text(logged: bytes) -> str:
    """Return bytes of a log as text."""
    return logged.decode("utf-8", "backslashreplace")


def display_name(logged: bytes) -> str:
    """Return the name of a client or an account for a report."""
    return UNKNOWN_NAME if logged == UNKNOWN else text(logged) or ANONYMOUS


def caseless(name: bytes) -> bytes:
    """Return a name in lower case, the same for all its spellings."""
    return text(name).lower().encode()


def folded_dn(dn: bytes) -> bytes:
    """Return a DN in lower case and without blanks around separators, the same for all its spellings."""
    plain = b"\\" not in dn and b'"' not in dn
    return caseless(BLANKS.sub(rb"\1", dn) if plain else dn)


class SpellingCounts:
    """Counts of the spellings of each name, where `fold` maps all spellings of one name to one value."""

    def __init__(self, fold: Callable[[bytes], bytes]) -> None:
        self._fold = fold
        self._folded: dict[bytes, bytes] = {}
        self._counts: dict[bytes, dict[bytes, int]] = defaultdict(dict)
        self._commonest: dict[bytes, bytes] = {}

    def add(self, name: bytes, count: int = 1) -> bytes:
        """Count a spelling, and return the folded name."""
        folded = self._folded.get(name)
        if folded is None:
            folded = self._folded[name] = self._fold(name)
        counts = self._counts[folded]
        counts[name] = counts.get(name, 0) + count
        self._commonest.pop(folded, None)
        return folded

    def commonest(self, folded: bytes) -> bytes:
        """Return the commonest spelling of a folded name; of equally common ones the smallest."""
        spelling = self._commonest.get(folded)
        if spelling is None:
            counts = self._counts[folded]
            spelling = self._commonest[folded] = min(counts, key=lambda name: (-counts[name], name))
        return spelling

    def respelled(self, name: bytes) -> bytes:
        """Return the commonest spelling of a name that was counted in any spelling."""
        return self.commonest(self._folded[name])


def ranked_by_text(counts: Iterable[tuple[bytes, int]], name: Callable[[bytes], str] = text) -> dict[str, int]:
    """Add up counts by the text of their key; the largest first, ties by text."""
    totals: dict[str, int] = {}
    for logged, count in counts:
        totals[name(logged)] = totals.get(name(logged), 0) + count
    return ranked(totals)


def ranked(counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts, the largest first, ties by text."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
