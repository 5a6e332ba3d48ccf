from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from math import inf

import pytest

import facts
from ldapdiag.analysis.hosts.snapshots import Snapshot, snapshots_of
from ldapdiag.analysis.pairing.skew import ChurnEvidence, bound_churn, count_opened, exclude_churn, minimum_age_seconds
from ldapdiag.analysis.pairing.snapshot_order import seconds_between, surrounding
from ldapdiag.evidence.monitor import MonitoredConnection
from ldapdiag.evidence.origin import Span


def churn_evidence(*, reverse: int = 0, time_wait: int | None = None, interval: float | None = None) -> ChurnEvidence:
    return ChurnEvidence(reverse=reverse, time_wait=time_wait, interval_seconds=interval)


class TestTheBoundOnChurn:
    def test_without_evidence_nothing_is_bounded(self) -> None:
        assert bound_churn(5, churn_evidence()).budget == inf

    @pytest.mark.parametrize(("absent", "bounded"), [(10, False), (11, True)])
    def test_up_to_ten_absences_a_quiet_other_end_proves_nothing(self, absent: int, *, bounded: bool) -> None:
        assert (bound_churn(absent, churn_evidence()).budget == 0) is bounded

    @pytest.mark.parametrize(("absent", "budget"), [(22, inf), (23, 12)])
    def test_churn_shows_at_both_ends(self, absent: int, budget: float) -> None:
        assert bound_churn(absent, churn_evidence(reverse=4)).budget == budget

    def test_no_time_wait_at_either_end_means_no_churn(self) -> None:
        churn = bound_churn(1, churn_evidence(time_wait=0))
        assert churn.budget == 0
        assert "no TIME-WAIT at either end" in churn.reason

    @pytest.mark.parametrize(("interval", "budget"), [(1.0, 3), (1.01, 4), (10.0, 30)])
    def test_the_budget_is_three_times_the_rate_times_the_skew(self, interval: float, budget: float) -> None:
        assert bound_churn(5, churn_evidence(time_wait=60, interval=interval)).budget == budget

    def test_a_rate_without_times_bounds_nothing(self) -> None:
        assert bound_churn(5, churn_evidence(time_wait=60)).budget == inf

    def test_the_tightest_bound_holds(self) -> None:
        churn = bound_churn(200, churn_evidence(reverse=5, time_wait=60, interval=1))
        assert churn.budget == 3
        assert "60 closed in the last minute (TIME-WAIT), the tables are 1.0 s apart" in churn.reason


class TestWhatChurnCannotExplain:
    ROWS = tuple(range(20))

    def test_rows_idle_for_longer_than_the_skew_survive(self) -> None:
        ages: list[int | None] = [*[2001] * 19, 2000]
        left = exclude_churn(self.ROWS, ages, (), churn_evidence(reverse=100, interval=2))
        assert left.rows == self.ROWS[:19]
        assert sum(left.unproven.values()) == 1
        assert left.reasons == ("19 had been idle for longer than the 2.0 s between the tables",)

    def test_ages_prove_nothing_when_the_skew_is_unknown(self) -> None:
        left = exclude_churn(self.ROWS, [10**9] * 20, (), churn_evidence(reverse=100))
        assert left.count == 0
        assert sum(left.unproven.values()) == 20

    def test_a_row_without_an_age_survives_only_by_other_proof(self) -> None:
        left = exclude_churn(self.ROWS, [None] * 20, {3, 4}, churn_evidence(reverse=100, interval=1))
        assert left.rows == (3, 4)
        assert left.reasons == ("2 are in snapshots before and after the other end's table",)

    def test_with_a_budget_of_zero_all_survive_by_name(self) -> None:
        assert exclude_churn(self.ROWS, None, (), churn_evidence(time_wait=0)).rows == self.ROWS

    @pytest.mark.parametrize(("time_wait", "count"), [(399, 0), (380, 1), (20, 19)])
    def test_what_exceeds_the_budget_survives_without_names(self, time_wait: int, count: int) -> None:
        left = exclude_churn(self.ROWS, None, (), churn_evidence(reverse=100, time_wait=time_wait, interval=1))
        assert left.count == count
        assert sum(left.unproven.values()) == 20 - count
        assert left.rows == (() if count == 0 else None)

    def test_nothing_absent_needs_no_excuse(self) -> None:
        left = exclude_churn((), None, (), churn_evidence())
        assert (left.count, left.rows, left.unproven, left.reasons) == (0, (), {}, ())


