"""slow-writes: writes that take long, who sends them, and the causes that the evidence shows."""

from __future__ import annotations

from datetime import timedelta

import pytest

import facts
from conftest import CAPTURES
from ldapdiag.evidence.log.operation_kinds import ADD, COMPARE, DELETE, MODIFY, MODRDN, NAMES
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.tables import Caps
from ldapdiag.finding import Clear, Finding, NotJudged, Severity
from ldapdiag_checks.slow_writes import MOST, judge
from traffic import FOO, Log, verdicts_on

ENTRY = b"uid=joe,ou=people,dc=example"


def judged(log: Log):
    return list(judge(facts.server(), log.traffic()))


def written(count: int, took: float, *, kind: int = MODIFY, quick: int = 0, **how) -> Log:
    """Return a log of one connection that writes; `quick`: with so many writes of 1 ms besides."""
    log = Log()
    number = log.opens()
    log.binds(number)
    for op in range(1, count + quick + 1):
        log.operates(number, op, kind, ENTRY, took=took if op <= count else 0.001, **how)
    log.closes(number)
    return log


def test_six_hundred_modifications_of_20_s() -> None:
    (found,) = judged(written(600, 20.0, apart=2.0))
    assert isinstance(found, Finding)
    assert (found.severity, found.subject) == (Severity.HIGH, "modify uid=?,ou=people,dc=example at ldap")
    assert found.title.startswith("600 MODIFYs of uid=?,ou=people,dc=example took 12,000 s")
    assert found.title.endswith(f"{FOO.decode()} from {facts.APP1}")
    seen = found.observed
    assert (seen["operations"], seen["clients"], seen["accounts"]) == (600, [facts.APP1], [FOO.decode()])
    assert (seen["worst_seconds"], seen["worst_dn"]) == (20, ENTRY.decode())
    assert (seen["p50_seconds"], seen["p99_seconds"]) == (20, 20)
    assert seen["causes"] == ["other-writes"]
    assert "On average 9.9 were in progress at once" in found.detail
    assert "99th percentile 20 s (within 4 %); the worst 20 s" in found.detail


def test_other_writes_are_clear_where_there_are_any() -> None:
    log = written(60, 2.0)
    number = log.opens()
    log.operates(number, 1, MODIFY, b"cn=x,ou=quick,dc=example", took=0.01)
    _, clear = judged(log)
    assert isinstance(clear, Clear)
    assert (clear.subject, clear.reason[:14]) == ("other writes of ldap", "1 write took 0")


def test_an_import_at_night_is_none() -> None:
    (clear,) = judged(written(20_000, 0.005, kind=ADD))
    assert isinstance(clear, Clear)
    assert clear.reason == "20,000 writes took 100 s in total, the slowest 0.005 s"


@pytest.mark.parametrize(
    ("count", "took", "quick", "severity"),
    [
        (60, 1.0, 0, Severity.HIGH),
        (59, 1.0, 0, Severity.MEDIUM),
        (60, 0.95, 0, Severity.LOW),
        (60, 1.0, 61, Severity.MEDIUM),
        (10, 1.0, 0, Severity.MEDIUM),
        (9, 1.0, 0, Severity.LOW),
        (10, 1.0, 99, Severity.LOW),
        (10, 1.0, 991, None),
        (5, 1.0, 0, Severity.LOW),
        (4, 1.0, 0, None),
        (50, 0.1, 0, Severity.LOW),
        (49, 0.1, 0, None),
        (60, 0.099, 0, None),
        (1, 30.0, 1000, Severity.MEDIUM),
        (1, 29.9, 1000, None),
    ],
)
def test_severity_by_number(count, took, quick, severity) -> None:
    assert getattr(judged(written(count, took, quick=quick))[0], "severity", None) is severity


@pytest.mark.parametrize("kind", [ADD, MODIFY, DELETE, MODRDN])
def test_every_kind_of_write_counts(kind) -> None:
    assert judged(written(100, 2.0, kind=kind))[0].observed["operation"] == NAMES[kind]


def test_reads_are_no_writes() -> None:
    (verdict,) = judged(written(100, 2.0, kind=COMPARE))
    assert isinstance(verdict, NotJudged)


