"""GeneralizedTime (RFC 4517, 3.3.13), the time format of directory servers: `20261120084650Z`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from ldapdiag.lazy_pattern import pattern

TIME = pattern(
    r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?(?:[.,](\d{1,9}))?(?:Z|([+-])(\d\d)(\d\d)?)",
    re.ASCII,
)


def parse(text: str) -> datetime | None:
    """Return the time in UTC; None if the text is not a GeneralizedTime."""
    return _parse(text) if len(text) <= 40 else None


@lru_cache(maxsize=4096)
def _parse(text: str) -> datetime | None:
    found = TIME.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second, fraction, sign, hours, minutes = found.groups(default="0")
    offset = timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if sign == "-" else 1)
    try:
        local = datetime(
            int(year),
            int(month),
            int(day),
            int(hour),
            int(minute),
            int(second),
            int(fraction.ljust(6, "0")[:6]),
            tzinfo=timezone(offset),
        )
        return local.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
