"""Trends in words: since when operations come, and how fast their time grows; and as data for a finding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND, moment, when
from ldapdiag.wording import seconds

if TYPE_CHECKING:
    from ldapdiag.analysis.log.trends import Parts, Trend

HOUR = 3600 * SECOND
LONG = 2 * HOUR
"""Nanoseconds: times of a longer log are in minutes, rates per hour; else in seconds, per minute."""


def period(trend: Trend) -> str:
    """Return when the searches began or ended, where that is clearly within the log: `since 10:00`; else nothing."""
    if trend.since is None:
        return "" if trend.until is None else f"until {clock(trend.until, trend.parts)}"
    begin = clock(trend.since, trend.parts)
    if trend.until is None:
        return f"since {begin}"
    end = clock(trend.until, trend.parts)
    return f"{begin} to {end}" if begin != end else f"at {begin}"


def clock(nanoseconds: int, parts: Parts) -> str:
    """Return a time of day, UTC, with the date if the log has several; as exact as the length of the log requires."""
    at, fraction = when(nanoseconds), "" if parts.end - parts.begin >= LONG else ":%S"
    date = "" if when(parts.begin).date() == when(parts.end).date() else "%Y-%m-%d "
    return f"{at:{date}%H:%M{fraction}}"


def growth(trend: Trend, of: str = "the search time") -> tuple[str, ...]:
    """Return how fast the time of the operations grows, and their share `of` a whole; nothing if it does not."""
    if trend.growth is None or not trend.is_growing:
        return ()
    first, last = trend.growth.first, trend.growth.last
    by, unit = (1, "hour") if trend.parts.end - trend.parts.begin >= LONG else (60, "minute")
    shares = [f"{100 * each.share:.0f} %" for each in (first, last)]
    return (
        f"growing from {seconds(first.per_hour / by / SECOND)} to {seconds(last.per_hour / by / SECOND)} per {unit}",
        f"from {' to '.join(shares)} of {of}" if shares[0] != shares[1] else f"{shares[0]} of {of} throughout",
    )


def trend_sentences(trend: Trend | None, what: str = "These searches", of: str = "the search time") -> Iterator[str]:
    """Yield sentences for a finding."""
    if trend is None:
        return
    if since := period(trend):
        begins = f"; the log begins at {clock(trend.parts.begin, trend.parts)}" if trend.since is not None else ""
        ends = f"; the log ends at {clock(trend.parts.end, trend.parts)}" if trend.until is not None else ""
        yield f"{what} came {since} UTC{begins}{ends}."
    if grows := growth(trend, of):
        yield f"Their time is {', '.join(grows)}."


def observed_trend(trend: Trend | None) -> dict[str, Any]:
    """Return what a finding observes, by the keys of docs/contract.md."""
    grown = trend.growth if trend else None
    return {
        "since": _moment(trend.since if trend else None),
        "until": _moment(trend.until if trend else None),
        "growing": grown and grown.is_growing,
        "first_share": grown and round(grown.first.share, 6),
        "last_share": grown and round(grown.last.share, 6),
    }


def _moment(time: int | None) -> str | None:
    return None if time is None else moment(time, MILLISECOND)
