"""The charts of a finding, the most telling first: at most one of them is shown where there is little room.

Idle times of connections held at both ends and of ghosts, with the middlebox's timeout and the recommended one as
marks.

Shares of one number by name: connections by account or by client.

Connections counted at both ends of each path: the part that both hold is equal, the rest is what an end lacks.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ldapdiag.report.charts.chart import (
    Bar,
    BarChart,
    BarGroup,
    Kind,
    Mark,
    MarkKind,
    Numbers,
    Part,
    Strip,
    StripChart,
    StripRow,
    axis_for,
)
from ldapdiag.report.charts.over_time import forecast_chart
from ldapdiag.wording import between, counted, number, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.report.charts.chart import Chart

GROWTH = "descriptor-headroom"
"""The check whose finding needs the series of the report."""
TIMEOUT = "idle-timeout"


def finding_charts(finding: Mapping[str, Any], report: Mapping[str, Any]) -> tuple[Chart, ...]:
    """Return the charts of a finding (a row of `findings`); of the report `findings` and `series` are used."""
    return tuple(chart for chart in _charts(finding, report) if chart is not None)


def _charts(finding: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Chart | None]:
    direction, observed = direction_of(finding), finding["observed"]
    if direction is not None:
        yield both_ends([direction])
    yield shares(observed)
    yield idle_times(observed, _timeouts(finding, report))
    if finding["check"] == GROWTH:
        yield forecast_chart(finding["server"], report["series"])


def _timeouts(finding: Mapping[str, Any], report: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the observed values of the finding about the idle timeout of the same server."""
    same = (one for one in report["findings"] if one["check"] == TIMEOUT and one["server"] == finding["server"])
    return next((one["observed"] for one in same), None)


ROWS = ((Kind.LIVE, "held", "held connection"), (Kind.GHOST, "ghosts", "ghost"))
BEYOND = 2
"""A mark that is further than so many times the longest idle time is a note."""
COLUMNS = ("idle from (s)", "to (s)", "held", "ghosts")


def idle_times(observed: Mapping[str, Any], recommended: Mapping[str, Any] | None = None) -> StripChart | None:
    """Return the chart of a finding with `idle_ages`; None without any.

    `recommended`: the observed values of the finding of idle-timeout about the same server, if that is another one.
    """
    ages = observed.get("idle_ages")
    if not ages:
        return None
    edges, rows = ages["edges_seconds"], {Kind.LIVE: ages["live"], Kind.GHOST: ages["ghosts"]}
    marks = list(_marks(ages, recommended if recommended is not None else observed))
    drawn = [mark for mark in marks if mark.end <= BEYOND * edges[-1]]
    cells = tuple(
        (begin, end, live, ghosts)
        for (begin, end), live, ghosts in zip(pairwise(edges), ages["live"], ages["ghosts"], strict=True)
        if live or ghosts
    )
    return StripChart(
        title="Idle times of connections",
        unit="s",
        sentence=_sentence(ages, cells, marks),
        notes=tuple(f"Not on the axis: {mark.label}." for mark in marks if mark not in drawn),
        strips=tuple(_strip(bins, counts, drawn) for bins, counts in _widths(edges, rows)),
        table=Numbers(COLUMNS, cells),
    )


def _marks(ages: Mapping[str, Any], timeouts: Mapping[str, Any]) -> Iterator[Mark]:
    lower, upper = ages["lower_seconds"], ages["upper_seconds"]
    if lower is not None or upper is not None:
        begin, end = (lower if lower is not None else upper), (upper if upper is not None else lower)
        label = f"the middlebox {ages['box_action']} {between(lower, upper)}"
        yield Mark(kind=MarkKind.BRACKET, label=label, begin=min(begin, end), end=end)
    if current := timeouts.get("current_seconds"):
        label = f"the idle timeout is {number(current)} s"
        yield Mark(kind=MarkKind.CURRENT, label=label, begin=current, end=current)
    value = timeouts.get("recommended_seconds")
    if value and value != current:
        label = f"the recommended idle timeout is {number(value)} s"
        yield Mark(kind=MarkKind.RECOMMENDED, label=label, begin=value, end=value)


