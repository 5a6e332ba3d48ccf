"""Predicted and measured times of the searches that a plan makes indexed: a row for each kind of search.

A prediction is of the average search. Searches for different persons differ, and the noise of the machine must not
count: what is measured is the mean, over the persons asked for, of the median of the times of each. A prediction is
right if that is within a factor of two of what is expected, and needs to be only where it is at least 5 ms: below it,
the noise is as long as the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from lab.search_kinds import ADMINISTRATOR, WIDE
from ldapdiag.evidence.filters import shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lab.audited_load import Round
    from lab.search_kinds import SearchKind
    from lab.search_load import Record, Records

LEAST = 0.005
"""Seconds."""
FACTOR = 2


@dataclass(frozen=True, slots=True)
class Prediction:
    """One kind of search; times in seconds."""

    kinds: str
    before: float
    least: float
    expected: float
    most: float
    after: float
    entries: int
    """The most that one search returned."""

    @property
    def is_long(self) -> bool:
        """Return whether it takes long enough to be compared."""
        return self.after >= LEAST

    @property
    def is_right(self) -> bool:
        """Return whether what is expected is within the factor of what was measured."""
        return self.expected / FACTOR <= self.after <= self.expected * FACTOR

    @property
    def is_bounded(self) -> bool:
        """Return whether what was measured is within the factor of the predicted interval."""
        return self.least / FACTOR <= self.after <= self.most * FACTOR


def predictions(kinds: Mapping[str, SearchKind], first: Round, second: Round) -> list[Prediction]:
    """Return a row for each search that the first report predicts a time for, asked by accounts without limits.

    Kinds of the same shape, base and scope have one prediction, for each result: a page is one, because the log of
    slapd does not tell pages from searches. So the mean is taken of all these kinds, by their results.
    """
    asked: dict[tuple[str, str, str], list[str]] = {}
    for name, kind in kinds.items():
        if kind.who in {WIDE, ADMINISTRATOR} and not kind.control.first:
            text = shape(kind.text(0).encode()).decode().lower()
            asked.setdefault((kind.base(0).lower(), kind.scope, text), []).append(name)
    found = []
    for row in first.report.server["predicted"]:
        names = asked.get((row["base"].lower(), row["scope"], row["shape"].lower()))
        if names is not None:
            predicted = row["after_seconds"]
            bounds = (predicted["least"], predicted["expected"], predicted["most"])
            times = _usual(first.records, names), *bounds, _usual(second.records, names)
            entries = max(one.sent.entries for name in names for one in second.records[name])
            found.append(Prediction(" ".join(names), *times, entries))
    return found


def _usual(records: Records, names: list[str]) -> float:
    """Return the seconds of one result: the mean over persons of the median of each."""
    asked: dict[tuple[str, int], list[Record]] = {}
    for name in names:
        for one in records[name]:
            asked.setdefault((name, one.sent.number), []).append(one)
    times = sum(median(one.etime for one in several) * len(several) for several in asked.values())
    return times / sum(one.sent.requests for several in asked.values() for one in several)


def table(rows: Iterable[Prediction]) -> str:
    """Return the rows as a table, the longest first, in milliseconds."""
    head = "| kind | entries | before | predicted (from, to) | after | after / predicted |"
    lines = [head, "|---|---|---|---|---|---|"]
    lines += [
        f"| {one.kinds} | {one.entries} | {one.before * 1e3:.1f} | {one.expected * 1e3:.2f} "
        f"({one.least * 1e3:.2f}, {one.most * 1e3:.2f}) | {one.after * 1e3:.2f} | {one.after / one.expected:.2f} |"
        for one in sorted(rows, key=lambda one: -one.after)
    ]
    return "\n".join(lines)


def summary(rows: list[Prediction]) -> str:
    """Return how many predictions are right, and within their bounds."""
    long = [one for one in rows if one.is_long]
    right, bounded = sum(one.is_right for one in long), sum(one.is_bounded for one in rows)
    return (
        f"{len(rows)} kinds; {right} of {len(long)} that take {LEAST * 1e3:.0f} ms or more are within a factor of "
        f"{FACTOR}; {bounded} of all within that factor of their interval"
    )
