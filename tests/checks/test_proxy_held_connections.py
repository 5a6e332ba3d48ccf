"""proxy-held-connections: what a proxy keeps at the server for clients that are gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

import facts
from ldapdiag.analysis.load.responsiveness import Condition, Responsiveness
from ldapdiag.analysis.pairing.direction import HalfOpen, ProxyLegs, UnclosedLegs
from ldapdiag.evidence.bundle import Missing
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
from ldapdiag.servers.commands.server_address import ServerAddress
from ldapdiag_checks.proxy_held_connections import judge

HELD = ProxyLegs(
    proxy="proxy",
    sessions=40,
    live=25,
    orphaned=HalfOpen(
        count=15,
        ports=tuple(range(45000, 45015)),
        reasons=("15 had been idle for longer than the 0.2 s between the tables",),
    ),
    clients=("app1",),
    absent_at_proxy=False,
    headerless=False,
    origins=("app1/ss.txt", "ldap/ss.txt", "proxy/show-sess-all.txt"),
)


def judged(flows=(), **changes):
    """Judge HELD with these changes; those of its orphaned sessions are given by their own names."""
    orphaned = replace(HELD.orphaned, **{name: changes.pop(name) for name in ORPHANED if name in changes})
    legs = replace(HELD, orphaned=orphaned, **changes)
    known = facts.direction("10.77.5.1", server_count=40, proxy_legs=legs)
    (verdict,) = judge(facts.pairing(known), tuple(flows), ())
    return verdict


ORPHANED = ("count", "ports", "unproven", "reasons")


@pytest.mark.parametrize(
    ("count", "sessions", "severity"),
    [
        (100, 1000, Severity.HIGH),
        (99, 1000, Severity.MEDIUM),
        (10, 20, Severity.HIGH),
        (10, 21, Severity.MEDIUM),
        (9, 9, Severity.LOW),
    ],
)
def test_severity_by_number_and_share(count, sessions, severity) -> None:
    found = judged(count=count, sessions=sessions)
    assert isinstance(found, Finding)
    assert found.severity is severity


def test_tells_the_proxy_the_server_and_the_number() -> None:
    found = judged()
    assert found.observed == {"proxy": "proxy", "server": "10.77.1.2:389", "connections": 15}
    assert found.key == "proxy|10.77.5.1|10.77.1.2:389"
    assert found.hosts == ("app1", "ldap", "proxy")
    assert "45000, 45001" in found.detail
    assert any("option clitcpka" in one.text for one in found.remedies)


@pytest.mark.parametrize("certain", [True, False])
def test_only_those_whose_client_is_certainly_gone_are_closed_now(*, certain: bool) -> None:
    found = judged(absent_at_proxy=certain)
    assert (found.confidence is Confidence.CERTAIN, "ss -K" in found.remedies[0].text) == (certain, certain)


@pytest.mark.parametrize(
    ("told", "confidence"),
    [
        ({}, Confidence.LIKELY),
        ({"absent_at_proxy": True}, Confidence.CERTAIN),
        ({"ports": None}, Confidence.POSSIBLE),
        ({"headerless": True, "absent_at_proxy": True}, Confidence.POSSIBLE),
    ],
)
def test_confidence_by_who_lacks_the_leg(told, confidence) -> None:
    assert judged(**told).confidence is confidence


def test_sessions_that_may_just_have_closed_are_not_judged() -> None:
    verdict = judged(count=0, ports=(), live=38, unproven={"none closed": 2})
    assert isinstance(verdict, NotJudged)
    assert "2 of 40" in verdict.reason


def test_a_proxy_whose_clients_are_all_there_is_cleared() -> None:
    verdict = judged(count=0, ports=(), live=40)
    assert isinstance(verdict, Clear)
    assert "40 of 40" in verdict.reason


def without_sessions(direction, *servers, flows=()):
    (verdict,) = judge(facts.pairing(direction), tuple(flows), (facts.server(), *servers))
    return verdict


UNREAD = facts.direction("10.77.5.1", server_count=3, client_hosts=(), missing=Missing(reason="no socket table"))


def test_without_a_proxys_sessions_it_says_how_to_get_them() -> None:
    verdict = without_sessions(UNREAD)
    assert isinstance(verdict, NotJudged)
    assert "10.77.5.1 may be a proxy" in verdict.reason
    assert "show sess all" in (verdict.how or "")


def test_sessions_without_their_legs_to_the_server_are_named() -> None:
    table = facts.sessions(facts.at_server(3), facts.at_client(3))
    verdict = without_sessions(UNREAD, flows=[replace(table, server=[None] * 3)])
    assert isinstance(verdict, NotJudged)
    assert "contains the client-side legs only (3)" in verdict.reason


def test_clients_that_speak_for_themselves_have_no_proxy() -> None:
    assert isinstance(without_sessions(facts.direction(server_count=3)), Clear)


def test_a_client_that_serves_ldap_itself_may_be_one() -> None:
    verdict = without_sessions(facts.direction(server_count=3), facts.server("app1"))
    assert isinstance(verdict, NotJudged)


JAVA = UnclosedLegs(address=facts.APP1, host="app1", program="java", ports=(45020, 45021), at_both=True)


class TestAnApplicationThatDoesNotClose:
    def test_is_named_with_its_host_and_program(self) -> None:
        found = judged(count=0, ports=(), unclosed=(JAVA,))
        assert found.title == "proxy keeps 2 of 40 connections to ldap because java on app1 does not close"
        assert found.observed["connections"] == 2
        assert found.observed["applications"] == [
            {"host": "app1", "client": facts.APP1, "program": "java", "connections": 2}
        ]
        assert "CLOSE-WAIT at app1, FIN-WAIT-2 at proxy" in found.detail
        assert [remedy.target for remedy in found.remedies] == ["app1", "proxy"]
        assert "timeout client-fin 30s" in found.remedies[1].text
        assert found.confidence is Confidence.CERTAIN

    def test_counts_beside_those_whose_client_is_gone(self) -> None:
        found = judged(unclosed=(JAVA, replace(JAVA, program="")))
        assert found.observed["connections"] == 19
        assert found.title.endswith("4 that 2 applications do not close, 15 whose client is gone")
        assert found.confidence is Confidence.LIKELY

    def test_is_likely_where_one_end_was_not_read(self) -> None:
        unread = replace(JAVA, host="", program="", at_both=False)
        found = judged(count=0, ports=(), unclosed=(unread,))
        assert "an application on 10.77.2.2 does not close" in found.title
        assert "FIN-WAIT-2 at proxy; the other end's table does not show it" in found.detail
        assert found.confidence is Confidence.LIKELY

    @pytest.mark.parametrize(("condition", "kinds"), [(Condition.STOPPED, [NotJudged]), (Condition.ANSWERS, [Finding])])
    def test_is_not_judged_while_the_server_may_not_answer(self, condition, kinds) -> None:
        legs = replace(HELD, orphaned=HalfOpen(), unclosed=(JAVA,))
        known = facts.pairing(facts.direction("10.77.5.1", server_count=40, proxy_legs=legs))
        state = Responsiveness(
            server="ldap", host="ldap", address=ServerAddress(name="ldap", host="ldap"), condition=condition
        )
        assert [type(one) for one in judge(known, (), (), responsiveness=state)] == kinds
        gone = replace(HELD, unclosed=(JAVA,))
        known = facts.pairing(facts.direction("10.77.5.1", server_count=40, proxy_legs=gone))
        found = [one for one in judge(known, (), (), responsiveness=state) if isinstance(one, Finding)]
        assert [one.observed["connections"] for one in found] == [15 if kinds == [NotJudged] else 17]
