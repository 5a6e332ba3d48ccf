"""Reasons in groups: thousands of subjects are one line, and different reasons stay apart."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import pytest

import diagnoses
import documents
from ldapdiag.finding import NotJudged
from ldapdiag.report.as_text import Screen
from ldapdiag.report.not_judged import FEW, groups_of, lacks_of


def row(check: str, reason: str, *missing: str, subject: str = "ldap", how: str | None = None) -> dict[str, Any]:
    """Return a verdict of a report object for lack of these kinds of evidence."""
    verdict = {"check": check, "outcome": "not-judged", "subject": subject, "reason": reason}
    return verdict | {"missing": list(missing), "how": how}


def about(
    number: int, check: str = "ghosts", reason: str = "no socket table of {}", how: str = "on {}: ss"
) -> dict[str, Any]:
    address = f"10.80.{number // 250}.{number % 250}"
    subject = f"{address} -> 10.77.1.2:389"
    return row(check, reason.format(address), subject=subject, how=how.format(address))


def told(*verdicts: NotJudged, verbose: bool = False) -> list[str]:
    """Return the lines on what was not judged, of a check with these verdicts."""
    stream = StringIO()
    Screen.write(documents.of(diagnoses.diagnosis(diagnoses.check("odd", *verdicts))), stream, verbose=verbose)
    lines = stream.getvalue().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("not judged"))
    return lines[first : next(number for number, line in enumerate(lines) if line.startswith("gaps"))]


class TestLacks:
    def test_that_of_the_most_checks_is_first(self) -> None:
        few = [row("threads", "no cn=monitor", "monitor")]
        many = [row(name, "no access log", "access-log") for name in ("binds", "searches")]
        assert [(lack.reason, lack.checks) for lack in lacks_of([*few, *many])] == [
            ("no access log", ("binds", "searches")),
            ("no cn=monitor", ("threads",)),
        ]

    def test_the_same_evidence_for_several_reasons_is_one_with_the_commonest(self) -> None:
        reasons = ("its limits are unknown", "no dse.ldif", "no dse.ldif")
        (lack,) = lacks_of(row(f"c{number}", one, "dse") for number, one in enumerate(reasons))
        assert (lack.reason, lack.checks, lack.alike) == ("no dse.ldif", ("c0", "c1", "c2"), 0)

    def test_one_reason_is_one_although_some_checks_lack_more(self) -> None:
        (lack,) = lacks_of([row("a", "no dse.ldif", "dse"), row("b", "no dse.ldif", "dse", "access-log")])
        assert (lack.missing, lack.checks) == (("dse", "access-log"), ("a", "b"))

    def test_verdicts_that_name_no_kind_go_by_how_to_collect_it(self) -> None:
        lacks = lacks_of([row("a", "one", how="do this"), row("b", "two", how="do this"), row("c", "three")])
        assert [lack.checks for lack in lacks] == [("a", "b"), ("c",)]

    def test_subjects_that_differ_in_their_addresses_are_counted(self) -> None:
        (lack,) = lacks_of(about(number) for number in range(8000))
        assert (lack.reason, lack.alike) == ("no socket table of 10.80.0.0", 7999)

    def test_clear_subjects_lack_nothing(self) -> None:
        assert lacks_of([row("a", "well") | {"outcome": "clear"}]) == []


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
    (group,) = groups_of(row("limits", f"the limit of {name} is unknown", subject=name) for name in names)
    assert (
        group.text == "limits: 5 subjects (alpha, bravo, charlie and 2 more), the first: the limit of alpha is unknown"
    )


def test_the_report_of_thousands_is_two_lines() -> None:
    verdicts = map(about, range(8000))
    subjects = [NotJudged(subject=one["subject"], reason=one["reason"], how=one["how"]) for one in verdicts]
    assert told(*subjects) == [
        "not judged  1 check (-v names them)",
        "            1  no socket table of 10.80.0.0, and 7,999 more like it · on 10.80.0.0: ss",
    ]


def test_thousands_of_different_reasons_are_ten_lines_and_the_rest_a_number() -> None:
    words = ["".join(chr(97 + int(digit)) for digit in str(number)) for number in range(3000)]
    reasons = [diagnoses.not_judged(f"because of {word}", None) for word in words]
    unnamed = [NotJudged(subject=None, reason=one.reason) for one in reasons]
    lines = told(*unnamed)
    assert len(lines) == 10
    assert lines[-1].endswith("and 2,992 more reasons (-v shows them)")
    assert len(told(*unnamed, verbose=True)) == 3000


@pytest.mark.parametrize("words", [1, 30, 400])
def test_long_reasons_are_cut_so_that_ten_lines_suffice(words: int) -> None:
    reasons = (f"because of {letter}{' and of much else' * words}" for letter in "abcdefghijklm")
    assert len(told(*(NotJudged(subject=None, reason=one, how=one) for one in reasons))) <= 10
