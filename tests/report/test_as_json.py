"""The report for machines: schema ldapdiag.report/1."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

import diagnoses
from ldapdiag import __version__
from ldapdiag.diagnosis import diagnose
from ldapdiag.evidence.bundle import Bundle, Gap, PassedOver
from ldapdiag.finding import Severity
from ldapdiag.report import as_json

if TYPE_CHECKING:
    from ldapdiag.check import Check

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)


def told(*checks: Check[[]]) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(as_json.render(as_json.document(diagnoses.diagnosis(*checks), NOW)))
    return report


def test_names_its_schema_its_tool_and_its_time() -> None:
    report = told()
    assert report["schema"] == "ldapdiag.report/1"
    assert report["tool"] == {"version": __version__, "scanner": "python", "config": None, "arguments": ""}
    assert report["taken_at"] == "2026-11-20T09:00:00Z"


def test_the_same_evidence_gives_the_same_bytes_with_sorted_keys() -> None:
    checks = [diagnoses.check("wrong", diagnoses.finding(observed={"b": 1, "a": 2}))]
    first, second = (as_json.render(as_json.document(diagnoses.diagnosis(*checks), NOW)) for _ in range(2))
    assert first == second
    assert first == json.dumps(json.loads(first), indent=1, sort_keys=True) + "\n"


def test_the_order_of_evidence_decides_nothing() -> None:
    """Two hosts' files may have one name each, below folders that were named one by one."""
    bundle = diagnoses.diagnosis().bundle
    gaps = (*bundle.gaps, Gap(target="another", reason="cannot read it", how=None))
    one = replace(bundle, gaps=gaps, passed_over=(*bundle.passed_over, PassedOver(target="a", reason="no file")))
    other = Bundle(facts=one.facts[::-1], gaps=one.gaps[::-1], passed_over=one.passed_over[::-1])
    first, second = (as_json.render(as_json.document(diagnose(each, ()), NOW)) for each in (one, other))
    assert first == second


def test_tells_all_four_outcomes() -> None:
    report = told(
        diagnoses.check("wrong", diagnoses.finding()),
        diagnoses.check("well", diagnoses.clear()),
        diagnoses.check("unknown", diagnoses.not_judged()),
        diagnoses.crashing(),
    )
    assert [(one["check"], one["outcome"]) for one in report["verdicts"]] == [
        ("wrong", "finding"),
        ("well", "clear"),
        ("unknown", "not-judged"),
        ("stumbling-block", "crashed"),
    ]


def test_every_verdict_has_the_same_keys() -> None:
    report = told(diagnoses.check("all", diagnoses.finding(), diagnoses.clear(), diagnoses.not_judged()))
    keys = {"check", "about", "subject", "outcome", "reason", "missing", "how"}
    assert [set(one) for one in report["verdicts"]] == [keys] * 3


def test_what_could_not_be_judged_says_what_is_missing_and_how_to_get_it() -> None:
    (verdict,) = told(diagnoses.check("unknown", diagnoses.not_judged()))["verdicts"]
    assert verdict == {
        "check": "unknown",
        "about": None,
        "subject": None,
        "outcome": "not-judged",
        "reason": "no access log",
        "missing": ["access-log"],
        "how": "add the access log",
    }


def test_a_crash_says_what_and_where() -> None:
    (verdict,) = told(diagnoses.crashing())["verdicts"]
    assert verdict["reason"].startswith("ZeroDivisionError: of \x1b[31mall things (package checks) at diagnoses.py:")


def test_a_check_that_says_nothing_has_crashed() -> None:
    (verdict,) = told(diagnoses.check("silent"))["verdicts"]
    assert (verdict["outcome"], verdict["reason"]) == ("crashed", "the check yielded no verdict (package checks)")


def test_a_finding_is_known_by_its_key_or_its_subject() -> None:
    first, second = told(diagnoses.check("wrong", diagnoses.finding("a"), diagnoses.finding("b", key="k")))["findings"]
    assert (first["id"], second["id"]) == ("wrong|a", "wrong|k")


def test_findings_come_worst_first() -> None:
    by_severity = [diagnoses.finding(str(severity), severity=severity) for severity in Severity]
    assert [one["severity"] for one in told(diagnoses.check("wrong", *by_severity))["findings"]] == [
        "critical",
        "high",
        "medium",
        "low",
        "info",
    ]


def test_a_remedy_is_told_whole() -> None:
    (finding,) = told(diagnoses.check("wrong", diagnoses.finding(remedies=(diagnoses.REMEDY,))))["findings"]
    (remedy,) = finding["remedies"]
    assert (remedy["where"], remedy["kind"], remedy["needs"], remedy["family"]) == ("server", "ldif", "none", None)
    assert remedy["text"] == diagnoses.LDIF


def test_gaps_and_files_passed_over_are_listed() -> None:
    report = told()
    assert report["gaps"] == [
        {"target": "incident/locked", "reason": "cannot read it: permission denied", "how": "ask its owner"}
    ]
    assert report["passed_over"] == [{"target": "incident/fifo", "reason": "neither a file nor a folder"}]


def test_hosts_say_what_they_are() -> None:
    assert [(one["name"], one["roles"], one["looks"]) for one in told()["hosts"]] == [
        ("app1", ["client"], 1),
        ("ldap", ["server"], 1),
    ]


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        (NOW.astimezone(timezone(timedelta(hours=1))), "2026-11-20T09:00:00Z"),
        (NOW.replace(microsecond=250_000), "2026-11-20T09:00:00.250000Z"),
    ],
)
def test_times_are_in_utc(at: datetime, shown: str) -> None:
    assert as_json.moment(at) == shown
