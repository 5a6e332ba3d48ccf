"""The verdict limit: how many verdicts of a check are kept; the others are counted in one verdict of each outcome.

A table may contain more clients than a report can list, and each would cost a verdict of several checks.
"""

from __future__ import annotations

from heapq import heappush, heappushpop
from typing import TYPE_CHECKING

from ldapdiag.finding import Clear, Confidence, Crashed, Finding, Judged, NotJudged, Severity
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.finding import Verdict

MOST_VERDICTS = 10_000
"""Findings, clear subjects and subjects not judged of one check that are kept, each."""


class VerdictLimit:
    """The kept verdicts of one check in their order, and how many more there are.

    The most severe findings are kept, and the first of the clear subjects and of those not judged.
    """

    def __init__(self, most: int = MOST_VERDICTS) -> None:
        self.most = most
        self._kept: dict[int, Judged] = {}
        self._findings: list[tuple[Severity, int]] = []
        """A heap with the severity of each kept finding, and its negative position: the first are kept longest."""
        self._clear = self._not_judged = self._position = 0
        self._worst = Severity.INFO
        """The highest severity of a finding that was not kept."""
        self._more_findings = 0
        self._first_not_judged: NotJudged | None = None
        """The first subject not judged that was not kept."""

    def take(self, judged: Iterable[Judged]) -> None:
        """Keep or count further verdicts of the check."""
        for self._position, one in enumerate(judged, self._position + 1):  # noqa: B020  the position is kept
            match one.verdict:
                case Finding() as finding:
                    self._kept[self._position] = one
                    self._take_finding(finding)
                case Clear():
                    self._clear += 1
                    if self._clear <= self.most:
                        self._kept[self._position] = one
                case NotJudged() as not_judged:
                    self._not_judged += 1
                    if self._not_judged <= self.most:
                        self._kept[self._position] = one
                    else:
                        self._first_not_judged = self._first_not_judged or not_judged
                case Crashed():
                    self._kept[self._position] = one

    def _take_finding(self, finding: Finding) -> None:
        rank = (finding.severity, -self._position)
        if len(self._findings) < self.most:
            heappush(self._findings, rank)
            return
        severity, position = heappushpop(self._findings, rank)
        del self._kept[-position]
        self._more_findings += 1
        self._worst = max(self._worst, severity)

    def judged(self, check: str) -> Iterator[Judged]:
        """Yield the kept verdicts, and one for those of each outcome that were not kept."""
        yield from self._kept.values()
        yield from (Judged(check=check, verdict=verdict) for verdict in self._remainders())

    def _remainders(self) -> Iterator[Verdict]:
        if more := self._more_findings:
            yield Finding(
                subject=f"{number(more)} more",
                severity=self._worst,
                confidence=Confidence.POSSIBLE,
                title=f"{number(more)} more findings of this check, of severity {self._worst} or lower",
                detail=f"The report lists the {number(self.most)} most severe findings of a check.",
                observed={"more_findings": more},
            )
        if (more := self._clear - self.most) > 0:
            yield Clear(subject=f"{number(more)} more", reason=f"clear, as the {number(self.most)} that are listed")
        if first := self._first_not_judged:
            reason = f"{number(self._not_judged - self.most)} more are not judged; of the first of them: {first.reason}"
            yield NotJudged(subject=None, reason=reason, missing=first.missing, how=first.how)
