"""slow-binds: BINDs that take long, by mechanism, and the causes that the log shows."""

from __future__ import annotations

import pytest

import facts
from ldapdiag.evidence.log.connection import SIMPLE, OperationResult
from ldapdiag.finding import Finding, NotJudged, Severity
from ldapdiag_checks.slow_binds import judge
from traffic import FOO, Log

BAR = b"uid=bar,ou=services,dc=example"


def judged(log: Log):
    return list(judge(facts.server(), log.traffic()))


def bound(*times: tuple[int, float], dn: bytes = FOO, log: Log | None = None, **how) -> Log:
    """Return a log of BINDs: so many that take so long."""
    log = log or Log()
    for count, took in times:
        for _ in range(count):
            number = log.opens()
            log.binds(number, dn, took=took, **how)
            log.now += took
            log.closes(number)
    return log


def test_tells_mechanism_account_and_client() -> None:
    (found,) = judged(bound((40, 2.0)))
    assert isinstance(found, Finding)
    assert (found.severity, found.subject) == (Severity.HIGH, "bind simple at ldap")
    assert (found.observed["target"], found.observed["accounts"]) == ("simple", [FOO.decode()])
    assert (found.observed["clients"], found.observed["worst_dn"]) == ([facts.APP1], FOO.decode())


@pytest.mark.parametrize(
    ("times", "severity"),
    [
        (((60, 1.0),), Severity.HIGH),
        (((59, 1.0),), Severity.MEDIUM),
        (((50, 0.1),), Severity.LOW),
        (((49, 0.1),), None),
        (((1000, 0.004),), None),
        (((1, 30.0), (500, 0.001)), Severity.MEDIUM),
    ],
)
def test_severity_by_number(times, severity) -> None:
    assert getattr(judged(bound(*times))[0], "severity", None) is severity


def test_mechanisms_are_judged_apart() -> None:
    log = bound((60, 1.0), mechanism=b"GSSAPI", log=bound((100, 0.001)))
    found, clear = judged(log)
    assert (found.observed["target"], found.observed["operations"]) == ("GSSAPI", 60)
    assert clear.reason.startswith("100 BINDs took 0.1 s")


@pytest.mark.parametrize(
    ("log", "causes"),
    [
        (bound((60, 2.0), wait=1.5), ["worker"]),
        (bound((60, 2.0)), ["even"]),
        (bound((30, 0.5), (30, 4.0)), []),
        (bound((30, 0.5), (30, 4.0), mechanism=b"GSSAPI", err=14), ["steps"]),
        (bound((30, 0.5), (30, 4.0), dn=BAR, log=bound((60, 0.001))), ["accounts"]),
        (bound((30, 0.5), (30, 4.0), err=49, log=bound((60, 0.001))), ["refused"]),
    ],
)
def test_a_cause_is_named_where_the_log_shows_it(log, causes) -> None:
    assert judged(log)[0].observed["causes"] == causes


def test_a_log_without_binds_is_not_judged() -> None:
    log = Log()
    log.closes(log.opens())
    (verdict,) = judged(log)
    assert isinstance(verdict, NotJudged)


def test_binds_whose_request_is_not_logged_clear_nobody() -> None:
    log = Log()
    number = log.opens()
    for op in range(60):
        log.scan.result(number, OperationResult(op, 10**18 + op, 0, 0, 2 * 10**9))
    (verdict,) = judged(log)
    assert isinstance(verdict, NotJudged)
    assert SIMPLE.decode() not in verdict.reason
