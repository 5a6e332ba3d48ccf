"""Quantities: nanoseconds and counts, formatted for text and JSON.

Short names of accounts: the first RDN of a DN, where no other account has the same one.

uid=quickr,ou=services,dc=example,dc=com      uid=quickr
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.stamps import EPOCH, SECOND, when
from ldapdiag.lazy_pattern import pattern
from ldapdiag.report.table import listed
from ldapdiag.wording import duration, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND


def seconds(nanoseconds: int) -> float:
    """Return seconds for JSON, to the nanosecond. Sums are computed before, in integers."""
    return round(nanoseconds / SECOND, 9)


def instant(text: str) -> int:
    """Return a time of a document in nanoseconds since 1970, to the microsecond."""
    return round((datetime.fromisoformat(text) - EPOCH) / timedelta(microseconds=1)) * 1000


def day_and_time(nanoseconds: int) -> tuple[str, str]:
    """Return the date and the time of day, UTC, to the second."""
    at = when(nanoseconds)
    return f"{at:%Y-%m-%d}", f"{at:%H:%M:%S}"


def day_and_time_of(text: str) -> tuple[str, str]:
    """Return the same of a time of a document (ISO 8601, UTC)."""
    return text[:10], text[11:19]


def span(nanoseconds: int) -> str:
    """Return the time that a log covers, in its two largest units: 3 min 17 s, 2 h 31 min, 12 d 4 h."""
    units = ((DAY, HOUR, "d", "h"), (HOUR, MINUTE, "h", "min"), (MINUTE, SECOND, "min", "s"))
    for unit, part, name, part_name in units:
        if nanoseconds >= unit:
            whole, rest = divmod(nanoseconds, unit)
            return f"{number(whole)} {name} {rest // part} {part_name}"
    return duration(max(nanoseconds, 0) / SECOND)


def _three(value: float) -> str:
    """Return three significant digits, or more before the point."""
    if value < 10:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def per_second(count: int, nanoseconds: int) -> str:
    """Return a rate in a suitable unit; an empty text for no time or no count."""
    if nanoseconds <= 0 or not count:
        return ""
    for unit, name in ((SECOND, "per second"), (MINUTE, "per minute"), (HOUR, "per hour")):
        rate = count * unit / nanoseconds
        if rate >= 1 or unit == HOUR:
            return f"{number(round(rate)) if rate >= 100 else _three(rate)} {name}"
    raise AssertionError


FIRST_PART = pattern(r"(?>(?:[^,\\]|\\.)+)", re.DOTALL)


SENDERS = 3
"""Named of one row."""


def senders(requesters: Sequence[Mapping[str, Any]]) -> str:
    """Return who sent operations (`requesters` of the report), as in `uid=app,dc=example (192.0.2.7) and 2 more`."""
    names = (
        f"{requester['account'] or 'anonymous'} ({requester['client'] or 'unknown client'})" for requester in requesters
    )
    return listed(names, SENDERS, "; ")


class AccountNames:
    """The short names of a log's accounts."""

    def __init__(self, accounts: Iterable[str]) -> None:
        self._seen = Counter(first_part(account) for account in accounts)

    def __call__(self, account: str) -> str:
        """Return the first RDN of an account, or the whole DN where that is ambiguous."""
        short = first_part(account)
        return short if self._seen[short] <= 1 else account


def first_part(dn: str) -> str:
    """Return the first RDN (RFC 4514) of a DN; any other text as far as it looks like one."""
    found = FIRST_PART.match(dn)
    return found[0] if found else dn
