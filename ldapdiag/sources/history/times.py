"""Times of a history: microseconds since 1970, UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = (datetime(2200, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


def microseconds(at: datetime) -> int:
    """Return a time as a number."""
    return (at - EPOCH) // timedelta(microseconds=1)


def moment(number: int) -> datetime:
    """Return the time of a number. Raises ValueError for one that no run can have."""
    if not 0 <= number < LATEST:
        raise ValueError(number)
    return EPOCH + timedelta(microseconds=number)
