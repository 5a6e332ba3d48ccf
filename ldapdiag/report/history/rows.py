"""What a page shows of a history, from its report object: the title, the runs of a server, and its lasting findings.

The course of a number over time: a column for each interval, as wide as the page allows.

Lasting findings: those of the last run, and since when every run has had them.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.history import SEVERITIES, SeverityName
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.evidence.history import RecordedFinding

MOST_POINTS = 240
"""Of a chart."""
COURSES = {"connections": "connections_source", "descriptors_used": "used_source", "ghosts": None, "severed": None}
"""The numbers that have a chart, and the key of their source."""
NUMBERS = {
    "connections": "Connections",
    "descriptors_used": "Descriptors",
    "descriptor_limit": "Limit",
    "ghosts": "Ghosts",
    "stranded": "Stranded",
    "severed": "Severed",
}
RUNS = [("Time (UTC)", False), *((title, True) for title in NUMBERS.values()), ("Findings", False)]
LASTING = [("Check", False), ("Severity", False), ("Findings", True), ("Since (UTC)", False), ("Runs", True)]
"""Columns with their titles, and whether they are numbers."""


def title(document: Mapping[str, Any]) -> str:
    """Return how many runs there are, and of how many servers."""
    return f"{counted(len(document['runs']), 'run')} of {counted(len(document['servers']), 'server')}"


def period(document: Mapping[str, Any]) -> str:
    """Return the times of the first and the last run."""
    return f"{minute(document['runs'][0]['taken_at'])} to {minute(document['runs'][-1]['taken_at'])} UTC"


def remarks(document: Mapping[str, Any]) -> list[str]:
    """Return what was not read of the file."""
    rows = document["rows_not_understood"]
    lost = [f"Not read: {counted(rows, 'row')} with values that ldapdiag does not write."] if rows else []
    return [*lost, *document["notes"]]


def run_rows(document: Mapping[str, Any], server: str) -> Iterator[list[str]]:
    """Yield the runs of a server, the latest first."""
    for summary in reversed(list(_summaries(document, server))):
        counts = [f"{found} {name}" for name in reversed(SEVERITIES) if (found := _count(summary, name))]
        ended = ["ran out of descriptors"] if summary["exhausted"] else []
        yield [minute(summary["taken_at"]), *(_cell(summary, key) for key in NUMBERS), ", ".join([*counts, *ended])]


def lasting_rows(document: Mapping[str, Any], server: str | None) -> Iterator[list[str]]:
    """Yield the findings of the last run, and since when every run has had them; None: those of no single server."""
    for one in document["lasting"]:
        if one["server"] == server:
            since = minute(one["since"])
            yield [one["check"], one["severity"], number(one["findings"]), since, number(one["runs"])]


def series(document: Mapping[str, Any], server: str) -> Iterator[dict[str, Any]]:
    """Yield the numbers of a server in equal intervals, as charts over time take them."""
    summaries = sorted(_summaries(document, server), key=lambda one: str(one["taken_at"]))
    times = [datetime.fromisoformat(summary["taken_at"]) for summary in summaries]
    laid_out = course(times, MOST_POINTS)
    length = (times[-1] - times[0]).total_seconds()
    step = max(1, round(length / max(1, laid_out.columns - 1)))
    for key, source in COURSES.items():
        limits = [summary["descriptor_limit"] for summary in summaries if summary["descriptor_limit"]]
        yield {
            "name": key,
            "server": server,
            "source": next((summary[source] for summary in reversed(summaries) if source and summary[source]), ""),
            "from": summaries[0]["taken_at"],
            "step_seconds": step,
            "values": laid_out.highest([summary[key] for summary in summaries]),
            "limit": limits[-1] if limits and key == "descriptors_used" else None,
            "forecast": None,
        }


def minute(at: str) -> str:
    """Return a time of the report object to the minute."""
    return f"{datetime.fromisoformat(at):%Y-%m-%d %H:%M}"


def _summaries(document: Mapping[str, Any], server: str) -> Iterator[Mapping[str, Any]]:
    return (one for run in document["runs"] for one in run["servers"] if one["name"] == server)


def _count(summary: Mapping[str, Any], severity: str) -> int:
    return sum(finding["severity"] == severity for finding in summary["findings"])


def _cell(summary: Mapping[str, Any], key: str) -> str:
    source = COURSES.get(key)
    least = "at least " if source and str(summary[source]).startswith("at least") else ""
    return "" if summary[key] is None else f"{least}{number(summary[key])}"


@dataclass(frozen=True, slots=True)
class Course:
    """Columns of equal length in time, from the first reading to the last."""

    times: Sequence[datetime]
    """In ascending order."""
    columns: int

    def highest(self, values: Sequence[float | None]) -> list[float | None]:
        """Return the highest value of each column; None where it has none."""
        begin = self.times[0]
        length = (self.times[-1] - begin).total_seconds()
        highest: list[float | None] = [None] * self.columns
        for time, value in zip(self.times, values, strict=True):
            if value is not None:
                elapsed = (time - begin).total_seconds()
                place = min(self.columns - 1, round(elapsed * (self.columns - 1) / length)) if length else 0
                highest[place] = max(value, highest[place] or 0)
        return highest


def course(times: Sequence[datetime], room: int) -> Course:
    """Return as many columns as there would be readings at the usual interval, and at most so many."""
    gaps = [gap for gap in ((b - a).total_seconds() for a, b in pairwise(times)) if gap > 0]
    if not gaps:
        return Course(times, 1)
    length = (times[-1] - times[0]).total_seconds()
    return Course(times, max(1, min(room, round(length / median(gaps)) + 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LastingFindings:
    """Findings of one check and severity in the last run that began in the same run."""

    check: str
    severity: SeverityName
    findings: int
    since: datetime
    """The first run from which on every run has them."""
    runs: int
    """Those runs, the last one included."""


def lasting(runs: Sequence[tuple[datetime, Sequence[RecordedFinding]]]) -> list[LastingFindings]:
    """Return the findings of the last of several runs, which are in order of time; the most severe first."""
    if not runs:
        return []
    begins: dict[tuple[str, str], int] = {}
    open_ones = {(one.check, one.digest) for one in runs[-1][1]}
    for place in range(len(runs) - 1, -1, -1):
        open_ones &= {(one.check, one.digest) for one in runs[place][1]}
        if not open_ones:
            break
        begins |= dict.fromkeys(open_ones, place)
    groups: dict[tuple[SeverityName, str, int], int] = defaultdict(int)
    for one in runs[-1][1]:
        groups[one.severity, one.check, begins[one.check, one.digest]] += 1
    found = [
        LastingFindings(check=check, severity=severity, findings=count, since=runs[place][0], runs=len(runs) - place)
        for (severity, check, place), count in groups.items()
    ]
    return sorted(found, key=lambda one: (-SEVERITIES.index(one.severity), one.since, one.check))
