"""severed-connections: what both ends still have and a middlebox between them no longer tracks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
from ldapdiag.analysis.pairing.direction import HalfOpen, Severed
from ldapdiag.evidence.bundle import Missing
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import RemedyKind
from ldapdiag_checks.severed_connections import judge
from ldapdiag_checks.stranded_connections import judge as stranded


def severed(count: int, **traits: Any) -> Severed:
    known: dict[str, Any] = {
        "unanswered": count,
        "middlebox": "fw",
        "carries_path": True,
        "is_whole": True,
        "is_timed": True,
    }
    return Severed(ports=tuple(range(50000, 50000 + count)), **known | traits)


def judged(found: Severed, matched: int = 1000, **numbers: Any) -> Verdict:
    told = facts.direction(server_count=matched, matched=matched, severed=found, **numbers)
    (verdict,) = judge(facts.pairing(told))
    return verdict


@pytest.mark.parametrize(
    ("count", "of", "severity"),
    [
        (100, 1000, Severity.HIGH),
        (99, 1000, Severity.MEDIUM),
        (10, 20, Severity.HIGH),
        (10, 21, Severity.MEDIUM),
        (9, 10, Severity.LOW),
        (1, 1, Severity.MEDIUM),
    ],
)
def test_severity_by_number_and_share(count: int, of: int, severity: Severity) -> None:
    found = judged(severed(count), of)
    assert isinstance(found, Finding)
    assert found.severity is severity


@pytest.mark.parametrize(
    ("unanswered", "unproven", "severity"),
    [(6, 14, Severity.HIGH), (3, 17, Severity.HIGH), (2, 18, Severity.LOW), (6, 13, Severity.LOW)],
)
def test_all_count_where_several_are_unanswered_and_none_works(
    unanswered: int, unproven: int, severity: Severity
) -> None:
    found = judged(severed(unanswered, unanswered=unanswered, unproven={"it may be a selection": unproven}), 20)
    assert isinstance(found, Finding)
    assert found.severity is severity


@pytest.mark.parametrize(
    ("unanswered", "of", "none_works", "severity"),
    [
        (6, 20, True, Severity.HIGH), (6, 20, False, Severity.LOW), (10, 20, False, Severity.HIGH),
        (2, 20, True, Severity.LOW), (1, 1, True, Severity.MEDIUM),
    ],
)  # fmt: skip
def test_unanswered_ones_of_which_no_box_is_proven_are_possible(
    unanswered: int, of: int, *, none_works: bool, severity: Severity
) -> None:
    ports = tuple(range(unanswered))
    found = judged(Severed(unproven={"no table": unanswered}, unanswered_ports=ports, none_works=none_works), of)
    assert isinstance(found, Finding)
    assert (found.severity, found.confidence) == (severity, Confidence.POSSIBLE)
    assert (found.observed["severed"], found.observed["unanswered"]) == (0, unanswered)
    assert found.title.startswith(f"Packets on {unanswered} of {of} connection")
    assert len(found.remedies) == 2


def test_reports_number_ports_and_box() -> None:
    found = judged(severed(3, idle_seconds=(40.0, 50.0, 60.0), kept_seconds=30.0), 12)
    assert isinstance(found, Finding)
    assert found.confidence is Confidence.CERTAIN
    assert found.observed["severed_client_ports"] == [50000, 50001, 50002]
    assert (found.observed["middlebox"], found.observed["idle_seconds"], found.observed["style"]) == (
        "fw",
        40.0,
        "silent-drop",
    )
    assert "the entries have expired" in found.detail


@pytest.mark.parametrize(("unproven", "named"), [(227, True), (41, False)])
def test_the_title_names_what_is_not_judged_where_that_is_the_most(unproven: int, *, named: bool) -> None:
    found = judged(severed(41, unproven={"it may be a selection": unproven}), 270)
    assert isinstance(found, Finding)
    assert found.title.endswith(f"; {unproven} more are not judged") is named


def test_tells_an_expired_entry_from_a_lost_table() -> None:
    lost = judged(severed(3, idle_seconds=(2.0, 2.0, 2.0), kept_seconds=3599.0), 12)
    assert isinstance(lost, Finding)
    assert "fw keeps entries for 3,599 s or more" in lost.detail
    assert any("Find out why" in remedy.title for remedy in lost.remedies)


@pytest.mark.parametrize(
    ("traits", "confidence"),
    [
        ({"drops_by_rule": True}, Confidence.CERTAIN),
        ({"drops_by_rule": True, "carries_path": False, "is_on_both_routes": True}, Confidence.CERTAIN),
        ({"drops_by_rule": True, "carries_path": False}, Confidence.LIKELY),
        ({"drops_by_rule": True, "is_whole": False}, Confidence.LIKELY),
        ({}, Confidence.LIKELY),
    ],
)
def test_quiet_ones_are_certain_by_rules_and_a_whole_table(traits: dict[str, bool], confidence: Confidence) -> None:
    found = judged(severed(500, unanswered=0, **traits))
    assert isinstance(found, Finding)
    assert (found.severity, found.confidence, found.observed["style"]) == (Severity.HIGH, confidence, "unknown")


def test_what_lacks_an_entry_and_passes_by_the_rules_is_clear() -> None:
    verdict = judged(Severed(passed=20, middlebox="fw"), 20)
    assert isinstance(verdict, Clear)
    assert "20 connections held at both ends; 20 without an entry at fw, whose rules pass" in verdict.reason


def test_without_the_rules_it_asks_for_them() -> None:
    verdict = judged(Severed(unproven={"fw may pass their next packets": 20}, middlebox="fw", lacks_rules=True), 20)
    assert isinstance(verdict, NotJudged)
    assert (verdict.missing, "nft list ruleset" in verdict.how) == (("ruleset",), True)


def test_closes_sockets_by_command_only_where_each_is_proven() -> None:
    certain, likely = judged(severed(3)), judged(severed(3, unanswered=0))
    assert isinstance(certain, Finding)
    assert isinstance(likely, Finding)
    commands = [remedy for remedy in certain.remedies if remedy.kind is RemedyKind.SHELL]
    assert [remedy.target for remedy in commands] == ["app1", "ldap"]
    assert "src 10.77.2.2 and dst 10.77.1.2 and dport = :389 and sport = :$port" in commands[0].text
    assert not [remedy for remedy in likely.remedies if remedy.kind is RemedyKind.SHELL]


def test_what_is_not_proven_is_not_judged() -> None:
    verdict = judged(Severed(unproven={"their packets are unanswered, and no table was read": 20}), 25)
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("flow-table",)
    assert "20 of 25 connections" in verdict.reason


def test_what_the_box_tracks_is_clear() -> None:
    verdict = judged(Severed(), 25, middleboxes=("fw",))
    assert isinstance(verdict, Clear)
    assert "none of 25 connections" in verdict.reason


def test_a_client_that_was_not_read_is_not_judged() -> None:
    missing = Missing(reason="no table", lacks=("socket-table",), how="ss -tanoi")
    (verdict,) = judge(facts.pairing(facts.direction(server_count=3, missing=missing)))
    assert (type(verdict), getattr(verdict, "missing", None)) == (NotJudged, ("socket-table",))


def test_a_server_without_connections_is_clear() -> None:
    (verdict,) = judge(facts.pairing())
    assert isinstance(verdict, Clear)


def test_behind_a_nat_the_clients_end_is_reported() -> None:
    missing = Missing(reason="fw translates its address")
    told = facts.direction(client_count=25, severed=severed(20), missing=missing)
    (found,) = judge(facts.pairing(told))
    assert isinstance(found, Finding)
    assert (
        found.title == "20 of the 25 connections of app1 to ldap no longer exist at fw, which translates their address"
    )
    assert [remedy.target for remedy in found.remedies if remedy.kind is RemedyKind.SHELL] == ["app1"]


@pytest.mark.parametrize(("unanswered", "kills"), [(41, False), (268, True)])
def test_of_a_client_that_was_not_read_the_first_step_is_its_table(unanswered: int, kills: bool) -> None:  # noqa: FBT001  pytest passes it
    missing = Missing(reason="no socket table of 10.77.2.2", lacks=("socket-table",))
    dead = severed(268, unanswered=unanswered, unproven={"the table may be a selection": 7})
    told = facts.direction(client_hosts=(), server_count=270, client_count=None, severed=dead, missing=missing)
    (found,) = judge(facts.pairing(told))
    assert isinstance(found, Finding)
    assert (found.severity, found.observed["client_count"]) == (Severity.HIGH, None)
    assert found.title == "268 of the 270 connections from 10.77.2.2 no longer exist at fw between 10.77.2.2 and ldap"
    assert "a ghost, or severed if 10.77.2.2 still has it" in found.detail
    assert "Not counted: 7 connections that may be live or dead (the table may be a selection)" in found.detail
    commands = [remedy.text for remedy in found.remedies if remedy.kind is RemedyKind.SHELL]
    assert any("ss -K" in text for text in commands) is kills
    assert found.remedies[0].title.startswith("Close" if kills else "prove: collect its sockets")


@pytest.mark.parametrize("judge", [judge, stranded], ids=["severed", "stranded"])
def test_a_table_of_the_client_that_shows_nothing_is_no_all_clear(judge: Any) -> None:
    nothing = facts.direction(server_count=20, client_count=0, matched=0)
    hidden = HalfOpen(unproven={"in a table of the client without states": 20})
    (verdict,) = judge(facts.pairing(replace(nothing, ghosts=hidden)))
    assert isinstance(verdict, NotJudged)
    assert "20 (in a table of the client without states)" in verdict.reason
    assert "ss " in str(verdict.how)
    (verdict,) = judge(facts.pairing(nothing))
    assert isinstance(verdict, Clear)
