"""Reasons in groups: thousands of subjects are one line, and different reasons stay apart."""

from __future__ import annotations

import re
from io import StringIO

import pytest

import diagnoses
from ldapdiag.finding import Judged, NotJudged
from ldapdiag.report.as_text import print_report
from ldapdiag.report.not_judged import FEW, groups_of


def about(number: int, check: str = "ghosts", reason: str = "no socket table of {}", how: str = "on {}: ss") -> Judged:
    address = f"10.80.{number // 250}.{number % 250}"
    subject = f"{address} -> 10.77.1.2:389"
    return Judged(
        check=check, verdict=NotJudged(subject=subject, reason=reason.format(address), how=how.format(address))
    )


def told(*verdicts: NotJudged) -> str:
    """Return the report on a check with these verdicts."""
    stream = StringIO()
    print_report(diagnoses.diagnosis(diagnoses.check("odd", *verdicts)), stream)
    return stream.getvalue()


def test_many_subjects_with_alike_reasons_are_one_line_with_their_number() -> None:
    (group,) = groups_of(about(number) for number in range(8000))
    named = ", ".join(f"10.80.0.{number} -> 10.77.1.2:389" for number in range(FEW))
    assert group.text == f"ghosts: 8,000 subjects ({named} and 7,997 more), the first: no socket table of 10.80.0.0"
    assert group.how == "on 10.80.0.0: ss"


@pytest.mark.parametrize("count", range(1, FEW + 1))
def test_few_are_printed_one_by_one(count: int) -> None:
    assert [group.text for group in groups_of(map(about, range(count)))] == [
        f"ghosts: no socket table of 10.80.0.{number}" for number in range(count)
    ]


def test_checks_that_judge_the_same_subjects_share_the_line() -> None:
    (group,) = groups_of(about(number, check) for check in ("ghosts", "stranded") for number in range(9))
    assert group.text.startswith("ghosts, stranded: 9 subjects (")


def test_another_reason_is_another_group() -> None:
    reasons = ("no socket table of {}", "{} is an address of several hosts")
    groups = list(groups_of(about(number, reason=reason) for reason in reasons for number in range(9)))
    assert [re.sub(r"[^:]+: (\d).*: ", r"\1 ", group.text) for group in groups] == [
        "9 no socket table of 10.80.0.0",
        "9 10.80.0.0 is an address of several hosts",
    ]


def test_names_of_subjects_without_digits_are_alike() -> None:
    names = ("alpha", "bravo", "charlie", "delta", "echo")
    (group,) = groups_of(
        Judged(check="limits", verdict=NotJudged(subject=name, reason=f"the limit of {name} is unknown"))
        for name in names
    )
    assert (
        group.text == "limits: 5 subjects (alpha, bravo, charlie and 2 more), the first: the limit of alpha is unknown"
    )


def test_the_report_of_thousands_is_a_screen() -> None:
    subjects = [one.verdict for one in map(about, range(8000)) if isinstance(one.verdict, NotJudged)]
    assert len(told(*subjects)) < 2000


def test_the_report_of_thousands_of_different_reasons_is_bounded_and_says_so() -> None:
    words = ("".join(chr(97 + int(digit)) for digit in str(number)) for number in range(3000))
    text = told(*(diagnoses.not_judged(f"because of {word}", None) for word in words))
    assert "and 2,950 more reasons (-v shows them)" in text
    assert text.count("because of") == 50
