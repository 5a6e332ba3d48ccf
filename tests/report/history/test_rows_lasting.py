"""Lasting findings: since the first run from which on every run has had them."""

from __future__ import annotations

from histories import found, minutes
from ldapdiag.report.history.rows import LastingFindings, lasting


def test_a_finding_that_came_back_counts_from_its_return() -> None:
    one, other = found(4), found(1, "idle-timeout")
    runs = [(minutes(0), [one, other]), (minutes(1), [other]), (minutes(2), [one, other]), (minutes(3), [one, other])]
    assert lasting(runs) == [
        LastingFindings(check="ghost-connections", severity="critical", findings=1, since=minutes(2), runs=2),
        LastingFindings(check="idle-timeout", severity="low", findings=1, since=minutes(0), runs=4),
    ]


def test_findings_of_one_check_that_began_together_are_counted() -> None:
    runs = [(minutes(0), [found(0)]), (minutes(1), [found(0), found(5), found(10)])]
    assert [(one.findings, one.since) for one in lasting(runs)] == [(1, minutes(0)), (2, minutes(1))]


def test_a_finding_stays_the_same_when_its_severity_changes() -> None:
    runs = [(minutes(0), [found(7, severity="low")]), (minutes(1), [found(7, severity="high")])]
    assert [(one.severity, one.runs) for one in lasting(runs)] == [("high", 2)]


def test_what_ended_before_the_last_run_is_not_listed() -> None:
    assert lasting([(minutes(0), [found(1)]), (minutes(1), [])]) == []
    assert lasting([]) == []
