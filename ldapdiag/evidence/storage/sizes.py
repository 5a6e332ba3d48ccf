"""Sizes as tools print them: 1024, 289.9M, 1.5T, 4,0K, 128KiB."""

from __future__ import annotations

import re

from ldapdiag.lazy_pattern import pattern

SIZE = pattern(r"(\d{1,18})(?:[.,](\d{1,3}))? ?([KMGTPE]?)(?:i?B)?", re.ASCII)
POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


def bytes_of(text: str, unit: int = 1) -> int | None:
    """Return a size in bytes; a number without a letter counts units of that many bytes. None: it is no size."""
    found = SIZE.fullmatch(text)
    if found is None:
        return None
    factor = 1024 ** POWERS[found[3]] if found[3] else unit
    fraction = int(found[2]) * factor // 10 ** len(found[2]) if found[2] else 0
    return int(found[1]) * factor + fraction
