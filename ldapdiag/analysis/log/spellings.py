"""Spellings: names that differ in what does not matter are one name, shown as it is written most often.

    uid=Joe,ou=people      UID=joe, OU=people         one DN (RFC 4514 names compare caselessly)
    (displayName=?)        (displayname=?)            one filter without values (RFC 4512, 2.5)

Text of a log is bytes; what is no UTF-8 is shown escaped, so that everything can be shown.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.connection import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ANONYMOUS = "anonymous"
"""The account without a name."""
UNKNOWN_NAME = "unknown"
"""A client, account or search that the log does not tell."""

BLANKS = re.compile(rb"(?<! ) *([,+=]) *")
"""Blanks that some clients write around the separators of a DN."""


def text(logged: bytes) -> str:
    """Return what a log holds as text."""
    return logged.decode("utf-8", "backslashreplace")


def display_name(logged: bytes) -> str:
    """Return a client or an account as text."""
    return UNKNOWN_NAME if logged == UNKNOWN else text(logged) or ANONYMOUS


def caseless(name: bytes) -> bytes:
    """Return the name under which those that differ only in case are one."""
    return text(name).lower().encode()


def folded_dn(dn: bytes) -> bytes:
    """Return the DN under which those that differ only in case and in blanks between its parts are one."""
    plain = b"\\" not in dn and b'"' not in dn
    return caseless(BLANKS.sub(rb"\1", dn) if plain else dn)


class SpellingCounts:
    """How often each spelling of a name was seen."""

    def __init__(self, fold: Callable[[bytes], bytes]) -> None:
        self._fold = fold
        self._folded: dict[bytes, bytes] = {}
        self._seen: dict[bytes, dict[bytes, int]] = defaultdict(dict)
        self._best: dict[bytes, bytes] = {}

    def __call__(self, name: bytes, count: int = 1) -> bytes:
        """Return the name under which this one is counted, and hear that it was seen so often."""
        folded = self._folded.get(name)
        if folded is None:
            folded = self._folded[name] = self._fold(name)
        seen = self._seen[folded]
        seen[name] = seen.get(name, 0) + count
        self._best.pop(folded, None)
        return folded

    def of(self, folded: bytes) -> bytes:
        """Return the spelling that was seen most; of two, the smaller one."""
        best = self._best.get(folded)
        if best is None:
            seen = self._seen[folded]
            best = self._best[folded] = min(seen, key=lambda name: (-seen[name], name))
        return best

    def most(self, name: bytes) -> bytes:
        """Return the spelling that was seen most of a name that has been seen."""
        return self.of(self._folded[name])


def ranked_by_text(counts: Iterable[tuple[bytes, int]], name: Callable[[bytes], str] = text) -> dict[str, int]:
    """Return counts by text, the largest first, ties by text."""
    told: dict[str, int] = {}
    for logged, count in counts:
        told[name(logged)] = told.get(name(logged), 0) + count
    return ranked(told)


def ranked(counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts, the largest first, ties by text."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
