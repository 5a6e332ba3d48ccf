"""Times on the command line: ISO 8601, as reports write them.

2026-11-20                        that day: from its beginning, or to its end
2026-11-20T08:45                  UTC, unless a zone says otherwise
2026-11-20T09:45:30.5+01:00
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from ldapdiag.errors import UsageError
from ldapdiag.evidence.log.stamps import EPOCH

OFFSET = re.compile(r"[+-]\d\d:?\d\d")


def since(option: str, told: str | None) -> int | None:
    """Return when a time begins: nanoseconds since 1970. UsageError says which option has none."""
    return None if told is None else _nanoseconds(option, told, time.min, 0)


def until(option: str, told: str | None) -> int | None:
    """Return when a time ends; a day ends with its last nanosecond."""
    return None if told is None else _nanoseconds(option, told, time.max, 999)


def zone(option: str, told: str | None) -> tzinfo | None:
    """Return a time zone by its name or offset."""
    if told is None:
        return None
    from zoneinfo import ZoneInfo  # noqa: PLC0415  import late

    try:
        if OFFSET.fullmatch(told):
            return datetime.strptime(told, "%z").tzinfo
        return ZoneInfo(told)
    except (ValueError, OSError, LookupError) as error:
        raise UsageError(f"{option} {told}: no zone I know; as in Europe/Berlin, or +01:00") from error


def _nanoseconds(option: str, told: str, of_day: time, rest: int) -> int:
    try:
        try:
            at = datetime.combine(date.fromisoformat(told), of_day)
        except ValueError:
            at, rest = datetime.fromisoformat(told), 0
        elapsed = (at if at.tzinfo else at.replace(tzinfo=UTC)) - EPOCH
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{option} {told}: no time I know; as in 2026-11-20, or 2026-11-20T08:45:30+01:00") from error
    return elapsed // timedelta(microseconds=1) * 1000 + rest
