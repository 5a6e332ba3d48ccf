"""A history on screen: per server the course of its numbers, how long its findings exist, and the latest runs."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.history import SEVERITIES, SeverityName
from ldapdiag.report.charts.terminal import plot
from ldapdiag.report.color import Color
from ldapdiag.report.history.rows import course, minute, period
from ldapdiag.report.page import page_for
from ldapdiag.wording import counted, number, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TextIO

    from ldapdiag.report.page import Page

    Plain = Mapping[str, Any]

SHOWN_RUNS = 20
"""Rows of the table; the JSON has all."""
FEWEST = 3
"""Readings; fewer are no picture."""
WIDEST = 60
"""Columns of a plot."""
FINDINGS = "without those of severity info"


def print_history(document: Plain, stream: TextIO, *, color: Color = Color.AUTO) -> None:
    """Write the history of the servers of a report object."""
    page = page_for(stream, color)
    runs, servers = counted(len(document["runs"]), "run"), counted(len(document["servers"]), "server")
    page.line([document["file"], runs, servers, period(document)], "bold")
    if document["rows_not_understood"]:
        rows = counted(document["rows_not_understood"], "row")
        page.labelled("NOT READ", f"{rows} with values that ldapdiag does not write", "bold red", "bold")
    for note in document["notes"]:
        page.labelled("NOT READ", note, "bold red", "bold")
    for name in document["servers"]:
        page.blank()
        _Part(page, name, document).show()
    if others := list(_since(document, None)):
        page.blank()
        page.listed("no server", others, "bold")


class _Part:
    """The part of one server."""

    def __init__(self, page: Page, name: str, document: Plain) -> None:
        self.page = page
        self.name = name
        self.since = list(_since(document, name))
        of_server = ((run, server) for run in document["runs"] for server in run["servers"] if server["name"] == name)
        self.readings = sorted(of_server, key=lambda pair: datetime.fromisoformat(pair[1]["taken_at"]))
        self.summaries = [summary for _, summary in self.readings]
        self.times = [datetime.fromisoformat(summary["taken_at"]) for summary in self.summaries]
        self.last = self.summaries[-1]

    def show(self) -> None:
        """Print everything about it."""
        runs = counted(len(self.readings), "run")
        self.page.packed(self.name, [self.last["product"] or "directory server", runs], "bold", "bold")
        limited = self._last_with("descriptor_limit", zero=False)
        self._course("connections", "connections", self._source("connections", "connections_source"))
        self._course("descriptors", "descriptors_used", self._of_limit(), limited["descriptor_limit"] if limited else 0)
        self._exhaustion()
        self._rates()
        self._course("ghosts", "ghosts", self._joined())
        self._numbers("findings", [_serious(summary["findings"]) for summary in self.summaries], FINDINGS)
        self.page.listed("since", self.since or ["no finding in the last run"], "bold")
        self._table()

    def _last_with(self, key: str, *, zero: bool = True) -> Plain | None:
        """Return the last run that has a number, or, without `zero`, one that is not 0."""
        known = (summary for summary in reversed(self.summaries) if summary[key] is not None and (zero or summary[key]))
        return next(known, None)

    def _source(self, key: str, source: str) -> str:
        """Return where the last known value of a number is from."""
        summary = self._last_with(key)
        return str(summary[source]) if summary else ""

    def _course(self, label: str, key: str, about: str, top: int = 0) -> None:
        self._numbers(label, [summary[key] for summary in self.summaries], about, top)

    def _numbers(self, label: str, values: Sequence[int | None], about: str, top: int = 0) -> None:
        """Print the last value and the highest one, and a plot from zero."""
        known = [(value, time) for value, time in zip(values, self.times, strict=True) if value is not None]
        if not known:
            self.page.labelled(label, "not in the evidence of these runs", "bold")
            return
        most, at = max(known, key=lambda one: one[0])
        last, last_at = known[-1]
        when = "" if last_at == self.times[-1] else f" at {last_at:%Y-%m-%d %H:%M}"
        highest = [f"most {number(most)} at {at:%Y-%m-%d %H:%M}"] if most > last else []
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
        limits = [summary for summary in self.summaries if summary["descriptor_limit"]]
        last = limits[-1]["descriptor_limit"] if limits else 0
        before = [one for one in limits if one["descriptor_limit"] != last]
        limit = f"limit {number(last)}: {limits[-1]['limit_source']}" if limits else "limit unknown"
        changed = (
            f"limit {number(before[-1]['descriptor_limit'])} until {minute(before[-1]['taken_at'])}" if before else ""
        )
        return "; ".join(filter(None, [self._source("descriptors_used", "used_source"), limit, changed]))

    def _exhaustion(self) -> None:
        """Print in which runs the server had run out of descriptors, as its logs report."""
        times = [summary["taken_at"] for summary in self.summaries if summary["exhausted"]]
        if times:
            runs = "in the run of" if len(times) == 1 else f"in {number(len(times))} runs, last of"
            self.page.labelled("", f"its evidence shows that they ran out: {runs} {minute(times[-1])}", "bold")

    def _rates(self) -> None:
        """Print how fast the connections grew in the last run that shows it, and what its last access log contains."""
        if grown := self._last_with("growth_per_hour"):
            gains = f"{grown['growth_per_hour']:+,.1f} connections an hour"
            self.page.labelled("growth", f"{gains} at {minute(grown['taken_at'])} ({grown['growth_source']})", "bold")
        if logged := self._last_with("log_seconds", zero=False):
            opens, binds = logged["opens_per_second"] or 0, logged["binds_per_second"] or 0
            searches = f"{counted(logged['searches'] or 0, 'search')} in {seconds(logged['search_seconds'] or 0)}"
            of = f"{seconds(logged['log_seconds'])} until {minute(logged['taken_at'])}"
            text = f"{opens:,.2f} connections and {binds:,.2f} BINDs a second, {searches} (in {of})"
            self.page.labelled("access log", text, "bold")

    def _joined(self) -> str:
        """Return among how many connections ghosts were looked for in the last run that did."""
        joined = self._last_with("ghosts")
        return "" if joined is None else f"of {counted(joined['joined'] or 0, 'connection')} looked up at the client"

    def _table(self) -> None:
        """Print the latest runs, the latest first."""
        shown = self.readings[: -SHOWN_RUNS - 1 : -1]
        cells = {key: [_cell(one[key]) for _, one in shown] for key in ("connections", "ghosts", "stranded", "severed")}
        columns = [
            ("time (UTC)", [minute(one["taken_at"]) for _, one in shown]),
            ("connections", cells["connections"]),
            ("descriptors", [_cell(one["descriptors_used"]) for _, one in shown]),
            ("ghosts", cells["ghosts"]),
            ("findings", [_by_severity(one["findings"]) for _, one in shown]),
            ("stranded", cells["stranded"]),
            ("severed", cells["severed"]),
            ("crashed", [_cell(run["crashed"] or None) for run, _ in shown]),
        ]
        for row in _aligned([column for column in columns if any(column[1])], self.page.room):
            self.page.row(row)
        if earlier := len(self.readings) - len(shown):
            self.page.indented(f"and {counted(earlier, 'earlier run')} (--format json lists all)")


def _since(document: Plain, server: str | None) -> Iterator[str]:
    """Yield since when the findings of the last run of a server exist, as lines; None: those of no server."""
    for one in document["lasting"]:
        if one["server"] == server:
            several = f" ({number(one['findings'])})" if one["findings"] > 1 else ""
            last = "the last run" if one["runs"] == 1 else f"the last {number(one['runs'])} runs"
            yield f"{one['severity']}: {one['check']}{several} since {minute(one['since'])}, {last}"


def _aligned(columns: Sequence[tuple[str, Sequence[str]]], room: int) -> Iterator[str]:
    """Yield a header and rows of right-aligned columns, as many as fit."""
    widths = [max(len(name), *map(len, cells)) for name, cells in columns]
    while len(widths) > 1 and sum(widths) + 2 * (len(widths) - 1) > room:
        widths.pop()
    for row in zip(*([name, *cells] for name, cells in columns[: len(widths)]), strict=True):
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _cell(value: int | None) -> str:
    return "" if value is None else number(value)


def _serious(findings: Sequence[Plain]) -> int:
    return sum(finding["severity"] != SEVERITIES[0] for finding in findings)


def _by_severity(findings: Sequence[Plain]) -> str:
    """Return the numbers of findings by the initials of their severities, as in `1c 2h`; info is left out."""
    counts = Counter(finding["severity"] for finding in findings)
    return " ".join(_initials(counts))


def _initials(counts: Counter[SeverityName]) -> Iterator[str]:
    for severity in reversed(SEVERITIES[1:]):
        if counts[severity]:
            yield f"{counts[severity]}{severity[0]}"
