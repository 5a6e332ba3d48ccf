"""Lines of one JSON object each, as OpenDJ and PingDirectory write them.

An object is JSON (RFC 8259) with these limits: nested at most 32 deep; no NaN; no control characters in a string; bytes
that are not UTF-8 are replaced; of a repeated name the last counts. Numbers are exact; one of more than 20 digits, or
with more than nine digits in its exponent, is infinite: no server writes it, and nothing that takes a number takes it.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.pattern import whole
from ldapdiag.evidence.log.stamps import ISO, nanoseconds
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from ldapdiag.evidence.log.scan import Scan

STAMP = pattern(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)", re.ASCII)
BRACKET = pattern(rb'"(?>(?:[^"\\]++|\\.)*)"?|[{\[]|[}\]]', re.DOTALL)
"""A string, since it may contain brackets; the beginning of an object or list; the end of one."""
DIGITS = pattern(r"-?[0-9]{1,19}")
ABSURD = pattern(r".*[eE][+-]?\d{10}")
DEEPEST = 32
"""Nesting depth of objects and lists; no server writes more than four."""
MOST_DIGITS = 20


def parsed(line: bytes) -> Any:  # noqa: ANN401  a value of JSON
    """Return the value of a line; ValueError if it is none."""
    if is_deep(line):
        raise ValueError(line[:DEEPEST])
    return DECODER.decode(line.decode("utf-8", "replace"))


def is_deep(text: bytes) -> bool:
    """Return whether an object is nested deeper than the limit, at which the json module would fail."""
    if text.count(b"{") + text.count(b"[") <= DEEPEST:
        return False
    depth = 0
    for found in BRACKET.finditer(text):
        depth += (found[0] in b"{[") - (found[0] in b"}]")
        if not 0 < depth <= DEEPEST:
            return depth > 0
    return False


def refused(name: str) -> None:
    """Reject NaN and Infinity, which Python's json accepts."""
    raise ValueError(name)


def text_of(value: str) -> bytes:
    """Return the bytes of a string, of half of a surrogate pair too, which JSON allows; AttributeError for others."""
    return value.encode("utf-8", "surrogatepass")


def whole_of(value: object) -> int:
    """Return the integer that a number or a string of digits is; ValueError for anything else, and for absurd ones."""
    if isinstance(value, str) and not DIGITS.fullmatch(value):
        raise ValueError(value)
    return whole(value)


class Clock:
    """Reads the stamps of a chunk, and keeps their zones."""

    def __init__(self, log: Scan) -> None:
        self._log = log
        self._zone = ""

    def time(self, stamp: str) -> int:
        """Return the time of a stamp; ValueError, TypeError or AttributeError for anything else."""
        second, fraction, zone = STAMP.fullmatch(stamp).groups()  # type: ignore[union-attr]
        if zone != self._zone:
            self._log.clock(zone.encode())
            self._zone = zone
        return ISO[(second + zone).encode()] + nanoseconds((fraction or "").encode())


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= MOST_DIGITS else math.inf


def _decimal(digits: str) -> Decimal | float:
    return math.inf if len(digits) > MOST_DIGITS // 2 and ABSURD.match(digits) else Decimal(digits)


DECODER = json.JSONDecoder(parse_float=_decimal, parse_int=_integer, parse_constant=refused)
