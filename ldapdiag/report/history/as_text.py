"""A history on screen: per server the course of its numbers, how long its findings exist, and the latest runs."""

from __future__ import annotations

from collections import Counter
from datetime import UTC
from typing import TYPE_CHECKING

from ldapdiag.evidence.history import SEVERITIES, RecordedFinding, SeverityName
from ldapdiag.report.charts.terminal import plot
from ldapdiag.report.color import Color
from ldapdiag.report.history.rows import course, lasting
from ldapdiag.report.page import page_for
from ldapdiag.wording import counted, number, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from typing import TextIO

    from ldapdiag.evidence.history import History, RecordedRun
    from ldapdiag.report.page import Page

SHOWN_RUNS = 20
"""Rows of the table; the JSON has all."""
FEWEST = 3
"""Readings; fewer are no picture."""
WIDEST = 60
"""Columns of a plot."""


def print_history(history: History, stream: TextIO, server: str | None = None, *, color: Color = Color.AUTO) -> None:
    """Write the history of one server, or of all."""
    page = page_for(stream, color)
    runs = history.runs
    page.line(
        [
            history.origin.path,
            counted(len(runs), "run"),
            counted(len(history.servers), "server"),
            f"{_minute(runs[0].taken)} to {_minute(runs[-1].taken)} UTC",
        ],
        "bold",
    )
    if history.origin.not_understood:
        rows = counted(history.origin.not_understood, "row")
        page.labelled("NOT READ", f"{rows} with values that ldapdiag does not write", "bold red", "bold")
    for note in history.origin.notes:
        page.labelled("NOT READ", note, "bold red", "bold")
    for name in [server] if server is not None else history.servers:
        page.blank()
        _Part(page, name, history.runs).show()
    others = list(_since([(run.taken, run.findings) for run in runs]))
    if server is None and others:
        page.blank()
        page.listed("no server", others, "bold")


