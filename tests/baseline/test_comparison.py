"""Two reports compared: no finding is called gone that may only be hidden, and each earlier one appears once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.baseline.changes import Changes, FindingChange
from ldapdiag.baseline.comparison import compare
from ldapdiag.baseline.log_extent import LogExtent, log_extents
from ldapdiag.baseline.reported import Reported, ReportedFinding, ReportedHost, ReportedVerdict
from ldapdiag.check import MainNumber, Worse
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.finding import Severity

NUMBERS = {"toy": MainNumber("count"), "room": MainNumber("left", quantity="value", worse=Worse.LESS)}
SOURCE = ("socket-table", "ds1")


def found(
    subject: str = "a", check: str = "toy", severity: Severity = Severity.HIGH, **observed: float
) -> ReportedFinding:
    """Return a finding about the server ds1."""
    return ReportedFinding(
        id=f"{check}|{subject}",
        check=check,
        severity=severity,
        subject=subject,
        title=f"{subject} is bad",
        server="ds1",
        hosts=("ds1",),
        sources=frozenset({SOURCE}),
        observed=observed,
    )


def report(*findings: ReportedFinding, clear: tuple[str, ...] = (), **others: object) -> Reported:
    """Return a report of the server ds1 with these findings, and these clear subjects."""
    verdicts = [verdict(one.subject, "finding", one.check) for one in findings]
    verdicts += [verdict(subject) for subject in clear]
    return replace(
        Reported(
            kind=ReportKind.ALL,
            hosts=[ReportedHost(name="ds1", is_server=True)],
            findings=findings,
            verdicts=verdicts,
            sources=frozenset({SOURCE}),
        ),
        **others,
    )


def verdict(subject: str | None, outcome: str = "clear", check: str = "toy", reason: str = "why") -> ReportedVerdict:
    """Return a verdict of a check about ds1."""
    return ReportedVerdict(check=check, outcome=outcome, subject=subject, reason=reason, about="ds1")


def changes(before: Reported, now: Reported) -> Changes:
    """Compare two reports."""
    return compare(before, now, NUMBERS, "before.json")


class TestGone:
    """Gone is a claim, which needs the check's own verdict."""

    BEFORE = report(found())

    def test_a_subject_that_is_clear_now(self) -> None:
        assert [one.finding.id for one in changes(self.BEFORE, report(clear=("a",))).gone] == ["toy|a"]

    def test_a_subject_that_the_check_does_not_name_where_it_has_judged_the_server(self) -> None:
        assert changes(self.BEFORE, report(found("b"), clear=("c",))).gone

    @pytest.mark.parametrize(
        ("now", "reason"),
        [
            (report(clear=("a",), sources=frozenset()), "no socket-table of ds1"),
            (report(clear=("a",), hosts=[]), "no evidence of ds1"),
            (report(clear=("a",), disabled={"toy": "too noisy"}), "disabled: too noisy"),
            (report(clear=("a",), shortfall="no socket table"), "no socket table"),
            (report(clear=("a",), settings={"toy": {"most": 5}}), "other settings"),
            (report(), "did not run"),
            (report(found("x", more_findings=3), clear=("a",)), "more findings than a report lists"),
            (report(verdicts=[verdict("a"), verdict(None, "crashed")]), "crashed"),
            (report(verdicts=[verdict("a", "not-judged", reason="the table is too old")]), "the table is too old"),
            (report(verdicts=[verdict("c"), verdict(None, "not-judged", reason="half of it")]), "half of it"),
            (report(*(found(str(number)) for number in range(10))), "may list no more"),
            (report(found("b", shape=7)), None),
        ],
    )
    def test_what_may_hide_a_finding_makes_it_not_seen(self, now: Reported, reason: str | None) -> None:
        before = report(found(shape=7)) if reason is None else self.BEFORE
        result = changes(before, now)
        assert not result.gone
        assert (reason or "part of the new finding") in result.not_seen[0].reason


class TestWorse:
    """Severity decides first, then the main number of the check, by more than 10 % and more than chance explains."""

    @pytest.mark.parametrize(
        ("check", "before", "now", "change"),
        [
            ("toy", {"count": 100}, {"count": 200}, FindingChange.WORSE),
            ("toy", {"count": 10_000}, {"count": 11_100}, FindingChange.WORSE),
            ("toy", {"count": 10_000}, {"count": 10_900}, FindingChange.SAME),
            ("toy", {"count": 543}, {"count": 463}, FindingChange.SAME),
            ("toy", {"count": 1}, {"count": 2}, FindingChange.SAME),
            ("toy", {"count": 0}, {"count": 9}, FindingChange.WORSE),
            ("toy", {"count": 0}, {"count": 2}, FindingChange.SAME),
            ("toy", {"count": 100}, {"count": 40}, FindingChange.BETTER),
            ("room", {"left": 24.0}, {"left": 10.0}, FindingChange.WORSE),
            ("room", {"left": 10.0}, {"left": 24.0}, FindingChange.BETTER),
            ("room", {"left": 0.012}, {"left": 0.008}, FindingChange.WORSE),
            ("toy", {"count": 100}, {}, FindingChange.SAME),
            ("toy", {"count": 100}, {"count": float("nan")}, FindingChange.SAME),
            ("other", {"count": 1}, {"count": 1_000}, FindingChange.SAME),
        ],
    )
    def test_by_number(self, check: str, before: dict, now: dict, change: FindingChange) -> None:
        result = changes(report(found(check=check, **before)), report(found(check=check, **now)))
        assert result.findings[f"{check}|a"].change is change

    def test_a_higher_severity_is_worse_whatever_the_number(self) -> None:
        before, now = found(severity=Severity.LOW, count=100), found(severity=Severity.HIGH, count=1)
        assert changes(report(before), report(now)).findings["toy|a"].change is FindingChange.WORSE
        assert changes(report(now), report(before)).findings["toy|a"].change is FindingChange.SAME


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), 10**400, -(10**400), True, None, "9"])
def test_what_is_no_number_of_a_report_is_not_compared(number: object) -> None:
    before, now = replace(found(), observed={"count": number}), found(count=1)
    for result in (changes(report(before), report(now)), changes(report(now), report(before))):
        assert result.findings["toy|a"].change is FindingChange.SAME


