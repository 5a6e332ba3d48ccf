"""The lines of operations other than searches: what matters, and nothing else."""

from __future__ import annotations

from io import StringIO

import pytest

import facts
from conversations import read_log
from ldapdiag.evidence.log.operation_kinds import MODIFY
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.log.tables import Caps
from ldapdiag.report.log import as_json
from ldapdiag.report.log.as_text import LogScreen
from ldapdiag.report.log.operations_text import _busiest
from ldapdiag.report.log.sort import By
from ldapdiag.report.page import Page
from traffic import Log, at


def shown(log: Log) -> str:
    stream = StringIO()
    LogScreen(Page(stream, 140), as_json.document(read_log(log.segment())), 10, By.SHAPE).show()
    return stream.getvalue()


def modified(count: int, took: float, err: int = 0) -> Log:
    log = Log()
    number = log.opens()
    log.binds(number)
    for op in range(1, count + 1):
        log.operates(number, op, MODIFY, b"uid=joe,ou=people,dc=example", took=took, err=err)
    return log


def test_600_modifications_are_a_line_with_time_worst_target_and_who() -> None:
    text = shown(modified(600, 20.0))
    (line,) = [one for one in text.splitlines() if one.startswith("other time")]
    assert "modify uid=?,ou=people,dc=example: 600 in 3.33 h" in line
    assert "worst 20 s" in line
    assert f"uid=foo ({facts.APP1})" in text


@pytest.mark.parametrize(
    ("took", "err", "printed"), [(0.001, 0, False), (0.05, 0, False), (0.15, 0, True), (0.001, 53, True)]
)
def test_only_what_matters_is_printed(took, err, printed) -> None:
    assert ("\nother time" in shown(modified(50, took, err))) is printed


def test_a_client_that_tries_many_accounts_is_one_item() -> None:
    log = Log()
    for number in range(25):
        log.refuses(4, b"uid=user%d,dc=example" % number, "10.77.6.2")
    assert "100 failed: 100 from 10.77.6.2 as 25 accounts" in shown(log)


def test_a_single_slow_one_among_quick_ones_is_printed() -> None:
    log = modified(300, 0.001)
    log.operates(log.number, 400, MODIFY, b"uid=joe,ou=people,dc=example", took=600.0)
    assert "worst 10 min" in shown(log)


def test_searches_without_result_are_counted() -> None:
    log = Log()
    number = log.opens()
    log.binds(number)
    log.searches(number, 1)
    for op in range(2, 7):
        log.scan.search(number, op, at(log.now), b"dc=example", 2, b"(description=*q*)")
    log.closes(number)
    text = shown(log)
    assert "6 in 1 ms · 5 without result" in text
    assert "without result: client and account are not counted" in text


def test_the_longest_queue_has_its_own_time() -> None:
    busiest = {
        "busy": 16,
        "threads": 16,
        "busy_since": "2026-11-20T00:00:00Z",
        "queued": 900,
        "queued_since": "2026-11-20T02:00:00Z",
    }
    assert _busiest(busiest) == ["at most 16 of 16 busy at 00:00:00", "at most 900 operations queued at 02:00:00"]


def test_clients_and_accounts_that_are_not_listed_are_mentioned() -> None:
    log = Log(Scan(caps=Caps(attribution=4)))
    for number in range(40):
        connection = log.opens(f"10.0.0.{number}")
        log.binds(connection, b"uid=user%d,dc=example" % number)
        log.operates(connection, 1, MODIFY, b"uid=joe,ou=people,dc=example", took=1.0 + number)
    text = shown(log)
    assert "others not listed" in text or "too many clients and accounts to list" in text


def test_whole_seconds_are_those_of_other_operations_too() -> None:
    def seconds(took: float) -> str:
        log = Log()
        log.scan.resolution(SECOND)
        number = log.opens()
        log.binds(number, took=0.0)
        log.operates(number, 1, MODIFY, b"uid=joe,dc=example", took=took)
        return shown(log)

    assert "durations in this log are whole seconds" in seconds(2.0)
    assert "durations in this log are whole seconds" not in seconds(2.5)