class _Part:
    """The part of one server."""

    def __init__(self, page: Page, name: str, runs: Sequence[RecordedRun]) -> None:
        self.page = page
        self.name = name
        of_server = ((run, summary) for run in runs for summary in run.servers if summary.name == name)
        self.readings = sorted(of_server, key=lambda one: one[1].taken)
        self.summaries = [summary for _, summary in self.readings]
        self.times = [summary.taken for summary in self.summaries]
        self.last = self.summaries[-1]

    def show(self) -> None:
        """Print everything about it."""
        runs = counted(len(self.readings), "run")
        self.page.packed(self.name, [self.last.product or "directory server", runs], "bold", "bold")
        limit = next((one.descriptor_limit for one in reversed(self.summaries) if one.descriptor_limit), 0)
        source = next((one.connections_source for one in reversed(self.summaries) if one.connections is not None), "")
        self._course("connections", [one.connections for one in self.summaries], source)
        self._course("descriptors", [one.descriptors_used for one in self.summaries], self._of_limit(), limit)
        self._exhaustion()
        self._rates()
        self._course("ghosts", [one.ghosts for one in self.summaries], self._joined())
        self._course("findings", [_serious(one.findings) for one in self.summaries], "without those of severity info")
        self._findings()
        self._table()

    def _course(self, label: str, values: Sequence[int | None], about: str, top: int = 0) -> None:
        """Print the last value and the highest one, and a plot from zero."""
        known = [(value, time) for value, time in zip(values, self.times, strict=True) if value is not None]
        if not known:
            self.page.labelled(label, "not in the evidence of these runs", "bold")
            return
        most, at = max(known, key=lambda one: one[0])
        last, last_at = known[-1]
        when = "" if last_at == self.times[-1] else f" at {_minute(last_at)}"
        highest = [f"most {number(most)} at {_minute(at)}"] if most > last else []
        self.page.packed(label, [f"last {number(last)}{when}{f' ({about})' if about else ''}", *highest], "bold")
        if len(known) < FEWEST or not most:
            return
        top = max(top, most)
        laid_out = course(self.times, min(WIDEST, self.page.room - len(number(top)) - 2))
        for row in plot(laid_out.highest(values), top):
            self.page.row(row)
        ends = [f"{time:%m-%d %H:%M}" for time in (self.times[0], self.times[-1])]
        between = laid_out.columns - sum(map(len, ends))
        if between > 0:
            self.page.row(" " * (len(number(top)) + 2) + (" " * between).join(ends))

    def _of_limit(self) -> str:
        """Return the limit of the last run that has one, and where the numbers are from."""
        limits = [(one.descriptor_limit, one.limit_source) for one in self.summaries if one.descriptor_limit]
        last = limits[-1][0] if limits else 0
        before = [
            (one.descriptor_limit, one.taken) for one in self.summaries if one.descriptor_limit not in {None, last}
        ]
        used = next((one.used_source for one in reversed(self.summaries) if one.descriptors_used is not None), "")
        limit = f"limit {number(limits[-1][0] or 0)}: {limits[-1][1]}" if limits else "limit unknown"
        changed = f"limit {number(before[-1][0] or 0)} until {_minute(before[-1][1])}" if before else ""
        return "; ".join(filter(None, [used, limit, changed]))

    def _exhaustion(self) -> None:
        """Print in which runs the server had run out of descriptors, as its logs report."""
        times = [one.taken for one in self.summaries if one.exhausted]
        if times:
            runs = "in the run of" if len(times) == 1 else f"in {number(len(times))} runs, last of"
            self.page.labelled("", f"its evidence shows that they ran out: {runs} {_minute(times[-1])}", "bold")

    def _rates(self) -> None:
        """Print how fast the connections grew in the last run that shows it, and what its last access log contains."""
        grown = next((one for one in reversed(self.summaries) if one.growth_per_hour is not None), None)
        if grown is not None and grown.growth_per_hour is not None:
            gains = f"{grown.growth_per_hour:+,.1f} connections an hour"
            self.page.labelled("growth", f"{gains} at {_minute(grown.taken)} ({grown.growth_source})", "bold")
        logged = next((one for one in reversed(self.summaries) if one.log_seconds), None)
        if logged is not None:
            opens, binds = logged.opens_per_second or 0, logged.binds_per_second or 0
            searches = f"{counted(logged.searches or 0, 'search')} in {seconds(logged.search_seconds or 0)}"
            of = f"{seconds(logged.log_seconds or 0)} until {_minute(logged.taken)}"
            text = f"{opens:,.2f} connections and {binds:,.2f} BINDs a second, {searches} (in {of})"
            self.page.labelled("access log", text, "bold")

    def _joined(self) -> str:
        """Return among how many connections ghosts were looked for in the last run that did."""
        joined = next((one for one in reversed(self.summaries) if one.ghosts is not None), None)
        return "" if joined is None else f"of {counted(joined.joined or 0, 'connection')} looked up at the client"

    def _findings(self) -> None:
        """Print since when each check has findings in every run, the most severe first."""
        lines = list(_since([(summary.taken, summary.findings) for summary in self.summaries]))
        self.page.listed("since", lines or ["no finding in the last run"], "bold")

    def _table(self) -> None:
        """Print the latest runs, the latest first."""
        shown = self.readings[: -SHOWN_RUNS - 1 : -1]
        summaries = [summary for _, summary in shown]
        columns = [
            ("time (UTC)", [_minute(one.taken) for one in summaries]),
            ("connections", [_cell(one.connections) for one in summaries]),
            ("descriptors", [_cell(one.descriptors_used) for one in summaries]),
            ("ghosts", [_cell(one.ghosts) for one in summaries]),
            ("findings", [_by_severity(one.findings) for one in summaries]),
            ("stranded", [_cell(one.stranded) for one in summaries]),
            ("severed", [_cell(one.severed) for one in summaries]),
            ("crashed", [_cell(run.crashed or None) for run, _ in shown]),
        ]
        for row in _aligned([column for column in columns if any(column[1])], self.page.room):
            self.page.row(row)
        if earlier := len(self.readings) - len(shown):
            self.page.indented(f"and {counted(earlier, 'earlier run')} (--format json lists all)")


def _since(runs: Sequence[tuple[datetime, Sequence[RecordedFinding]]]) -> Iterator[str]:
    """Yield since when the findings of the last run exist, as lines."""
    for one in lasting(runs):
        several = f" ({number(one.findings)})" if one.findings > 1 else ""
        last = "the last run" if one.runs == 1 else f"the last {number(one.runs)} runs"
        yield f"{one.severity}: {one.check}{several} since {_minute(one.since)}, {last}"


def _aligned(columns: Sequence[tuple[str, Sequence[str]]], room: int) -> Iterator[str]:
    """Yield a header and rows of right-aligned columns, as many as fit."""
    widths = [max(len(name), *map(len, cells)) for name, cells in columns]
    while len(widths) > 1 and sum(widths) + 2 * (len(widths) - 1) > room:
        widths.pop()
    for row in zip(*([name, *cells] for name, cells in columns[: len(widths)]), strict=True):
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _minute(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


def _cell(value: int | None) -> str:
    return "" if value is None else number(value)


def _serious(findings: Sequence[RecordedFinding]) -> int:
    return sum(one.severity != SEVERITIES[0] for one in findings)


def _by_severity(findings: Sequence[RecordedFinding]) -> str:
    """Return the numbers of findings by the initials of their severities, as in `1c 2h`; info is left out."""
    counts = Counter(one.severity for one in findings)
    return " ".join(_initials(counts))


def _initials(counts: Counter[SeverityName]) -> Iterator[str]:
    for severity in reversed(SEVERITIES[1:]):
        if counts[severity]:
            yield f"{counts[severity]}{severity[0]}"
