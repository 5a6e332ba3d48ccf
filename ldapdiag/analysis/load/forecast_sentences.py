"""The sentences about a forecast, and about a limit that was reached before. Each number names its source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.load.forecast import Problem, in_words
from ldapdiag.analysis.load.growth import DAY_HOURS, KNOWN_DAYS
from ldapdiag.evidence.log.stamps import EPOCH
from ldapdiag.wording import counted, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.analysis.load.forecast import DescriptorForecast
    from ldapdiag.analysis.load.past_exhaustion import LimitReached

PROBLEMS = {
    Problem.LEAK: "At this rate any limit fills: it is a leak, and a higher limit only postpones the end.",
    Problem.LIMIT: "It is near the limit and does not grow: if its connections are in use, the limit is too low.",
    Problem.FILLING: "This growth ends by itself: it is neither a leak nor a limit that is too low.",
}

SHORT_LEAK = (
    "If it continues at this rate, any limit fills: it is a leak, unless clients that come at this hour and go later "
    "explain it. A higher limit postpones the end of a leak only."
)

UNITS = (("days", 24.0, 72.0), ("h", 1.0, 2.0), ("minutes", 1 / 60, 0.05))
"""Each with its length in hours, and the hours from which it is used."""


def hours_between(forecast: DescriptorForecast) -> str:
    """Return when it ends, as in `3.1 to 7.4 h`."""
    earliest = forecast.earliest or 0.0
    unit, hours = _unit(earliest if forecast.latest is None else forecast.latest)
    if forecast.latest is None:
        return f"{rounded(earliest / hours)} {unit} or more"
    return f"{rounded(earliest / hours)} to {rounded(forecast.latest / hours)} {unit}"


def _unit(hours: float) -> tuple[str, float]:
    """Return a unit for times up to so many hours, and how many hours it has."""
    for unit, length, least in UNITS:
        if hours >= least:
            return unit, length
    return "s", 1 / 3600


def hours_to_gain(forecast: DescriptorForecast, more: int) -> str:
    """Return in which time so many connections come at the forecast's rate, as in `3.1 to 7.4 h`."""
    low, _, high = forecast.rates or (0.0, 0.0, 0.0)
    if low <= 0:
        return "an unknown time"
    unit, hours = _unit(more / low)
    return f"{rounded(more / high / hours)} to {rounded(more / low / hours)} {unit}"


def forecast_sentences(forecast: DescriptorForecast) -> Iterator[str]:
    """Yield when the limit is reached, from what that is known, and what it means; or why it is not forecast."""
    if forecast.not_because:
        yield f"No forecast: {forecast.not_because}."
    elif forecast.rates is not None and forecast.median is not None:
        low, rate, high = forecast.rates
        unit, hours = _unit(forecast.median)
        series = f"{counted(forecast.readings, 'reading')} of {forecast.source}, {in_words(forecast.hours)}"
        left = f"which leaves {hours_between(forecast)}, median {rounded(forecast.median / hours)} {unit}"
        yield (
            f"It gains {rounded(rate)} connections an hour ({rounded(low)} to {rounded(high)}), "
            f"{'and is at the limit' if forecast.is_over else left} (90 % intervals; {series}{_until(forecast)})."
        )
    for remark in forecast.remarks:
        yield f"Forecast: {remark}."
    if forecast.problem is not None:
        is_short = forecast.problem is Problem.LEAK and forecast.hours < KNOWN_DAYS * DAY_HOURS
        yield SHORT_LEAK if is_short else PROBLEMS[forecast.problem]


def forecast_clause(forecast: DescriptorForecast) -> str:
    """Return the forecast for a line about a server with enough room; empty where nothing shows two times."""
    if forecast.readings < 2 and not forecast.remarks:
        return ""
    if forecast.not_because:
        remarks = "".join(f"; {remark}" for remark in forecast.remarks if forecast.readings < 2)
        return f"; no forecast: {forecast.not_because}{remarks}"
    return f"; they run out in {hours_between(forecast)} (90 % interval; {forecast.source}{_until(forecast)})"


def _until(forecast: DescriptorForecast) -> str:
    return "" if forecast.since is None else f" until {forecast.since:%Y-%m-%d %H:%M:%S} UTC"


def reached_sentences(reached: Sequence[LimitReached]) -> Iterator[str]:
    """Yield when the limit was reached, where the evidence has times."""
    timed = [sign for sign in reached if sign.first is not None]
    if timed:
        first = min(sign.first or EPOCH for sign in timed)
        last = max(sign.last or EPOCH for sign in timed)
        until = "" if last == first else f", last at {last:%Y-%m-%d %H:%M:%S}"
        sources = ", ".join(dict.fromkeys(sign.source for sign in timed))
        yield f"The limit was first reached at {first:%Y-%m-%d %H:%M:%S}{until} UTC ({sources})."
