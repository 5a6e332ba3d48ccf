"""Findings on the page: the first in full, others as rows of a table, the rest by number.

What is clear, by check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.remedy import Needs, step_labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

IN_FULL = 50
ROWS_OF_CHECK = 200
ROWS = 800
"""Rows of all checks: a browser lays out 20,000 nodes at once."""
REMEDIES = 8
"""Remedies of one finding with their commands."""
REMEDIES_IN_FULL = 80
"""Of all findings."""
LONGEST_TEXT = 40_000
"""Characters of a command; longer ones are in the JSON report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFinding:
    """A finding in full, with the number that its anchors are made of."""

    number: int
    finding: Mapping[str, Any]
    remedies: Sequence[ShownRemedy]
    more_remedies: int
    """Remedies that are not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRemedy:
    """A remedy with the anchor that the head of the page links to."""

    anchor: str
    label: str
    """The number of its step among those of the finding; `or`: an alternative of the step before it."""
    remedy: Mapping[str, Any]
    is_long: bool
    """Its commands are too long for a page."""

    @property
    def needs(self) -> str:
        """Return what it needs, or which connections it reaches; empty: nothing, and all."""
        return Needs(self.remedy["needs"]).clause

    @property
    def lines(self) -> int:
        """Return the number of lines of its commands."""
        return len(self.remedy["text"].split("\n"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRows:
    """Findings of one check that have a row each."""

    check: str
    findings: Sequence[Mapping[str, Any]]
    more: int
    """Findings of this check that are not on the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFindings:
    """All findings of a report."""

    full: Sequence[ShownFinding]
    rows: Sequence[FindingRows]


def listing(findings: Sequence[Mapping[str, Any]]) -> ListedFindings:
    """Divide the findings of a report, which are in the order of their severity."""
    left = REMEDIES_IN_FULL
    full = []
    for number, finding in enumerate(findings[:IN_FULL], 1):
        shown = finding["remedies"][: min(REMEDIES, left)]
        left -= len(shown)
        full.append(
            ShownFinding(
                number=number,
                finding=finding,
                remedies=list(_remedies(number, shown)),
                more_remedies=len(finding["remedies"]) - len(shown),
            )
        )
    return ListedFindings(full=full, rows=list(_rows(findings[IN_FULL:])))


def _remedies(number: int, remedies: Sequence[Mapping[str, Any]]) -> Iterator[ShownRemedy]:
    labels = step_labels(one["alternative"] for one in remedies)
    for place, (label, remedy) in enumerate(zip(labels, remedies, strict=True), 1):
        size = sum(len(remedy[key]) for key in ("text", "undo", "verify"))
        is_long = size > LONGEST_TEXT
        yield ShownRemedy(anchor=f"remedy-{number}-{place}", label=label, remedy=remedy, is_long=is_long)


def _rows(findings: Iterable[Mapping[str, Any]]) -> Iterable[FindingRows]:
    by_check: dict[str, list[Mapping[str, Any]]] = {}
    for finding in findings:
        by_check.setdefault(finding["check"], []).append(finding)
    left = ROWS
    for check, found in by_check.items():
        shown = found[: min(ROWS_OF_CHECK, left)]
        left -= len(shown)
        yield FindingRows(check=check, findings=shown, more=len(found) - len(shown))


@dataclass(slots=True)
class ClearCheck:
    """The subjects that a check found in order."""

    check: str
    subject: str
    reason: str
    """Of the first subject."""
    subjects: int = 1


def clear_checks(verdicts: Iterable[Mapping[str, Any]]) -> Sequence[ClearCheck]:
    """Return the checks with subjects that are clear."""
    found: dict[str, ClearCheck] = {}
    for verdict in verdicts:
        if verdict["outcome"] != "clear":
            continue
        if known := found.get(verdict["check"]):
            known.subjects += 1
        else:
            found[verdict["check"]] = ClearCheck(verdict["check"], verdict["subject"] or "", verdict["reason"] or "")
    return list(found.values())
