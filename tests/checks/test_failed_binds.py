"""failed-binds: one account with an old password, one client that guesses, and people who mistype."""

from __future__ import annotations

import json
from collections import Counter

import pytest

import facts
from incidents import diagnosed
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.tables import Caps
from ldapdiag.exempt_accounts import ExemptAccounts
from ldapdiag.finding import Clear, Finding, NotJudged, Severity
from ldapdiag_checks.failed_binds import MOST, judge
from traffic import FOO, Log, verdicts_on


def judged(log: Log):
    return list(judge(facts.server(), log.traffic()))


def test_tells_its_numbers() -> None:
    log = Log()
    log.refuses(120, every=10)
    log.refuses(2, client=facts.APP2, err=19)
    log.passes(1)
    found, clear = judged(log)
    assert isinstance(found, Finding)
    assert found.observed == {
        "server": "ldap",
        "account": FOO.decode(),
        "client": None,
        "accounts": 1,
        "clients": [facts.APP1, facts.APP2],
        "failures": 122,
        "per_hour": 122.0,
        "errors": {"19": 2, "49": 120},
        "accepted": 1,
        "never_accepted": 2,
    }
    assert (found.severity, found.title) == (
        Severity.MEDIUM,
        f"BINDs as {FOO.decode()} were refused 122 times, from 2 clients",
    )
    assert "locked after too many failures (err=19)" in found.detail
    assert isinstance(clear, Clear)
    assert clear.reason == "122 of 123 BINDs were refused in total"


@pytest.mark.parametrize(
    ("count", "every", "severity"),
    [
        (100, 1, Severity.MEDIUM),
        (99, 1, Severity.LOW),
        (100, 361, Severity.LOW),
        (10, 1, Severity.LOW),
        (9, 1, None),
    ],
)
def test_severity_of_one_account_by_number(count, every, severity) -> None:
    log = Log()
    log.refuses(count, every=every)
    assert getattr(judged(log)[0], "severity", None) is severity


@pytest.mark.parametrize(
    ("accounts", "each", "severity"),
    [
        (20, 5, Severity.HIGH),
        (200, 1, Severity.HIGH),
        (19, 6, Severity.MEDIUM),
        (20, 4, Severity.MEDIUM),
        (10, 1, Severity.MEDIUM),
        (9, 9, None),
    ],
)
def test_many_accounts_of_one_client_that_are_never_accepted_are_guesses(accounts, each, severity) -> None:
    log = Log()
    for number in range(accounts):
        log.refuses(each, f"uid=user{number},dc=example".encode())
    verdicts = judged(log)
    assert len(verdicts) == 1 + (severity is not None)
    if severity is not None:
        (found, _) = verdicts
        assert (found.severity, found.subject) == (severity, "10.77.2.2 -> ldap")
        assert (found.observed["client"], found.observed["account"]) == (facts.APP1, None)
        assert (found.observed["accounts"], found.observed["failures"]) == (accounts, accounts * each)


def users(log: Log, first: int, count: int) -> None:
    """Let users bind with success from the client of a front end."""
    number = log.opens()
    for op, user in enumerate(range(first, first + count)):
        log.binds(number, f"uid=user{user},dc=example".encode(), op=op)
    log.closes(number)


def test_users_of_a_front_end_who_mistype_and_succeed_later_are_none() -> None:
    log = Log()
    for number in range(50):
        log.refuses(1, f"uid=user{number},dc=example".encode())
    users(log, 0, 50)
    (verdict,) = judged(log)
    assert isinstance(verdict, Clear)


@pytest.mark.parametrize(("succeed", "found"), [(10, True), (11, False)])
def test_accounts_that_are_never_accepted_are_compared_with_those_that_are(succeed, *, found) -> None:
    log = Log()
    for number in range(10):
        log.refuses(1, f"uid=user{number},dc=example".encode())
    users(log, 100, succeed)
    assert isinstance(judged(log)[0], Finding) is found


def test_a_large_front_end_with_many_typing_errors_is_a_low_finding() -> None:
    log = Log()
    for number in range(100):
        log.refuses(1, f"uid=user{number},dc=example".encode())
    users(log, 1000, 2000)
    (found, _) = judged(log)
    assert found.severity is Severity.LOW
    assert found.title.endswith("typing errors of a front end's users, or guesses among them")
    assert "100 of these accounts were never accepted from there in this log, and 2,000 accounts in all were." in (
        found.detail
    )


def from_hosts(log: Log, hosts: int, each: int) -> None:
    """Refuse BINDs of one account from many clients."""
    for host in range(hosts):
        log.refuses(each, FOO, f"10.0.0.{host}")


def test_one_account_from_many_clients_while_its_owner_succeeds_is_guessed() -> None:
    log = Log()
    from_hosts(log, 12, 2)
    log.binds(log.opens(facts.APP2))
    (found, _) = judged(log)
    assert (found.severity, found.remedies) == (Severity.MEDIUM, ())
    assert found.title.endswith("24 times, from 12 clients: password guessing, or an old password on all of them")
    assert "None of these clients was accepted with this account in the log; 1 other client succeeded" in found.detail


def test_a_service_whose_password_expired_on_all_its_hosts_is_not_guessed() -> None:
    """It was accepted before, or retries; or at least is called what it may be."""
    before = Log()
    for host in range(12):
        before.binds(before.opens(f"10.0.0.{host}"))
    from_hosts(before, 12, 2)
    (found, _) = judged(before)
    assert found.severity is Severity.LOW
    assert "guessing" not in found.title
    assert "12 of these clients also succeeded with it in this log: between, its password was changed" in found.detail
    retrying = Log()
    from_hosts(retrying, 12, 10)
    (found, _) = judged(retrying)
    assert "guessing" not in found.title
    short = Log()
    from_hosts(short, 12, 2)
    (found, _) = judged(short)
    assert found.severity is Severity.LOW
    assert found.title.endswith("an old password on all of them, or password guessing")
    assert found.remedies


