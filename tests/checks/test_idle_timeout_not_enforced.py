"""idle-timeout-not-enforced: what is idle beyond the timeout, with the product's reason; never what is in use."""

from __future__ import annotations

from datetime import timedelta

import pytest

import facts
from incidents import INCIDENTS, TIMEOUT, diagnosed, judged
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
from ldapdiag_checks.idle_timeout_not_enforced import judge
from traffic import Log

OPENDJ = ServerIdentity(family=Family.OPENDJ, version=(4, 10, 1))
DS389_FIXED = ServerIdentity(family=Family.DS389, version=(3, 0, 1))
MANAGER = "cn=Directory Manager"
ANSWERED = {"operations_started": 3, "operations_completed": 3}


def configured(identity, seconds=60, **others):
    return Configuration(
        origin=facts.origin(name="config.ldif"), identity=identity, idle_timeout_seconds=seconds, **others
    )


def of(identity, connections=None, rows=(), *, seconds=60, log=None, taken=None, **others):
    """Judge a server with this idle timeout, these connections in cn=monitor, and these sockets."""
    monitor = facts.monitor(identity, connections=connections, taken_at=taken)
    server = facts.server(identity=identity, monitor=monitor, configuration=configured(identity, seconds, **others))
    host = facts.host("ldap", facts.table([facts.listening(), *rows], taken=0))
    traffic = log.traffic(identity.family) if log else None
    (verdict,) = judge(server, host, traffic)
    return verdict


def active(idle: float, **traits):
    """Return a connection of slapd that was last active so long ago."""
    known = {"active": facts.START - timedelta(seconds=idle), **ANSWERED} | traits
    return facts.monitored(1, **known)[0]


def aged(count: int, seconds: float, client: str = facts.APP1, **columns):
    return facts.at_server(count, client, last_received=round(seconds * 1000), **columns)


class TestByActivityTimes:
    def of(self, *connections, **others):
        return of(facts.OPENLDAP, tuple(connections), taken=facts.START, **others)

    @pytest.mark.parametrize(("idle", "is_found"), [(60, False), (92, False), (94, False), (95, True)])
    def test_slapd_has_half_of_the_timeout_and_two_seconds_to_close(self, idle, is_found) -> None:
        assert isinstance(self.of(active(idle)), Finding) is is_found

    def test_it_is_certain_and_states_its_numbers(self) -> None:
        found = self.of(*(active(500) for _ in range(10)), active(10), active(1000, client=facts.APP2))
        assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.CERTAIN)
        assert found.title == "11 connections are idle for up to 998 s: the idle timeout is 60 s"
        assert found.observed == {
            "server": "ldap",
            "timeout_seconds": 60,
            "closes_by_seconds": 92.0,
            "open": 11,
            "open_clients": {facts.APP1: 10, facts.APP2: 1},
            "exempt": 0,
            "used_later": 0,
            "closed_late": 0,
            "longest_idle_seconds": 998.0,
            "reasons": [],
        }
        assert "another server's configuration" in found.detail

    @pytest.mark.parametrize(
        "traits",
        [
            {"operations_started": 4},
            {"operations_completed": None},
            {"persistent_searches": 1},
            {"client": ""},
        ],
    )
    def test_what_is_in_use_is_not_idle_for_the_server(self, traits) -> None:
        assert isinstance(self.of(active(500, **traits)), Clear)

    def test_fewer_than_ten_are_low(self) -> None:
        assert self.of(*(active(500) for _ in range(9))).severity is Severity.LOW


