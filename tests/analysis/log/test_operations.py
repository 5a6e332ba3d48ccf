"""Operations other than searches: what, how long, who, and what failed."""

from __future__ import annotations

import pytest

import facts
from ldapdiag.analysis.log.operations import NO_FAILURE
from ldapdiag.evidence.log.operation_kinds import COMPARE, DELETE, EXTENDED, MODIFY, NAMES
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.tables import Caps
from traffic import FOO, SECOND, Log, at

ENTRY = b"uid=joe,ou=people,dc=example"


def written(log: Log):
    return log.traffic().workload.targets


def test_a_write_has_target_time_client_account_and_its_worst_one() -> None:
    log = Log()
    number = log.opens()
    log.binds(number)
    for op in range(1, 4):
        log.operates(number, op, MODIFY, ENTRY, took=float(op), err=53 if op == 1 else 0)
    first = written(log)[0]
    assert (first.operation, first.target, first.count, first.etime) == (
        "modify",
        "uid=?,ou=people,dc=example",
        3,
        6 * SECOND,
    )
    assert (first.errors, first.failed) == ({53: 1}, 1)
    assert (first.slowest.etime, first.slowest.operation, first.slowest.subject) == (3 * SECOND, 3, ENTRY.decode())
    (asker,) = first.requesters
    assert (asker.client, asker.account, asker.count, asker.etime) == (facts.APP1, FOO.decode(), 3, 6 * SECOND)


@pytest.mark.parametrize("kind", [MODIFY, DELETE, COMPARE])
def test_spellings_of_one_target_are_one(kind) -> None:
    log = Log()
    number = log.opens()
    for op, dn in enumerate((b"UID=a,OU=people,dc=example", b"uid=b,ou=people, dc=example", ENTRY)):
        log.operates(number, op, kind, dn)
    (group,) = written(log)
    assert (group.operation, group.count) == (NAMES[kind], 3)


@pytest.mark.parametrize(
    ("oid", "name"), [(b"1.3.6.1.4.1.1466.20037", "StartTLS"), (b"1.2.3", None), (b"\x1b[31m", None)]
)
def test_extended_operations_are_named_by_their_oid(oid, name) -> None:
    log = Log()
    log.operates(log.opens(), 0, EXTENDED, oid)
    (group,) = written(log)
    assert (group.target, group.name) == (oid.decode(), name)


@pytest.mark.parametrize("err", [5, 6, 10, 14, 16, 32, 51, 68])
def test_answers_are_no_failures(err) -> None:
    log = Log()
    number = log.opens()
    log.binds(number)
    log.operates(number, 1, COMPARE, ENTRY, err=err)
    failures = log.traffic().workload.failures
    assert len(failures) == (err not in NO_FAILURE)
    for one in failures:
        assert (one.operation, one.target, one.client) == ("compare", "uid=?,ou=people,dc=example", facts.APP1)
        assert (one.account, one.err, one.count) == (FOO.decode(), err, 1)


def test_a_full_table_keeps_the_costliest_target_and_its_totals() -> None:
    log = Log(Scan(caps=Caps(targets=3)))
    number = log.opens()
    for op in range(50):
        log.operates(number, op, MODIFY, b"uid=joe,ou=o%d,dc=example" % op, took=5.0 if op == 49 else 0.01)
    first, *others = written(log)
    assert (first.target, first.etime) == ("uid=?,ou=o49,dc=example", 5 * SECOND)
    assert sum(one.count for one in (first, *others)) == 50
    assert log.traffic().segment.targets.omitted >= max(one.etime for one in others if not one.unidentified)


def test_an_operation_without_result_is_unanswered_or_abandoned() -> None:
    log = Log()
    number = log.opens()
    log.scan.request(number, 0, at(0), MODIFY, ENTRY)
    log.scan.request(number, 1, at(0), MODIFY, ENTRY)
    log.scan.abandon(number, 2, at(1), 1)
    log.closes(number)
    (group,) = written(log)
    assert (group.count, group.answered, group.unanswered, group.abandoned) == (2, 0, 1, 1)