def test_what_a_guesser_tried_is_not_told_of_each_account_again() -> None:
    log = Log()
    for number in range(20):
        log.refuses(15, f"uid=user{number},dc=example".encode())
    log.refuses(12, FOO, facts.APP2)
    subjects = [one.subject for one in judged(log)]
    assert subjects == ["10.77.2.2 -> ldap", f"{FOO.decode()} at ldap", "others at ldap"]


@pytest.mark.parametrize("err", [0, 14])
def test_steps_are_no_failures(err) -> None:
    log = Log()
    log.refuses(200, err=err)
    (verdict,) = judged(log)
    assert isinstance(verdict, Clear)
    assert verdict.reason == "0 of 200 BINDs were refused"


@pytest.mark.parametrize("err", [13, 51, 80])
def test_troubles_of_the_server_are_no_wrong_passwords_and_not_passed_over(err) -> None:
    log = Log()
    log.refuses(200, err=err)
    (verdict,) = judged(log)
    assert isinstance(verdict, NotJudged)
    assert verdict.reason == f"200 of 200 BINDs failed, none for a wrong password (err={err})"
    log.refuses(201, err=0)
    (verdict,) = judged(log)
    assert isinstance(verdict, Clear)
    assert verdict.reason == f"0 of 401 BINDs were refused; 200 failed for other reasons (err={err})"


@pytest.mark.parametrize(("each", "verdict"), [(1, Clear), (9, NotJudged)])
def test_failures_that_are_not_listed_clear_nobody_unless_they_are_too_few(each, verdict) -> None:
    log = Log(Scan(caps=Caps(attribution=5)))
    for number in range(6):
        log.refuses(each, b"uid=user%d,dc=example" % number, client=f"10.0.0.{number}")
    assert [type(one) for one in judged(log)] == [verdict]


def test_binds_whose_result_is_not_listed_are_no_failures() -> None:
    log = Log(Scan(caps=Caps(attribution=2)))
    for number in range(30):
        log.binds(log.opens(f"10.0.0.{number}"), b"uid=user%d,dc=example" % number)
    (verdict,) = judged(log)
    assert isinstance(verdict, Clear)
    assert verdict.reason == "0 of 30 BINDs were refused"


def test_who_may_not_bind_so_has_no_old_password() -> None:
    log = Log()
    log.refuses(12, b"", err=48)
    found = judged(log)[0]
    assert (found.severity, found.remedies) == (Severity.LOW, ())
    assert "anonymous, or as an entry without a password.\nThere is no command for this: ask" in found.detail


def test_spellings_of_one_account_are_one() -> None:
    log = Log()
    log.refuses(8, b"uid=Foo,dc=example")
    log.refuses(4, b"uid=foo, DC=example")
    assert judged(log)[0].observed["failures"] == 12


def test_a_bind_without_a_name_may_be_sasl() -> None:
    log = Log()
    log.refuses(12, b"")
    assert judged(log)[0].title == "BINDs without a DN (anonymous, or SASL) were refused 12 times, from 10.77.2.2"


def test_a_log_without_binds_is_not_judged() -> None:
    log = Log()
    log.closes(log.opens())
    (verdict,) = judged(log)
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("access-log",)


def test_hostile_names_and_many_of_them_are_told_within_bounds() -> None:
    log = Log()
    for number in range(MOST + 3):
        log.refuses(10, b"\x1b[31mcn=\xff%d" % number, f"10.0.0.{number}")
    verdicts = judged(log)
    assert [type(one) for one in verdicts] == [Finding] * MOST + [NotJudged]
    assert "\\xff" in verdicts[0].title
    assert all("\x1b" not in remedy.text for one in verdicts[:-1] for remedy in one.remedies)


def test_captured_failures_agree_with_the_client(corpus) -> None:
    """Corpus 1: what the program that made the load got as answers to its BINDs."""
    sent = (corpus / "1-389ds-unindexed" / "groundtruth" / "ops.jsonl").read_text().splitlines()
    answered = [one for one in map(json.loads, sent) if one["op"] == "BIND" and one["rc"] == 49]
    wrong = Counter((one["bind"], one["src"]) for one in answered)
    told = diagnosed(corpus / "1-389ds-unindexed" / "access")
    (traffic,) = told.facts.every(Traffic)
    logged = {(one.dn, one.client): one.count for one in traffic.workload.failed_binds if one.err == 49}
    assert {key: count for key, count in logged.items() if key in wrong} == wrong
    (verdict,) = verdicts_on(corpus / "1-389ds-unindexed" / "access", "failed-binds")
    assert isinstance(verdict, Clear), "8 of the most of them: people mistype"


def test_captured_pools_are_clear(captures) -> None:
    (verdict,) = verdicts_on(captures / "access-logs" / "389-pools.head500.access", "failed-binds")
    assert isinstance(verdict, Clear)
    assert verdict.reason == "0 of 110 BINDs were refused"


def test_the_failures_of_an_exempt_account_are_stated_and_not_judged() -> None:
    log = Log()
    log.refuses(120, every=10)
    (clear,) = judge(facts.server(), log.traffic(), exempt_accounts=ExemptAccounts((FOO.decode().upper(),)))
    assert isinstance(clear, Clear)
    assert clear.reason.endswith("120 failures of 1 account that this site has exempted")
