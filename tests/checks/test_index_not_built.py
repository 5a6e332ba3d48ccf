from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

import facts
from audits import SUFFIX, UNINDEXED, Audit
from incidents import diagnosed_facts
from indexes_389 import BACKEND
from ldapdiag.finding import Confidence, Finding, NotJudged, Verdict
from reading import facts_of


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
    assert "after the log began" in verdict.reason


def test_scans_before_a_build_prove_nothing() -> None:
    built = line(START, f"{DAY_BEFORE:%d/%b/%Y:%H:%M:%S}") + line(
        "bdb_db2index - userRoot: Indexing attribute: displayName", f"{DAY_AFTER:%d/%b/%Y:%H:%M:%S}"
    )
    done = line("bdb_db2index - userRoot: Finished indexing.", f"{DAY_AFTER:%d/%b/%Y:%H:%M:%S}")
    verdict = verdict_with((f"createTimestamp: {DAY_BEFORE:%Y%m%d%H%M%SZ}",), built + done)
    assert isinstance(verdict, NotJudged)
    assert "it was built at" in verdict.reason


def test_an_errors_log_without_a_build_makes_it_certain() -> None:
    log = line(START, f"{DAY_BEFORE - timedelta(days=1):%d/%b/%Y:%H:%M:%S}") + line(
        "a - line", f"{DAY_AFTER:%d/%b/%Y:%H:%M:%S}"
    )
    verdict = verdict_with((f"createTimestamp: {DAY_BEFORE:%Y%m%d%H%M%SZ}",), log)
    assert isinstance(verdict, Finding)
    assert verdict.confidence is Confidence.CERTAIN
    assert "before the server starts again" in verdict.detail
