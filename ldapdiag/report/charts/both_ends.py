"""Connections counted at both ends of each path: the part that both hold is equal, the rest is what an end lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.charts.axis import axis_for
from ldapdiag.report.charts.chart import Bar, BarChart, BarGroup, Kind, Numbers, Part
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_GROUPS = 8
COLUMNS = ("path", "at the server", "at the client", "held at both ends", "ghosts", "stranded", "severed")
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
        sentence=" ".join(_sentence(row) for row in rows[:MOST_GROUPS]),
        axis=axis_for(max(bar.value for group in groups for bar in group.bars), whole=True),
        groups=groups,
        more=len(rows) - len(groups),
        legend=tuple(one for one in LEGEND if one[0] in kinds),
        table=Numbers(COLUMNS, tuple(_cells(row) for row in rows)),
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


def _sentence(row: Mapping[str, Any]) -> str:
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
