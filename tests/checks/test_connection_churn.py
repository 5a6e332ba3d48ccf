"""connection-churn: many short connections with a few operations each, by client."""

from __future__ import annotations

import pytest

import facts
from incidents import CHURN, LEAK
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.tables import Caps
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
from ldapdiag_checks.connection_churn import MOST, judge
from traffic import Log, verdicts_on


def judged(log: Log):
    return list(judge(facts.server(), log.traffic()))


def visits(count, every, **traits):
    log = Log()
    log.visits(count, every=every, **traits)
    log.passes(60)
    return log


def test_tells_its_numbers() -> None:
    (found,) = judged(visits(1200, 0.5, lives=0.25))
    assert isinstance(found, Finding)
    assert found.subject == "10.77.2.2 -> ldap"
    assert found.observed == {
        "server": "ldap",
        "client": "10.77.2.2",
        "connections": 1200,
        "per_second": pytest.approx(1200 / 660, rel=1e-3),
        "median_operations": 3,
        "median_life_seconds": pytest.approx(0.27, abs=0.01),
    }
    assert "1,200 connections in 660 s, 1.8 a second" in found.title
    assert [str(remedy.where) for remedy in found.remedies] == ["client"]


@pytest.mark.parametrize(
    ("count", "every", "severity"),
    [
        (2000, 0.001, Severity.HIGH),
        (1100, 0.001, Severity.MEDIUM),
        (999, 0.001, Severity.LOW),
        (1000, 1, Severity.LOW),
        (100, 1, Severity.LOW),
        (99, 1, None),
        (110, 12, None),
    ],
)
def test_severity_by_number(count, every, severity) -> None:
    log = Log()
    log.visits(count, every=every)
    log.passes(20)
    (verdict,) = judged(log)
    assert getattr(verdict, "severity", None) is severity


@pytest.mark.parametrize(
    "pool", [{"searches": 7}, {"asks": False}, {"lives": 100.0}], ids=["works", "probes", "ended by an idle timeout"]
)
def test_what_is_no_churn(pool) -> None:
    (verdict,) = judged(visits(2000, 0.5, **pool))
    assert isinstance(verdict, Clear)
    assert "2,001 connections" in verdict.reason


def test_a_log_of_seconds_says_nothing() -> None:
    log = Log()
    log.visits(50, every=0.1)
    (verdict,) = judged(log)
    assert isinstance(verdict, NotJudged)
    assert "covers only 5 s" in verdict.reason
    assert verdict.how == "an access log of at least 60 s"


@pytest.mark.parametrize(("count", "kind"), [(499, NotJudged), (500, Finding)])
def test_a_short_log_must_show_more_than_the_start_of_an_application(count, kind) -> None:
    log = Log()
    log.visits(count, every=0.01)
    (verdict,) = judged(log)
    assert type(verdict) is kind
    if isinstance(verdict, Finding):
        assert verdict.title.startswith("10.77.2.2 opened 500 connections in 5 s, for")
        assert (verdict.confidence, verdict.remedies) == (Confidence.POSSIBLE, ())
        assert "an access log of at least a minute" in verdict.detail
    else:
        assert "10.77.2.2 opened 499 short connections in it" in verdict.reason


def test_a_minute_of_log_is_certain_and_has_advice() -> None:
    (found,) = judged(visits(200, 0.5))
    assert (found.confidence, len(found.remedies)) == (Confidence.CERTAIN, 1)


def test_a_log_in_which_no_connection_ends_clears_nobody() -> None:
    log = Log()
    for _ in range(200):
        log.opens()
        log.now += 1
    (verdict,) = judged(log)
    assert isinstance(verdict, NotJudged)
    assert verdict.reason == "no connection was closed in the access log"


def test_more_clients_than_are_kept_apart_clear_nobody() -> None:
    log = Log(Scan(caps=Caps(clients=1)))
    for client in ("10.0.0.1", "10.0.0.2"):
        log.visits(50, client)
    (verdict,) = judged(log)
    assert isinstance(verdict, NotJudged)
    assert verdict.reason.startswith("the access log has more clients than are counted separately; one that is not")


def test_hostile_and_many_clients_are_told_within_bounds() -> None:
    log = Log()
    for number in range(MOST + 5):
        log.visits(120, client=f"\x1b[31m{number}", every=0.1)
    verdicts = judged(log)
    assert len(verdicts) == MOST
    assert "5 more clients do the same" in verdicts[0].detail
    assert all("5 more" not in verdict.detail for verdict in verdicts[1:])


def test_the_captured_churn_is_found_and_the_pools_are_not(corpus) -> None:
    """6e: 200 connections a second from app1; the log holds the first ten seconds of it."""
    (found,) = verdicts_on(corpus / CHURN / "access.head4000", "connection-churn")
    assert (found.observed["client"], found.severity) == ("10.77.2.2", Severity.LOW)
    assert found.observed["connections"] > 600


def test_captured_pools_are_clear(corpus) -> None:
    (verdict,) = verdicts_on(corpus / LEAK / "ldap" / "access", "connection-churn")
    assert isinstance(verdict, Clear)
