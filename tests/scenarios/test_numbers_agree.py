"""One number has one value and one form: whatever a report says twice, in one format or in several, it says alike."""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path

import pytest

from command import INCIDENT, ldapdiag

EXAMPLES = INCIDENT.parent
LOGS = Path(__file__).parents[1] / "captures" / "access-logs"
N, TIME = r"([\d,]+)", r"([\d.,]+ (?:µs|ms|s|min|h|d))"
DIAGNOSIS = (
    rf"{N} clear\b",
    rf"{N} not judged\b(?! \d)",
    *(rf"{N} {severity}\b(?! findings? )" for severity in ("critical", "high", "medium", "low", "info")),
    rf"{N} lines? not understood",
)
REPORTS: dict[tuple[str, Path], tuple[str, ...]] = {
    ("diagnose", INCIDENT): (
        *DIAGNOSIS,
        rf"{N} (?:of the \d+ )?connections from app1 no longer",
        rf"(?:recommended idle timeout of the server|set the idle timeout to) {TIME}",
        rf"longest idle time of a connection not known to be dead:? {TIME}",
        rf"drops its state after:? {TIME}",
        rf"silent drop: {N} have unanswered",
    ),
    ("indexes", EXAMPLES / "audit"): (
        *DIAGNOSIS,
        rf"{TIME} of log\b",
        rf"{N} searches · |in {N} searches,",
        rf"{TIME} of search time",
        rf"would save about {TIME}|the plan saves about {TIME}",
        rf"with the index under {TIME} \(|{N} of 150 noted as unindexed",
    ),
    ("storage", EXAMPLES / "storage"): (*DIAGNOSIS, r"([\d.,]+ GiB of [\d.,]+ GiB)"),
    ("log", LOGS / "389-pools.head500.access"): (
        rf"lines {N} |{N} lines(?! not)",
        rf"at most {N} at once|connections at once, at most {N}|at once:? {N}\b",
        rf"{N} opened\b|connections opened {N}\b",
        rf"[0-9,]+ in {TIME}|searches? took {TIME}",
    ),
}
"""What each report says of itself, by the command; of the last kind of phrase any group may hold the quantity."""


@cache
def told(command: str, evidence: Path) -> dict[str, str]:
    """Return the report in each format as one line of plain text."""
    found = {form: ldapdiag(command, evidence, "--format", form).text for form in ("text", "markdown", "html")}
    page = re.sub(r"<(style|svg|pre)\b.*?</\1>", " ", found["html"], flags=re.DOTALL)
    found["html"] = html.unescape(re.sub(r"<[^>]+>", " ", page))
    return {form: " ".join(text.replace("\\", "").replace("|", " ").split()) for form, text in found.items()}


@pytest.mark.parametrize(
    ("command", "evidence", "phrase"),
    [(*report, phrase) for report, phrases in REPORTS.items() for phrase in phrases],
)
def test_what_is_said_twice_is_said_alike(command: str, evidence: Path, phrase: str) -> None:
    said: dict[str, list[str]] = {}
    for form, text in told(command, evidence).items():
        for found in re.finditer(phrase, text):
            said.setdefault(" ".join(filter(None, found.groups())), []).append(f"{form}: …{found[0]}…")
    assert len(said) <= 1, said


def test_every_report_says_most_of_them_at_least_twice() -> None:
    twice = {
        report: sum(sum(len(re.findall(phrase, text)) for text in told(*report).values()) > 1 for phrase in phrases)
        / len(phrases)
        for report, phrases in REPORTS.items()
    }
    assert min(twice.values()) > 0.5, twice
