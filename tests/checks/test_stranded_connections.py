"""stranded-connections: what a client still holds and the server no longer has."""

from __future__ import annotations

import pytest

import facts
from ldapdiag.evidence.bundle import Missing
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
from ldapdiag_checks.stranded_connections import judge


def judged(stranded, of, **more):
    ports = {"stranded_ports": tuple(range(60000, 60000 + stranded))} | more
    told = facts.direction(server_count=1, client_count=of, stranded=stranded, **ports)
    (verdict,) = judge(facts.pairing(told))
    return verdict


@pytest.mark.parametrize(
    ("stranded", "of", "severity"),
    [
        (100, 1000, Severity.HIGH),
        (99, 1000, Severity.MEDIUM),
        (10, 20, Severity.HIGH),
        (10, 21, Severity.MEDIUM),
        (9, 9, Severity.LOW),
    ],
)
def test_severity_by_number_and_share(stranded, of, severity) -> None:
    found = judged(stranded, of)
    assert isinstance(found, Finding)
    assert found.severity is severity


def test_tells_its_numbers_and_is_never_certain() -> None:
    found = judged(2, 12)
    assert found.observed["stranded"] == 2
    assert found.observed["stranded_client_ports"] == [60000, 60001]
    assert found.confidence is Confidence.LIKELY


@pytest.mark.parametrize("doubt", [{"headerless": True}, {"stranded_ports": None}])
def test_is_possible_only_by_a_selection_or_a_mere_number(doubt) -> None:
    assert judged(20, 40, **doubt).confidence is Confidence.POSSIBLE


def test_what_churn_may_explain_is_not_judged() -> None:
    verdict = judged(0, 40, unproven_stranded={"opened meanwhile": 3})
    assert isinstance(verdict, NotJudged)
    assert verdict.how


def test_a_client_nobody_read_is_not_judged() -> None:
    verdict = judged(0, 40, missing=Missing(reason="no table", lacks=("socket-table",), how="ss -tanoi"))
    assert (type(verdict), verdict.missing) == (NotJudged, ("socket-table",))


def test_what_the_server_has_too_is_clear() -> None:
    assert isinstance(judged(0, 40), Clear)
    assert [type(one) for one in judge(facts.pairing())] == [Clear]
