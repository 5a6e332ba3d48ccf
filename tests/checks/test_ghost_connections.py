"""ghost-connections: severities by the numbers of its manual page, how sure it is, and what it does not claim."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
from ldapdiag.analysis.idle.advice import advise
from ldapdiag.analysis.idle.idle_profile import IdleProfile
from ldapdiag.analysis.load.accounts import Accounts
from ldapdiag.analysis.pairing.direction import JoinKey
from ldapdiag.analysis.pairing.pairing import pair
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.sockets import Timer
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
from ldapdiag_checks.ghost_connections import judge


def judged(ghosts, of=None, elsewhere=0, descriptors=None, **more):
    """Judge app1, with so many ghosts of its connections, beside so many living connections of app2."""
    of = ghosts if of is None else of
    app1 = facts.direction(server_count=of, ghosts=ghosts, matched=of - ghosts, **more)
    app2 = facts.direction(facts.APP2, server_count=elsewhere, matched=elsewhere)
    return next(iter(judge(facts.pairing(app1, app2), descriptors=descriptors)))


class TestSeverity:
    @pytest.mark.parametrize(
        ("ghosts", "of", "elsewhere", "severity"),
        [
            (200, 300, 100, Severity.CRITICAL),
            (199, 199, 0, Severity.HIGH),
            (200, 300, 101, Severity.HIGH),
            (100, 1000, 0, Severity.HIGH),
            (99, 1000, 0, Severity.MEDIUM),
            (20, 40, 960, Severity.HIGH),
            (20, 41, 959, Severity.MEDIUM),
            (10, 400, 0, Severity.MEDIUM),
            (9, 181, 0, Severity.INFO),
            (9, 180, 0, Severity.MEDIUM),
        ],
    )
    def test_is_by_number_and_share(self, ghosts, of, elsewhere, severity) -> None:
        assert judged(ghosts, of, elsewhere).severity is severity

    @pytest.mark.parametrize(
        ("descriptors", "severity"),
        [
            (facts.descriptors(800, 1000), Severity.CRITICAL),
            (facts.descriptors(799, 1000), Severity.MEDIUM),
            (facts.descriptors(100, 1000, forecast=facts.forecast(23.9)), Severity.CRITICAL),
            (facts.descriptors(100, 1000, forecast=facts.forecast(24.0)), Severity.MEDIUM),
            (facts.descriptors(None, None), Severity.MEDIUM),
        ],
        ids=["80 %", "less", "23.9 h", "24 h", "unknown"],
    )
    def test_is_critical_when_descriptors_run_out(self, descriptors, severity) -> None:
        assert judged(10, 400, descriptors=descriptors).severity is severity

    def test_a_few_are_no_incident_even_then(self) -> None:
        assert judged(9, 400, descriptors=facts.descriptors(960, 1000)).severity is Severity.INFO


class TestConfidence:
    def test_a_table_alone_is_likely(self) -> None:
        found = judged(20)
        assert found.confidence is Confidence.LIKELY
        assert "a container or zone on app1" in found.detail

    @pytest.mark.parametrize(
        "proof",
        [
            {"without_flow": 20, "middleboxes": ("fw",)},
            {"probes_unanswered": 20},
            {"retransmitting": 20},
            {"probes_unanswered": 12, "retransmitting": 8},
        ],
    )
    def test_a_proof_of_every_one_makes_it_certain(self, proof) -> None:
        assert judged(20, **proof).confidence is Confidence.CERTAIN

    @pytest.mark.parametrize("proof", [{"without_flow": 19, "middleboxes": ("fw",)}, {"probes_unanswered": 19}])
    def test_a_proof_of_all_but_one_does_not(self, proof) -> None:
        assert judged(20, **proof).confidence is Confidence.LIKELY

    def test_a_selection_of_rows_is_possible(self) -> None:
        assert judged(20, headerless=True).confidence is Confidence.POSSIBLE

    def test_a_number_without_names_is_possible_whatever_else(self) -> None:
        found = judged(20, ghost_ports=None, without_flow=20, middleboxes=("fw",))
        assert found.confidence is Confidence.POSSIBLE
        assert found.observed["ghost_client_ports"] is None


class TestRemedies:
    @pytest.mark.parametrize(("account", "waits"), [("cn=Directory Manager", False), ("uid=app,dc=example", True)])
    def test_nobody_is_told_to_wait_for_a_timeout_that_does_not_apply(self, account: str, *, waits: bool) -> None:
        accounts = Accounts(
            server="ldap",
            by_account={},
            by_client={},
            by_client_and_account={facts.APP1: {account: 20}},
            by_endpoint={},
            origins=(),
        )
        server = facts.server(identity=ServerIdentity(family=Family.OPENDJ, version=(4, 5)))
        pairing = facts.pairing(facts.direction(server_count=20, ghosts=20))
        host = facts.host("ldap", facts.table(facts.at_server(20)))
        advice = advise(server, host, IdleProfile(server="ldap"), pairing, facts.bounds(None))
        lifetime = facts.lifetime(idle_timeout_seconds=1800, keepalive=False)
        (found,) = judge(pairing, accounts=accounts, server=server, lifetime=lifetime, advice=advice)
        assert any("drain: wait" in one.title for one in found.remedies) is waits
        assert any("restart" in one.title for one in found.remedies)


class TestContainers:
    """The client lives in a container: the table of its host shows neither it nor its connections."""

    def judged(self, **columns):
        ldap = facts.host("ldap", facts.table(facts.at_server(30, **columns)))
        rows = [facts.row(f"{facts.APP1}:22", "10.9.9.9:50000")]
        app1 = facts.host("app1", facts.table(rows, "app1"))
        return list(judge(pair(facts.server(), (app1, ldap), ())))

    def test_are_never_called_dead_for_certain(self) -> None:
        verdicts = self.judged(last_received=3_600_000)
        certain = [one for one in verdicts if isinstance(one, Finding) and one.confidence is Confidence.CERTAIN]
        assert (len(verdicts), certain) == (1, [])

    def test_are_called_dead_when_nobody_answers_their_probes(self) -> None:
        (found,) = self.judged(last_received=3_600_000, timer=Timer.KEEPALIVE, probes=5)
        assert (found.observed["ghosts"], found.confidence) == (30, Confidence.CERTAIN)


class TestWhatIsObserved:
    def test_has_the_numbers_of_both_ends(self) -> None:
        found = judged(2, 40, unproven={"opened meanwhile": 3}, closing=1)
        assert found.observed == {
            "server": "10.77.1.2:389",
            "client": "10.77.2.2",
            "client_hosts": ["app1"],
            "server_count": 40,
            "client_count": 38,
            "matched": 38,
            "ghosts": 2,
            "unproven": 4,
            "ghost_client_ports": [40000, 40001],
            "pairing": "4-tuple",
            "path": "direct",
            "style": "unknown",
            "accounts": None,
            "ghosts_possible": 0,
            "ghost_client_ports_possible": [],
            "ghost_samples": [],
            "idle_ages": None,
        }
        assert found.hosts == ("app1", "ldap")

    def test_names_the_account_when_all_are_of_one(self) -> None:
        accounts = Accounts(
            server="ldap",
            by_account={"uid=xyz": 20},
            by_client={facts.APP1: 20},
            by_client_and_account={facts.APP1: {"uid=xyz": 20}},
            by_endpoint={},
            origins=(),
        )
        (found,) = judge(facts.pairing(facts.direction(server_count=20, ghosts=20)), accounts=accounts)
        assert found.observed["accounts"] == {"uid=xyz": 20}

    def test_tells_translation_in_its_title(self) -> None:
        found = judged(20, join=JoinKey.BOX_TABLE, translated_by="fw")
        assert "no longer have a client behind the NAT (fw)" in found.title


class TestWithoutAFinding:
    def test_living_counterparts_are_clear(self) -> None:
        clear = judged(0, 40)
        assert (type(clear), clear.subject) == (Clear, "10.77.2.2 -> 10.77.1.2:389")

    def test_a_server_without_connections_is_clear(self) -> None:
        (clear,) = judge(facts.pairing())
        assert (type(clear), clear.subject) == (Clear, "ldap")

    def test_what_churn_may_explain_is_not_judged(self) -> None:
        verdict = judged(0, 40, unproven={"opened meanwhile": 8})
        assert (type(verdict), verdict.how) == (
            NotJudged,
            "take a snapshot of the client, the server and the client again: ss -tanoiep > sockets.txt",
        )

    def test_a_client_nobody_read_is_not_judged(self) -> None:
        missing = Missing(reason="no socket table of 10.77.2.2", lacks=("socket-table",), how="on 10.77.2.2: ss -tanoi")
        verdict = judged(0, 40, missing=missing)
        assert (type(verdict), verdict.missing, verdict.how) == (NotJudged, missing.lacks, missing.how)
        assert verdict.reason == "40 connections at ldap: no socket table of 10.77.2.2"


class TestPossible:
    """What the client's own table lacks, and only a container that was not read could have."""

    def verdict(self, count: int = 60, of: int = 60, **traits: Any) -> Finding:
        direction = facts.direction(server_count=of, unproven={"fw still has them": count}, **traits)
        ghosts = replace(direction.ghosts, possible_ports=tuple(range(40000, 40000 + count)))
        (found,) = judge(facts.pairing(replace(direction, ghosts=ghosts)))
        assert isinstance(found, Finding)
        return found

    def test_are_shown_with_what_would_prove_them_and_count_as_no_ghosts(self) -> None:
        found = self.verdict(middleboxes=("fw",))
        assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.POSSIBLE)
        assert found.title == "All 60 connections from app1 may no longer exist on app1"
        assert "the sockets of every network namespace of app1" in found.detail
        assert (found.observed["ghosts"], found.observed["ghost_client_ports"]) == (0, [])
        assert (found.observed["ghosts_possible"], found.observed["unproven"]) == (60, 60)

    @pytest.mark.parametrize(
        ("count", "of", "middleboxes", "severity"),
        [
            (60, 60, (), Severity.LOW),
            (60, 200, ("fw",), Severity.LOW),
            (9, 10, ("fw",), Severity.LOW),
            (5, 200, ("fw",), Severity.INFO),
        ],
    )
    def test_are_never_worse_than_medium(self, count, of, middleboxes, severity) -> None:
        assert self.verdict(count, of, middleboxes=middleboxes).severity is severity
