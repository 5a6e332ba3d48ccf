"""costly-search: the searches that take the time, who asks them, and what is not worth a word."""

from __future__ import annotations

import pytest

import facts
from conftest import CAPTURES
from ldapdiag.analysis.indexes.worth import unlisted_searches
from ldapdiag.cost_thresholds import CostLimits
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.sorting import ALL, Sorting
from ldapdiag.evidence.log.tables import Caps
from ldapdiag.finding import Clear, Finding, NotJudged, Severity
from ldapdiag_checks.costly_search import MOST, attributes_of, judge
from traffic import DISPLAY_NAME, FOO, SECOND, UID, Log, at, verdicts_on

LOGS = CAPTURES / "access-logs"


def judged(log: Log, **settings: float):
    return list(judge(facts.server(), log.traffic(), **settings))


def asked(*searches, client: str = facts.APP1) -> Log:
    """Return a log in which one connection asks: tuples of count, filter and what each is like."""
    log = Log()
    number = log.opens(client)
    log.binds(number)
    op = 0
    for count, filter_, traits in searches:
        for _ in range(count):
            op += 1
            log.searches(number, op, filter_, **traits)
    log.closes(number)
    return log


def test_the_founding_story() -> None:
    """One application's displayName search took 30 s, among a thousand quick ones."""
    (found, clear) = judged(asked((1000, UID, {}), (1, DISPLAY_NAME, {"took": 30.0, "notes": b"A"})))
    assert isinstance(found, Finding)
    assert found.severity is Severity.HIGH
    assert found.observed == {
        "server": "ldap",
        "shape": "(displayName=*?*)",
        "base": "ou=people,dc=example",
        "bases": 1,
        "scope": "sub",
        "searches": 1,
        "etime_seconds": 30.0,
        "share": pytest.approx(30 / 31, abs=1e-6),
        "mean_seconds": 30.0,
        "spread_seconds": 0.0,
        "worst_seconds": 30.0,
        "worst_time": "2026-11-20T09:00:31.000Z",
        "worst_connection": 1,
        "worst_operation": 1001,
        "notes": {"A": 1},
        "entries": 1,
        "clients": [facts.APP1],
        "accounts": [FOO.decode()],
        "since": None,
        "until": None,
        "growing": None,
        "first_share": None,
        "last_share": None,
    }
    assert "97 % of the search time of ldap" in found.title
    assert "Attributes in the filter: displayName." in found.detail
    assert isinstance(clear, Clear)
    assert clear.reason.startswith("1,000 searches took 1.0 s of 31 s")


@pytest.mark.parametrize(
    ("slow", "severity"),
    [
        ((60, {"took": 1.0}), Severity.HIGH),
        ((59, {"took": 1.0}), Severity.MEDIUM),
        ((1, {"took": 30.0}), Severity.HIGH),
        ((1, {"took": 29.0}), Severity.MEDIUM),
        ((10, {"took": 1.0}), Severity.MEDIUM),
        ((9, {"took": 1.0}), Severity.LOW),
        ((100, {"took": 0.1}), Severity.MEDIUM),
        ((99, {"took": 0.1}), Severity.LOW),
        ((100, {"took": 0.099}), None),
        ((100, {"took": 0.005, "notes": b"U"}), Severity.LOW),
        ((100, {"took": 0.004, "notes": b"U"}), None),
        ((100, {"took": 0.05, "notes": b"F"}), None),
        ((100, {"took": 0.05, "notes": b"U,F"}), None),
        ((100, {"took": 0.05, "notes": b"P,A"}), Severity.LOW),
        ((100, {"took": 0.5, "scope": 0}), None),
    ],
)
def test_severity_by_number(slow, severity) -> None:
    count, traits = slow
    verdict = judged(
        asked((100, UID, {}), (count, DISPLAY_NAME, traits)), limits=CostLimits(high_load=1e6, medium_load=1e6)
    )[0]
    assert getattr(verdict, "severity", None) is severity


@pytest.mark.parametrize(
    ("slow", "other", "ends"),
    [
        ([31.0, 31.0], 0, ""),
        ([40.0], 0, ""),
        ([40.0, 0.2], 0, "without that one it is low."),
        ([40.0, 0.2], 700.0, "without that one it is low."),
        ([31.0, 28.0], 0, "without that one it is medium."),
    ],
)
def test_a_severity_of_one_search_is_said_to_be_where_no_other_has_it(slow, other, ends) -> None:
    """A search of 30 s is high whatever the others take: two of them are, without the one, too."""
    load = [(1, DISPLAY_NAME, {"took": each}) for each in slow]
    verdicts = judged(asked(*load, *[(1, UID, {"took": other})] * bool(other)))
    found = next(one for one in verdicts if "displayName" in one.subject)
    assert isinstance(found, Finding)
    assert found.severity is Severity.HIGH
    sentence = [line for line in found.detail.splitlines() if "rests on one search" in line]
    assert "".join(sentence).endswith(ends)
    assert bool(sentence) == bool(ends)


