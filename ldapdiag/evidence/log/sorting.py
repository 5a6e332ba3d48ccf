"""Sorting: what the SORT and VLV lines of 389-ds report on a search, between its request and its result.

    SORT cn (1033)                      1,033 candidates are sorted in memory
    SORT -uidNumber cn (*)              every entry is a candidate: the server refuses to sort them
    SORT cn                             no candidates: a VLV index has them in order, unless notes=U
    VLV 0:9:0:0 1:20000 (0)             a page of a virtual list view, with its own result code
    VLV 0:9:M 12935:20000 (0)           one by value, which comes from the client

Source: ldap/servers/slapd/back-ldbm/sort.c, vlv.c.
"""

from __future__ import annotations

import re

from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.lazy_pattern import pattern

SORT_BYTES = 200
"""Bytes kept of the keys of a sort, which come from the client."""

NO_SORT, UNLISTED, ALL = -3, -2, -1
"""Instead of a number of candidates: no SORT line; a SORT line without candidates; every entry."""
NO_VLV = -1
"""Instead of the result code of a VLV line."""

CANDIDATES = pattern(rb"(.*) \((\d{1,18}|\*)\)", re.DOTALL)
CODE = pattern(rb".* \((\d{1,9})\)", re.DOTALL)


class Sorting(NamedTuple):
    """The SORT and the VLV line of one search; each may be missing."""

    keys: bytes = b""
    """As logged: `-uidNumber cn;2.5.13.3`."""
    candidates: int = NO_SORT
    vlv: int = NO_VLV

    def and_then(self, later: Sorting) -> Sorting:
        """Return both with what a later line reports."""
        sort = self if later.candidates == NO_SORT else later
        return Sorting(sort.keys, sort.candidates, self.vlv if later.vlv == NO_VLV else later.vlv)


def sort_line(text: bytes) -> Sorting:
    """Return what a SORT line reports: `cn (1033)`. The candidates are last, since a key may contain anything."""
    found = CANDIDATES.fullmatch(text)
    if found is None:
        return Sorting(text.rstrip()[:SORT_BYTES], UNLISTED)
    keys, candidates = found.groups()
    return Sorting(keys.rstrip()[:SORT_BYTES], ALL if candidates == b"*" else int(candidates))


def vlv_line(text: bytes) -> Sorting | None:
    """Return what a VLV line reports: `0:9:0:0 1:20000 (0)`; None without a result code."""
    found = CODE.fullmatch(text)
    return Sorting(vlv=int(found[1])) if found else None
