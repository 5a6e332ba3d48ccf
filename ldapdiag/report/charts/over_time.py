"""A number over time from the series of a report or the timeline of a log, with its limit and forecast."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from ldapdiag.report.charts.chart import Line, Numbers, Point, TimeChart, axis_for, time_scale
from ldapdiag.wording import number, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FEWEST = 3
"""Values; fewer are no picture."""
FAR = 5
"""A limit that is more than so many times the largest value is a note."""
LONGEST_FORECAST = 2
"""Times the observed time."""
TITLES = {
    "connections": ("Connections open", "connections", ""),
    "descriptors_used": ("Descriptors in use", "descriptors", ""),
    "ghosts": ("Ghost connections", "connections", ""),
    "severed": ("Severed connections", "connections", ""),
    "operations": ("Operations", "operations", " in each {step}"),
    "search_seconds": ("Search time", "s", " in each {step}"),
}
UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def over_time(series: Sequence[Mapping[str, Any]]) -> tuple[TimeChart, ...]:
    """Return the charts of series of a report; without those of too few values, or of zeros."""
    charts = (chart_of(one) for one in series if one["name"] in TITLES)
    return tuple(chart for chart in charts if chart is not None)


def of_timeline(timeline: Mapping[str, Any] | None) -> tuple[TimeChart, ...]:
    """Return the charts of the timeline of `ldapdiag log`."""
    if timeline is None:
        return ()
    keys = {"search_seconds": "search_seconds", "operations": "operations", "connections": "open"}
    place = {"server": "", "source": "", "step_seconds": timeline["step_seconds"], "from": timeline["from"]}
    nothing = {"limit": None, "forecast": None}
    return over_time([place | nothing | {"name": name, "values": timeline[key]} for name, key in keys.items()])


def forecast_chart(server: str | None, series: Sequence[Mapping[str, Any]]) -> TimeChart | None:
    """Return the chart of the connections of a server from which its descriptors are forecast."""
    rows = (one for one in series if one["server"] == server and one["name"] == "connections")
    charts = [chart_of(row) for row in rows if row["limit"] is not None or row["forecast"] is not None]
    return next((chart for chart in charts if chart is not None), None)


def chart_of(one: Mapping[str, Any]) -> TimeChart | None:
    """Return the chart of one series (a row of `series`); None if it has too few values, or zeros alone."""
    known = [(place, value) for place, value in enumerate(one["values"]) if value is not None]
    largest = max((value for _, value in known), default=0)
    if len(known) < FEWEST or not largest:
        return None
    begin, step = datetime.fromisoformat(one["from"]), one["step_seconds"]
    last = Point((known[-1][0] + 1) * step, known[-1][1])
    line, limit = _forecast(one, last), one["limit"]
    end = line.end if line is not None else last
    shown = limit if limit is not None and limit <= FAR * max(largest, end.value) else None
    noun, unit, per = TITLES[one["name"]]
    where = f" at {one['server']}" if one["server"] else ""
    source = f" ({one['source']})" if one["source"] else ""
    return TimeChart(
        title=f"{noun}{where}{per.format(step=length(step))}{source}",
        unit=unit,
        sentence=_sentence(one, known, begin),
        notes=tuple(_notes(one, shown=shown, line=line)),
        axis=axis_for(max(largest, end.value, shown or 0), whole=unit != "s"),
        times=time_scale(begin, end.seconds),
        step_seconds=step,
        values=tuple(one["values"]),
        last=last,
        last_label=f"{_number(last.value)} at {_moment(begin + timedelta(seconds=known[-1][0] * step), step)} UTC",
        limit=shown,
        forecast=line,
        table=Numbers(
            ("time (UTC)", unit), tuple((_time(begin, place, step), value) for place, value in enumerate(one["values"]))
        ),
    )


def length(seconds: int) -> str:
    """Return the length of an interval: `1 s`, `5 min`, `6 h`."""
    size, unit = next((size, unit) for size, unit in UNITS if seconds % size == 0)
    return f"{seconds // size} {unit}"


def _forecast(one: Mapping[str, Any], last: Point) -> Line | None:
    """Return the line from the last value on: to the limit if that is soon enough, else as far as it may be drawn."""
    forecast, limit = one["forecast"], one["limit"]
    if forecast is None:
        return None
    left, longest = forecast["hours_left"], LONGEST_FORECAST * last.seconds
    if (left is not None and left <= 0) or (limit is not None and limit <= last.value):
        return None
    seconds = longest if left is None else min(longest, left * 3600)
    rate = forecast["rate_per_hour"] / 3600 if left is None or limit is None else (limit - last.value) / (left * 3600)
    value = last.value + rate * seconds
    return Line(begin=last, end=Point(last.seconds + seconds, value if limit is None else min(value, limit)))


def _notes(one: Mapping[str, Any], *, shown: float | None, line: Line | None) -> Iterator[str]:
    limit = one["limit"]
    if limit is not None and shown is None:
        yield f"The limit of {number(limit)} {TITLES[one['name']][1]} is far above and not drawn."
    left = one["forecast"] and one["forecast"]["hours_left"]
    if line is not None and (left is None or left * 3600 > line.end.seconds - line.begin.seconds + 1):
        yield f"The forecast is drawn for {LONGEST_FORECAST} times the observed time."


def _sentence(one: Mapping[str, Any], known: Sequence[tuple[int, float]], begin: datetime) -> str:
    step = one["step_seconds"]
    (first, first_value), (last, last_value) = known[0], known[-1]
    most = max(value for _, value in known)
    text = (
        f"{_number(first_value)} at {_time(begin, first, step)} UTC, {_number(last_value)} at "
        f"{_time(begin, last, step)} UTC, at most {_number(most)}."
    )
    if one["limit"] is not None:
        text += f" The limit is {number(one['limit'])} {TITLES[one['name']][1]}."
    forecast = one["forecast"]
    if forecast is not None:
        text += f" It grows by about {rounded(forecast['rate_per_hour'])} an hour"
        left, earliest, latest = (forecast[f"hours_left{end}"] for end in ("", "_earliest", "_latest"))
        if left == 0:
            text += ", and is at the limit"
        elif left is not None:
            until = "or more" if latest is None else f"to {rounded(latest)} h"
            text += f": the limit is reached in about {rounded(left)} h ({rounded(earliest)} h {until})"
        text += "."
    return text


def _number(value: float) -> str:
    return number(value) if isinstance(value, int) else rounded(value)


def _time(begin: datetime, place: int, step: int) -> str:
    """Return the beginning of a step, with seconds only where steps are shorter than a minute."""
    at = begin + timedelta(seconds=place * step)
    return f"{at:%Y-%m-%d} {_moment(at, step)}"


def _moment(at: datetime, step: int) -> str:
    return f"{at:%H:%M}" if step % 60 == 0 else f"{at:%H:%M:%S}"
