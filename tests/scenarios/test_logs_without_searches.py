"""Index checks on logs that show no search: an index that nothing asked for is neither missing nor used."""

from __future__ import annotations

import pytest

import facts
from audits import Audit
from incidents import judged
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.operation_kinds import MODIFY, SEARCH
from ldapdiag.finding import Clear, NotJudged
from traffic import SECOND, at

OF_SEARCHES = (
    "missing-index",
    "missing-vlv-index",
    "index-not-built",
    "scan-limit-exceeded",
    "unindexable-filter",
    "substring-too-short",
    "unknown-attribute",
    "unused-index",
)


def server() -> Audit:
    """Return a server with an index, at work for two days."""
    audit = Audit()
    audit.has("uid", "eq")
    number = audit.log.opens()
    audit.log.binds(number)
    audit.log.operates(number, 1, MODIFY, b"uid=joe,dc=example,dc=com", apart=172_800)
    return audit


def binds_and_writes() -> Audit:
    """Return one whose log has no search."""
    return server()


def reads_of_one_entry() -> Audit:
    """Return one whose log has what monitoring sends."""
    audit = server()
    audit.asks("(objectClass=*)", base=b"", scope=0)
    audit.asks("(objectClass=*)", base=b"uid=joe,dc=example,dc=com", scope=0)
    return audit


def searches_of_the_server_itself() -> Audit:
    """Return one whose only searches are below cn=monitor."""
    audit = server()
    audit.asks("(objectClass=*)", base=b"cn=monitor")
    return audit


def requests_before_the_log() -> Audit:
    """Return one whose log has the results of searches only."""
    audit = server()
    number = audit.log.opens(facts.APP2)
    for op in range(1, 5):
        audit.log.scan.result(number, OperationResult(op, at(audit.log.now), SEARCH, 0, SECOND))
    return audit


LOGS = (binds_and_writes, reads_of_one_entry, searches_of_the_server_itself, requests_before_the_log)
CASES = [(check, log) for check in OF_SEARCHES for log in LOGS]
CASES.remove(("missing-vlv-index", searches_of_the_server_itself))  # a virtual list view may be below any base


@pytest.mark.parametrize(("check", "log"), CASES)
def test_no_index_check_is_clear_on_a_log_without_searches(check, log) -> None:
    verdicts = judged(log().diagnosis(), check)
    assert verdicts
    assert not any(isinstance(one, Clear) for one in verdicts.values()), verdicts


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (binds_and_writes, "the access log has no search with a result, except those of one entry (scope base)"),
        (requests_before_the_log, "the requests of all 4 searches are not in the access log"),
        (
            searches_of_the_server_itself,
            "none of the 20 searches in the access log is below a known suffix, other than the server's own",
        ),
    ],
    ids=lambda log: getattr(log, "__name__", ""),
)
def test_it_says_what_the_log_lacks(log, reason) -> None:
    (verdict,) = judged(log().diagnosis(), "missing-index").values()
    assert isinstance(verdict, NotJudged)
    assert verdict.reason == reason
    assert verdict.missing == ("access-log",)


def test_one_search_of_the_database_suffices() -> None:
    audit = server()
    audit.asks("(uid=joe)")
    assert all(isinstance(one, Clear) for one in judged(audit.diagnosis(), "missing-index").values())


def test_a_database_that_nothing_searched_is_not_called_used() -> None:
    audit = server()
    audit.asks("(objectClass=*)", base=b"cn=monitor")
    verdicts = judged(audit.diagnosis(), "unused-index")
    assert [type(one) for one in verdicts.values()] == [NotJudged]
