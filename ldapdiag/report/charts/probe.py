"""What a storage probe measured: the median time of a sync by kind of write, and commits per second by committers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.storage.probe import MOST_COMMITTERS, MOST_MEASURED, is_lower_bound
from ldapdiag.report.charts.chart import Bar, BarChart, BarGroup, Kind, Numbers, Part, axis_for
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PERCENTILES = ("p10", "p50", "p90", "p99", "worst")
COMMIT_COLUMNS = ("committers", "commits per second", "syncs per second", "p50 of a commit (ms)", "p99 (ms)")


def probe_charts(probe: Mapping[str, Any]) -> Iterator[BarChart]:
    """Yield the charts of a probe, as `storage` reports it; none of what was not measured."""
    if probe["syncs"]:
        yield _syncs(probe)
    if any(row["seconds"] for row in probe["commits"]):
        yield _commits(probe)


def _syncs(probe: Mapping[str, Any]) -> BarChart:
    medians = [(_name(row), _milliseconds(row["sync"]["p50_seconds"])) for row in probe["syncs"]]
    worst = max(probe["syncs"], key=lambda row: row["sync"]["worst_seconds"])
    rows = (
        [_milliseconds(row["sync"][f"{percentile}_seconds"]) for percentile in PERCENTILES] for row in probe["syncs"]
    )
    return BarChart(
        title=f"Time of a sync on {_volume(probe)}, median",
        unit="ms",
        sentence=f"{'; '.join(f'{name}: {p50:g} ms' for name, p50 in medians)}.",
        notes=(f"The longest sync took {_milliseconds(worst['sync']['worst_seconds']):g} ms ({_name(worst)}).",),
        axis=axis_for(max(p50 for _, p50 in medians)),
        groups=(_group(medians),),
        legend=((Kind.COUNT, "median"),),
        table=Numbers(
            ("write and sync", *PERCENTILES), tuple((name, *row) for (name, _), row in zip(medians, rows, strict=True))
        ),
    )


def _commits(probe: Mapping[str, Any]) -> BarChart:
    rows = [row for row in probe["commits"] if row["seconds"]]
    rates = [(counted(row["committers"], "committer"), round(row["commits"] / row["seconds"])) for row in rows]
    cells = tuple(_commit_cells(row, rate) for row, (_, rate) in zip(rows, rates, strict=True))
    limited = [
        name
        for row, (name, _) in zip(rows, rates, strict=True)
        if is_lower_bound(row["committers"], row["commits"], row["seconds"])
    ]
    return BarChart(
        title=f"Commits per second on {_volume(probe)}, where one sync covers all that wait",
        unit="commits per second",
        sentence=f"{'; '.join(f'{name}: {number(rate)}' for name, rate in rates)}.",
        notes=(_at_least(limited),) if limited else (),
        axis=axis_for(max(rate for _, rate in rates), whole=True),
        groups=(_group(rates),),
        legend=((Kind.COUNT, "commits per second"),),
        table=Numbers(COMMIT_COLUMNS, cells),
    )


def _commit_cells(row: Mapping[str, Any], rate: int) -> tuple[float, ...]:
    p50, p99 = (_milliseconds(row["commit"][f"{name}_seconds"]) for name in ("p50", "p99"))
    return row["committers"], rate, round(row["syncs"] / row["seconds"]), p50, p99


def _volume(probe: Mapping[str, Any]) -> str:
    return str(probe["mount_point"] or probe["directory"])


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['write']} {row['block_bytes'] // 1024} KiB, {row['call']}"


def _milliseconds(seconds: float) -> float:
    return float(f"{1000 * seconds:.3g}")


def _at_least(limited: Sequence[str]) -> str:
    return (
        f"Above {number(MOST_MEASURED)} per second or {MOST_COMMITTERS} committers ({', '.join(limited)}) the rate is "
        "a lower bound: the program that measures limits it."
    )


def _group(bars: Sequence[tuple[str, float]]) -> BarGroup:
    return BarGroup("", tuple(Bar(name, (Part(Kind.COUNT, value),) if value else ()) for name, value in bars))
