"""Snapshot names: folders that people name after the time of a snapshot, and the order of these names.

snap1 snap2 snap10    before during after    2026-11-22T10:00    10:05:30    t0 t1    old
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DAY = r"(?P<year>(?:19|20)\d\d)[-_.]?(?P<month>\d\d)[-_.]?(?P<day>\d\d)"
CLOCK = r"(?P<hour>[01]\d|2[0-3])[:h_.-]?(?P<minute>[0-5]\d)(?:[:m_.-]?(?P<second>[0-5]\d))?(?:\.\d+)?s?"
DATED = re.compile(rf"{DAY}(?:[T_ .-]?{CLOCK})?(?:Z|UTC|[+-]\d\d:?\d\d)?", re.IGNORECASE)
TIMED = re.compile(CLOCK.replace("[:h_.-]?", "[:h_.-]", 1), re.IGNORECASE)
"""A clock time alone; four digits without a separator may be anything."""

NUMBERED = re.compile(
    r"(?:snap|snapshot|sample|capture|round|run|pass|take|look|step|t|time|try|interval|iteration)[-_. #]?\d{1,6}",
    re.IGNORECASE,
)
WORDS = {
    **dict.fromkeys(("baseline", "old", "older", "previous", "prev", "yesterday"), -3),
    **dict.fromkeys(("before", "earlier", "start", "begin"), -2),
    **dict.fromkeys(("during", "incident", "now"), -1),
    **dict.fromkeys(("after", "later", "end", "last", "latest", "new", "newer", "today"), 1),
}
"""Words, and their order: before, during, unnamed or numbered, after."""

SNAPSHOT_WORDS = WORDS.keys() - {"incident"}
"""A folder `incident` contains hosts; it has an order beside `before`."""

NUMBER = re.compile(r"\d{1,10}")
DIGITS = re.compile(r"(\d+)")


def looks_like_snapshot(name: str) -> bool:
    """Return whether a folder is named after a time, or numbered as a snapshot."""
    return bool(
        name.lower() in SNAPSHOT_WORDS or NUMBERED.fullmatch(name) or DATED.fullmatch(name) or TIMED.fullmatch(name)
    )


def looks_like_number(name: str) -> bool:
    """Return whether a folder is only numbered: hosts may be, too."""
    return NUMBER.fullmatch(name) is not None


def rank(name: str) -> tuple[int, tuple[tuple[int, str], ...]]:
    """Return the sort key of a snapshot's name: words by their meaning, numbers by their value."""
    parts = tuple((int(part), "") if part.isdigit() else (-1, part.lower()) for part in DIGITS.split(name) if part)
    return WORDS.get(name.lower(), 0), parts


def time_of(names: Sequence[str]) -> datetime | None:
    """Return the time that the names of folders state together; None if they state none."""
    day, at = None, None
    for name in names:
        if found := DATED.fullmatch(name):
            day = _date(found)
        found = found if found and found["hour"] else TIMED.fullmatch(name)
        if found:
            at = timedelta(hours=int(found["hour"]), minutes=int(found["minute"]), seconds=int(found["second"] or 0))
    if at is None:
        return None
    return (day or datetime(1970, 1, 1)) + at  # noqa: DTZ001  only compared with others


def _date(found: re.Match[str]) -> datetime | None:
    try:
        return datetime(int(found["year"]), int(found["month"]), int(found["day"]))  # noqa: DTZ001  as above
    except ValueError:
        return None
