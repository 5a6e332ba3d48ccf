"""Candidate idle timeouts on the page: a table of what each costs, and a chart of cuts and descriptors held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.charts.terminal import plot, shortened
from ldapdiag.report.neutral import neutral
from ldapdiag.wording import number, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SHOWN = (60, 300, 900, 3600, 14_400, 43_200, 86_400)
"""Candidates that are listed without -v, in seconds, besides the recommended and the present one."""
WHO = 30
CHART_ROWS = 3
COLUMN = 3
"""Columns of the chart for each candidate."""


def candidates(observed: Mapping[str, Any], *, verbose: bool) -> Iterator[str]:
    """Yield the rows of the table and the chart, of those timeouts that the access log is long enough to judge."""
    period = observed.get("log_seconds") or 0
    rows = [row for row in observed.get("replay") or () if row["timeout_seconds"] < period]
    if not rows:
        return  # a log cannot show whom a timeout cuts that is as long as itself
    chosen, current = observed["recommended_seconds"], observed["current_seconds"]
    kept = rows if verbose else [row for row in rows if row["timeout_seconds"] in {*SHOWN, chosen, current}]
    length = f"{period / 60:,.0f} min" if period < 7200 else f"{period / 3600:,.1f} h"
    yield f"idle timeouts, replayed on {length} of access log (descriptor-hours freed)"
    yield from _table(kept, chosen)
    yield from _chart(rows, chosen)


def _table(rows: Sequence[Mapping[str, Any]], chosen: int) -> Iterator[str]:
    yield f"  {'timeout':>8} {'cut a day':>10} {'peak':>7} {'freed':>10}  first cut"
    for row in rows:
        mark = ">" if row["timeout_seconds"] == chosen else " "
        peak = "?" if row["peak"] is None else number(row["peak"])
        freed = f"{row['freed_seconds'] / 3600:,.1f} h"
        seconds = timeout(row["timeout_seconds"])
        yield f"{mark} {seconds:>8} {_cuts(row):>10} {peak:>7} {freed:>10}  {_first(row)}".rstrip()


def timeout(seconds: int) -> str:
    """Return a candidate in the unit that administrators use: `300 s`, `30 min`, `4 h`."""
    if seconds < 900:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 3600 or seconds % 3600 else f"{seconds // 3600} h"


def _cuts(row: Mapping[str, Any]) -> str:
    low, high = row["cut_per_day"], row["most_cut_per_day"]
    return rounded(high) if low == high else f"{rounded(low)}-{rounded(high)}"


def _first(row: Mapping[str, Any]) -> str:
    if row["first_client"] is None:
        return ""
    account = str(row["first_account"] or "anonymous").partition(",")[0]
    return shortened(neutral(f"{account} from {row['first_client']}"), WHO)


def _chart(rows: Sequence[Mapping[str, Any]], chosen: int) -> Iterator[str]:
    """Yield two plots over the same candidates, each from zero: cuts a day, and descriptor-hours held."""
    cuts = [row["most_cut_per_day"] for row in rows]
    if not any(cuts) and not any(row["freed_seconds"] for row in rows):
        return  # no candidate changes anything
    held = [row["held_seconds"] / 3600 for row in rows]
    for name, values in (("live connections cut a day, at most", cuts), ("descriptor-hours held", held)):
        yield f"{name}, by timeout from {timeout(rows[0]['timeout_seconds'])} to {timeout(rows[-1]['timeout_seconds'])}"
        yield from _plotted(values, [row["timeout_seconds"] == chosen for row in rows])


def _plotted(values: Sequence[float], marks: Sequence[bool]) -> Iterator[str]:
    top = max(1, *(round(value) for value in values))
    spread = [value if place < COLUMN - 1 else None for value in values for place in range(COLUMN)]
    lines = list(plot(spread, top, CHART_ROWS))
    yield from lines
    axis = lines[0].index("│") + 1
    under = "".join("^" * (COLUMN - 1) + " " if mark else " " * COLUMN for mark in marks)
    yield f"{' ' * axis}{under}".rstrip()
