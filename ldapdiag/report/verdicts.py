"""What every format asks of a report object: verdicts by outcome, of findings what the site accepted, files read."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from ldapdiag.finding import Acceptance, Severity, Standing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


def is_accepted(finding: Mapping[str, Any]) -> bool:
    """Return whether the site has accepted a finding, so that it counts for no gate."""
    acceptance = finding["acceptance"]
    return bool(acceptance) and acceptance["standing"] == Standing.IN_FORCE


def acceptance_of(finding: Mapping[str, Any]) -> str:
    """Return the sentence about an acceptance, as the text has it; empty without one."""
    if not (found := finding["acceptance"]):
        return ""
    return str(
        Acceptance(
            reason=found["reason"],
            until=date.fromisoformat(found["until"]),
            up_to=Severity[found["up_to"].upper()],
            standing=Standing(found["standing"]),
        )
    )


def severity_of(finding: Mapping[str, Any]) -> Severity:
    """Return the severity of a finding, which can be compared."""
    return Severity[finding["severity"].upper()]


def of_outcome(document: Mapping[str, Any], outcome: str) -> Iterator[Mapping[str, Any]]:
    """Yield the verdicts of an outcome: `finding`, `clear`, `not-judged` or `crashed`."""
    return (verdict for verdict in document["verdicts"] if verdict["outcome"] == outcome)


def lines_not_understood(evidence: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return of each file the lines that were not understood; of several facts, the number of the worst one."""
    lines: dict[str, int] = {}
    for one in evidence:
        lines[one["origin"]] = max(lines.get(one["origin"], 0), one["lines_not_understood"])
    return lines
