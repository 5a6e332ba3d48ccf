r"""The lengths of the substrings in a filter (RFC 4515); they decide whether a server has an index key to look up.

    (cn=*jos*)                       3
    (&(cn=j*)(sn=*a*bc))             112
    (cn=*J\C3\B6rg Hoffmann*)        9         an escape is one octet; 9 is nine or more
    (&(cn=j*)(mail=joe@exam...                 cut by the server: unknown

One digit for each non-empty substring, in order. A filter shape (filters.py) has the substrings of a filter without
their lengths: `(cn=?*)` stands for `(cn=j*)`, too short for any key, and for `(cn=jean*)`.
"""

from __future__ import annotations

from ldapdiag.evidence.filters import CUT
from ldapdiag.lazy_pattern import pattern

UNKNOWN_LENGTHS = b""
"""The lengths of a filter that was cut, or that has more substrings than are kept."""
STOPPED_LENGTHS = b"!"
"""What comes before the lengths of a search that a limit or a refusal stopped."""
MOST_SUBSTRINGS = 32
LONG = 9
"""Octets: longer substrings count as this long, since by default no server needs more for a key."""
LONGEST_COUNTED = 255
"""Octets: the largest number in a byte."""

SUBSTRING = pattern(rb"\([^()=*]*+(?<![<>~:])=([^()*]*+\*[^()]*+)")
"""A value with an asterisk; in >=, <=, ~= and := assertions an asterisk is no wildcard."""
ESCAPE = pattern(rb"\\[0-9A-Fa-f]{2}")
LONG_SUBSTRING = pattern(rb"[^*]{%d,}+" % LONG)
DIGITS = bytes(ord("0") + min(length, LONG) for length in range(LONGEST_COUNTED + 1))
NOTHING = b"\0"


def has_substrings(shape: bytes) -> bool:
    """Return whether a shape has a substring assertion; presence (`=*`) is none."""
    return b"*?" in shape or b"?*" in shape


def lengths(text: bytes) -> bytes:
    """Return the lengths of the substrings of a filter as logged: at most 32 digits. Never raises."""
    if text.endswith(CUT):
        return UNKNOWN_LENGTHS
    if not text.startswith(b"("):
        text = b"(" + text.strip()
    found = b"*".join(SUBSTRING.findall(text))
    if b"\\" in found:
        found = ESCAPE.sub(b"?", found)
    if len(found) > LONGEST_COUNTED:
        found = LONG_SUBSTRING.sub(b"?" * LONG, found)
    digits = bytes(map(len, found.split(b"*"))).translate(DIGITS, NOTHING)
    return digits if len(digits) <= MOST_SUBSTRINGS else UNKNOWN_LENGTHS