@pytest.mark.parametrize(
    ("how", "cause"), [({"wait": 1.0}, "worker"), ({"err": 51}, "locks"), ({"apart": 0.9}, "other-writes")]
)
def test_a_cause_is_named_where_the_log_shows_it(how, cause) -> None:
    assert judged(written(60, 2.0, **how))[0].observed["causes"] == [cause]


@pytest.mark.parametrize("how", [{"wait": 0.9}, {"err": 53}, {}])
def test_no_cause_is_guessed(how) -> None:
    found = judged(written(60, 2.0, **how))[0]
    assert found.observed["causes"] == []
    assert "The evidence does not show why" in found.detail


@pytest.mark.parametrize(("took", "causes"), [(0.01, ["not-searches"]), (0.5, [])])
def test_quick_searches_leave_what_only_writes_need(took, causes) -> None:
    log = written(60, 2.0)
    number = log.opens()
    for op in range(100):
        log.searches(number, op, took=took)
    assert judged(log)[0].observed["causes"] == causes


def test_only_so_many_are_reported() -> None:
    log = Log()
    number = log.opens()
    for op in range(MOST + 2):
        log.operates(number, op, MODIFY, b"cn=x,ou=o%d,dc=example" % op, took=40.0)
    *found, last = judged(log)
    assert len(found) == MOST
    assert isinstance(last, NotJudged)
    assert last.reason.startswith("2 more kinds of write")


@pytest.mark.parametrize(("took", "verdict"), [(0.01, Clear), (3.0, NotJudged)])
def test_targets_that_are_not_listed_clear_nobody_unless_they_are_quick(took, verdict) -> None:
    log = Log(Scan(caps=Caps(targets=3)))
    number = log.opens()
    for op in range(10):
        log.operates(number, op, MODIFY, b"cn=x,ou=o%d,dc=example" % op, took=took)
    *_, last = judged(log)
    assert isinstance(last, verdict)


def test_names_since_when_and_how_fast() -> None:
    """COMPAREs all day; after two hours MODIFYs, each hour half a second slower than before."""
    log = Log()
    number, op = log.opens(), 0
    for minute in range(480):
        log.now = 60.0 * minute
        op += 1
        log.operates(number, op, COMPARE, b"uid=foo,ou=services,dc=example", took=0.1)
        if minute >= 120 and minute % 5 == 0:
            op += 1
            log.operates(number, op, MODIFY, ENTRY, took=0.5 * (minute // 60 - 1))
    (found,) = judged(log)
    seen, ten = found.observed, (facts.START + timedelta(hours=2)).isoformat()[:16]
    assert (seen["since"][:16], seen["until"], seen["growing"]) == (ten, None, True)
    assert seen["first_share"] == pytest.approx(12 * 0.5 / (12 * 0.5 + 60 * 0.1), abs=0.15)
    assert seen["last_share"] == pytest.approx(12 * 3 / (12 * 3 + 60 * 0.1), abs=0.05)
    assert "These operations came since" in found.detail
    assert "of the time of all operations but searches" in found.detail


@pytest.mark.parametrize(("count", "clear"), [(9, True), (600, False)])
def test_slow_writes_of_many_targets_are_not_clear(count, clear) -> None:
    log = Log()
    number = log.opens()
    log.binds(number)
    for op in range(1, count + 1):
        log.operates(number, op, MODIFY, b"cn=prefs,ou=tenant%d,dc=example" % op, took=4.0)
    (verdict,) = judged(log)
    assert isinstance(verdict, Clear) is clear
    if not clear:
        assert verdict.reason.startswith("600 writes took 2,400 s in total, the slowest 4 s, of 600 kinds, each too")


def test_the_disk_is_named_where_writes_wait_for_it() -> None:
    log = CAPTURES / "write-times" / "389-flush-20-ms-10-writers.log.gz"
    (one,) = verdicts_on(log, "slow-writes")
    assert isinstance(one, Finding)
    assert one.observed["causes"] == ["other-writes", "not-searches", "disk"]
    assert "Writes seem to wait for the disk, 22.5 ms each: see commit-bound-writes." in one.detail
