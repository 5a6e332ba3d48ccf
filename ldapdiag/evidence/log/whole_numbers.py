"""Whole numbers of a record: a damaged or forged line may contain 1e999, or a number of a billion digits.

`json.loads(line, parse_float=Decimal)` keeps such a number as it is written. Only its conversion to an integer is
expensive.
"""

from __future__ import annotations

from decimal import Decimal

MOST = 10**18
"""No number in a log is larger; differences of such times and their sums fit into 64 bits."""
DIGITS = 20


def whole(value: object) -> int:
    """Return the integer that a number or a string of digits is; ValueError for anything else and beyond MOST."""
    if isinstance(value, str) and len(value) <= DIGITS:
        value = int(value)
    if not isinstance(value, int | Decimal) or isinstance(value, bool) or not -MOST < value < MOST:
        raise ValueError(value)
    return int(value)
