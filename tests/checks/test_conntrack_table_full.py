"""conntrack-table-full: the larger of count and rows, held against the limit."""

from __future__ import annotations

import pytest

import facts
from ldapdiag.analysis.pairing.carriers import Carriers
from ldapdiag.finding import Clear, Finding, NotJudged, Severity
from ldapdiag_checks.conntrack_table_full import judge


def judged(*found, kernels=()):
    return list(judge(tuple(kernels), tuple(found)))


@pytest.mark.parametrize(
    ("used", "severity"),
    [
        (600, Severity.MEDIUM),
        (799, Severity.MEDIUM),
        (800, Severity.HIGH),
        (949, Severity.HIGH),
        (950, Severity.CRITICAL),
    ],
)
def test_severity_by_share(used, severity) -> None:
    (found,) = judged(kernels=[facts.settings(count=used, max=1000)])
    assert isinstance(found, Finding)
    assert found.severity is severity
    assert found.observed == {"host": "fw", "used": used, "limit": 1000}
    assert "nf_conntrack_max = 2000" in found.remedies[0].text


@pytest.mark.parametrize("used", [1000, 1001])
def test_a_full_table_is_a_state(used) -> None:
    (found,) = judged(kernels=[facts.settings(count=used, max=1000)])
    assert found.title == f"The connection tracking table of fw is full: {used:,} of 1,000 connections"


def test_is_clear_with_the_numbers() -> None:
    (clear,) = judged(kernels=[facts.settings(count=599, max=1000)])
    assert (type(clear), clear.reason) == (Clear, "599 of at most 1,000 connections tracked (nf_conntrack_max)")


def test_believes_the_table_where_the_count_of_a_namespace_reads_zero() -> None:
    (found,) = judged(facts.flows(facts.at_server(95)), kernels=[facts.settings(count=0, max=100)])
    assert (found.observed["used"], found.severity) == (95, Severity.CRITICAL)
    assert found.origins == ("fw/conntrack.txt", "fw/sysctl.txt")


def test_believes_the_count_where_the_table_lists_some_protocols_only() -> None:
    (found,) = judged(facts.flows(facts.at_server(10)), kernels=[facts.settings(count=90, max=100)])
    assert (found.observed["used"], found.severity) == (90, Severity.HIGH)


def test_rows_alone_are_never_clear() -> None:
    """`conntrack -L -p tcp`: nothing shows how many entries of other protocols there are."""
    (verdict,) = judged(facts.flows(facts.at_server(10)), kernels=[facts.settings(max=100)])
    assert isinstance(verdict, NotJudged)
    assert "10 rows of at most 100" in verdict.reason


@pytest.mark.parametrize(
    ("carriers", "confidence"),
    [
        (Carriers(by_table=frozenset({"fw"})), "certain"),
        (Carriers(by_route=frozenset({"fw"})), "certain"),
        (Carriers(), "possible"),
    ],
)
def test_a_box_that_is_not_known_to_carry_the_connections_is_possible(carriers, confidence) -> None:
    pairing = facts.pairing(facts.direction(server_count=5, carriers=carriers))
    (found,) = judge((facts.settings(count=990, max=1000),), (), (pairing,))
    assert (found.severity, found.confidence) == (Severity.CRITICAL, confidence)
    assert ("ip route" in found.detail) is (confidence == "possible")


def test_zero_is_no_limit() -> None:
    (clear,) = judged(kernels=[facts.settings(count=90, max=0)])
    assert isinstance(clear, Clear)


@pytest.mark.parametrize(
    ("found", "kernels", "missing"),
    [([facts.flows(facts.at_server(10))], [], "kernel-settings"), ([], [facts.settings(max=100)], "flow-table")],
    ids=["no limit", "no count"],
)
def test_half_the_numbers_are_not_judged(found, kernels, missing) -> None:
    (verdict,) = judged(*found, kernels=kernels)
    assert (type(verdict), verdict.subject, verdict.missing) == (NotJudged, "fw", (missing,))
    assert verdict.how


def test_a_site_without_a_box_is_not_judged() -> None:
    (verdict,) = judged(kernels=[facts.settings("ldap")])
    assert (type(verdict), verdict.subject) == (NotJudged, None)
    assert verdict.how


def test_each_box_has_a_verdict() -> None:
    kernels = [facts.settings("fw", count=99, max=100), facts.settings("fw2", count=1, max=100)]
    assert [type(one) for one in judged(kernels=kernels)] == [Finding, Clear]


def test_the_table_of_another_box_is_none_of_conntracks() -> None:
    (verdict,) = judged(facts.sessions(facts.at_server(3), facts.at_client(3)))
    assert isinstance(verdict, NotJudged)
    assert verdict.subject is None
