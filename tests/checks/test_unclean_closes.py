"""unclean-closes: ends without UNBIND by client, with probes and idle timeouts told apart."""

from __future__ import annotations

import pytest

import facts
from incidents import EXHAUSTION, INCIDENTS, TIMEOUT
from ldapdiag.evidence.family import Family
from ldapdiag.finding import Clear, Finding, NotJudged, Severity
from ldapdiag_checks.unclean_closes import MOST, judge
from traffic import Log, verdicts_on


def judged(log: Log, family: Family = Family.DS389):
    return list(judge(facts.server(), log.traffic(family)))


def closes(*kinds, asks: bool = True) -> Log:
    """Return a log of connections that ended so: pairs of code and count."""
    log = Log()
    for code, count in kinds:
        log.visits(count, code=code, asks=asks)
    return log


def test_tells_its_numbers() -> None:
    log = closes((b"B1", 90), (b"reset", 30), (b"U1", 30), (b"T1", 6))
    log.visits(5, code=b"B1", asks=False)
    (found,) = judged(log)
    assert isinstance(found, Finding)
    assert found.observed == {
        "server": "ldap",
        "client": "10.77.2.2",
        "closes": 156,
        "unclean": 120,
        "network": 0,
        "idle": 6,
        "probes": 5,
        "codes": {"B1": 95, "U1": 30, "reset": 30, "T1": 6},
    }
    assert (found.severity, found.title) == (Severity.MEDIUM, "10.77.2.2 ended 120 of 156 connections without UNBIND")
    assert "B1, 95 times: the client closed it without UNBIND" in found.detail
    assert "T1, 6 times: idle for longer than nsslapd-idletimeout." in found.detail
    assert "5 connections without any operation" in found.detail


@pytest.mark.parametrize(
    ("kinds", "severity"),
    [
        ([(b"B1", 100), (b"U1", 100)], Severity.MEDIUM),
        ([(b"B1", 100), (b"U1", 101)], Severity.LOW),
        ([(b"B1", 99)], Severity.LOW),
        ([(b"B1", 10), (b"U1", 90)], Severity.LOW),
        ([(b"B1", 10), (b"U1", 91)], None),
        ([(b"B1", 9)], None),
        ([(b"T2", 10), (b"U1", 2000)], Severity.MEDIUM),
        ([(b"T2", 5), (b"B4", 5), (b"U1", 500)], Severity.MEDIUM),
        ([(b"T2", 9), (b"U1", 500)], None),
        ([(b"T1", 500)], None),
    ],
)
def test_severity_by_number(kinds, severity) -> None:
    (verdict,) = judged(closes(*kinds))
    assert getattr(verdict, "severity", None) is severity


def test_what_the_network_ended_says_where_to_look() -> None:
    (found,) = judged(closes((b"T2", 12)))
    assert found.title == "Data no longer passed on 12 of 12 connections of 10.77.2.2"
    for word in ("does not read", "MTU", "firewall"):
        assert word in found.detail


def test_one_stuck_connection_does_not_hide_those_without_a_goodbye() -> None:
    (found,) = judged(closes((b"B1", 150), (b"T2", 1), (b"U1", 49)))
    assert found.title == "10.77.2.2 ended 151 of 200 connections without UNBIND"


@pytest.mark.parametrize(("probes", "others", "told"), [(10, 1, True), (9, 0, False), (10, 2, False)])
def test_a_load_balancers_probes_are_only_told(probes, others, *, told) -> None:
    log = closes((b"B1", probes), asks=False)
    log.visits(others)
    verdict = judged(log)[0]
    assert (getattr(verdict, "severity", None) is Severity.INFO) is told
    if told:
        assert verdict.remedies == ()
        assert "probes" in verdict.detail


def test_idle_timeouts_are_the_servers_doing_and_counted() -> None:
    (verdict,) = judged(closes((b"U1", 5), (b"T1", 7)))
    assert isinstance(verdict, Clear)
    assert verdict.reason == "12 closes, 0 without UNBIND; the server's idle timeout ended 7"


def test_a_restart_is_nobodys_close() -> None:
    log = Log()
    for _ in range(20):
        log.binds(log.opens())
    log.number = 0
    log.visits(1, client=facts.APP2)
    (verdict,) = judged(log)
    assert isinstance(verdict, Clear)
    assert verdict.reason.startswith("1 close, ")


def test_a_server_with_one_word_for_both_cannot_tell() -> None:
    (verdict,) = judged(closes((b"Client Disconnect", 40)), Family.OPENDJ)
    assert isinstance(verdict, NotJudged)
    assert "40 of 40 closes" in verdict.reason


def test_a_log_without_ends_is_not_judged() -> None:
    log = Log()
    log.binds(log.opens())
    (verdict,) = judged(log)
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("access-log",)


def test_hostile_codes_and_many_clients_are_told_within_bounds() -> None:
    log = Log()
    for number in range(MOST + 2):
        log.visits(12, client=f"10.0.0.{number}", code=b"\x1b]0;x\x07" if number else b"B1")
        log.visits(12, client=f"10.0.1.{number}", code=b"B1")
    verdicts = judged(log)
    assert len(verdicts) == MOST + 1
    assert "3 more clients do the same" in verdicts[0].detail
    assert isinstance(verdicts[-1], NotJudged)


def test_captured_clients_that_were_killed_are_found() -> None:
    (found,) = verdicts_on(INCIDENTS / EXHAUSTION / "slapd.stderr.log", "unclean-closes")
    assert isinstance(found, Finding)
    assert (found.observed["closes"], found.observed["unclean"]) == (114, 114)
    assert found.observed["codes"] == {"connection lost": 114}


def test_captured_idle_timeouts_are_clear(corpus) -> None:
    """6f: the server ended 115 of the pool's connections (T1); the two others said UNBIND."""
    (verdict,) = verdicts_on(corpus / TIMEOUT / "ldap" / "access", "unclean-closes")
    assert isinstance(verdict, Clear)
    assert verdict.reason == "117 closes, 0 without UNBIND; the server's idle timeout ended 115"
