"""JUnit XML: read by somebody else's parser, it fails for what makes the exit code 1, and for nothing else."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped, TestSuite

import diagnoses
import documents
from command import INCIDENT, ldapdiag
from ldapdiag.finding import Severity
from ldapdiag.report.monitoring.junit import render

ACCEPTED = {"reason": "planned", "standing": "accepted", "until": "2027-01-01", "up_to": "critical"}


def read(text: str) -> tuple[TestSuite, Counter[type]]:
    """Return the suite, and how many cases ended in each way; the attributes must count the same."""
    (suite,) = JUnitXml.fromstring(text.encode())
    ends = Counter(type(result) for case in suite for result in case.result)
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (
        len(list(suite)), ends[Failure], ends[Error], ends[Skipped],
    )  # fmt: skip
    return suite, ends


@pytest.mark.parametrize("options", [[], ["--strict"], ["--fail-on", "never"], ["--fail-on", "critical"]], ids=str)
@pytest.mark.parametrize(
    "command", [["diagnose", INCIDENT], ["indexes", INCIDENT.parent / "audit"]], ids=["diagnose", "indexes"]
)
def test_it_fails_as_the_command_does(command: list[Any], options: list[str]) -> None:
    ran = ldapdiag(*command, *options, "--format", "junit")
    _, ends = read(ran.text)
    assert bool(ends[Failure]) == (ran.code == 1)
    report = ldapdiag(*command, *options, "--format", "json").report
    unjudged = sum(one["outcome"] == "not-judged" for one in report["verdicts"])
    assert ends[Skipped] == (0 if "--strict" in options else unjudged)


def test_a_crashed_check_is_an_error_and_an_accepted_finding_passes() -> None:
    found = [diagnoses.finding("a", severity=Severity.CRITICAL), diagnoses.finding("b", severity=Severity.MEDIUM)]
    document = documents.of(diagnoses.diagnosis(diagnoses.check("a-check", *found), diagnoses.crashing()))
    assert read(render(document, fail_on=Severity.HIGH))[1] == {Failure: 1, Error: 1}
    document["findings"] = [one | {"acceptance": ACCEPTED} for one in document["findings"]]
    assert read(render(document, fail_on=Severity.HIGH))[1] == {Error: 1}


def test_evidence_that_was_not_read_is_an_error() -> None:
    document = documents.incident() | {"shortfall": {"reason": "most of it was passed over", "how": None}}
    assert read(render(document, fail_on=None))[1][Error] == 1


@pytest.mark.parametrize("change", ["new", "worse", None, "same", "better", "not seen as well"])
def test_only_what_is_new_or_worse_fails_where_asked(change: str | None) -> None:
    """What could not be compared (None) counts as new, as for the exit code (`Changes.has_grown`)."""
    document = documents.incident()
    document = document | {"findings": [one | {"change": change} for one in document["findings"]]}
    ends = read(render(document, fail_on=Severity.HIGH, only_new=True))[1]
    assert bool(ends[Failure]) == (change in {"new", "worse", None})


@given(text=st.text(max_size=300))
def test_hostile_text_is_text(text: str) -> None:
    document = documents.incident()
    document = document | {"findings": [one | {"title": text, "detail": text} for one in document["findings"]]}
    suite, _ = read(render(document, fail_on=Severity.LOW))
    assert len(list(suite)) == len(documents.incident()["verdicts"])
