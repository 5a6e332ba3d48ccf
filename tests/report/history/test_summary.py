"""The summary of a diagnosis: its numbers, by the time of the evidence, and nothing that names a client."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from command import INCIDENT
from histories import START
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import Diagnosis, diagnose
from ldapdiag.evidence.history import SEVERITIES
from ldapdiag.finding import Severity
from ldapdiag.report.as_json import document
from ldapdiag.report.history import summary
from ldapdiag.report.history.summary import digest_of, summarise
from ldapdiag.sources.gathering import gather

if TYPE_CHECKING:
    import pytest

    from ldapdiag.evidence.history import RecordedRun

AUDIT = INCIDENT.parent / "audit"


def judged(*evidence: object) -> Diagnosis:
    """Return the diagnosis of evidence."""
    return diagnose(gather([str(one) for one in evidence]), installed_checks())


def summary_of(diagnosis: Diagnosis) -> RecordedRun:
    """Return the summary of a diagnosis, which has one."""
    made = summarise(diagnosis, START, 1)
    assert made is not None
    return made


def test_the_incident_in_numbers() -> None:
    run = summary_of(judged(INCIDENT))
    (ldap,) = run.servers
    assert ldap.taken == run.taken == datetime(2026, 11, 20, 8, 57, 42, 490000, tzinfo=UTC)
    assert (ldap.name, ldap.product) == ("ldap", "389 Directory Server 2.3.1")
    assert (ldap.connections, ldap.joined, ldap.connections_source) == (310, 310, "socket table")
    assert (ldap.ghosts, ldap.stranded, ldap.severed, ldap.exhausted) == (268, 0, 0, 0)
    assert (ldap.descriptors_used, ldap.descriptor_limit, ldap.used_source) == (335, 20_000, "/proc/PID/fd")
    assert run.counts == {"info": 1, "low": 0, "medium": 1, "high": 1, "critical": 1}
    assert [one.check for one in ldap.findings][:2] == ["ghost-connections", "idle-timeout"]


def test_a_server_whose_clients_were_not_read_has_no_number_of_ghosts() -> None:
    (ldap,) = summary_of(judged(INCIDENT / "ldap")).servers
    assert (ldap.connections, ldap.joined, ldap.ghosts, ldap.stranded, ldap.severed) == (310, 0, None, None, None)


def test_an_access_log_alone() -> None:
    (ds1,) = summary_of(judged(AUDIT / "ds1" / "access")).servers
    assert ds1.taken == datetime(2026, 11, 20, 8, 45, 25, tzinfo=UTC)
    assert (ds1.connections, ds1.connections_source) == (1, "end of the access log")
    assert (ds1.opened, ds1.binds, ds1.searches) == (7, 7, 162)
    assert ds1.log_seconds is not None
    assert ds1.opens_per_second == 7 / ds1.log_seconds


def test_findings_are_known_by_the_digest_of_their_id() -> None:
    diagnosis = judged(INCIDENT)
    run = summary_of(diagnosis)
    ids = [one["id"] for one in document(diagnosis, START)["findings"]]
    assert {one.digest for one in run.servers[0].findings} == set(map(digest_of, ids))


def test_nothing_in_it_names_a_client() -> None:
    for evidence in (INCIDENT, AUDIT):
        text = repr(asdict(summary_of(judged(evidence))))
        assert re.findall(r"10\.77|127\.0\.0|uid=|dc=|displayName|app1|quickr", text) == []


def test_a_run_of_which_no_evidence_shows_the_time_has_none() -> None:
    assert summarise(judged(INCIDENT / "ldap" / "ss-tiepmnaO.txt"), START, 1) is None


def test_only_the_most_severe_findings_are_kept_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MOST_FINDINGS", 2)
    run = summary_of(judged(INCIDENT))
    assert [one.severity for one in run.servers[0].findings] == ["critical", "high"]
    assert sum(run.counts.values()) == 4


def test_severities_have_the_names_of_the_report() -> None:
    assert list(SEVERITIES) == [str(one) for one in sorted(Severity)]
