"""idle-timeout: what ends a dead connection today, and what would."""

from __future__ import annotations

import pytest

import facts
from ldapdiag.analysis.idle.advice import advise
from ldapdiag.analysis.idle.idle_profile import IdleProfile
from ldapdiag.analysis.load.accounts import Accounts
from ldapdiag.finding import Clear, Finding, NotJudged, Severity
from ldapdiag_checks.idle_timeout import judge


def judged(idle, *, ghosts=0, upper=None, directions=None, **keepalive):
    """Judge a server with this idle timeout, so many ghosts, and a box that forgets after so many seconds."""
    server, host = facts.server(), facts.host("ldap", facts.table(facts.at_server(40)))
    living = {"server_count": 40, "ghosts": ghosts, "matched": 40 - ghosts, "idle_seconds": (10.0,) * (40 - ghosts)}
    pairing = facts.pairing(*(directions or [facts.direction(**living)]))
    bounds = facts.bounds(upper)
    lifetime = facts.lifetime(idle_timeout_seconds=idle, **keepalive)
    (verdict,) = judge(
        server, lifetime, advise(server, host, IdleProfile(server="ldap"), pairing, bounds), bounds, pairing
    )
    return verdict


class TestSeverity:
    @pytest.mark.parametrize(
        ("idle", "keepalive", "severity"),
        [
            (0, {"keepalive": False}, Severity.HIGH),
            (601, {"keepalive": False}, Severity.HIGH),
            (600, {"keepalive": False}, Severity.MEDIUM),
            (0, {"keepalive": True, "keepalive_seconds": 300, "probing_seconds": 301}, Severity.HIGH),
            (0, {"keepalive": True, "keepalive_seconds": 300, "probing_seconds": 300}, Severity.MEDIUM),
        ],
    )
    def test_with_ghosts_is_by_how_long_they_live(self, idle, keepalive, severity) -> None:
        found = judged(idle, ghosts=20, **keepalive)
        assert isinstance(found, Finding)
        assert found.severity is severity

    @pytest.mark.parametrize(
        ("idle", "upper", "kind"), [(5, None, Clear), (60, None, Clear), (301, 300, Finding), (300, 300, Clear)]
    )
    def test_without_ghosts_is_medium_when_it_comes_too_late(self, idle, upper, kind) -> None:
        verdict = judged(idle, upper=upper, keepalive=False)
        assert type(verdict) is kind
        assert kind is Clear or verdict.severity is Severity.MEDIUM

    def test_is_low_when_nothing_would_end_a_ghost(self) -> None:
        assert judged(0, keepalive=False).severity is Severity.LOW


@pytest.mark.parametrize(("idle", "kept"), [(0, False), (60, True), (300, True), (301, False)])
def test_a_present_timeout_that_is_short_enough_is_not_replaced_by_a_longer_one(idle: int, *, kept: bool) -> None:
    found = judged(idle, ghosts=20, upper=30, keepalive=False)
    assert (f"The present idle timeout of {idle} s is not longer" in found.detail) == kept
    assert any("nsslapd-idletimeout: 300" in remedy.text for remedy in found.remedies) != kept


def test_recommends_the_drain_value_with_its_commands() -> None:
    found = judged(0, ghosts=20, upper=30, keepalive=False)
    assert found.observed["recommended_seconds"] == 300
    assert (found.observed["tidy_unsafe"], found.observed["box_upper_seconds"]) == (True, 30)
    assert any("nsslapd-idletimeout: 300" in one.text for one in found.remedies)


def test_no_table_of_connections_is_no_absence_of_ghosts() -> None:
    server, host = facts.server(), facts.host("ldap", facts.table(facts.at_server(40)))
    (verdict,) = judge(
        server, facts.lifetime(idle_timeout_seconds=300), advise(server, host, IdleProfile(server="ldap"))
    )
    assert isinstance(verdict, NotJudged)


def test_is_not_judged_while_nothing_is_known() -> None:
    verdict = judged(None, keepalive=None)
    assert (type(verdict), verdict.missing) == (NotJudged, ("configuration",))


def test_names_the_settings_of_clients_by_the_shorter_timeout() -> None:
    assert "client-settings --idle-timeout 300 --firewall 30." in judged(0, ghosts=20, upper=30).detail
    assert "client-settings --idle-timeout 90." in judged(90, ghosts=20, keepalive=False).detail


@pytest.mark.parametrize(("account", "is_exempt"), [("cn=Directory Manager", True), ("uid=app,dc=example", False)])
def test_says_why_no_step_sets_the_value_where_all_ghosts_are_exempt(account: str, *, is_exempt: bool) -> None:
    by_client = {facts.APP1: {account: 20}}
    accounts = Accounts(
        server="ldap", by_account={}, by_client={}, by_client_and_account=by_client, by_endpoint={}, origins=()
    )
    server, host = facts.server(), facts.host("ldap", facts.table(facts.at_server(20)))
    pairing, bounds = facts.pairing(facts.direction(server_count=20, ghosts=20)), facts.bounds(None)
    advice = advise(server, host, IdleProfile(server="ldap"), pairing, bounds)
    lifetime = facts.lifetime(idle_timeout_seconds=0, keepalive=False)
    (found,) = judge(server, lifetime, advice, bounds, pairing, accounts=accounts)
    assert ("So no step sets the recommended 300 s: it closes none of these ghosts" in found.detail) is is_exempt
    assert any("nsslapd-idletimeout: 300" in remedy.text for remedy in found.remedies) is not is_exempt
