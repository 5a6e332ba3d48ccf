"""The founding incidents with their servers' access logs: what the log adds, and that it accuses nobody healthy."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest

from command import diagnose
from conftest import CAPTURES
from incidents import CHURN, EXHAUSTION, GHOSTS, LEAK, SNAT, TIMEOUT, diagnosed, diagnosed_facts, finding, judged, truth
from ldapdiag.analysis.idle.bounds import IdleBounds
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.finding import Clear, Finding, Severity
from ldapdiag.sources.gathering import gather

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.diagnosis import Diagnosis

LOG_CHECKS = ("costly-search", "connection-churn", "unclean-closes", "failed-binds", "worker-saturation")


def accusations(diagnosis: Diagnosis) -> set[tuple[str, Any, str]]:
    """Return what the checks on access logs find: check, client, severity."""
    return {
        (check, verdict.observed.get("client"), str(verdict.severity))
        for check in LOG_CHECKS
        for verdict in judged(diagnosis, check).values()
        if isinstance(verdict, Finding)
    }


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (GHOSTS, set()),
        (LEAK, set()),
        (SNAT, set()),
        (TIMEOUT, set()),
        (CHURN, {("connection-churn", "10.77.2.2", "low")}),
        (
            EXHAUSTION,
            {("unclean-closes", "127.0.0.70", "medium")},
        ),
    ],
)
def test_the_log_accuses_exactly_whom_it_should(corpus: Path, case: str, expected: set[Any]) -> None:
    """6e: 200 connections a second. 5c: a client that opens all it can get, and is killed.

    5c's log covers 5.5 s with 114 connections: too short for connection-churn.
    """
    assert accusations(diagnosed(corpus / case)) == expected


@pytest.mark.parametrize("case", [GHOSTS, TIMEOUT])
def test_the_log_knows_how_long_connections_survived(corpus: Path, case: str) -> None:
    without_firewall = [corpus / case / host for host in ("ldap", "app1", "app2")]
    (bounds,) = diagnosed(*without_firewall).facts.every(IdleBounds)
    path = bounds.for_client("10.77.2.2")
    assert path is not None
    assert path.lower_seconds == pytest.approx(truth(case)["longest_idle_that_survived_s"], abs=0.1)
    assert path.source.startswith("the longest idle time followed by traffic in the access log")


def test_behind_address_translation_the_rests_are_the_boxes(corpus: Path) -> None:
    (traffic,) = diagnosed(corpus / SNAT / "ldap").facts.every(Traffic)
    assert traffic.longest_idle_seconds().keys() == {"10.77.1.1"}


def test_every_ghost_of_the_log_is_open_at_its_end(corpus: Path) -> None:
    """5a: the server received no close of any of the 268; 42 more are live."""
    (traffic,) = diagnosed(corpus / GHOSTS / "ldap" / "access").facts.every(Traffic)
    rows = traffic.segment.clients
    still_open = {client: row.opened - sum(row.codes.values()) for client, row in rows.items() if row.opened}
    known = {client.encode(): count for client, count in truth(GHOSTS)["established_by_source"].items()}
    assert {client: still_open[client] for client in known} == known


def test_a_rotated_set_names_the_scan_of_the_load(corpus: Path) -> None:
    folder = corpus / "7-traps" / "389-rotation-gzip"
    sent = json.loads((folder / "sent.json").read_text())
    found = finding(diagnosed_whole(folder), "costly-search")
    assert found.severity is Severity.HIGH
    assert found.observed["searches"] == sum(found.observed["notes"].values()) == sent["total"]["slow"]
    assert found.observed["shape"] == "(displayName=*?*)"


def diagnosed_whole(folder: Path) -> Diagnosis:
    """Return the diagnosis of a folder whose files are one log."""
    return diagnosed_facts(gather([str(folder)]).facts)


@pytest.mark.parametrize("case", ["1-389ds-unindexed", "2-openldap-unindexed", "3-opendj-unindexed"])
def test_one_load_has_one_answer_at_each_server(corpus: Path, case: str) -> None:
    """Whose displayName searches they are does not depend on whose log tells it; what they cost does."""
    diagnosis = diagnosed_whole(corpus / case)
    found = [one for one in judged(diagnosis, "costly-search").values() if isinstance(one, Finding)]
    quickr = [one.observed for one in found if one.observed["clients"][0] == "127.0.0.11"]
    assert "(&(objectClass=inetOrgPerson)(displayName=?))" in [one["shape"] for one in quickr]
    for one in quickr:
        assert "displayName" in one["shape"]
        assert one["accounts"][0] == "uid=quickr,ou=services,dc=example,dc=com"
    assert all(isinstance(one, Clear) for one in judged(diagnosis, "connection-churn").values())


@pytest.mark.parametrize("arguments", [(), ("-v",), ("--format", "json")])
def test_what_clients_wrote_into_the_log_reaches_no_terminal(arguments: tuple[str, ...]) -> None:
    for name in ("389ds/hostile-filters", "openldap/hostile"):
        ran = diagnose(CAPTURES / name, *arguments)
        text = ran.out.decode() + ran.err.decode()
        assert "costly-search" in text
        assert [one for one in text if unicodedata.category(one) in {"Cc", "Cf", "Co"} and one != "\n"] == []