def _widths(
    edges: Sequence[int], rows: Mapping[Kind, Sequence[int]]
) -> Iterator[tuple[Sequence[int], Mapping[Kind, Sequence[int]]]]:
    """Yield bins of one width: all; or the narrow ones, and all in the wide ones, each the sum of narrow ones."""
    narrow, wide = edges[1], edges[-1] - edges[-2]
    if narrow == wide:
        yield edges, rows
        return
    ends = next(place for place, edge in enumerate(edges) if edge != place * narrow)
    yield edges[:ends], {kind: counts[: ends - 1] for kind, counts in rows.items()}
    places = [place for place, edge in enumerate(edges) if edge % wide == 0]
    sums = {kind: [sum(counts[a:b]) for a, b in pairwise(places)] for kind, counts in rows.items()}
    yield [edges[place] for place in places], sums


def _strip(edges: Sequence[int], rows: Mapping[Kind, Sequence[int]], marks: Sequence[Mark]) -> Strip:
    whole = [mark for mark in marks if mark.end <= BEYOND * edges[-1]]
    axis = axis_for(max(edges[-1], *(mark.end for mark in whole), 0))
    width = edges[1] - edges[0]
    return Strip(
        axis=axis,
        edges=tuple(edges),
        rows=tuple(
            StripRow(
                kind=kind,
                label=label,
                counts=tuple(rows[kind]),
                top=max(rows[kind]),
                top_label=f"most: {number(max(rows[kind]))} in {number(width)} s",
            )
            for kind, label, _ in ROWS
        ),
        marks=tuple(whole),
    )


def _sentence(ages: Mapping[str, Any], cells: Sequence[tuple[int, int, int, int]], marks: Sequence[Mark]) -> str:
    parts = []
    for place, (_, _, noun) in enumerate(ROWS, 2):
        some = [row for row in cells if row[place]]
        total = sum(row[place] for row in some)
        parts.append(counted(total, noun) + (f", idle for {some[0][0]} to {number(some[-1][1])} s" if some else ""))
    longest = ages["longest_live_seconds"]
    live = "" if longest is None else f" The longest idle time of a connection held at both ends is {seconds(longest)}."
    timeouts = "".join(f" {mark.label[0].upper()}{mark.label[1:]}." for mark in marks)
    return f"{'; '.join(parts)}.{live}{timeouts}"


MOST_BARS = 10
SPOKEN = 3
"""Names in the sentence."""
NAMES = (("by_account", "bind_dn", "account"), ("by_client", "client", "client"))


def shares(observed: Mapping[str, Any]) -> BarChart | None:
    """Return the chart of a finding of connection-share: accounts if they are known, else clients."""
    for key, name, noun in NAMES:
        if rows := observed.get(key):
            return _chart([(str(row[name]), int(row["connections"])) for row in rows], noun)
    return None


def _chart(rows: list[tuple[str, int]], noun: str) -> BarChart:
    largest = [f"{name} {number(count)}" for name, count in rows[:SPOKEN]]
    total = counted(sum(count for _, count in rows), "connection")
    bars = tuple(Bar(name, (Part(Kind.COUNT, count),)) for name, count in rows[:MOST_BARS])
    return BarChart(
        title=f"Connections by {noun}",
        unit="connections",
        sentence=f"{total} of {counted(len(rows), noun)}, the most: {', '.join(largest)}.",
        axis=axis_for(max(count for _, count in rows), whole=True),
        groups=(BarGroup("", bars),),
        legend=((Kind.COUNT, "connections"),),
        table=Numbers((noun, "connections"), tuple(rows)),
    )