class TestBySocketAges:
    def test_a_quiet_389ds_before_the_fix_of_6004(self) -> None:
        found = of(facts.DS389, facts.monitored(12, **ANSWERED), aged(12, 500))
        assert found.observed["open"] == 12
        assert found.observed["reasons"] == ["needs-activity", "keeps-old-limit", "account-limit"]
        assert found.confidence is Confidence.POSSIBLE
        assert "6004" in found.remedies[0].text
        assert "open_clients" in found.observed

    def test_accounts_whose_limits_were_read_make_it_likely(self) -> None:
        own = (("uid=other,dc=example", -1),)
        found = of(facts.DS389, facts.monitored(12, **ANSWERED), aged(12, 500), idle_exemptions=own)
        assert found.confidence is Confidence.LIKELY

    @pytest.mark.parametrize(("idle", "is_found"), [(100, False), (101, False), (102, True)])
    def test_an_unknown_sweep_has_half_more_and_ten_seconds(self, idle, is_found) -> None:
        verdict = of(facts.DS389, facts.monitored(1, **ANSWERED), aged(1, idle))
        assert isinstance(verdict, Finding) is is_found

    def test_from_the_fix_on_a_second_is_enough(self) -> None:
        verdict = of(DS389_FIXED, facts.monitored(1, **ANSWERED), aged(1, 62.5))
        assert isinstance(verdict, Finding)
        assert "needs-activity" not in verdict.observed["reasons"]

    @pytest.mark.parametrize(
        "kept",
        [
            {"operations_started": 5},
            {"account": MANAGER},
            {"account": "CN=directory manager"},
            {"account": "uid=replication,cn=config"},
        ],
    )
    def test_as_many_as_are_exempt_or_in_use_are_left_out(self, kept) -> None:
        own = (("uid=replication,cn=config", -1),)
        listed = facts.monitored(3, **(ANSWERED | kept))
        clear = of(facts.DS389, listed, aged(3, 500), idle_exemptions=own)
        assert isinstance(clear, Clear)
        assert "none but 3 that are exempt or in use" in clear.reason
        found = of(facts.DS389, (*listed, *facts.monitored(1, **ANSWERED)), aged(4, 500), idle_exemptions=own)
        assert (found.observed["open"], found.observed["exempt"]) == (1, 3)

    def test_an_account_with_a_shorter_limit_is_not_exempt(self) -> None:
        listed = facts.monitored(3, account="uid=short,dc=example", **ANSWERED)
        assert (
            of(facts.DS389, listed, aged(3, 500), idle_exemptions=(("uid=short,dc=example", 30),)).observed["open"] == 3
        )

    def test_one_of_unknown_client_may_be_any(self) -> None:
        listed = (*facts.monitored(1, **ANSWERED), *facts.monitored(1, client="", operations_started=1))
        assert isinstance(of(facts.DS389, listed, aged(1, 500)), Clear)

    def test_sockets_that_the_monitor_does_not_list_are_not_counted(self) -> None:
        assert of(facts.DS389, facts.monitored(2, **ANSWERED), aged(5, 500)).observed["open"] == 2
        assert isinstance(of(facts.DS389, (), aged(5, 500)), Clear)

    @pytest.mark.parametrize("columns", [{"send_queue": 10}, {"receive_queue": 10}, {"inode": 0}])
    def test_busy_and_unaccepted_sockets_are_not_idle(self, columns) -> None:
        assert isinstance(of(facts.DS389, facts.monitored(5, **ANSWERED), aged(5, 500, **columns)), Clear)

    def test_without_the_list_of_connections_nothing_is_judged(self) -> None:
        verdict = of(facts.DS389, None, aged(5, 500))
        assert isinstance(verdict, NotJudged)
        assert "cn=monitor" in verdict.reason

    def test_a_list_of_another_time_does_not_count(self) -> None:
        later = facts.START + timedelta(seconds=61)
        assert isinstance(of(facts.DS389, facts.monitored(5, **ANSWERED), aged(5, 500), taken=later), NotJudged)

    def test_opendj_ignores_its_global_limit(self) -> None:
        found = of(OPENDJ, facts.monitored(1, **ANSWERED), aged(1, 500))
        assert (found.severity, found.observed["reasons"]) == (Severity.MEDIUM, ["ignored"])
        assert "issue 697" in found.detail
        assert found.remedies


class TestByTheLog:
    def log(self, code: bytes = b"idletimeout", *, late: float = 70, rest: float = 200) -> Log:
        """Return a log in which one connection is closed by the timeout, and another is used after a long rest."""
        log = Log()
        log.visits(1, code=code, lives=late)
        number = log.opens(facts.APP2)
        log.binds(number)
        log.searches(number, 1)
        log.now += rest
        log.searches(number, 2)
        log.closes(number, b"")
        return log

    def test_a_later_request_is_possible_where_the_timeout_was_in_force(self) -> None:
        found = of(facts.OPENLDAP, log=self.log())
        assert (found.severity, found.confidence) == (Severity.LOW, Confidence.POSSIBLE)
        assert (found.observed["used_later"], found.observed["open"]) == (1, 0)
        assert "200 s" in found.title

    def test_idle_times_within_the_sweep_are_not_beyond(self) -> None:
        assert isinstance(of(facts.OPENLDAP, log=self.log(rest=91)), NotJudged)

    @pytest.mark.parametrize("late", [30, 130])
    def test_a_log_of_another_timeout_shows_nothing(self, late) -> None:
        assert isinstance(of(facts.OPENLDAP, log=self.log(late=late)), NotJudged)

    def test_where_accounts_may_have_limits_the_log_alone_decides_nothing(self) -> None:
        verdict = of(facts.DS389, log=self.log(b"T1"))
        assert isinstance(verdict, NotJudged)
        assert "1 idle time of more than 100 s" in verdict.reason

    def test_a_log_with_lost_lines_is_not_believed(self) -> None:
        log = self.log()
        log.scan.segment.lost = 1
        assert isinstance(of(facts.OPENLDAP, log=log), NotJudged)


def test_no_timeout_is_none_to_enforce() -> None:
    assert isinstance(of(facts.DS389, facts.monitored(5, **ANSWERED), aged(5, 5000), seconds=0), Clear)


def test_an_unknown_configuration_is_not_judged() -> None:
    (verdict,) = judge(facts.server(), facts.host())
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("configuration",)


def test_a_proxy_has_no_idle_timeout_of_a_directory() -> None:
    (verdict,) = judge(facts.server(identity=None, proxy="haproxy"), facts.host())
    assert isinstance(verdict, NotJudged)


def test_the_captured_timeout_of_90_seconds_is_enforced() -> None:
    """Its truth: 115 of 120 ghosts were closed by T1; the five that remain are younger than 90 s."""
    verdicts = judged(diagnosed(INCIDENTS / TIMEOUT), "idle-timeout-not-enforced")
    assert [type(one) for one in verdicts.values()] == [Clear]