def test_a_host_with_another_folder_name_is_the_same_by_its_address() -> None:
    host = ReportedHost(name="ds1", addresses=frozenset({"10.0.0.1"}), is_server=True)
    before = report(found("ds1"), hosts=[host])
    renamed = replace(found("web"), server="web", hosts=("web",), sources=frozenset({("socket-table", "web")}))
    now = report(renamed, hosts=[replace(host, name="web")], sources=renamed.sources)
    result = changes(before, now)
    assert result.findings["toy|web"].change is FindingChange.SAME
    assert not result.gone
    assert not result.not_seen


REPORTS = st.builds(
    lambda findings, clear, lacking: report(
        *findings, clear=tuple(clear), sources=frozenset() if lacking else frozenset({SOURCE})
    ),
    st.lists(
        st.builds(
            lambda subject, check, severity, count: found(subject, check, severity, count=count, left=count),
            st.sampled_from("abcdef"),
            st.sampled_from(["toy", "room"]),
            st.sampled_from(list(Severity)),
            st.floats(0, 1e6),
        ),
        max_size=6,
        unique_by=lambda one: one.id,
    ),
    st.lists(st.sampled_from("abcdef"), max_size=3, unique=True),
    st.booleans(),
)


@given(REPORTS)
def test_a_report_has_not_changed_since_itself(drawn: Reported) -> None:
    result = changes(drawn, drawn)
    assert {one.change for one in result.findings.values()} <= {FindingChange.SAME}
    assert not result.gone
    assert not result.not_seen


@given(REPORTS, REPORTS)
def test_every_finding_of_both_reports_appears_exactly_once(before: Reported, now: Reported) -> None:
    result = changes(before, now)
    assert set(result.findings) == {one.id for one in now.findings}
    former = Counter(one.finding.id for one in (*result.gone, *result.not_seen))
    former.update(key for key, one in result.findings.items() if one.change is not FindingChange.NEW)
    assert former == Counter(one.id for one in before.findings)


@given(REPORTS, REPORTS)
def test_what_is_new_in_one_direction_is_gone_or_not_seen_in_the_other(before: Reported, now: Reported) -> None:
    there, back = changes(before, now), changes(now, before)
    new = {key for key, one in there.findings.items() if one.change is FindingChange.NEW}
    assert new == {one.finding.id for one in (*back.gone, *back.not_seen)}


class TestLogsThatCoverLess:
    """What is rare is not found in a log of ten minutes, although its check judges the server."""

    HOUR = LogExtent(seconds=3_600, operations=9_000)

    @pytest.mark.parametrize(
        ("log", "reason"),
        [
            (LogExtent(seconds=600, operations=4_000), "covers 10 min, and in the baseline 60 min"),
            (LogExtent(seconds=3_600, operations=800), "has 800 operations, and in the baseline 9,000"),
            (None, "shows no operations at known times"),
            (LogExtent(seconds=600, operations=9_000), ""),
            (LogExtent(seconds=1_900, operations=1_000), ""),
            (LogExtent(seconds=9_000, operations=9_000), ""),
        ],
    )
    @pytest.mark.parametrize("clear", [("a",), ("b",)])
    def test_a_finding_of_a_log_is_gone_only_if_the_log_covers_as_much(self, log, reason, clear) -> None:
        sources = frozenset({("access-log", "ds1")})
        of_log = replace(found(), sources=sources)
        before = report(of_log, sources=sources, logs={"ds1": self.HOUR})
        now = report(clear=clear, sources=sources, logs={"ds1": log} if log else {})
        became = changes(before, now)
        assert [reason in one.reason for one in became.not_seen] == [True] * bool(reason)
        assert len(became.gone) == (not reason)
        notes = [note for note in became.notes if not note.startswith("traffic of ")]
        assert any(reason in note for note in notes) is bool(reason and log)

    def test_a_finding_of_other_sources_needs_no_log(self) -> None:
        before = report(found(), logs={"ds1": self.HOUR})
        assert changes(before, report(clear=("a",), logs={"ds1": LogExtent(seconds=1, operations=1)})).gone

    @pytest.mark.parametrize("values", [None, "12", [-1], [True, None], [1e400], [10**400]])
    def test_series_of_a_report_that_are_none_are_left_out(self, values) -> None:
        one = {"name": "operations", "server": "ds1", "step_seconds": 60, "values": values}
        assert log_extents([one, 7, None]) == {}
        assert log_extents(values) == {}

    def test_the_series_of_operations_is_what_a_log_covers(self) -> None:
        one = {"name": "operations", "server": "ds1", "step_seconds": 60, "values": [8_000, 0, 1_000] + [0] * 57}
        assert log_extents([one, one | {"name": "connections", "values": [1]}]) == {"ds1": self.HOUR}