MOST_GROUPS = 8
DIRECTION_COLUMNS = ("path", "at the server", "at the client", "held at both ends", "ghosts", "stranded", "severed")
LEGEND = (
    (Kind.LIVE, "at both ends"),
    (Kind.SEVERED, "dead: without an entry at the middlebox"),
    (Kind.GHOST, "at this end, absent at the other"),
    (Kind.UNPROVEN, "at this end, not known at the other"),
)


def both_ends(directions: Sequence[Mapping[str, Any]]) -> BarChart | None:
    """Return the chart of these directions (`directions` of the report, in their order); None without a connection."""
    rows = [row for row in directions if row["server_count"] or row["client_count"]]
    if not rows:
        return None
    groups = tuple(_group(row) for row in rows[:MOST_GROUPS])
    kinds = {part.kind for group in groups for bar in group.bars for part in bar.parts}
    return BarChart(
        title="Connections, counted at each end",
        unit="connections",
        sentence=" ".join(_of_direction(row) for row in rows[:MOST_GROUPS]),
        axis=axis_for(max(bar.value for group in groups for bar in group.bars), whole=True),
        groups=groups,
        more=len(rows) - len(groups),
        legend=tuple(one for one in LEGEND if one[0] in kinds),
        table=Numbers(DIRECTION_COLUMNS, tuple(_cells(row) for row in rows)),
    )


def direction_of(finding: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the direction that a finding is about, as a row of `directions`; None for one about something else.

    A published check may leave out the keys that ghost-connections has in addition.
    """
    observed = finding["observed"]
    if not {"server_count", "client_count", "client"} <= observed.keys():
        return None
    severed = observed.get("severed", 0)
    return {
        "server": finding["server"] or observed.get("server", "the server"),
        "client": observed["client"],
        "client_hosts": observed.get("client_hosts", []),
        "server_count": observed["server_count"],
        "client_count": observed["client_count"],
        "held": max(0, observed.get("matched", 0) - severed),
        "ghosts": observed.get("ghosts", 0),
        "stranded": observed.get("stranded", 0),
        "severed": severed,
    }


def _client(row: Mapping[str, Any]) -> str:
    return " + ".join(row["client_hosts"]) or str(row["client"])


def _path(row: Mapping[str, Any]) -> str:
    return f"{_client(row)} -> {row['server']}"


def _group(row: Mapping[str, Any]) -> BarGroup:
    bars = [Bar(f"at {row['server']}", _parts(row, row["server_count"], row["ghosts"]))]
    if row["client_count"] is not None:
        bars.append(Bar(f"at {_client(row)}", _parts(row, row["client_count"], row["stranded"])))
    return BarGroup(_path(row), tuple(bars))


def _parts(row: Mapping[str, Any], count: int, absent: int) -> tuple[Part, ...]:
    """Return the parts of one end. Their sum is its count, whatever a translation of addresses does to the others."""
    parts, rest = [], count
    known = ((Kind.LIVE, row["held"]), (Kind.SEVERED, row["severed"]), (Kind.GHOST, absent), (Kind.UNPROVEN, count))
    for kind, value in known:
        part = min(value, rest)
        parts.append(Part(kind, part))
        rest -= part
    return tuple(part for part in parts if part.value)


def _of_direction(row: Mapping[str, Any]) -> str:
    ends = f"{counted(row['server_count'], 'connection')} at {row['server']}"
    if row["client_count"] is None:
        severed = f", {number(row['severed'])} without an entry at the middlebox" if row["severed"] else ""
        return f"{_path(row)}: {ends}{severed}; the client's end is not known."
    named = (("held", "held at both ends"), ("ghosts", "ghosts"), ("stranded", "stranded"), ("severed", "severed"))
    some = [f"{number(row[key])} {name}" for key, name in named if row[key]]
    counts = ", ".join(some) or "none held at both ends"
    return f"{_path(row)}: {ends}, {number(row['client_count'])} at {_client(row)}; {counts}."


def _cells(row: Mapping[str, Any]) -> tuple[str | int | None, ...]:
    counts = (row[key] for key in ("server_count", "client_count", "held", "ghosts", "stranded", "severed"))
    return (_path(row), *counts)
