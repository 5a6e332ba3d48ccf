"""idle-timeout-too-low: clients that use connections just before the timeout, or replace those that it closed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import facts
from incidents import INCIDENTS, TIMEOUT, diagnosed, judged
from ldapdiag.evidence.family import Family
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
from ldapdiag_checks.idle_timeout_too_low import MOST, judge
from traffic import Log


def of(log: Log, *, drop: float | None = None, family: Family = Family.DS389):
    return list(judge(facts.server(), log.traffic(family), facts.bounds(drop) if drop else None))


def used(log: Log, rests: int, seconds: float, client: str = facts.APP1) -> None:
    """Let a client use one connection again and again, each time after so long, and close it."""
    number = log.opens(client)
    log.binds(number)
    for op in range(1, rests + 1):
        log.now += seconds
        log.searches(number, op)
    log.closes(number)


def cut(count: int, idle: float = 100, code: bytes = b"T1") -> Log:
    log = Log()
    log.visits(count, every=idle, code=code, lives=idle)
    return log


def test_connections_used_just_in_time_show_that_the_others_were_needed() -> None:
    log = cut(20)
    used(log, 30, 85)
    (found,) = of(log)
    assert isinstance(found, Finding)
    assert (found.severity, found.confidence) == (Severity.LOW, Confidence.LIKELY)
    assert found.observed == {
        "server": "ldap",
        "client": facts.APP1,
        "cut": 20,
        "closes": 21,
        "opened": 21,
        "reopened": 20,
        "cut_per_hour": found.observed["cut_per_hour"],
        "shortest_idle_seconds": 100,
        "used_late": 30,
    }
    assert 15 < found.observed["cut_per_hour"] < 17
    assert "60 %" in found.detail
    assert "below 100 s" in found.remedies[0].text


@pytest.mark.parametrize(
    ("cuts", "rests", "severity"),
    [
        (100, 100, Severity.MEDIUM),
        (100, 99, Severity.LOW),
        (99, 200, Severity.LOW),
        (10, 5, Severity.LOW),
        (9, 50, None),
        (10, 4, None),
        (45, 5, Severity.LOW),
        (46, 5, None),
    ],
)
def test_severity_by_number(cuts, rests, severity) -> None:
    log = cut(cuts)
    used(log, rests, 90)
    used(log, 1, 1)
    (verdict,) = of(log)
    assert getattr(verdict, "severity", None) is severity


@pytest.mark.parametrize(("rest", "is_found"), [(79, False), (81, True), (99, True), (150, False)])
def test_only_idle_times_in_the_last_fifth_count(rest, is_found) -> None:
    log = cut(20)
    used(log, 10, rest)
    for _ in range(5):
        used(log, 1, 1)
    (verdict,) = of(log)
    assert isinstance(verdict, Finding) is is_found


def test_a_client_that_replaces_all_is_possible_below_a_minute() -> None:
    (found,) = of(cut(20, idle=3))
    assert (found.severity, found.confidence) == (Severity.LOW, Confidence.POSSIBLE)
    assert "the log does not show which" in found.detail


def test_the_same_under_a_long_timeout_is_not_judged() -> None:
    (verdict,) = of(cut(20, idle=600))
    assert isinstance(verdict, NotJudged)
    assert "opened others" in verdict.reason


def test_a_client_that_opens_all_at_once_and_leaves_them_replaces_none() -> None:
    log = Log()
    numbers = [log.opens() for _ in range(30)]
    for number in numbers:
        log.binds(number)
    log.now += 3
    for number in numbers:
        log.closes(number, b"T1")
    (verdict,) = of(log)
    assert isinstance(verdict, Clear)


@pytest.mark.parametrize(("more", "is_found"), [(9, False), (10, True)])
def test_what_it_opened_after_others_had_ended_is_counted_by_the_peak(more, is_found) -> None:
    log = Log()
    others = [log.opens(facts.APP2) for _ in range(19)]
    log.visits(20 + more, every=4, code=b"T1", lives=3)
    for number in others:
        log.binds(number)
        log.closes(number)
    assert any(isinstance(one, Finding) for one in of(log)) is is_found


def test_of_several_logs_the_peak_bounds_nothing() -> None:
    log = cut(20, idle=3)
    server = facts.server(access_logs=(log.fact(), Log().fact()))
    (verdict,) = judge(server, log.traffic())
    assert isinstance(verdict, Clear)


def test_a_client_that_closes_most_itself_lets_the_rest_go() -> None:
    log = cut(20, idle=3)
    log.visits(30, every=1)
    (verdict,) = of(log)
    assert isinstance(verdict, Clear)
    assert "the idle timeout closed 20 connections" in verdict.reason


def test_what_a_firewall_had_dropped_is_dead() -> None:
    (verdict,) = of(cut(20), drop=30)
    assert isinstance(verdict, Clear)
    assert "20 of them after a firewall had dropped their state" in verdict.reason
    assert isinstance(of(cut(20), drop=600)[0], NotJudged)


def test_what_is_used_after_that_time_is_not_dropped() -> None:
    """A client with keepalive probes, behind the same firewall."""
    log = cut(20)
    used(log, 30, 85)
    assert isinstance(of(log, drop=30)[0], Finding)


@pytest.mark.parametrize("idle", [3.0, 100.0])
def test_a_firewall_on_another_path_explains_nothing(idle: float) -> None:
    log = Log()
    log.visits(20, facts.APP2, every=idle, code=b"T1", lives=idle)
    log.visits(20, facts.APP1, every=200, code=b"T1", lives=200)
    (verdict,) = of(log, drop=2)
    assert isinstance(verdict, Finding if idle < 60 else NotJudged)
    assert facts.APP2 in (verdict.subject if idle < 60 else verdict.reason)


@given(unused=st.integers(10, 40), replaced=st.integers(12, 40))
def test_a_client_that_may_need_more_is_not_hidden_by_one_with_more_closes(unused: int, replaced: int) -> None:
    log = Log()
    log.visits(unused, facts.APP1, every=100, code=b"T1", lives=100)
    log.visits(unused, facts.APP1, every=1)
    log.visits(replaced, facts.APP2, every=100, code=b"T1", lives=100)
    (verdict,) = of(log)
    assert isinstance(verdict, NotJudged)
    assert facts.APP2 in verdict.reason


def test_slapds_reason_counts_as_well() -> None:
    (found,) = of(cut(20, idle=3, code=b"idletimeout"), family=Family.OPENLDAP)
    assert isinstance(found, Finding)


def test_other_closes_are_not_the_timeouts() -> None:
    (verdict,) = of(cut(20, idle=3, code=b"B1"))
    assert isinstance(verdict, Clear)
    assert verdict.reason == "the idle timeout closed no connection in the access log"


def test_an_empty_log_is_not_judged() -> None:
    (verdict,) = of(Log())
    assert isinstance(verdict, NotJudged)


def test_many_clients_are_a_count() -> None:
    log = Log()
    for number in range(MOST + 3):
        log.visits(12, f"10.77.9.{number}", every=3, code=b"T1", lives=3)
    found = of(log)
    assert len(found) == MOST
    assert "3 more clients are alike" in found[0].detail


def test_the_ghosts_of_the_captured_firewall_are_nobodys_loss() -> None:
    """Its truth: T1 closed 115 ghosts, which their client had replaced long before."""
    verdicts = judged(diagnosed(INCIDENTS / TIMEOUT), "idle-timeout-too-low")
    assert not any(isinstance(one, Finding) for one in verdicts.values())
