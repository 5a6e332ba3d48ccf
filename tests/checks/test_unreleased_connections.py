"""unreleased-connections: many at both ends, nearly all at rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

import facts
from ldapdiag.analysis.load.accounts import Accounts
from ldapdiag.evidence.bundle import Missing
from ldapdiag.exempt_accounts import ExemptAccounts
from ldapdiag.finding import Clear, Finding, NotJudged, Severity
from ldapdiag_checks.unreleased_connections import judge


def judged(count, *, idle=None, limit=None, **more):
    """Judge so many connections of app1, of which so many (by default all) have rested for ten minutes."""
    idle = count if idle is None else idle
    rests = {"idle_seconds": (600.0,) * idle + (1.0,) * (count - idle)} | more
    told = facts.direction(server_count=count, matched=count, **rests)
    (verdict,) = judge(facts.pairing(told), descriptors=facts.descriptors(10, limit))
    return verdict


@pytest.mark.parametrize(
    ("count", "limit", "kind"),
    [(99, None, Clear), (100, None, Finding), (24, 100, Clear), (25, 100, Finding)],
)
def test_many_is_a_number_or_a_quarter_of_the_limit(count, limit, kind) -> None:
    assert type(judged(count, limit=limit)) is kind


@pytest.mark.parametrize(("idle", "kind"), [(90, Finding), (89, Clear)])
def test_nearly_all_rest(idle, kind) -> None:
    assert type(judged(100, idle=idle)) is kind


@pytest.mark.parametrize(("limit", "severity"), [(200, Severity.HIGH), (201, Severity.MEDIUM), (None, Severity.MEDIUM)])
def test_half_of_the_limit_is_high(limit, severity) -> None:
    assert judged(100, limit=limit).severity is severity


def test_tells_its_numbers() -> None:
    assert judged(100, idle=95).observed == {
        "server": "10.77.1.2:389",
        "client": facts.APP1,
        "connections": 100,
        "idle": 95,
        "accounts": None,
    }


def test_is_not_judged_without_ages() -> None:
    verdict = judged(100, idle_seconds=())
    assert (type(verdict), verdict.missing) == (NotJudged, ("ages",))


def test_is_not_judged_where_one_end_was_not_read() -> None:
    verdict = judged(100, missing=Missing(reason="no table", lacks=("socket-table",), how="ss -tanoi"))
    assert (type(verdict), verdict.missing) == (NotJudged, ("socket-table",))


def test_a_server_without_connections_is_clear() -> None:
    assert [type(one) for one in judge(facts.pairing())] == [Clear]


def test_those_of_a_proxy_are_its_clients() -> None:
    told = facts.direction(server_count=100, matched=100, idle_seconds=(600.0,) * 100, client_hosts=("lb",))
    (verdict,) = judge(facts.pairing(told), servers=(replace(facts.server("lb"), proxy="haproxy"),))
    assert isinstance(verdict, NotJudged)
    assert verdict.reason.startswith("100 connections of lb, a proxy, which opens one for each of its clients'")


@pytest.mark.parametrize(
    ("exempt", "kind", "said"),
    [
        (("CN=App, dc=example",), Clear, "120 of them of accounts that this site has exempted"),
        (("cn=other,dc=example",), Finding, "30 of them are of accounts that this site has exempted"),
        (("cn=nobody,dc=example",), Finding, ""),
    ],
)
def test_the_connections_of_exempt_accounts_do_not_count_and_are_stated(exempt, kind, said) -> None:
    told = facts.direction(server_count=150, matched=150, idle_seconds=(600.0,) * 150)
    of = {"cn=app,dc=example": 120, "cn=other,dc=example": 30}
    listed = Accounts(
        server="ldap",
        by_account=of,
        by_client={facts.APP1: 150},
        by_client_and_account={facts.APP1: of},
        by_endpoint={},
        origins=(),
    )
    (verdict,) = judge(facts.pairing(told), listed, exempt_accounts=ExemptAccounts(exempt))
    assert type(verdict) is kind
    assert said in (verdict.reason if isinstance(verdict, Clear) else verdict.detail)
    assert said or "exempted" not in verdict.detail
