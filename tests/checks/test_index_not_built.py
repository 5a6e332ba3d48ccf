from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

import facts
from audits import SUFFIX, UNINDEXED, Audit
from incidents import diagnosed_facts
from indexes_389 import BACKEND
from ldapdiag.evidence.family import Family
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Verdict
from reading import facts_of
from traffic import Log


def test_an_index_that_is_configured_and_not_used_where_few_entries_match() -> None:
    audit = Audit()
    audit.has("displayName", "eq")
    audit.asks("(displayName=joe)", UNINDEXED, entries=1)
    (found,) = audit.found("index-not-built").values()
    assert found.observed["attribute"] == "displayName"
    assert found.confidence is Confidence.POSSIBLE, "a single account asks, which may not see all"
    assert "built after this log" in found.detail
    assert audit.found("missing-index") == audit.found("scan-limit-exceeded") == {}


def test_two_accounts_that_see_as_few_make_it_likely() -> None:
    audit = Audit()
    audit.has("displayName", "eq")
    audit.asks("(displayName=joe)", UNINDEXED, entries=1)
    number = audit.log.opens()
    audit.log.binds(number, b"uid=bar,dc=example,dc=com")
    audit.log.searches(number, 1, b"(displayName=jim)", took=0.1, notes=UNINDEXED, base=SUFFIX)
    (found,) = audit.found("index-not-built").values()
    assert found.confidence is Confidence.LIKELY


def test_where_many_entries_match_it_is_the_limit() -> None:
    audit = Audit()
    audit.has("displayName", "eq")
    audit.asks("(displayName=joe)", UNINDEXED, entries=5000)
    assert audit.found("index-not-built") == {}


def test_an_index_that_is_used_is_built() -> None:
    audit = Audit()
    audit.has("displayName", "eq")
    audit.asks("(displayName=joe)", entries=1)
    assert audit.found("index-not-built") == {}


def verdict_with(history: tuple[str, ...], errors: str = "") -> Verdict:
    """Return the verdict on scans of an index that was added at the time of its entry."""
    audit = Audit(others=(BACKEND.replace("\n\n", "\ncreateTimestamp: 20200101000000Z\n\n"),))
    audit.has("displayName", "eq", lines=history)
    audit.asks("(displayName=joe)", UNINDEXED, entries=1)
    audit.log.passes(60)
    logs = [replace(one, origin=facts.origin("ldap", "errors")) for one in (facts_of(errors) if errors else ())]
    diagnosis = diagnosed_facts([*audit.facts(), *logs])
    (verdict,) = [one.verdict for one in diagnosis.judged if one.check == "index-not-built"]
    return verdict


def line(text: str, at: str) -> str:
    return f"[{at} +0000] - INFO - {text}\n"


DAY_BEFORE, DAY_AFTER = facts.START - timedelta(days=1), facts.START + timedelta(days=1)
START = "main - 389-Directory/2.3.1 B2025.016.1616 starting up"


@pytest.mark.parametrize("after", [timedelta(seconds=5), timedelta(days=1)])
def test_scans_before_an_index_was_added_prove_nothing(after: timedelta) -> None:
    verdict = verdict_with((f"createTimestamp: {facts.START + after:%Y%m%d%H%M%SZ}",))
    assert isinstance(verdict, NotJudged)
    added = facts.START + after
    assert f"{added:%Y-%m-%d %H:%M:%S} UTC" in verdict.reason


def test_scans_before_a_build_prove_nothing() -> None:
    built = line(START, f"{DAY_BEFORE:%d/%b/%Y:%H:%M:%S}") + line(
        "bdb_db2index - userRoot: Indexing attribute: displayName", f"{DAY_AFTER:%d/%b/%Y:%H:%M:%S}"
    )
    done = line("bdb_db2index - userRoot: Finished indexing.", f"{DAY_AFTER:%d/%b/%Y:%H:%M:%S}")
    verdict = verdict_with((f"createTimestamp: {DAY_BEFORE:%Y%m%d%H%M%SZ}",), built + done)
    assert isinstance(verdict, NotJudged)
    assert f"{DAY_AFTER:%Y-%m-%d %H:%M:%S} UTC" in verdict.reason


