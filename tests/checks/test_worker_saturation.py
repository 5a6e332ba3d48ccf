"""worker-saturation: busy threads and waiting operations, where the server publishes or logs them."""

from __future__ import annotations

from datetime import timedelta

import pytest

import facts
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
from ldapdiag_checks.worker_saturation import judge
from traffic import Log, Traffic, at, verdicts_on


def judged(threads=20, **counters):
    told = facts.monitor(threads=threads, **counters)
    return next(iter(judge(facts.server(monitor=told))))


def configured(threads):
    return Configuration(origin=facts.origin(name="cn-config.ldif"), identity=facts.DS389, threads=threads)


def test_tells_its_numbers() -> None:
    found = judged(busy_threads=20, queued_operations=7, connections_at_max_threads=1)
    assert isinstance(found, Finding)
    assert found.observed == {
        "server": "ldap",
        "busy": 20,
        "threads": 20,
        "queued": 7,
        "connections_at_max_threads": 1,
        "logged_operations": None,
        "logged_waits": None,
        "longest_wait_seconds": None,
        "logged_busy": None,
        "logged_queue": None,
        "logged_queue_time": None,
    }
    assert found.title == "20 of 20 worker threads of ldap are busy, with 7 operations waiting"


@pytest.mark.parametrize(
    ("busy", "queued", "severity"),
    [
        (16, 20, Severity.CRITICAL),
        (16, 19, Severity.HIGH),
        (16, 1, Severity.HIGH),
        (20, 0, Severity.HIGH),
        (20, None, Severity.HIGH),
        (19, 0, Severity.MEDIUM),
        (16, 0, Severity.MEDIUM),
        (15, 20, Severity.MEDIUM),
    ],
)
def test_severity_by_number(busy, queued, severity) -> None:
    assert judged(busy_threads=busy, queued_operations=queued).severity is severity


@pytest.mark.parametrize(("busy", "queued"), [(15, 19), (15, 0), (0, None)])
def test_is_clear_below(busy, queued) -> None:
    clear = judged(busy_threads=busy, queued_operations=queued)
    assert isinstance(clear, Clear)
    assert clear.reason.startswith(f"{busy} of 20 threads busy")


def test_a_connection_at_its_limit_is_low() -> None:
    found = judged(busy_threads=1, connections_at_max_threads=2)
    assert (found.severity, found.remedies) == (Severity.LOW, ())
    assert "2 connections to ldap" in found.title


def test_counts_configured_threads_before_those_of_other_duties() -> None:
    told = facts.monitor(threads=18, busy_threads=16)
    (found,) = judge(facts.server(monitor=told, configuration=configured(16)))
    assert (found.severity, found.observed["threads"]) == (Severity.HIGH, 16)


def test_minus_one_is_no_number_of_threads() -> None:
    told = facts.monitor(threads=18, busy_threads=18)
    (found,) = judge(facts.server(monitor=told, configuration=configured(-1)))
    assert found.observed["threads"] == 18


@pytest.mark.parametrize(
    "counters",
    [{}, {"connections_at_max_threads": 0}, {"busy_threads": 3, "threads": None}],
    ids=["nothing", "older 389-ds", "no threads"],
)
def test_is_not_judged_where_the_server_does_not_publish_it(counters) -> None:
    verdict = judged(**counters)
    assert (type(verdict), verdict.missing) == (NotJudged, ("monitor",))
    assert "#7307" in verdict.how


def test_is_not_judged_without_cn_monitor() -> None:
    (verdict,) = judge(facts.server())
    assert (type(verdict), verdict.missing) == (NotJudged, ("monitor",))
    assert verdict.how


class TestTheRemedy:
    def test_doubles_the_threads_and_knows_the_way_back(self) -> None:
        told = facts.monitor(threads=16, busy_threads=16)
        (found,) = judge(facts.server(monitor=told, configuration=configured(16)))
        (remedy,) = found.remedies
        assert "nsslapd-threadnumber: 32" in remedy.text
        assert "nsslapd-threadnumber: 16" in remedy.undo

    @pytest.mark.parametrize("server", [{"identity": None}, {}], ids=["unknown product", "medium"])
    def test_is_none(self, server) -> None:
        told = facts.monitor(threads=20, busy_threads=20 if server else 16)
        (found,) = judge(facts.server(monitor=told, **server))
        assert found.remedies == ()


def waits(long: int, short: int, seconds: float = 0.2) -> Traffic:
    """Return a log of so many operations that waited long, and so many that hardly did."""
    log = Log()
    number = log.opens()
    for op in range(long + short):
        log.searches(number, op, wait=seconds if op < long else 0.0001)
    return log.traffic()