def test_a_hundredth_of_the_time_is_the_least() -> None:
    quick = (10_000, UID, {"took": 0.02})
    assert isinstance(judged(asked(quick, (1, DISPLAY_NAME, {"took": 2.1})))[0], Finding)
    assert isinstance(judged(asked(quick, (1, DISPLAY_NAME, {"took": 2.0})))[0], Clear)


def test_slow_searches_of_one_entry_are_not_called_quick() -> None:
    (clear,) = judged(asked((100, UID, {}), (100, DISPLAY_NAME, {"took": 2.0, "scope": 0})))
    assert isinstance(clear, Clear)
    assert clear.reason.endswith("all search time, except searches of one entry: 100 searches took 200 s")


def test_slow_searches_whose_filter_is_not_told_clear_nobody() -> None:
    log = asked((100, UID, {}))
    number = log.opens()
    for op in range(5):
        log.scan.result(number, OperationResult(op, at(log.now), SEARCH, 0, 2 * SECOND))
    (verdict,) = judged(log)
    assert isinstance(verdict, NotJudged)
    assert verdict.reason.startswith("5 searches took 10 s, with unknown filters")


def test_filters_that_are_too_many_are_no_search_of_their_own() -> None:
    log = Log(Scan(caps=Caps(shapes=2)))
    number = log.opens()
    for op in range(5):
        log.searches(number, op, b"(a%d=x)" % op, took=0.001 if op == 0 else 2.0)
    found, verdict = judged(log)
    assert isinstance(found, Finding)
    assert (found.observed["shape"], found.observed["etime_seconds"]) == ("(a4=?)", 2)
    assert isinstance(verdict, NotJudged)
    assert verdict.reason.startswith("4 searches took 6.0 s")


def test_active_directory_logs_only_expensive_ones() -> None:
    log = asked((5, DISPLAY_NAME, {"took": 2.0}))
    found = next(iter(judge(facts.server(), log.traffic(Family.AD))))
    assert "100 % of the search time of the events 1644 of ldap" in found.title


def test_what_waited_for_a_worker_says_so() -> None:
    (found, _) = judged(asked((100, UID, {}), (5, DISPLAY_NAME, {"took": 2.0, "wait": 1.5})))
    assert "7.5 s of it was spent waiting for a worker thread" in found.detail


def test_spellings_of_one_attribute_are_one_search() -> None:
    (found, _) = judged(asked((9, UID, {}), (2, DISPLAY_NAME, {"took": 2}), (1, b"(displayname=*x*)", {"took": 2})))
    assert (found.observed["shape"], found.observed["searches"]) == ("(displayName=*?*)", 3)


def test_at_most_ten_are_told() -> None:
    log = asked(*((1, f"(a{number}=x)".encode(), {"took": 2.0}) for number in range(MOST + 2)))
    verdicts = judged(log)
    assert [type(one) for one in verdicts] == [Finding] * MOST + [NotJudged]
    assert verdicts[-1].reason == "2 more kinds of search are costly and not reported one by one"


def test_without_an_answer_there_is_nothing_to_judge() -> None:
    log = Log()
    log.binds(log.opens())
    (verdict,) = judged(log)
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("access-log",)


@pytest.mark.parametrize(
    ("shape", "names"),
    [
        ("(displayName=*?*)", ["displayName"]),
        ("(&(objectClass=person)(|(cn=?)(CN=?)(sn~=?)))", ["cn", "objectClass", "sn"]),
        ("(?employeeNumber>=?)", ["employeeNumber"]),
        ("(cn:2.5.13.5:=?)", ["cn"]),
        ("(2.5.4.3=?)", ["2.5.4.3"]),
        ("(cn;lang-fr=?)", ["cn;lang-fr"]),
        ("unknown", []),
        ("(" * 5000, []),
        ("(a" * 5000, []),
    ],
)
def test_attributes_of_a_filter(shape, names) -> None:
    assert attributes_of(shape) == names


def test_a_captured_load_names_the_attribute_without_an_index() -> None:
    """Corpus 1: displayName has none; quickr asks for it from 127.0.0.11."""
    found = verdicts_on(LOGS / "389-unindexed.head500.access", "costly-search")
    assert [one.observed["searches"] for one in found[:3]] == [40, 150, 20]
    for one in found[:3]:
        assert "displayName" in one.observed["shape"]
        assert one.observed["clients"] == ["127.0.0.11"]
        assert one.observed["accounts"] == ["uid=quickr,ou=services,dc=example,dc=com"]
        assert set(one.observed["notes"]) <= {"A", "U"}
    assert isinstance(found[3], Clear)


def test_captured_pools_are_clear() -> None:
    (verdict,) = verdicts_on(LOGS / "389-pools.head500.access", "costly-search")
    assert isinstance(verdict, Clear)


def test_hostile_filters_forge_no_note_and_no_finding() -> None:
    """Values that hold ` notes=A`, quotes and whole log lines; only displayName searches were slow for real."""
    verdicts = verdicts_on(CAPTURES / "389ds" / "hostile-filters" / "access", "costly-search")
    found = [one for one in verdicts if isinstance(one, Finding)]
    assert found
    assert all("displayName" in one.observed["shape"] for one in found)
    assert all(set(one.observed["notes"]) == {"A"} for one in found)


