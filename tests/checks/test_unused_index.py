from __future__ import annotations

from datetime import timedelta

import pytest

import facts
from audits import Audit
from incidents import not_judged
from indexes_389 import plugin
from ldapdiag.finding import Confidence, Severity

DAY = 86_400


@pytest.fixture
def audit() -> Audit:
    """Return a server with more indexes than it needs."""
    story = Audit()
    story.has("uid", "eq", "sub")
    story.has("cn", "eq", "pres", "sub")
    story.has("manager", "eq")
    story.has("roomNumber", "eq")
    story.asks("(uid=joe)")
    story.asks("(&(objectClass=person)(|(cn=joe*)(CommonName=joe)))")
    story.log.passes(2 * DAY)
    return story


def test_types_that_no_search_could_have_used(audit: Audit) -> None:
    told = {name: one.observed["types"] for name, one in audit.found("unused-index").items()}
    assert told == {"uid": ["sub"], "cn": ["pres"], "manager": ["eq"], "roomNumber": ["eq"]}


def test_the_hours_of_log_stand_behind_the_claim(audit: Audit) -> None:
    found = audit.found("unused-index")["roomNumber"]
    assert found.observed["log_hours"] == pytest.approx(48, abs=0.1)
    assert (found.severity, found.confidence) == (Severity.INFO, Confidence.POSSIBLE)
    assert found.remedies == ()


@pytest.mark.parametrize(("seconds", "span"), [(5, "covers 7 seconds"), (DAY // 2, "covers 12.0 h")])
def test_less_than_a_day_of_log_proves_nothing(seconds: int, span: str) -> None:
    story = Audit()
    story.has("uid", "eq")
    story.has("roomNumber", "eq")
    story.asks("(uid=joe)")
    story.log.passes(seconds)
    assert story.found("unused-index") == {}
    verdict = not_judged(story.diagnosis(), "unused-index", "ldap")
    assert span in verdict.reason
    assert "the indexes of 1 attribute," in verdict.reason
    assert verdict.how == "an access log of a day, better of a month"


def test_a_month_of_log_makes_it_likely(audit: Audit) -> None:
    audit.log.passes(31 * 86_400)
    found = audit.found("unused-index")["roomNumber"]
    assert (found.severity, found.confidence) == (Severity.LOW, Confidence.LIKELY)
    assert found.remedies


def test_what_a_plug_in_searches_for_is_needed(audit: Audit) -> None:
    audit.others = (plugin("referint_postop_init", "referint-membership-attr: manager"),)
    assert "manager" not in audit.found("unused-index")


def test_what_rules_in_the_entries_make_the_server_search_for_is_needed(audit: Audit) -> None:
    for attribute in ("member", "uniqueMember", "nsRoleDN"):
        audit.has(attribute, "eq")
    assert not {"member", "uniqueMember", "nsRoleDN"} & set(audit.found("unused-index"))


def test_while_internal_searches_are_not_all_known_no_command_is_printed(audit: Audit) -> None:
    audit.log.passes(31 * DAY)
    audit.others = (plugin("dynamic_lists_init"),)
    found = audit.found("unused-index")["roomNumber"]
    assert (found.severity, found.confidence, found.remedies) == (Severity.INFO, Confidence.POSSIBLE, ())
    assert "dynamic lists: the server searches by the URLs in the entries" in found.detail


def test_system_indexes_are_needed(audit: Audit) -> None:
    audit.has("parentid", "eq", lines=("nsSystemIndex: true",))
    assert "parentid" not in audit.found("unused-index")


def test_a_range_or_an_extensible_match_may_use_the_index_for_equality(audit: Audit) -> None:
    audit.asks("(roomNumber>=5)")
    assert "roomNumber" not in audit.found("unused-index")


def test_a_filter_that_was_cut_off_may_use_any(audit: Audit) -> None:
    audit.asks("(|(uid=joe)(roomNum...")
    assert "cut off" in not_judged(audit.diagnosis(), "unused-index", "ldap").reason


def test_without_the_configuration_nothing_is_said(audit: Audit) -> None:
    audit.configured = False
    assert "no index configuration" in not_judged(audit.diagnosis(), "unused-index", "ldap").reason


def test_an_index_younger_than_the_log_is_not_unused(audit: Audit) -> None:
    late = facts.START + timedelta(days=1, hours=12)
    audit.has("title", "eq", lines=(f"createTimestamp: {late:%Y%m%d%H%M%SZ}",))
    assert "title" not in audit.found("unused-index")
    assert "less than a day" in not_judged(audit.diagnosis(), "unused-index", "title of userRoot at ldap").reason


def test_of_an_index_that_was_added_since_only_the_log_from_then_on_counts(audit: Audit) -> None:
    audit.log.passes(31 * DAY)
    added = facts.START + timedelta(days=3)
    audit.has("title", "eq", lines=(f"createTimestamp: {added:%Y%m%d%H%M%SZ}",))
    found = audit.found("unused-index")
    assert found["title"].observed["log_hours"] == pytest.approx(30 * 24, abs=0.1)
    assert found["roomNumber"].observed["log_hours"] == pytest.approx(33 * 24, abs=0.1)
