"""What is wrong, how certain is it, what first? Answered by the first screen alone, and by the last screen alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import diagnoses
import documents
import examples
import healthy_site
import sick_site
from command import INCIDENT
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import diagnose
from ldapdiag.evidence.bundle import Bundle
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.finding import NotJudged, Severity
from ldapdiag.report.headline import first_step, headline, outcomes
from ldapdiag.report.neutral import neutral
from report.screens import SITUATIONS, SIZES, audited, diagnosed, lines_of, rows_of, situation

if TYPE_CHECKING:
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.finding import Verdict

SCREENS = Path(__file__).parent.parent / "report" / "screens"
CAPTURES = Path(__file__).parent.parent / "captures"
FOLDERS = [
    one
    for name in ("incidents", "389ds", "openldap", "opendj", "haproxy")
    for one in sorted((CAPTURES / name).iterdir())
    if one.is_dir() and one.name != "truth"
]
ROWS = 24


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SITUATIONS)
def test_looks_as_a_person_has_read_and_approved_it(name: str, size: str) -> None:
    """Written by `PYTHONPATH=tests .venv/bin/python -m report.accept_screens`, and read."""
    assert "\n".join(lines_of(situation(name), size)) + "\n" == (SCREENS / f"{name}-{size}.txt").read_text()


def squeezed(texts: list[str]) -> str:
    """Return texts without blanks and dots, so that it does not matter where lines were broken."""
    return "".join("".join(texts).replace("·", "").split())


def head_of(diagnosis: Diagnosis) -> list[str]:
    """Return what each screen must contain: the beginning of the first sentence and of the first step, and counts."""
    report = documents.of(diagnosis)
    counts, first = squeezed([" · ".join(outcomes(report))]), headline(report)
    step = first_step(report, first)
    return [squeezed([neutral(text)])[:24] for text in (first.text, *([step.text] if step else []))] + [counts]


def assert_first_and_last_screen_answer(diagnosis: Diagnosis, wanted: list[str]) -> None:
    rows = rows_of(lines_of(diagnosis))
    for screen in (rows[:ROWS], rows[-ROWS:]):
        assert [one for one in wanted if one not in squeezed(screen)] == [], "\n".join(screen)


def assert_risk_stands_above_each_command(diagnosis: Diagnosis, *, verbose: bool) -> None:
    for size in SIZES:
        text = "\n".join(lines_of(diagnosis, size, verbose=verbose))
        for remedy in (one for finding in diagnosis.findings for one in finding.remedies if one.kind != "advice"):
            above, command, _ = text.partition(f"\n\n{remedy.text.rstrip()}\n")
            if command:
                assert squeezed([above]).endswith(squeezed([f"risk: {neutral(remedy.risk, longest=2000)}"]))


def not_judged(lines: list[str]) -> list[str]:
    """Return the lines on what was not judged."""
    first = next((number for number, line in enumerate(lines) if line.startswith("not judged")), len(lines))
    rest = lines[first + 1 :]
    return lines[first : first + 1] + rest[: next((n for n, line in enumerate(rest) if not line.startswith(" ")), 0)]


def assert_every_law(diagnosis: Diagnosis) -> None:
    assert_first_and_last_screen_answer(diagnosis, head_of(diagnosis))
    for size in SIZES:
        assert len(not_judged(lines_of(diagnosis, size))) <= 10
    for verbose in (False, True):
        assert_risk_stands_above_each_command(diagnosis, verbose=verbose)


class TestLaws:
    @pytest.mark.parametrize("folder", examples.some(FOLDERS, 6), ids=lambda one: f"{one.parent.name}-{one.name}")
    def test_of_captures(self, folder: Path) -> None:
        assert_every_law(diagnosed(folder))

    @pytest.mark.parametrize("name", [name for name in SITUATIONS if name != "index-audit"])
    def test_of_situations(self, name: str) -> None:
        assert_every_law(situation(name))

    def test_of_a_site_with_every_disease(self) -> None:
        assert_every_law(diagnose(sick_site.bundle(), installed_checks()))

    @pytest.mark.parametrize("many", [0, 1, 7, 40])
    def test_of_some_of_the_facts_of_a_healthy_site(self, many: int) -> None:
        assert_every_law(diagnose(Bundle(facts=healthy_site.bundle().facts[:many]), installed_checks()))

    @given(st.data())
    def test_of_any_verdicts(self, data: st.DataObject) -> None:
        """Titles, explanations, remedies and reasons of any length, from outside; any number of each outcome."""
        text = st.one_of(st.text(min_size=1, max_size=60), st.sampled_from(["word " * 390, "x" * 1500, "汉字 " * 300]))
        risky = {name: data.draw(text) for name in ("title", "changes", "risk", "target")}
        verdicts: list[Verdict] = [
            diagnoses.finding(
                title=f"first {data.draw(text)}",
                detail=data.draw(text),
                severity=data.draw(st.sampled_from(Severity)),
                observed=data.draw(st.sampled_from(SHARES)),
                remedies=data.draw(st.sampled_from([(), (remedy(**risky),), (diagnoses.REMEDY,)])),
            )
            for _ in range(data.draw(st.integers(0, 4)))
        ]
        verdicts += [diagnoses.clear(name) for name in data.draw(st.lists(text, max_size=4))]
        reasons = data.draw(st.lists(text, max_size=12))
        verdicts += [NotJudged(subject=None, reason=reason, how=data.draw(st.none() | text)) for reason in reasons]
        diagnosis = diagnoses.diagnosis(diagnoses.check("odd", *verdicts), diagnoses.crashing())
        assert_first_and_last_screen_answer(diagnosis, head_of(diagnosis))
        assert len(not_judged(lines_of(diagnosis))) <= 10


SHARES: list[dict[str, Any]] = [
    {},
    {"by_account": [{"bind_dn": f"uid={number}", "connections": 9} for number in range(9)]},
    {"server_count": 9, "client_count": 1, "client_hosts": ["app1"], "client": "10.77.2.2"},
]


def remedy(**texts: str) -> Any:
    """Return a remedy with these texts."""
    return replace(diagnoses.REMEDY, **texts)


class TestIndexes:
    @pytest.mark.parametrize(
        "evidence",
        examples.some([INCIDENT.parent / "audit", *FOLDERS], 3),
        ids=lambda one: f"{one.parent.name}-{one.name}",
    )
    def test_the_verdict_and_the_plan_are_on_the_first_and_the_last_screen(self, evidence: Path) -> None:
        diagnosis = audited(evidence)
        rows = rows_of(lines_of(diagnosis))
        planned = any(row.startswith("PLAN ") and "index change" in row for row in rows)
        for screen in (rows[:ROWS], rows[-ROWS:]):
            assert any(row.startswith("    first ") for row in screen) >= planned
            assert head_of(diagnosis)[-1] in squeezed(screen)

    def test_without_v_a_plan_has_the_few_lines_and_the_command_of_the_script(self) -> None:
        brief, full = (lines_of(situation("index-audit"), "piped", verbose=verbose) for verbose in (False, True))
        assert len(brief) < 80
        assert len(full) > 250
        assert sum(line.startswith("ldapmodify ") for line in brief) == 1
        assert any(line.endswith(" --script > plan.sh") for line in brief)

    def test_of_a_site_with_every_disease(self) -> None:
        diagnosis = diagnose(sick_site.bundle(), installed_checks(ReportKind.INDEXES), kind=ReportKind.INDEXES)
        rows = rows_of(lines_of(diagnosis))
        for screen in (rows[:ROWS], rows[-ROWS:]):
            assert head_of(diagnosis)[-1] in squeezed(screen)
