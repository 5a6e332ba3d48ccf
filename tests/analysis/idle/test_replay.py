"""The replay of idle timeouts counts what a server would have done, known here from the gaps that the test drew."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import accumulate, pairwise, product

import pytest

import examples
import facts
from ldapdiag.analysis.idle.idle_profile import IdleProfile, idle_profile, seconds_to_record
from ldapdiag.analysis.idle.replay import Replayed, replay
from ldapdiag.evidence.log.idle_times import TIMEOUTS
from traffic import Log, at

ACCOUNTS = (b"uid=foo", b"uid=bar", b"cn=directory manager")
CLIENTS = (facts.APP1, facts.APP2)


@dataclass(frozen=True)
class Rules:
    """How a server enforces its timeout."""

    early: float = 0.0
    late: float | None = 0.0
    needs_activity: bool | None = False
    exempt: tuple[str, ...] = ()

    def earliest(self, timeout: float) -> float:
        return timeout - self.early

    def latest(self, timeout: float) -> float | None:
        return None if self.late is None else timeout + self.late


@dataclass
class Schedule:
    """Connections that are used at known times, and a log of them."""

    seed: int
    ends: tuple[str, ...] = ("closed", "open")

    def __post_init__(self) -> None:
        draw = random.Random(self.seed)  # noqa: S311  no secret
        self.gaps: list[tuple[str, str, float, float, str]] = []
        """Client, account, from, until, what ended it."""
        self.life: list[tuple[float, float]] = []
        events = []
        self.period = 7200.0
        for number, began in enumerate(sorted(draw.uniform(0, 600) for _ in range(40)), 1):
            client, account = draw.choice(CLIENTS), draw.choice(ACCOUNTS)
            opened = now = began
            events.append((now, number, "open", client))
            events.append((now, number, "bind", account))
            op, end = 1, draw.choice(self.ends)
            while True:
                gap = draw.choice((draw.uniform(0, 30), draw.uniform(30, 400), draw.uniform(400, 4000)))
                if now + gap > self.period - 1:
                    break
                self.gaps.append((client, account.decode(), now, now + gap, "used"))
                now += gap
                events.append((now, number, "search", op))
                op += 1
            until = self.period
            if end == "closed" and now < self.period - 2:
                until = draw.uniform(now + 1, self.period - 1)
                events.append((until, number, "close", None))
            self.gaps.append((client, account.decode(), now, until, end))
            self.life.append((opened, until))
        events.append((self.period, 99, "open", "192.0.2.1"))
        self.log = Log()
        for when, number, what, more in sorted(events, key=lambda one: (one[0], one[1])):
            self.log.now = when
            if what == "open":
                self.log.scan.opened(number, at(when), more.encode())
            elif what == "bind":
                self.log.binds(number, more, took=0)
            elif what == "search":
                self.log.searches(number, more, took=0)
            else:
                self.log.closes(number)

    def profile(self) -> IdleProfile:
        return idle_profile(facts.server(), None, self.log.traffic())

    def counted(self, shortest: float, *ends: str, but: str = "-") -> int:
        return sum(
            until - since >= shortest
            for _, account, since, until, end in self.gaps
            if end in (ends or ("used", "closed", "open")) and account != but
        )

    def peak(self, timeout: float, but: str = "-") -> int:
        """Return the most connections at once if each were closed once it was idle for so long."""
        steps = [(moment, sign) for life in self.life for moment, sign in zip(life, (1, -1), strict=True)]
        steps += [
            (moment, sign)
            for _, account, since, until, _ in self.gaps
            if until - since >= timeout and account != but
            for moment, sign in ((since + timeout, -1), (until, 1))
        ]
        return max(accumulate(sign for _, sign in sorted(steps)))


def replayed(schedule: Schedule, timeout: int, rules: Rules) -> Replayed:
    (one,) = replay(schedule.profile(), (timeout,), rules)
    return one


@pytest.mark.parametrize("timeout", [5, 60, 120, 300, 900, 3600])
@pytest.mark.parametrize("seed", range(4))
def test_at_an_edge_all_counts_and_times_are_exact(seed: int, timeout: int) -> None:
    schedule = Schedule(seed)
    one = replayed(schedule, timeout, Rules())
    assert (one.earliest, one.latest, one.undecided) == (timeout, timeout, 0)
    assert one.cut == schedule.counted(timeout, "used")
    assert one.unused == schedule.counted(timeout, "closed", "open")
    beyond = [until - since - timeout for _, _, since, until, _ in schedule.gaps if until - since >= timeout]
    assert one.freed_seconds == pytest.approx(sum(beyond), abs=1e-3)
    assert one.cut_per_day == pytest.approx(one.cut * 86_400 / one_period(schedule))
    for cut in one.by:
        theirs = [gap for gap in schedule.gaps if gap[:2] == (cut.client, cut.account) and gap[4] == "used"]
        assert cut.cut == sum(until - since >= timeout for _, _, since, until, _ in theirs)


def one_period(schedule: Schedule) -> float:
    return schedule.period - min(opened for opened, _ in schedule.life)


@pytest.mark.parametrize("seed", range(4))
def test_what_the_sweep_decides_is_counted_apart(seed: int) -> None:
    schedule = Schedule(seed)
    one = replayed(schedule, 300, Rules(early=20, late=150))
    assert (one.earliest, one.latest) == (280, 450)
    assert one.cut == schedule.counted(450, "used")
    assert one.undecided == schedule.counted(280, "used") - schedule.counted(450, "used") > 0


def test_limits_between_edges_are_widened_to_edges() -> None:
    one = replayed(Schedule(1), 300, Rules(early=15, late=75))
    assert (one.earliest, one.latest) == (280, 380)


def test_a_server_that_needs_activity_is_as_late_as_the_longest_quiet_time_of_the_log() -> None:
    schedule = Schedule(2)
    one = replayed(schedule, 300, Rules(late=None, needs_activity=True))
    moments = sorted({moment for _, _, since, until, _ in schedule.gaps for moment in (since, until)})
    quiet = max(later - earlier for earlier, later in pairwise(moments))
    assert one.latest is not None
    assert one.latest >= 300 + quiet
    assert one.cut == schedule.counted(one.latest, "used")


def test_a_server_of_unknown_lateness_leaves_everything_undecided() -> None:
    schedule = Schedule(3)
    one = replayed(schedule, 300, Rules(late=None, needs_activity=False))
    assert (one.latest, one.cut, one.unused, one.freed_seconds, one.peak) == (None, 0, 0, 0, None)
    assert one.undecided == schedule.counted(300, "used")


def test_exempt_accounts_are_never_cut() -> None:
    schedule = Schedule(5)
    one = replayed(schedule, 60, Rules(exempt=("cn=Directory Manager",)))
    assert one.cut == schedule.counted(60, "used", but="cn=directory manager")
    assert one.exempt == schedule.counted(60, "used") - one.cut > 0


@pytest.mark.parametrize(("seed", "timeout"), examples.some([*product(range(4), TIMEOUTS[:13])], 3))
def test_the_peak_is_an_upper_bound_and_never_above_the_observed_one(seed: int, timeout: int) -> None:
    schedule = Schedule(seed)
    one = replayed(schedule, timeout, Rules())
    load = schedule.profile().load
    assert load is not None
    assert one.peak is not None
    assert schedule.peak(timeout) <= one.peak <= load.peak
    late = replayed(schedule, timeout, Rules(late=timeout / 2, exempt=("cn=Directory Manager",)))
    assert late.peak is not None
    assert schedule.peak(1.5 * timeout, but="cn=directory manager") <= late.peak <= load.peak


def test_connections_that_are_never_used_again_leave_the_peak() -> None:
    """A hundred connections, one a minute, each idle for ever: at most one has been idle for less than a minute."""
    log = Log()
    for minute in range(100):
        log.binds(log.opens(when=60.0 * minute), took=0)
    log.now = 6000.0
    log.binds(log.opens(), took=0)
    profile = idle_profile(facts.server(), None, log.traffic())
    (one,) = replay(profile, (60,), Rules())
    assert profile.load is not None
    assert (profile.load.peak, one.cut) == (101, 0)
    assert one.peak is not None
    assert 2 <= one.peak <= 4


def test_without_a_log_nothing_is_replayed() -> None:
    profile = idle_profile(facts.server(), None, None)
    assert replay(profile, (300,), Rules()) == ()
    assert profile.missing == ("there is no access log of ldap",)


def test_a_log_shows_no_idle_time_longer_than_itself_and_bounds_the_rate_of_shorter_ones() -> None:
    profile = Schedule(1).profile()
    assert profile.most_cuts_per_day(7200) is None
    rate = profile.most_cuts_per_day(3600)
    assert rate is not None
    assert 3 * 86_400 / 3600 <= rate <= 3 * 86_400 / 3000
    assert seconds_to_record(3600, 1) == 3600 + 3 * 86_400