def test_other_families_words_count_too() -> None:
    log = asked((9, UID, {}), (90, DISPLAY_NAME, {"took": 0.02, "notes": b"unindexed"}))
    (found, _) = list(judge(facts.server(), log.traffic(Family.OPENDJ)))
    assert "notes 90 of 90 as unindexed" in found.detail


def test_plain_sorts_say_that_no_index_helps_them() -> None:
    log = Log()
    number = log.opens()
    for op in range(1, 4):
        log.searches(number, op, b"(sn=miller)", took=2.0, sorting=Sorting(b"cn", 1033))
    log.searches(number, 5, b"(sn=miller)", took=2.0, notes=b"A", sorting=Sorting(b"cn", ALL))
    (found,) = [one for one in judged(log) if isinstance(one, Finding)]
    assert "3 results sorted in memory by cn, up to 1,033 entries: no index" in found.detail
    assert "1 result not sorted by cn" in found.detail


def test_slow_searches_by_many_filters_are_not_clear() -> None:
    """200 attributes: each kind takes 0.5 % of the time, all together all of it."""
    log = Log()
    number = log.opens()
    log.binds(number)
    for op in range(1, 1001):
        log.searches(number, op, b"(a%d=*joe*)" % (op % 200), took=4.0, notes=b"U")
    (verdict,) = judged(log)
    assert isinstance(verdict, NotJudged)
    assert verdict.reason == (
        "1,000 searches took 4,000 s, of 200 kinds with less than 1 % of all search time each; most (a0=*?*), 20 s"
    )


@pytest.mark.parametrize(("lacking", "clear"), [(2, True), (20, False)])
def test_searches_that_clients_gave_up_are_not_clear(lacking, clear) -> None:
    log = asked((1000, UID, {}))
    number = log.opens()
    for op in range(lacking):
        log.scan.search(number, op, at(log.now), b"dc=example", 2, b"(description=*q*)")
    log.now += 600
    log.closes(number, b"B1")
    traffic = log.traffic()
    (verdict,) = judge(facts.server(), traffic)
    assert isinstance(verdict, Clear) is clear
    if not clear:
        assert verdict.reason.startswith("20 searches without result, (description=*?*) below dc=example")
        assert "20 searches without result" in unlisted_searches(traffic, traffic.workload.searches)


def below_bases(many: int, *, took: float = 0.15, filter_: bytes = DISPLAY_NAME) -> Log:
    """Return a log in which each of many tenants is searched once by the same filter; other searches take 100 s."""
    log = asked((5000, UID, {"took": 0.02}))
    number = log.opens(facts.APP2)
    log.binds(number)
    for tenant in range(many):
        log.searches(number, tenant + 1, filter_, took=took, base=b"ou=t%d,dc=example" % tenant)
    log.closes(number)
    return log


def test_a_filter_below_many_bases_is_one_finding() -> None:
    found, clear = judged(below_bases(200))
    assert isinstance(found, Finding)
    assert found.subject == "(displayName=*?*) below several bases (sub) at ldap"
    assert found.title.startswith("(displayName=*?*) below 200 bases (sub) takes 23 % of the search time of ldap")
    assert (found.observed["base"], found.observed["bases"], found.observed["scope"]) == (None, 200, "sub")
    assert (found.observed["searches"], found.observed["etime_seconds"]) == (200, pytest.approx(30))
    assert found.severity is Severity.MEDIUM
    assert "Most below ou=t0,dc=example (150 ms), " in found.detail
    assert "197 more." in found.detail
    assert isinstance(clear, Clear)
    assert clear.reason.startswith("5,000 searches took 100 s of 130 s")


@pytest.mark.parametrize(
    ("many", "traits"), [(200, {"took": 0.004}), (5, {"took": 0.15}), (200, {"filter_": b"(uid=a)", "took": 0.05})]
)
def test_quick_or_rare_searches_below_many_bases_are_none(many, traits) -> None:
    assert [type(one) for one in judged(below_bases(many, **traits))] == [Clear]


def test_a_base_that_is_costly_by_itself_is_named_by_itself() -> None:
    log = below_bases(3, took=20.0)
    found = [one for one in judged(log) if isinstance(one, Finding)]
    assert [one.observed["base"] for one in found] == [f"ou=t{tenant},dc=example" for tenant in range(3)]


def test_no_search_is_counted_in_two_findings() -> None:
    """One tenant is costly alone, the others together: one finding with all of them."""
    log = below_bases(200)
    number = log.opens(facts.APP2)
    for op in range(100):
        log.searches(number, op, DISPLAY_NAME, took=0.2, base=b"ou=t7,dc=example")
    (found, _) = judged(log)
    assert (found.observed["bases"], found.observed["searches"]) == (200, 300)
    assert "Most below ou=t7,dc=example (20 s)" in found.detail
