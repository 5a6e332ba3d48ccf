"""Times on the command line: ISO 8601, as in reports.

2026-11-20                        the whole day: from its beginning, or to its end
2026-11-20T08:45                  UTC, without a zone
2026-11-20T09:45:30.5+01:00
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from ldapdiag.errors import UsageError
from ldapdiag.evidence.log.stamps import EPOCH

OFFSET = re.compile(r"[+-]\d\d:?\d\d")


def since(option: str, text: str | None) -> int | None:
    """Return the beginning of a time, in nanoseconds since 1970. Raises UsageError for an invalid one."""
    return None if text is None else _nanoseconds(option, text, time.min, 0)


def until(option: str, text: str | None) -> int | None:
    """Return the end of a time, in nanoseconds since 1970; a day ends with its last nanosecond."""
    return None if text is None else _nanoseconds(option, text, time.max, 999)


def zone(option: str, text: str | None) -> tzinfo | None:
    """Return a time zone by name or offset. Raises UsageError for an unknown one."""
    if text is None:
        return None
    from zoneinfo import ZoneInfo  # noqa: PLC0415  import late

    try:
        if OFFSET.fullmatch(text):
            return datetime.strptime(text, "%z").tzinfo
        return ZoneInfo(text)
    except (ValueError, OSError, LookupError) as error:
        raise UsageError(
            f"{option} {text}: unknown time zone; use a name or an offset, as in Europe/Berlin or +01:00"
        ) from error


def _nanoseconds(option: str, text: str, of_day: time, extra_nanoseconds: int) -> int:
    try:
        try:
            at = datetime.combine(date.fromisoformat(text), of_day)
        except ValueError:
            at, extra_nanoseconds = datetime.fromisoformat(text), 0
        elapsed = (at if at.tzinfo else at.replace(tzinfo=UTC)) - EPOCH
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{option} {text}: invalid time; use ISO 8601, as in 2026-11-20 or 2026-11-20T08:45:30+01:00"
        ) from error
    return elapsed // timedelta(microseconds=1) * 1000 + extra_nanoseconds
