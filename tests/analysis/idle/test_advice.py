from __future__ import annotations

from typing import Any

import pytest

import facts
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.idle.advice import IdleAdvice, advise
from ldapdiag.analysis.idle.bounds import IdleBounds, PathBounds
from ldapdiag.analysis.idle.idle_profile import IdleProfile, idle_profile
from ldapdiag.evidence.bundle import Missing
from traffic import Log

NO_TABLE = Host(host="ldap")


def bounds(lower: float | None, upper: float | None) -> IdleBounds:
    path = PathBounds(client_network="10.77.2.0/24", lower_seconds=lower, upper_seconds=upper, source="a test")
    return IdleBounds(server="ldap", paths=(path,))


def advised(*directions: Any, host: Host = NO_TABLE, **evidence: Any) -> IdleAdvice:
    server, pairing = facts.server(), facts.pairing(*directions)
    return advise(server, host, idle_profile(server, pairing, evidence.get("traffic")), pairing, **evidence)


class TestDrain:
    @pytest.mark.parametrize(
        ("rest", "seconds"), [(8, 300), (200, 300), (201, 600), (400, 600), (3600, 5400), (3601, 7200), (28800, 43200)]
    )
    def test_it_is_the_smallest_round_value_one_and_a_half_times_the_longest_idle_time(
        self, rest: float, seconds: int
    ) -> None:
        advice = advised(facts.direction(server_count=2, matched=2, idle_seconds=(1.0, rest)))
        assert (advice.recommended_seconds, advice.longest_idle_seconds, advice.drain.hurried) == (seconds, rest, False)

    @pytest.mark.parametrize(
        ("seen", "logged", "seconds", "source"),
        [((8.0,), 400, 600, "access log"), ((400.0,), 8, 600, "socket ages"), ((), 400, 600, "access log")],
    )
    def test_rests_in_the_access_log_count_as_well(
        self, seen: tuple[float, ...], logged: float, seconds: int, source: str
    ) -> None:
        log = Log()
        number = log.opens()
        log.searches(number, 0)
        log.now += logged
        log.searches(number, 1)
        advice = advised(facts.direction(server_count=2, matched=2, idle_seconds=seen), traffic=log.traffic())
        assert (advice.recommended_seconds, advice.drain.longest.source) == (seconds, source)
        assert advice.longest_idle_seconds == max((*seen, logged))

    def test_without_ages_it_is_the_shortest_that_is_safe(self) -> None:
        advice = advised(facts.direction(server_count=2, matched=2))
        assert (advice.recommended_seconds, advice.longest_idle_seconds) == (300, None)
        assert advice.would_cut_live is None

    @pytest.mark.parametrize(
        ("earliest", "seconds", "shortened"), [(100, 90, True), (299.9, 240, True), (300, 300, False)]
    )
    def test_it_is_shorter_when_the_descriptors_may_run_out_first(
        self, earliest: float, seconds: int, *, shortened: bool
    ) -> None:
        descriptors = facts.descriptors(used=900, limit=1000, forecast=facts.forecast(1.0, earliest / 3600))
        advice = advised(facts.direction(), descriptors=descriptors)
        assert (advice.recommended_seconds, advice.drain.hurried) == (seconds, shortened)

    def test_with_nothing_left_it_is_the_shortest_there_is(self) -> None:
        full = facts.descriptors(used=1000, limit=1000, forecast=facts.forecast(0.0))
        assert advised(facts.direction(), descriptors=full).recommended_seconds == 60


class TestCureAndTidy:
    @pytest.mark.parametrize(
        ("lower", "upper", "keepalive", "tidy", "unsafe"),
        [
            (30, 30, 15, 20, True),
            (74, 76, 30, 45, True),
            (75, 80, 30, 60, False),
            (3600, 3600, 1800, 1800, False),
            (None, 350, 120, 240, False),
            (None, 5, None, None, False),
        ],
    )
    def test_they_follow_from_the_shortest_timeout_of_a_middlebox(
        self, lower: float | None, upper: float, keepalive: int | None, tidy: int | None, *, unsafe: bool
    ) -> None:
        advice = advised(facts.direction(), bounds=bounds(lower, upper))
        assert (advice.keepalive_seconds, advice.tidy_seconds) == (keepalive, tidy)
        assert advice.tidy_unsafe is unsafe

    def test_without_an_upper_bound_there_is_no_value(self) -> None:
        advice = advised(facts.direction(), bounds=bounds(24, None))
        assert (advice.keepalive_seconds, advice.tidy_seconds, advice.tidy_unsafe) == (None, None, False)


class TestWhatItWouldClose:
    def test_longer_idle_connections_are_counted_and_the_live_ones_among_them(self) -> None:
        rows = [*facts.at_server(2, last_received=400_000), *facts.at_server(3, first=50000, last_received=300_000)]
        host = facts.host("ldap", facts.table([facts.listening(), *rows]))
        living = facts.direction(server_count=5, ghosts=2, matched=3, idle_seconds=(150.0, 100.0, 1.0))
        advice = advised(living, host=host)
        assert (advice.recommended_seconds, advice.would_close_now, advice.would_cut_live) == (300, 2, 0)

    def test_a_shortened_value_counts_the_live_connections_it_would_close(self) -> None:
        living = facts.direction(server_count=3, matched=3, idle_seconds=(150.0, 100.0, 1.0))
        full = facts.descriptors(used=900, limit=1000, forecast=facts.forecast(0.03, 100 / 3600))
        assert advised(living, descriptors=full).would_cut_live == 2

    def test_without_ages_the_counts_are_unknown(self) -> None:
        host = facts.host("ldap", facts.table(facts.at_server(2)))
        assert advised(facts.direction(server_count=2, matched=2), host=host).would_close_now is None


def test_unclassified_connections_are_counted() -> None:
    unread = facts.direction(server_count=7, missing=Missing(reason="no table"))
    unproven = facts.direction(facts.APP2, server_count=5, unproven={"churn": 2})
    assert advised(unread, unproven).unclassified == 9
    assert advise(facts.server(established=12), NO_TABLE, IdleProfile(server="ldap")).unclassified == 12