class TestTheAccessLog:
    @pytest.mark.parametrize(
        ("long", "short", "severity"),
        [
            (10, 90, Severity.HIGH),
            (9, 91, Severity.MEDIUM),
            (1, 99, Severity.MEDIUM),
            (9, 991, None),
            (50, 49, None),
        ],
    )
    def test_severity_by_number(self, long, short, severity) -> None:
        (verdict,) = judge(facts.server(), waits(long, short))
        assert getattr(verdict, "severity", None) is severity

    def test_alone_it_says_that_it_was_so(self) -> None:
        (found,) = judge(facts.server(), waits(10, 90))
        assert (found.confidence, found.remedies) == (Confidence.LIKELY, ())
        assert found.title == "10 % of the operations in the access log waited for a worker thread of ldap"
        assert "10 of 100 operations waited 134 ms or more, the longest 0.2 s" in found.detail
        assert "cn=monitor shows the present" in found.detail
        numbers = {key: value for key, value in found.observed.items() if value is not None}
        assert numbers == {
            "server": "ldap",
            "logged_operations": 100,
            "logged_waits": 10,
            "longest_wait_seconds": 0.2,
        }

    @pytest.mark.parametrize("seconds", [0.099, 0.134])
    def test_waits_below_an_edge_of_the_histogram_are_none(self, seconds: float) -> None:
        (verdict,) = judge(facts.server(), waits(100, 0, seconds=seconds))
        assert isinstance(verdict, Clear)
        assert verdict.reason == "0 of 100 operations in the log waited 134 ms or more"

    def test_the_worse_of_both_is_told(self) -> None:
        told = facts.monitor(threads=20, busy_threads=16)
        (found,) = judge(facts.server(monitor=told), waits(10, 90))
        assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.LIKELY)
        told = facts.monitor(threads=20, busy_threads=20)
        (found,) = judge(facts.server(monitor=told), waits(1, 99))
        assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.CERTAIN)
        assert found.title.startswith("20 of 20 worker threads")
        assert "1 of 100 operations waited" in found.detail

    def test_a_log_without_waits_clears_nobody(self) -> None:
        log = Log()
        log.visits(200)
        (verdict,) = judge(facts.server(), log.traffic())
        assert isinstance(verdict, NotJudged)

    def test_captured_ones_are_clear_by_the_log_alone(self, captures) -> None:
        (verdict,) = verdicts_on(captures / "access-logs" / "389-pools.head500.access", "worker-saturation")
        assert isinstance(verdict, Clear)
        assert verdict.reason == "0 of 193 operations in the log waited 134 ms or more"


def reporting(busy: int, queued: int, *, threads: int = 16) -> Traffic:
    """Return a log whose results report the worker threads; the worst is 600 s after its beginning."""
    log = Log()
    log.visits(2, every=600)
    log.scan.workers_busy(at(0), 1, threads, 0)
    log.scan.workers_busy(at(600), busy, threads, queued)
    return log.traffic()


@pytest.mark.parametrize(
    ("busy", "queued", "severity"),
    [(16, 16, Severity.MEDIUM), (13, 16, Severity.MEDIUM), (12, 16, None), (16, 15, None), (16, 0, None)],
)
def test_a_log_that_reports_the_threads_is_judged_alone(busy, queued, severity) -> None:
    (verdict,) = judge(facts.server(), reporting(busy, queued))
    assert getattr(verdict, "severity", None) is severity
    if severity is None:
        assert isinstance(verdict, Clear)
        assert verdict.reason == f"in the log at most {busy} of 16 threads busy and {queued} operations waiting"


def test_the_peak_of_a_log_has_its_time() -> None:
    (found,) = judge(facts.server(), reporting(16, 20))
    when = (facts.START + timedelta(seconds=600)).isoformat()[:16]
    assert (found.confidence, found.remedies) == (Confidence.LIKELY, ())
    assert found.title.startswith(f"20 operations waited at once for the 16 worker threads of ldap, at {when}")
    assert (found.observed["logged_busy"], found.observed["logged_queue"]) == (16, 20)
    assert found.observed["logged_queue_time"].startswith(when)


def test_a_calm_log_does_not_clear_what_the_monitor_shows() -> None:
    told = facts.monitor(threads=16, busy_threads=16, queued_operations=20)
    (found,) = judge(facts.server(monitor=told), reporting(2, 0))
    assert (found.severity, found.confidence) == (Severity.CRITICAL, Confidence.CERTAIN)
    assert "In the log at most 2 of 16 threads were busy" in found.detail
