"""No format is more confident than the others: where nothing was found, all begin with the same sentence."""

from __future__ import annotations

import html
from io import StringIO
from typing import Any

import pytest

import diagnoses
import documents
from ldapdiag.finding import Severity
from ldapdiag.report.as_text import Screen
from ldapdiag.report.headline import CLEAR, CRASHED, UNKNOWN, headline, reservation
from ldapdiag.report.html import page as html_page
from ldapdiag.report.markdown import page as markdown_page
from report.screens import situation


@pytest.mark.parametrize(
    ("checks", "label"),
    [
        ([diagnoses.check("well", diagnoses.clear())], CLEAR),
        ([diagnoses.check("well", diagnoses.clear()), diagnoses.check("open", diagnoses.not_judged())], UNKNOWN),
        (
            [diagnoses.check(f"well{number}", diagnoses.clear()) for number in range(9)] + [diagnoses.crashing()],
            CRASHED,
        ),
    ],
    ids=["clear", "two checks, one judged", "one check of ten crashed"],
)
def test_every_format_begins_with_the_same_sentence(checks: list[Any], label: str) -> None:
    report = documents.of(diagnoses.diagnosis(*checks))
    first = headline(report)
    assert first.label == label
    shown = StringIO()
    Screen.write(report, shown)
    assert first.text in " ".join(shown.getvalue().split())
    assert f"<h1>{html.escape(first.text)}</h1>" in html_page.render(report)
    assert markdown_page.render(report).split("\n\n")[1].startswith(f"**{label}:** {first.text}")


@pytest.mark.parametrize(
    ("severity", "judged", "is_said"),
    [
        (Severity.LOW, 1, True),
        (Severity.MEDIUM, 1, True),
        (Severity.HIGH, 1, False),  # the first thing to do, whatever else there is
        (Severity.LOW, 9, False),
    ],
)
def test_a_finding_below_high_does_not_hide_missing_evidence(severity: Severity, judged: int, *, is_said: bool) -> None:
    checks = [diagnoses.check(f"well{number}", diagnoses.clear()) for number in range(judged - 1)]
    checks += [diagnoses.check(f"open{number}", diagnoses.not_judged()) for number in range(2)]
    ill = diagnoses.check("ill", diagnoses.finding(severity=severity))
    report = documents.of(diagnoses.diagnosis(ill, *checks))
    sentence = f"Nothing worse found, but 2 of {judged + 2} checks lack evidence: not an all-clear"
    assert reservation(report) == (sentence if is_said else "")
    shown = StringIO()
    Screen.write(report, shown)
    for text in (shown.getvalue(), html_page.render(report), markdown_page.render(report)):
        assert (sentence in " ".join(text.split())) is is_said


def test_what_thin_evidence_does_not_show_stands_in_every_format() -> None:
    report = documents.of(situation("thin-evidence"))
    missing = headline(report).detail.partition(";")[0]
    assert missing
    assert missing in html_page.render(report)
    assert missing in markdown_page.render(report)


def test_markdown_counts_crashed_checks_and_files_that_were_passed_over() -> None:
    told = markdown_page.render(
        documents.of(diagnoses.diagnosis(diagnoses.check("ill", diagnoses.finding()), diagnoses.crashing()))
    )
    assert "0 clear, 0 not judged, 1 crashed. " in told
    assert "not understood, 1 file passed over. " in told
