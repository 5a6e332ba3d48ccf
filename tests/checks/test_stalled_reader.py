"""stalled-reader: closed windows and unanswered data, and not what is merely on its way."""

from __future__ import annotations

import pytest

import facts
from ldapdiag.evidence.sockets import Timer
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
from ldapdiag_checks.stalled_reader import judge


def judged(*rows, **traits):
    return list(judge(facts.server(), facts.host("ldap", facts.table(rows, **traits))))


def closed_window(count, client=facts.APP1, busy=3_000):
    return facts.at_server(count, client, first=50000, send_queue=1000, timer=Timer.PERSIST, busy=busy)


def retransmitting(count, times, **columns):
    traits = {"send_queue": 1000, "timer": Timer.RETRANSMIT, "retransmits": times} | columns
    return facts.at_server(count, first=50000, **traits)


def twice(before, after, apart=5):
    tables = (facts.table(rows, taken=moment) for rows, moment in ((before, 0), (after, apart)))
    (verdict,) = judge(facts.server(), facts.host("ldap", *tables))
    return type(verdict)


def test_adds_up_what_a_client_does_not_read() -> None:
    (found,) = judged(*facts.at_server(5), *closed_window(3))
    assert isinstance(found, Finding)
    assert found.subject == "10.77.2.2 -> 10.77.1.2:389"
    assert found.observed == {"server": "10.77.1.2:389", "client": facts.APP1, "connections": 3, "bytes": 3000}
    assert found.confidence is Confidence.CERTAIN


@pytest.mark.parametrize(
    ("connections", "severity"),
    [(1, Severity.LOW), (2, Severity.LOW), (3, Severity.MEDIUM), (9, Severity.MEDIUM), (10, Severity.HIGH)],
)
def test_severity_by_number(connections, severity) -> None:
    (found,) = judged(*closed_window(connections))
    assert found.severity is severity


def test_data_that_nobody_acknowledges_may_have_another_reason() -> None:
    (found,) = judged(*retransmitting(3, times=1, busy=3_000))
    assert (found.observed["connections"], found.confidence) == (3, Confidence.LIKELY)


def test_data_sent_for_the_first_time_is_on_its_way() -> None:
    (clear,) = judged(*retransmitting(3, times=0))
    assert isinstance(clear, Clear)
    assert "3 with data in transit" in clear.reason


class TestStanding:
    """What stands is seen to stand still: one closed window, or one lost packet, is no client that does not read."""

    @pytest.mark.parametrize("rows", [closed_window(10, busy=300), retransmitting(10, times=1, busy=300)])
    def test_what_began_a_moment_ago_is_none(self, rows) -> None:
        (clear,) = judged(*rows)
        assert isinstance(clear, Clear)
        assert "10 with data in transit, none seen to stand for 2 s" in clear.reason

    @pytest.mark.parametrize("rows", [closed_window(10, busy=None), retransmitting(10, times=3)])
    def test_one_table_without_ages_is_not_judged(self, rows) -> None:
        (verdict,) = judged(*rows)
        assert isinstance(verdict, NotJudged)
        assert verdict.how == "on the server: ss -tanoiep > sockets.txt (it shows ages; netstat: twice, 5 s apart)"

    def test_four_attempts_take_three_seconds(self) -> None:
        (found,) = judged(*retransmitting(3, times=4))
        assert isinstance(found, Finding)

    def test_a_second_snapshot_shows_it(self) -> None:
        old, new = retransmitting(3, times=1), retransmitting(3, times=2)
        closed = closed_window(3, busy=None)
        assert twice(closed, closed) is twice(old, new) is Finding
        assert twice(closed, closed, apart=1) is NotJudged
        moved = retransmitting(3, times=1, send_queue=900)
        assert twice(facts.at_server(3, first=50000), new) is twice(moved, old) is Clear


def test_each_client_has_a_verdict() -> None:
    found, clear = judged(*closed_window(1), *facts.at_server(2, facts.APP2))
    assert (found.observed["client"], clear.subject) == (facts.APP1, "10.77.3.2 -> 10.77.1.2:389")


def test_no_connection_at_all_is_clear() -> None:
    (clear,) = judged(facts.listening(), facts.row(f"{facts.LDAP}:22", f"{facts.APP1}:40000"))
    assert (type(clear), clear.subject) == (Clear, "ldap")


def test_empty_queues_need_no_timer_to_be_clear() -> None:
    (clear,) = judged(*facts.at_server(5))
    assert isinstance(clear, Clear)


def test_a_queue_without_a_timer_is_not_enough() -> None:
    (verdict,) = judged(*facts.at_server(5, send_queue=1000))
    assert isinstance(verdict, NotJudged)
    assert verdict.how == "on the server: ss -tanoiep > sockets.txt"


def test_a_telling_without_queues_is_not_judged() -> None:
    (verdict,) = judged(*facts.at_server(5), columns=(), tool="lsof")
    assert isinstance(verdict, NotJudged)
    assert "Send-Q" in verdict.reason


@pytest.mark.parametrize("rows", [[], facts.at_server(5)], ids=["no row", "rows"])
def test_a_selection_of_rows_is_not_judged(rows) -> None:
    (verdict,) = judged(*rows, has_header=False)
    assert isinstance(verdict, NotJudged)


def test_without_a_table_it_is_not_judged() -> None:
    (verdict,) = judge(facts.server(), facts.host("ldap"))
    assert (type(verdict), verdict.missing) == (NotJudged, ("socket-table",))