class TestIdleAndClosing:
    """A table taken later may lack what rested at the first one's time and has closed since: age alone is no proof."""

    def test_after_a_table_taken_first_any_age_counts(self) -> None:
        assert minimum_age_seconds(facts.at(5), facts.at(1), (30.0,)) == 0
        assert minimum_age_seconds(None, facts.at(1), (30.0,)) == 0

    def test_before_one_taken_later_only_ages_beyond_all_live_ones(self) -> None:
        assert minimum_age_seconds(facts.at(1), facts.at(5), (30.0, 3.0)) == 60
        assert minimum_age_seconds(facts.at(1), facts.at(5), ()) == 10

    def test_what_is_idle_like_live_ones_is_under_the_bound_on_churn(self) -> None:
        ages: list[int | None] = [500] * 9 + [700_000] * 4
        left = exclude_churn(range(13), ages, (), churn_evidence(time_wait=12_000, interval=0.1), minimum_age=10)
        assert left.rows == (9, 10, 11, 12)
        assert sum(left.unproven.values()) == 9

    def test_between_two_snapshots_nothing_is_claimed_by_numbers(self) -> None:
        ages: list[int | None] = [100] * 50
        left = exclude_churn(range(50), ages, (3, 4), churn_evidence(time_wait=0, interval=0.5), bracketed=True)
        assert left.rows == (3, 4)
        assert sum(left.unproven.values()) == 48


class TestSnapshotsInTime:
    @staticmethod
    def snapshots(*times: float | None) -> tuple[Snapshot, ...]:
        return snapshots_of([facts.table(facts.at_client(1), f"app{n}", taken=time) for n, time in enumerate(times)])

    def test_the_neighbours_are_the_nearest_before_and_after(self) -> None:
        (now,) = self.snapshots(10)
        near = surrounding(self.snapshots(1, 8, 12, 20), now)
        assert [one.taken for one in near] == [facts.at(8), facts.at(12)]

    def test_a_snapshot_of_the_same_moment_counts_as_before(self) -> None:
        (now,) = self.snapshots(10)
        assert [one.taken for one in surrounding(self.snapshots(10, 11), now)] == [facts.at(10), facts.at(11)]

    def test_with_a_time_unknown_all_are_neighbours(self) -> None:
        assert len(surrounding(self.snapshots(1, 2, None), self.snapshots(10)[0])) == 3
        assert len(surrounding(self.snapshots(1, 2, 3), self.snapshots(None)[0])) == 3

    def test_the_skew_is_the_longest_time_between_moments_of_both(self) -> None:
        one, other = self.snapshots(10), self.snapshots(12.5)
        assert seconds_between(one[0], other[0]) == seconds_between(other[0], one[0]) == 2.5
        assert seconds_between(one[0], self.snapshots(None)[0]) is None


class TestGrowth:
    """An application that only opens connections leaves no TIME-WAIT, and its new ones are no ghosts."""

    QUIET = ChurnEvidence(reverse=0, time_wait=0, interval_seconds=5.0, opened=None)

    def test_of_a_table_taken_later_nothing_is_claimed_without_ages(self) -> None:
        found = exclude_churn(range(200), None, (), self.QUIET)
        assert found.count == 0
        assert sum(found.unproven.values()) == 200

    def test_ages_prove_them_all_the_same(self) -> None:
        found = exclude_churn(range(3), [6000, 4000, 6000], (), self.QUIET)
        assert found.rows == (0, 2)
        assert sum(found.unproven.values()) == 1

    def test_the_servers_own_opening_times_bound_it(self) -> None:
        found = exclude_churn(range(200), None, (), replace(self.QUIET, opened=3))
        assert (found.count, found.rows) == (197, None)
        assert sum(found.unproven.values()) == 3

    def test_openings_are_counted_from_the_other_ends_table_on(self) -> None:
        spans = facts.at(10), facts.at(20)
        connections = tuple(
            MonitoredConnection(account="", client=facts.APP1, opened=facts.at(at).start) for at in (0, 8, 9, 15)
        )
        monitor = facts.monitor(connections=connections, taken_at=spans[1].end)
        times = [connection.opened for connection in connections]
        assert count_opened(monitor, times, spans[1], spans[0]) == 2
        assert count_opened(monitor, (), spans[1], spans[0]) == 0
        assert count_opened(monitor, times, spans[0], spans[1]) == 0
        assert count_opened(None, (), spans[1], spans[0]) is None
        assert count_opened(replace(monitor, taken_at=spans[0].start), times, spans[1], spans[0]) is None


@pytest.mark.parametrize(("fraction", "apart"), [(0, 1.0), (1, 0.0)])
def test_times_in_whole_seconds_leave_a_second_open(fraction: int, apart: float) -> None:
    moment = datetime(2026, 11, 23, 12, 0, 0, fraction, tzinfo=UTC)
    assert Span(start=moment, end=moment).seconds_apart(Span(start=moment, end=moment)) == apart
