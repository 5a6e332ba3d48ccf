"""The choice of the idle timeout, from logs whose gaps are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import facts
from ldapdiag.analysis.idle.drain_choice import DrainChoice, choose_drain
from ldapdiag.analysis.idle.idle_profile import DAY, IdleProfile, idle_profile
from ldapdiag.servers.idle.enforcement import IdleEnforcement, Lateness
from traffic import FOO, Log, at

MANAGER = b"cn=directory manager"


def punctual(late: float | None = 0.0, *exempt: str) -> IdleEnforcement:
    return IdleEnforcement(
        ignored=None,
        needs_activity=False,
        reaches_open_connections=True,
        exempt=exempt,
        exemption="",
        account_attribute="",
        early_seconds=0.0,
        late=None if late is None else Lateness(seconds=late),
    )


@dataclass
class Gaps:
    """One connection of each client, used again after so many seconds until the log ends."""

    days: float
    of: dict[str, float]
    account: bytes = FOO

    def log(self) -> Log:
        log, uses = Log(), []
        for number, (client, gap) in enumerate(self.of.items(), 1):
            log.scan.opened(number, at(0), client.encode())
            log.binds(number, self.account, took=0)
            times = [gap * use for use in range(1, int(self.days * DAY / gap) + 1)]
            assert all(later - earlier == gap for earlier, later in pairwise(times))
            uses += [(when, number, op) for op, when in enumerate(times, 1)]
        for when, number, op in sorted(uses):
            log.now = when
            log.searches(number, op, took=0)
        return log

    def profile(self) -> IdleProfile:
        return idle_profile(facts.server(), None, self.log().traffic())


def chosen(days: float, enforcement: IdleEnforcement | None = None, **of: float) -> DrainChoice:
    return choose_drain(Gaps(days, of).profile(), (), enforcement or punctual())


class TestByAccessLog:
    @pytest.mark.parametrize(
        ("gap", "seconds"), [(40.0, 60), (61.0, 120), (200.0, 300), (201.0, 600), (900.0, 1800), (3600.0, 5400)]
    )
    def test_a_log_of_days_allows_the_smallest_value_with_a_margin(self, gap: float, seconds: int) -> None:
        choice = chosen(4, app1=30.0, app2=gap)
        assert (choice.seconds, choice.thin, choice.hurried) == (seconds, False, False)
        assert choice.longest is not None
        assert (choice.longest.client, choice.longest.seconds) == ("app2", gap)
        assert choice.chosen is not None
        assert (choice.chosen.cut, choice.chosen.undecided) == (0, 0)

    @pytest.mark.parametrize(("days", "seconds", "thin"), [(3.1, 60, False), (2.9, 300, True), (0.01, 300, True)])
    def test_a_shorter_log_excludes_no_cut_a_day_so_the_value_is_cautious(
        self, days: float, seconds: int, *, thin: bool
    ) -> None:
        choice = chosen(days, app1=30.0)
        assert (choice.seconds, choice.thin) == (seconds, thin)

    def test_the_bound_is_that_of_the_rule_of_three(self) -> None:
        choice = chosen(4, app1=40.0)
        assert choice.most_cuts_per_day == pytest.approx(3 * DAY / (4 * DAY - 60), rel=1e-3)

    def test_accounts_that_are_never_closed_call_for_no_longer_value(self) -> None:
        profile = Gaps(4, {"app1": 3600.0}, MANAGER).profile()
        assert choose_drain(profile, (), punctual(0.0, "cn=Directory Manager")).seconds == 60
        assert choose_drain(profile, (), punctual()).seconds == 5400

    @given(dn=st.sampled_from(["cn=Directory Manager", "CN=directory manager", "cn = Directory Manager"]))
    def test_in_any_spelling(self, dn: str) -> None:
        profile = Gaps(4, {"app1": 3600.0}, dn.encode()).profile()
        choice = choose_drain(profile, (), punctual(0.0, "cn=Directory Manager"))
        assert (choice.seconds, choice.chosen.cut, choice.chosen.exempt) == (60, 0, 96)

    def test_what_shorter_values_cut_is_known_by_client(self) -> None:
        choice = chosen(4, app1=30.0, app2=900.0)
        row = choice.row(300)
        assert row is not None
        assert [(cut.client, cut.cut) for cut in row.by] == [("app2", 4 * DAY // 900)]


class TestThinEvidence:
    def test_ages_of_sockets_alone_are_thin(self) -> None:
        choice = choose_drain(IdleProfile(server="ldap"), (1.0, 30.0), punctual())
        assert (choice.seconds, choice.thin, choice.live_ages, choice.rows) == (300, True, 2, ())

    def test_a_firewall_that_drops_first_hides_longer_idle_times(self) -> None:
        profile = Gaps(4, {"app1": 20.0}).profile()
        behind = choose_drain(profile, (), punctual(), drops_after=30)
        assert (behind.seconds, behind.thin, behind.hidden_above) == (300, True, 30)
        beyond = choose_drain(profile, (), punctual(), drops_after=3600)
        assert (beyond.seconds, beyond.thin, beyond.hidden_above) == (60, False, None)

    def test_a_log_with_lost_lines_is_thin(self) -> None:
        profile = Gaps(4, {"app1": 20.0}).profile()
        choice = choose_drain(profile, (), punctual(), gaps=("the access log reports 3 lost lines",))
        assert (choice.seconds, choice.thin) == (300, True)


class TestContradictions:
    def test_the_live_connections_give_way_to_the_descriptors(self) -> None:
        profile = Gaps(4, {"app1": 30.0, "app2": 3600.0}).profile()
        choice = choose_drain(profile, (), punctual(), seconds_left=2000)
        assert (choice.seconds, choice.unhurried, choice.hurried) == (1800, 5400, True)
        assert choice.chosen is not None
        assert [(cut.client, cut.cut) for cut in choice.chosen.by] == [("app2", 4 * 24)]

    @pytest.mark.parametrize("left", [0, 59, 61])
    def test_no_hurry_makes_it_shorter_than_a_minute(self, left: float) -> None:
        choice = choose_drain(IdleProfile(server="ldap"), (), punctual(), seconds_left=left)
        assert choice.seconds == 60


class TestGapsOfTheLog:
    @given(
        hours=st.lists(st.integers(1, 60), min_size=2, max_size=3),
        gaps=st.lists(st.integers(24, 24 * 60), min_size=3, max_size=3),
    )
    def test_time_without_records_excludes_no_cut(self, hours: list[int], gaps: list[int]) -> None:
        log, begin = Log(), 0.0
        for number, (length, gap) in enumerate(zip(hours, gaps, strict=False), 1):
            log.scan.opened(number, at(begin), b"app1")
            for op in range(1, length * 12 + 1):
                log.now = begin + 300 * op
                log.searches(number, op, took=0)
            log.closes(number)
            begin += 3600 * (length + gap)
        choice = choose_drain(idle_profile(facts.server(), None, log.traffic()), (), punctual())
        shown = sum(max(0, 3600 * length - choice.seconds) for length in hours)
        bound = choice.most_cuts_per_day
        assert bound is None or bound >= 0.999 * 3 * DAY / shown
        assert choice.thin or shown >= 3 * DAY


@given(seconds=st.integers(2, 50_000))
def test_the_margin_is_above_what_stamps_of_whole_seconds_show(seconds: int) -> None:
    log = Log()
    number = log.opens()
    log.binds(number, took=0)
    log.now = float(seconds)
    log.searches(number, 1, took=0)
    profile = idle_profile(facts.server(), None, log.traffic())
    assert profile.load is not None
    choice = choose_drain(replace(profile, load=replace(profile.load, resolution=1.0)), (), punctual())
    assert choice.longest is not None
    assert choice.longest.seconds == seconds
    assert choice.unhurried >= min(DAY, 1.5 * seconds)
