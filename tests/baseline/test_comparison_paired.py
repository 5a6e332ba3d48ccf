"""A finding of both reports: what a longer log, chance or missing evidence explains is neither worse nor better."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.baseline.chance import Measure, Measured, difference
from ldapdiag.baseline.changes import ChangedFinding, FindingChange
from ldapdiag.baseline.comparison import compare
from ldapdiag.baseline.log_extent import LogExtent
from ldapdiag.baseline.reported import KeptNumber, Reported, ReportedFinding, ReportedHost
from ldapdiag.check import MainNumber
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.finding import Confidence, Severity

NUMBERS = {
    "slow": MainNumber("time_seconds", "time", "spent", of="searches", up_to="high", signs=(("worst_seconds", 30),)),
    "refused": MainNumber("refused", "refusals", "logged", up_to="medium"),
    "unclean": MainNumber("unclean", "", "share", of="closes"),
    "level": MainNumber("connections"),
    "either": MainNumber("left", "", "value", otherwise=MainNumber("right", "", "value")),
}
CHECK_OF = {number.key: check for check, number in NUMBERS.items()}
LOG, CLIENT = ("access-log", "ds1"), ("socket-table", "app1")
DAY = LogExtent(seconds=86_400, operations=100_000)
SUNDAY = LogExtent(seconds=86_400, operations=30_000)
HOUR = LogExtent(seconds=3_600, operations=4_167)


def found(check: str, severity: Severity = Severity.MEDIUM, **observed: Any) -> ReportedFinding:
    """Return a finding about ds1, by its log."""
    return ReportedFinding(
        id=f"{check}|a", check=check, severity=severity, subject="a", title="a is bad", server="ds1", hosts=("ds1",),
        sources=frozenset({LOG}), observed=observed,
    )  # fmt: skip


def report(finding: ReportedFinding, log: LogExtent | None = DAY, *, client: bool = True) -> Reported:
    """Return a report with one finding."""
    return Reported(
        kind=ReportKind.ALL,
        taken_at=datetime(2026, 11, 2, tzinfo=UTC),
        hosts=[ReportedHost(name="ds1", is_server=True), *([ReportedHost(name="app1")] if client else [])],
        findings=[finding],
        sources=frozenset({LOG, CLIENT} if client else {LOG}),
        logs={"ds1": log} if log else {},
    )


def changed(before: Reported, now: Reported) -> ChangedFinding:
    """Return what became of the finding."""
    (one,) = compare(before, now, NUMBERS, "before.json").findings.values()
    return one


def slow(searches: int, mean: float = 0.1, severity: Severity = Severity.MEDIUM, **others: float) -> ReportedFinding:
    """Return a finding about searches whose times scatter as much as their mean."""
    observed = {
        "time_seconds": searches * mean,
        "searches": searches,
        "spread_seconds": mean,
        "worst_seconds": 9 * mean,
    }
    return found("slow", severity, **observed | others)


class TestRates:
    @pytest.mark.parametrize(
        ("before", "now", "change"),
        [
            (report(slow(9_000)), report(slow(375), HOUR), FindingChange.SAME),
            (report(slow(9_000)), report(slow(18_000)), FindingChange.WORSE),
            (report(slow(9_000)), report(slow(9_000, 0.2)), FindingChange.WORSE),
            (report(slow(9_000)), report(slow(750), HOUR), FindingChange.WORSE),
            (report(slow(9_000)), report(slow(4_500)), FindingChange.BETTER),
            (report(slow(9_000)), report(slow(2_700), SUNDAY), FindingChange.SAME),
            (report(slow(9_000)), report(slow(9_000), SUNDAY), FindingChange.SAME),  # a job by the clock
            (report(slow(9_000)), report(slow(18_000), SUNDAY), FindingChange.WORSE),
            (report(slow(12)), report(slow(20)), FindingChange.SAME),
            (report(found("refused", refused=543)), report(found("refused", refused=463)), FindingChange.SAME),
            (report(found("refused", refused=543)), report(found("refused", refused=1_086)), FindingChange.WORSE),
            (report(found("unclean", unclean=50, closes=100)), report(found("unclean", unclean=500, closes=1_000)),
             FindingChange.SAME),
            (report(found("unclean", unclean=50, closes=100)), report(found("unclean", unclean=980, closes=1_000)),
             FindingChange.WORSE),
            (report(found("level", connections=100)), report(found("level", connections=200), SUNDAY),
             FindingChange.WORSE),
            (report(found("either", right=3)), report(found("either", right=4)), FindingChange.WORSE),
        ],
    )  # fmt: skip
    def test_by_number(self, before: Reported, now: Reported, change: FindingChange) -> None:
        assert changed(before, now).change is change

    def test_times_whose_spread_is_not_reported_count_by_the_longest(self) -> None:
        few, more = (slow(searches, spread_seconds=None, worst_seconds=20) for searches in (9_000, 18_000))
        assert changed(report(few), report(more)).change is FindingChange.SAME  # 45 times 20 s, and 90 times
        few, more = (slow(searches, spread_seconds=None, worst_seconds=0.2) for searches in (9_000, 18_000))
        assert changed(report(few), report(more)).change is FindingChange.WORSE

    def test_a_number_without_its_log_is_not_compared_and_the_report_states_it(self) -> None:
        before, now = report(slow(9_000), None), report(slow(90_000))
        result = compare(before, now, NUMBERS, "before.json")
        assert result.findings["slow|a"].change is FindingChange.SAME
        assert any("by severity alone" in note and "slow" in note for note in result.notes)

    def test_other_traffic_is_stated_once(self) -> None:
        notes = compare(report(slow(9_000)), report(slow(2_700), SUNDAY), NUMBERS, "before.json").notes
        assert [note for note in notes if "traffic" in note] == [
            "traffic of ds1: 1,250 operations an hour, and in the baseline 4,167 operations an hour"
        ]


class TestSeverityByAmount:
    """A threshold on a sum is exceeded by a longer log."""

    @pytest.mark.parametrize(
        ("before", "now", "change"),
        [
            (slow(9_000), slow(9_900, severity=Severity.HIGH), FindingChange.SAME),
            (slow(9_000), slow(9_900, severity=Severity.HIGH, worst_seconds=31), FindingChange.WORSE),
            (slow(9_000), slow(9_900, severity=Severity.CRITICAL), FindingChange.WORSE),
            (slow(9_000), slow(18_000, severity=Severity.LOW), FindingChange.WORSE),
            (slow(9_000), slow(8_900, severity=Severity.LOW), FindingChange.SAME),
            (found("refused", refused=95), found("refused", Severity.HIGH, refused=95), FindingChange.WORSE),
            (found("level", connections=9), found("level", Severity.HIGH, connections=9), FindingChange.WORSE),
        ],
    )
    def test_only_where_the_check_declares_it(self, before, now, change) -> None:
        assert changed(report(before), report(now)).change is change


class TestLessEvidence:
    """Milder without the table of a client is no improvement."""

    @pytest.mark.parametrize(
        ("before", "now"),
        [
            (found("level", Severity.MEDIUM), found("level", Severity.LOW)),
            (found("level"), replace(found("level"), confidence=Confidence.POSSIBLE)),
            (found("level", connections=900), found("level", connections=90)),
        ],
    )
    def test_it_is_not_seen_as_well(self, before, now) -> None:
        became = changed(report(before), report(now, client=False))
        assert became.change is FindingChange.LESS_SEEN
        assert became.reason == "no socket-table of app1 in this evidence"
        assert changed(report(before), report(now)).change is not FindingChange.LESS_SEEN

    def test_it_cannot_become_the_baseline(self) -> None:
        before, now = report(found("level", Severity.MEDIUM)), report(found("level", Severity.LOW), client=False)
        assert not compare(before, now, NUMBERS, "before.json").covers_baseline
        assert compare(before, replace(now, sources=before.sources), NUMBERS, "before.json").covers_baseline

    def test_a_rate_does_not_need_as_long_a_log(self) -> None:
        assert changed(report(slow(9_000)), report(slow(90), HOUR)).change is FindingChange.BETTER

    def test_worse_is_worse_with_whatever_evidence(self) -> None:
        before, now = report(found("level", connections=90)), report(found("level", connections=900), client=False)
        assert changed(before, now).change is FindingChange.WORSE

    def test_less_severe_and_more_of_it_is_neither(self) -> None:
        before = report(found("level", Severity.HIGH, connections=900))
        now = report(found("level", Severity.LOW, connections=2_000))
        became = changed(before, now)
        assert became.change is FindingChange.SAME
        assert became.reason == "less severe, but more of it: neither better nor worse"
        assert (became.before.number.measures[0].value, became.now.measures[0].value) == (900, 2_000)
        assert not became.is_by_severity_alone
        assert changed(report(now.findings[0]), report(before.findings[0])).change is FindingChange.WORSE

    def test_less_certainty_alone_is_no_change(self) -> None:
        now = replace(found("level"), confidence=Confidence.POSSIBLE)
        assert changed(report(found("level")), report(now)).change is FindingChange.SAME


class TestReference:
    FIRST = datetime(2026, 10, 1, tzinfo=UTC)

    def since(self, key: str, value: float) -> Reported:
        """Return a report whose finding was compared with another number, and not left it."""
        number = Measured(key=key, measures=(Measure(value=value, events=value),))
        return report(
            replace(found("level", connections=1_900), reference=KeptNumber(number=number, taken_at=self.FIRST))
        )

    def test_a_finding_is_compared_with_the_number_that_it_has_not_left(self) -> None:
        became = changed(self.since("connections", 1_500), report(found("level", connections=2_000)))
        assert became.change is FindingChange.WORSE
        assert became.before is not None
        assert became.before.taken_at == self.FIRST
        assert became.reference is None

    def test_it_stays_while_nothing_changes(self) -> None:
        became = changed(self.since("connections", 1_950), report(found("level", connections=2_000)))
        assert became.reference is not None
        assert became.reference.taken_at == self.FIRST

    def test_a_number_of_much_less_log_does_not_stay(self) -> None:
        became = changed(report(slow(2_700), SUNDAY), report(slow(9_000)))
        assert (became.change, became.reference) == (FindingChange.SAME, None)

    @pytest.mark.parametrize(
        ("check", "totals"),
        [("connections", {}), ("refused", {}), ("unclean", {"closes": 10_000}), ("time_seconds", {})],
    )
    def test_growth_is_not_mistaken_for_more_log(self, check: str, totals: dict[str, int]) -> None:
        def night(number: int) -> ReportedFinding:
            others = {"searches": number, "spread_seconds": 0.1} if check == "time_seconds" else totals
            return found(CHECK_OF[check], **{check: number}, **others)

        first = night(3)
        became = changed(report(first), report(first))
        for number in range(4, 60):
            before = replace(night(number - 1), reference=became.reference)
            became = changed(report(before), report(night(number)))
            assert became.change is changed(report(first), report(night(number))).change
            if became.change is FindingChange.WORSE:
                return
        pytest.fail("three have become sixty, and no night was worse")

    def test_a_number_of_another_key_is_not_compared(self) -> None:
        assert changed(self.since("other", 1), report(found("level", connections=2_000))).change is FindingChange.SAME


@given(*2 * [st.floats(0, 1e17)], *2 * [st.floats(0, 1e17) | st.none()])
def test_what_is_worse_in_one_direction_is_better_in_the_other(before, now, events, others) -> None:
    one, other = (
        Measured(key="", measures=(Measure(value=value, events=of),)) for value, of in ((before, events), (now, others))
    )
    assert difference(one, one) == difference(other, other) == 0
    assert difference(one, other) * difference(other, one) <= 0


NUMBER = st.floats() | st.integers() | st.just(10**400) | st.none() | st.just("9") | st.booleans()


@given(
    *2 * [st.fixed_dictionaries(dict.fromkeys(("time_seconds", "searches", "spread_seconds", "worst_seconds"), NUMBER))]
)
def test_no_value_of_a_file_raises(before, now) -> None:
    for check in NUMBERS:
        compare(report(found(check, **before)), report(found(check, **now)), NUMBERS, "before.json")