def test_an_errors_log_without_a_build_makes_it_certain() -> None:
    log = line(START, f"{DAY_BEFORE - timedelta(days=1):%d/%b/%Y:%H:%M:%S}") + line(
        "a - line", f"{DAY_AFTER:%d/%b/%Y:%H:%M:%S}"
    )
    verdict = verdict_with((f"createTimestamp: {DAY_BEFORE:%Y%m%d%H%M%SZ}",), log)
    assert isinstance(verdict, Finding)
    assert verdict.confidence is Confidence.CERTAIN
    assert "before the server starts again" in verdict.detail


def test_an_index_that_is_younger_than_the_log_does_not_hide_what_is_missing() -> None:
    """All searches are named in one verdict, with the time from which on a log is needed."""
    audit = Audit()
    times = (f"createTimestamp: {DAY_AFTER:%Y%m%d%H%M%SZ}",)
    audit.has("cn", "eq", "sub", lines=times)
    audit.has("title", "eq", lines=times)
    for filter_, entries in (("(cn=*joe*)", 60), ("(title=boss)", 60), ("(&(title=boss)(l=here))", 5)):
        audit.asks(filter_, UNINDEXED, entries=entries)
    audit.asks("(|(title=boss)(employeeNumber=7))", UNINDEXED, entries=2)
    audit.asks("(displayName=joe)", UNINDEXED, entries=1)
    diagnosis = audit.diagnosis()
    assert set(audit.found("missing-index")) == {"displayName", "employeeNumber"}
    assert audit.found("scan-limit-exceeded") == audit.found("index-not-built") == {}
    (verdict,) = [one.verdict for one in diagnosis.judged if one.check == "index-not-built"]
    assert isinstance(verdict, NotJudged)
    assert verdict.reason.startswith("60 searches (6 s) are from before an index")
    assert verdict.how == f"an access log from {DAY_AFTER:%Y-%m-%d %H:%M:%S} UTC on"


@pytest.mark.parametrize(("began", "reason"), [(DAY_BEFORE, "is being built"), (DAY_AFTER, "are from before an index")])
def test_an_index_that_is_being_built_is_not_judged(began: datetime, reason: str) -> None:
    at = f"{began:%d/%b/%Y:%H:%M:%S}"
    errors = line(START, at) + line("bdb_db2index - userRoot: Indexing attribute: displayName", at)
    verdict = verdict_with((f"createTimestamp: {DAY_BEFORE:%Y%m%d%H%M%SZ}",), errors)
    assert isinstance(verdict, NotJudged)
    assert reason in verdict.reason


def slapd(changed: datetime, took: float) -> list[Verdict]:
    """Return the verdicts on searches of a slapd whose database entry was last changed then."""
    log = Log()
    number = log.opens()
    for op in range(1, 21):
        log.searches(number, op, b"(displayName=joe)", took=took, entries=1, base=SUFFIX)
    database = (
        "dn: olcDatabase={1}mdb,cn=config\nobjectClass: olcMdbConfig\nolcDatabase: {1}mdb\n"
        "olcSuffix: dc=example,dc=com\nolcDbDirectory: /var/lib/ldap\nolcDbIndex: objectClass eq\n"
        f"olcDbIndex: displayName eq\nmodifyTimestamp: {changed:%Y%m%d%H%M%SZ}\n\n"
    )
    read = [replace(one, origin=facts.origin("ldap", "config.ldif")) for one in facts_of(database)]
    judged = diagnosed_facts([log.fact(family=Family.OPENLDAP), *read]).judged
    return [one.verdict for one in judged if one.check == "index-not-built"]


@pytest.mark.parametrize(
    ("changed", "took", "kind"),
    [(DAY_AFTER, 0.2, NotJudged), (DAY_AFTER, 0.0002, Clear), (DAY_BEFORE, 0.2, Clear), (DAY_BEFORE, 0.0002, Clear)],
)
def test_slow_searches_of_slapd_prove_nothing_of_an_index_that_may_be_younger(
    changed: datetime, took: float, kind: type[Verdict]
) -> None:
    (verdict,) = slapd(changed, took)
    assert isinstance(verdict, kind)
    if isinstance(verdict, NotJudged):
        assert f"{DAY_AFTER:%Y-%m-%d %H:%M:%S} UTC" in verdict.reason
