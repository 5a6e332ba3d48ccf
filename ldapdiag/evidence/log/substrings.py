r"""The pieces of substring assertions (RFC 4515): how long they are decides whether a server has a key to look for.

    (cn=*jos*)                       3
    (&(cn=j*)(sn=*a*bc))             112
    (cn=*J\C3\B6rg Hoffmann*)        9         an escape is one octet; 9 is nine or more
    (&(cn=j*)(mail=joe@exam...                 cut by the server: not told

One digit for each piece that is not empty, in the order they are written. A shape (filters.py) has the pieces of a
filter and not their lengths: `(cn=?*)` is `(cn=j*)`, too short for any key, and `(cn=jean*)`.
"""

from __future__ import annotations

import re

from ldapdiag.evidence.filters import CUT

UNKNOWN_LENGTHS = b""
"""The lengths of a filter that was cut, and of one with more pieces than are kept."""
MOST_PIECES = 32
LONG = 9
"""Octets: pieces so long or longer are all alike, for no server wants more for a key by default."""
LONGEST_COUNTED = 255
"""Octets whose number is a byte."""

SUBSTRING = re.compile(rb"\([^()=*]*+(?<![<>~:])=([^()*]*+\*[^()]*+)")
"""A value with an asterisk, but of >=, <=, ~= and := assertions: there it is none of a substring."""
ESCAPE = re.compile(rb"\\[0-9A-Fa-f]{2}")
LONG_PIECE = re.compile(rb"[^*]{%d,}+" % LONG)
DIGITS = bytes(ord("0") + min(length, LONG) for length in range(LONGEST_COUNTED + 1))
NOTHING = b"\0"


def has_substrings(shape: bytes) -> bool:
    """Tell whether a shape holds a substring assertion with a piece; presence has none."""
    return b"*?" in shape or b"?*" in shape


def lengths(text: bytes) -> bytes:
    """Return the lengths of the pieces of a filter as logged, a digit each; never raises, at most 32 digits."""
    if text.endswith(CUT):
        return UNKNOWN_LENGTHS
    if not text.startswith(b"("):
        text = b"(" + text.strip()
    pieces = b"*".join(SUBSTRING.findall(text))
    if b"\\" in pieces:
        pieces = ESCAPE.sub(b"?", pieces)
    if len(pieces) > LONGEST_COUNTED:
        pieces = LONG_PIECE.sub(b"?" * LONG, pieces)
    told = bytes(map(len, pieces.split(b"*"))).translate(DIGITS, NOTHING)
    return told if len(told) <= MOST_PIECES else UNKNOWN_LENGTHS
