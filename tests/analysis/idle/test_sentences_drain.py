"""What a finding reads about the idle timeout, its price and its contradictions."""

from __future__ import annotations

from typing import Any

import pytest

import facts
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.idle.advice import advise
from ldapdiag.analysis.idle.idle_profile import DAY, IdleProfile, idle_profile
from ldapdiag.analysis.idle.sentences import drain_sentences, long_time, probe_price, timeout_price
from traffic import Log

GAP, USES = 900.0, 400
"""One connection that is used every 15 minutes, for 100 hours."""


def used() -> Log:
    log = Log()
    number = log.opens()
    log.binds(number, took=0)
    for use in range(1, USES + 1):
        log.now = use * GAP
        log.searches(number, use, took=0)
    return log


def read(log: Log | None, *directions: Any, **evidence: Any) -> tuple[str, Any]:
    server = facts.server(identity=facts.OPENLDAP)
    traffic, pairing = log and log.traffic(), facts.pairing(*directions)
    profile = idle_profile(server, pairing, traffic)
    advice = advise(server, Host(host="ldap"), profile, pairing, traffic=traffic, **evidence)
    return " ".join(drain_sentences(advice)), advice


def test_a_log_of_days_gives_value_who_needs_it_and_confidence() -> None:
    text, advice = read(used())
    assert advice.recommended_seconds == 1800
    assert "1,800 s is the shortest candidate above 1.5 times the longest idle time" in text
    assert "(900 s, access log, uid=foo,ou=services,dc=example from 10.77.2.2)" in text
    assert "by replay of 4.2 days of access log: no live connection cut" in text
    assert f"At most {3 * DAY / (USES * GAP - 1800):.2g} cuts a day, at 95 %" in text
    assert "To be 95 % sure" not in text


def test_ages_alone_are_named_as_what_it_rests_on() -> None:
    text, _ = read(None, facts.direction(server_count=2, matched=2, idle_seconds=(3.0, 8.0)))
    assert "300 s is a cautious value" in text
    assert "the idle times of 2 connections held at both ends" in text
    assert "no access log was read" in text
    assert "fewer than one connection a day: 3.0 days of access log" in text


def test_the_descriptors_win_and_it_names_who_pays() -> None:
    short = facts.descriptors(used=900, limit=1000, forecast=facts.forecast(1.0, 400 / 3600))
    text, advice = read(used(), descriptors=short)
    assert advice.recommended_seconds == 300
    assert "1,800 s cuts no live connection, but the descriptors may run out in 7 min" in text
    assert "96 live connections cut a day, each a reconnect (400 of 400 are uid=foo" in text


def test_the_idle_timeout_gives_way_to_pools_that_are_idle_for_longer_than_the_firewall_allows() -> None:
    text, advice = read(used(), bounds=facts.bounds(300))
    assert (advice.tidy_seconds, advice.tidy_unsafe) == (240, True)
    assert "must be at most 240 s, but live connections are idle for up to 900 s (96 live connections cut" in text
    assert "Idle times above 300 s of clients behind the middlebox cannot be seen here" in text


def test_a_log_shorter_than_the_value_has_no_price() -> None:
    log = Log()
    log.visits(30)
    text, advice = read(log)
    assert advice.recommended_seconds == 300
    assert "too short to show a connection that is used after 300 s" in text
    assert "no live connection cut" not in text
    assert timeout_price(advice.drain, 300) == ""


def test_prices_name_their_source() -> None:
    _, advice = read(used())
    assert timeout_price(advice.drain, 300).startswith("Price, by replay of 4.2 days of access log: 96 live")
    assert timeout_price(advise(facts.server(), Host(host="ldap"), IdleProfile(server="ldap")).drain, 300) == ""
    assert probe_price(15, 300) == "Price: at most 20 probes a second for the 300 connections in its socket table."
    assert probe_price(15, None) == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(90, "90 s"), (1800, "30 min"), (93_600, "26.0 h"), (259_500, "3.0 days")]
)
def test_periods_have_a_fitting_unit(seconds: float, text: str) -> None:
    assert long_time(seconds) == text


def test_a_gap_of_the_log_is_named_and_excludes_nothing() -> None:
    log = used()
    log.now = 30 * DAY
    log.searches(log.opens(), 1, took=0)
    text, advice = read(log)
    assert advice.drain.silent_seconds == pytest.approx(30 * DAY - USES * GAP, rel=0.02)
    assert "The access log has no record in 25.8 days of its time, longer than any idle time of a connection" in text


def test_a_connection_that_is_used_after_the_gap_shows_it_whole() -> None:
    log = used()
    log.now = 30 * DAY
    log.searches(1, USES + 1, took=0)
    text, advice = read(log)
    assert (advice.drain.silent_seconds, advice.drain.log_seconds) == (0, 30 * DAY)
    assert "no record" not in text


def test_nobody_waits_for_a_longer_log_where_this_one_shows_a_cut() -> None:
    log = Log()
    number = log.opens()
    log.binds(number, took=0)
    for use in (1, 2):
        log.now = use * 2.1 * DAY
        log.searches(number, use, took=0)
    text, advice = read(log)
    assert advice.recommended_seconds == DAY
    assert "86,400 s is the longest candidate" in text
    assert "To be 95 % sure" not in text


def test_a_forged_time_frees_no_more_than_the_connections_of_the_log() -> None:
    log = used()
    log.now = 1e9
    log.searches(1, USES + 1, took=0)
    _, advice = read(log)
    assert all(0 <= row.freed_seconds <= USES * GAP * 1.01 for row in advice.drain.rows)
    assert all(row.held_seconds >= 0 for row in advice.drain.rows)


def test_a_table_that_may_be_full_already_is_no_time_of_zero() -> None:
    short = facts.descriptors(used=999, limit=1000, forecast=facts.forecast(1.0, 0.0))
    text, advice = read(used(), descriptors=short)
    assert advice.recommended_seconds == 60
    assert "the descriptors may run out at any moment" in text
