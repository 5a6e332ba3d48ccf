"""What repeats the head of a report: only on a terminal that is shorter than the report, in five lines at most."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import diagnoses
from ldapdiag.evidence.bundle import PassedOver
from ldapdiag.report.head import REPRISE
from report.screens import lines_of, situation

ROWS = 24


def test_in_a_pipe_nothing_is_repeated() -> None:
    text = "\n".join(lines_of(situation("incident"), "piped"))
    assert text.count("268 of the 270 connections from app1") == 1
    assert len(re.findall(r"^ +first ", text, re.MULTILINE)) == text.count("1 critical · ") == 1


def test_where_everything_fits_on_the_terminal_nothing_is_repeated() -> None:
    diagnosis = diagnoses.diagnosis(diagnoses.check("wrong", diagnoses.finding()))
    lines = lines_of(diagnosis)
    assert len(lines) < ROWS
    assert "\n".join(lines).count("something is wrong") == 1


@pytest.mark.parametrize("size", ["80x24", "100x40"])
def test_a_longer_report_ends_with_at_most_five_lines_that_repeat_it(size: str) -> None:
    lines = lines_of(situation("incident"), size)
    last = lines[len(lines) - lines[::-1].index("") :]
    assert last[0] == "CRITICAL    268 of the 270 connections from app1 no longer exist on app1"
    assert last[1].startswith("    first   drain: close the 268 dead connections from 10.77.2.2 now · at ldap")
    assert last[-1].startswith("verdicts    1 critical · 1 high · 1 medium · 1 info · ")
    assert len(last) <= 5


def test_evidence_that_was_passed_over_is_repeated_with_the_finding() -> None:
    diagnosis = situation("incident")
    passed = tuple(PassedOver(target=f"file{number}", reason="unrecognised", files=1) for number in range(99))
    lacking = replace(diagnosis, bundle=replace(diagnosis.bundle, passed_over=passed))
    assert lacking.shortfall is not None
    last = lines_of(lacking)[-REPRISE:]
    assert [line.split()[0] for line in last if not line.startswith(" " * 12)] == [
        "NOT",
        "CRITICAL",
        "first",
        "verdicts",
    ]
