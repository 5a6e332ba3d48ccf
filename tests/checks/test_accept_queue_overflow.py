"""accept-queue-overflow: by ss's queues, by nstat's counters, and what neither can tell."""

from __future__ import annotations

import pytest

import facts
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
from ldapdiag_checks.accept_queue_overflow import judge

OVERFLOWN = facts.counters(ListenOverflows=5, ListenDrops=7)


def listener(waiting, backlog, port=389):
    return facts.listening(port, receive_queue=waiting, send_queue=backlog)


def judged(*rows, **server):
    return list(judge(facts.server(**server), facts.host("ldap", facts.table(rows))))


def test_a_full_queue_is_found_with_its_numbers() -> None:
    (found,) = judged(listener(5, 4), *facts.at_server(5, inode=0, last_received=2000))
    assert isinstance(found, Finding)
    assert (found.subject, found.severity, found.confidence) == ("ldap:389", Severity.CRITICAL, Confidence.CERTAIN)
    assert "waited for 2 s" in found.detail
    assert found.observed == {"server": "ldap", "waiting": 5, "backlog": 4}
    assert "5 established connections are not accepted yet (inode 0)" in found.detail


def test_a_queue_at_its_backlog_still_takes_one() -> None:
    (clear,) = judged(listener(4, 4))
    assert (type(clear), clear.reason) == (Clear, "4 connections wait to be accepted, the backlog is 4")


@pytest.mark.parametrize("rows", [[], facts.at_server(5, inode=0, last_received=1999)], ids=["no ages", "young"])
def test_a_queue_that_is_full_for_a_moment_may_be_a_burst(rows) -> None:
    (found,) = judged(listener(5, 4), *rows)
    assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.LIKELY)
    assert "A burst of new connections" in found.detail


def test_counted_overflows_make_a_full_queue_high() -> None:
    (found,) = judged(listener(5, 4), counters=OVERFLOWN)
    assert found.severity is Severity.HIGH
    assert "a queue was full 5 times, 7 new connections dropped" in found.detail
    assert "ldap/nstat.txt" in found.origins


@pytest.mark.parametrize(("before", "severity"), [(5, Severity.CRITICAL), (4, Severity.MEDIUM)])
def test_an_earlier_full_look_makes_it_critical(before, severity) -> None:
    looks = [facts.table([listener(before, 4)], taken=0), facts.table([listener(5, 4)], taken=60)]
    (found,) = judge(facts.server(), facts.host("ldap", *looks))
    assert found.severity is severity


def test_overflows_while_some_wait_are_medium() -> None:
    (found,) = judged(listener(1, 128), counters=OVERFLOWN)
    assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.LIKELY)


def test_overflows_while_none_waits_are_low_and_perhaps_anothers() -> None:
    (found,) = judged(listener(0, 128), counters=OVERFLOWN)
    assert (found.severity, found.confidence) == (Severity.LOW, Confidence.POSSIBLE)


def test_a_counter_at_zero_is_no_witness() -> None:
    (clear,) = judged(listener(1, 128), counters=facts.counters(ListenOverflows=0))
    assert isinstance(clear, Clear)


class TestATableWithoutBacklog:
    """netstat and /proc/net/tcp have 0 where ss has the backlog."""

    def test_is_not_judged(self) -> None:
        (verdict,) = judged(listener(5, 0))
        assert isinstance(verdict, NotJudged)
        assert verdict.missing == ("socket-table", "tcp-counters")
        assert "ss -tanoiep" in verdict.how
        assert "nstat -az" in verdict.how

    def test_is_judged_with_counters(self) -> None:
        (found,) = judged(listener(5, 0), counters=OVERFLOWN)
        assert (found.severity, found.observed["backlog"]) == (Severity.MEDIUM, None)


def test_each_port_has_a_verdict_by_its_fullest_socket() -> None:
    rows = [listener(0, 4), facts.row("10.77.1.2:389", "*:*", facts.TcpState.LISTEN, receive_queue=5, send_queue=4)]
    found, clear = judged(*rows, listener(0, 4, 636), ports=frozenset({389, 636}))
    assert (found.observed["waiting"], clear.subject) == (5, "ldap:636")


@pytest.mark.parametrize("rows", [[], facts.at_server(3)], ids=["empty", "no listener"])
def test_no_listener_is_not_judged(rows) -> None:
    (verdict,) = judged(*rows, counters=OVERFLOWN)
    assert isinstance(verdict, NotJudged)
    assert "counted 5 overflows" in verdict.reason


def test_no_table_is_not_judged() -> None:
    (verdict,) = judge(facts.server(), facts.host("ldap"))
    assert (type(verdict), verdict.missing) == (NotJudged, ("socket-table",))


class TestTheRemedy:
    def test_raises_the_backlog_of_a_full_queue(self) -> None:
        configuration = Configuration(origin=facts.origin(), identity=facts.DS389, listen_backlog=4)
        (found,) = judged(listener(5, 4), configuration=configuration)
        (remedy,) = found.remedies
        assert "nsslapd-listen-backlog-size: 1024" in remedy.text
        assert "nsslapd-listen-backlog-size: 4" in remedy.undo

    def test_is_none_for_a_product_nobody_knows(self) -> None:
        (found,) = judged(listener(5, 4), identity=None)
        assert found.remedies == ()

    def test_is_none_while_there_is_room(self) -> None:
        (found,) = judged(listener(1, 128), counters=OVERFLOWN)
        assert found.remedies == ()


def test_connections_that_wait_for_a_descriptor_belong_to_descriptor_headroom() -> None:
    full = facts.descriptors(used=100, limit=100)
    told = facts.host("ldap", facts.table([listener(25, 128)]))
    (clear,) = judge(facts.server(counters=OVERFLOWN), told, full)
    assert (type(clear), "descriptor-headroom" in clear.reason) == (Clear, True)
    dropped = facts.host("ldap", facts.table([listener(129, 128)]))
    (found,) = judge(facts.server(), dropped, full)
    assert (found.severity, found.remedies) == (Severity.MEDIUM, ())


def test_overflows_of_a_host_with_several_servers_belong_to_none_of_them() -> None:
    told = facts.host("ldap", facts.table([listener(0, 128), listener(0, 128, 1389)]))
    for name, port in (("ldap:389", 389), ("ldap:1389", 1389)):
        own = facts.server(name, host="ldap", ports=frozenset({port}), counters=OVERFLOWN)
        (verdict,) = judge(own, told)
        assert isinstance(verdict, NotJudged)
        assert "an accept queue of ldap has overflowed 5 times since boot, and it has several servers" in verdict.reason
