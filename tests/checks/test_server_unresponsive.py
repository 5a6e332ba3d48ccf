"""server-unresponsive: which server does not answer, why, and that no client is blamed for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
from incidents import diagnosed_facts, findings, judged
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.host_facts import DescriptorCount, ProcessLimits
from ldapdiag.evidence.ldap_probe import LdapProbe, ProbeOutcome
from ldapdiag.evidence.ldap_session import LdapSession
from ldapdiag.evidence.processes import Process, ProcessTable
from ldapdiag.evidence.threads import ProcessThreads, Thread
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity

COUNT = 120
CHECK = "server-unresponsive"
IDLE = (Thread(number=29, state="S", ticks=5, call="futex"), Thread(number=33, state="S", ticks=5, call="epoll_wait"))


def threads(*told: Thread, up: float, state: str = "S", pid: int = 29) -> ProcessThreads:
    origin = facts.origin(name=f"threads-{pid}-{up:.0f}.txt", taken=up)
    ticks = sum(thread.ticks for thread in told)
    return ProcessThreads(
        origin=origin, pid=pid, program="slapd", state=state, ticks=ticks, uptime_seconds=up, threads=told
    )


def sockets(*, queue: int = 44, age: float = 66, count: int = COUNT, received: int = 159) -> list[Any]:
    """Return both ends of a pool in two snapshots."""
    told: list[Any] = []
    for taken in (0, 5):
        columns = {"receive_queue": queue, "last_received": int((age + taken) * 1000), "bytes_received": received}
        server = [facts.listening(receive_queue=0, send_queue=128), *facts.at_server(count, inode=7, **columns)]
        client = facts.at_client(count, last_received=int((age + taken) * 1000))
        told += [facts.table(server, taken=taken), facts.table(client, "app1", taken=taken + 0.1)]
    return told


def probe(outcome: ProbeOutcome = ProbeOutcome.REFUSED, *, port: int = 389, folder: str = "ldap") -> LdapProbe:
    return LdapProbe(
        origin=facts.origin(folder, "ldap-probe.txt", taken=1),
        target=f"ldap://{folder}:{port}",
        address=facts.LDAP if folder == "ldap" else "10.77.1.9",
        port=port,
        outcome=outcome,
        seconds=4.0,
    )


def verdict(*told: Any, subject: str = "ldap") -> Any:
    return judged(diagnosed_facts(map(facts.nobodys, told)), CHECK)[subject]


def state(*told: Any) -> str:
    found = verdict(*told)
    assert isinstance(found, Finding), found
    return found.observed["state"]


class TestReason:
    def test_stopped_is_certain_with_or_without_requests(self) -> None:
        readings = [threads(*IDLE, up=up, state="T") for up in (0, 5)]
        found = verdict(*sockets(), *readings)
        assert (found.observed["state"], found.observed["waiting"], found.observed["pid"]) == ("stopped", COUNT, 29)
        assert (found.severity, found.confidence) == (Severity.CRITICAL, Confidence.CERTAIN)
        assert any(remedy.text == "kill -CONT 29" for remedy in found.remedies)
        assert state(*sockets(queue=0), *readings) == "stopped"

    def test_stopped_is_read_from_a_list_of_processes_too(self) -> None:
        listed = ProcessTable(
            origin=facts.origin(name="ps.txt", taken=0), processes=(Process(pid=29, program="slapd", state="T"),)
        )
        assert state(*sockets(queue=0), listed) == "stopped"
        runs = replace(listed, processes=(*listed.processes, Process(pid=30, program="slapd", state="S")))
        assert isinstance(verdict(*sockets(queue=0), runs), Clear), "one of two, and not known which"

    @pytest.mark.parametrize(
        ("thread", "after", "reason"),
        [
            ({"state": "R"}, {"ticks": 400}, "looping"),
            ({"state": "D", "call": "read"}, {}, "blocked-on-disk"),
            ({"call": "futex", "lock": "0x40"}, {}, "blocked-on-lock"),
            ({"call": "read"}, {}, "out-of-threads"),
        ],
    )
    def test_is_in_the_threads(self, thread: dict[str, Any], after: dict[str, Any], reason: str) -> None:
        known = {"number": 40, "state": "S", "ticks": 5} | thread
        readings = [threads(*IDLE, Thread(**known), up=0), threads(*IDLE, Thread(**known | after), up=5)]
        assert state(*sockets(), *readings) == reason

    def test_is_that_all_workers_are_busy_where_as_many_run(self) -> None:
        """Costly searches on all threads share two processors: each uses little of one."""
        busy = [[Thread(number=n, state="R", ticks=ticks) for n in range(40, 56)] for ticks in (5, 35)]
        readings = [threads(*IDLE, *told, up=5 * number) for number, told in enumerate(busy)]
        assert state(*sockets(), *readings) == "looping"
        configured = Configuration(origin=facts.origin(name="cn-config.ldif"), identity=facts.DS389, threads=16)
        found = verdict(*sockets(), *readings, configured)
        assert found.observed["state"] == "out-of-threads"
        assert "16 running, 4.8 s of processor time in 5.0 s" in found.detail

    def test_is_unknown_without_them(self) -> None:
        found = verdict(*sockets())
        assert (found.observed["state"], found.severity) == ("no-answer", Severity.CRITICAL)
        assert "not in the evidence" in found.detail

    def test_threads_alone_prove_nothing(self) -> None:
        locked = Thread(number=40, state="S", ticks=5, call="futex", lock="0x40")
        loops = (Thread(number=41, state="R", ticks=5), Thread(number=41, state="R", ticks=500))
        for before, after in ((locked, locked), loops):
            readings = [threads(*IDLE, before, up=0), threads(*IDLE, after, up=5)]
            assert isinstance(verdict(*sockets(queue=0), *readings), Clear)


class TestProbe:
    @pytest.mark.parametrize("outcome", [one for one in ProbeOutcome if one is not ProbeOutcome.UNRESOLVED])
    def test_a_target_that_does_not_answer_is_a_finding(self, outcome: ProbeOutcome) -> None:
        found = verdict(*sockets(queue=0), probe(outcome))
        assert (found.severity, found.observed["outcome"]) == (Severity.HIGH, str(outcome))
        assert "ldap://ldap:389 (10.77.1.2 port 389)" in found.detail

    def test_of_another_port_or_host_leaves_the_server_alone(self) -> None:
        for other in (probe(port=2389), probe(folder="ldap9")):
            diagnosis = diagnosed_facts(map(facts.nobodys, [*sockets(queue=0), other]))
            assert isinstance(judged(diagnosis, CHECK)["ldap"], Clear)
            assert set(findings(diagnosis, CHECK)) == {other.target}
            assert findings(diagnosis, "unreleased-connections")

    def test_of_a_name_without_an_address_is_a_finding_about_the_name(self) -> None:
        for folder in ("ldap", "ldap9"):
            unresolved = replace(probe(ProbeOutcome.UNRESOLVED, folder=folder), address="")
            diagnosis = diagnosed_facts(map(facts.nobodys, [*sockets(queue=0), unresolved]))
            assert isinstance(judged(diagnosis, CHECK)["ldap"], Clear)
            found = findings(diagnosis, CHECK)[unresolved.target]
            assert (found.severity, found.observed["outcome"]) == (Severity.HIGH, "unresolved")
            assert found.title == f"{unresolved.target} cannot be reached: its name has no address"
            assert findings(diagnosis, "unreleased-connections")

    def test_of_a_server_that_closes_it_blames_no_client(self) -> None:
        """A port that requires TLS does so, too: the server is alive."""
        told = [*sockets(queue=0), probe(ProbeOutcome.CLOSED)]
        assert state(*told) == "closes-connections"
        assert findings(diagnosed_facts(map(facts.nobodys, told)), "unreleased-connections")

    def test_of_a_server_that_serves_others_is_about_the_path(self) -> None:
        assert state(*sockets(queue=0, age=-4.5), probe(ProbeOutcome.TIMED_OUT)) == "unreachable"

    def test_of_a_host_where_nothing_listens_says_so(self) -> None:
        told = facts.table([facts.listening(22), facts.row("10.77.1.2:22", "10.77.9.2:50000")])
        found = verdict(told, probe(), subject="ldap://ldap:389")
        assert (found.observed["state"], found.confidence) == ("not-listening", Confidence.CERTAIN)

    def test_of_a_server_without_descriptors_belongs_to_those(self) -> None:
        limits = ProcessLimits(origin=facts.origin(name="limits.txt"), open_files_soft=100, open_files_hard=100)
        used = DescriptorCount(origin=facts.origin(name="fds.txt"), open=100)
        assert state(*sockets(queue=0), limits, used, probe(ProbeOutcome.NO_ANSWER)) == "out-of-descriptors"


@pytest.mark.parametrize(("session", "outcome"), [(LdapSession(url="ldap://ldap:389"), Clear), (None, NotJudged)])
def test_a_server_that_sent_its_configuration_has_answered(session: LdapSession | None, outcome: type) -> None:
    asked = session.after("LDAP searches for the configuration") if session else "ldifde -f config.ldf"
    origin = replace(facts.origin(name="config.ldif", taken=1), asked=asked)
    configuration = Configuration(origin=origin, identity=ServerIdentity(family=Family.AD), idle_timeout_seconds=900)
    assert isinstance(verdict(configuration), outcome)


class TestClients:
    BLAME = ("unreleased-connections", "stalled-reader")

    def test_are_judged_where_the_server_answers(self) -> None:
        diagnosis = diagnosed_facts(map(facts.nobodys, sockets(queue=0)))
        assert findings(diagnosis, "unreleased-connections")

    def test_are_not_blamed_where_it_does_not(self) -> None:
        diagnosis = diagnosed_facts(map(facts.nobodys, sockets()))
        for check in self.BLAME:
            (verdict,) = judged(diagnosis, check).values()
            assert isinstance(verdict, NotJudged)
            assert "the server may not answer: " in verdict.reason

    def test_are_not_blamed_where_that_cannot_be_excluded(self) -> None:
        _, _, server, client = sockets()
        told = (replace(server, last_received=None, bytes_received=None), client)
        diagnosis = diagnosed_facts(map(facts.nobodys, told))
        assert isinstance(judged(diagnosis, CHECK)["ldap"], NotJudged)
        assert not findings(diagnosis, "unreleased-connections")

    def test_of_a_server_without_descriptors_stay_judged(self) -> None:
        limits = ProcessLimits(origin=facts.origin(name="limits.txt"), open_files_soft=125, open_files_hard=125)
        used = DescriptorCount(origin=facts.origin(name="fds.txt"), open=125)
        told = [*sockets(queue=0), limits, used, probe(ProbeOutcome.NO_ANSWER)]
        assert findings(diagnosed_facts(map(facts.nobodys, told)), "unreleased-connections")
