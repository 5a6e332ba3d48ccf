"""Boxes between the ends, told in every format: the incidents rewritten from the grammars, and a captured proxy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import facts
from box_writers import as_conntrack_xml, as_f5, as_f5_properties, flows_of
from conftest import CAPTURES
from incidents import (
    APP2,
    GHOSTS,
    INCIDENTS,
    SNAT,
    clear,
    diagnosed,
    diagnosed_facts,
    facts_in,
    finding,
    findings,
    ghost_ports,
    ghosts,
    judged,
    not_judged,
)
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.finding import Confidence, Severity
from ldapdiag.sources.gathering import gather
from traffic import Log

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.diagnosis import Diagnosis

WRITERS = {"conntrack-xml": as_conntrack_xml, "f5": as_f5, "f5-all-properties": as_f5_properties}
PROXY = CAPTURES / "haproxy" / "2.6.12"
LEGS = "10.77.1.1 -> 10.77.1.2:389"
HELD = f"haproxy {LEGS}"


def rewritten(case: str, writer: str, folder: Path, edit: Any = str) -> Diagnosis:
    """Return the diagnosis of a case whose firewall told its table in another format."""
    (table,) = gather([str(INCIDENTS / case / "fw" / "conntrack-L.txt")]).facts
    assert isinstance(table, FlowTable)
    box = folder / "fw"
    box.mkdir()
    (box / "table.txt").write_text(edit(WRITERS[writer](flows_of(table))))
    (box / "captured-at.txt").write_bytes((INCIDENTS / case / "fw" / "captured-at.txt").read_bytes())
    return diagnosed(*(INCIDENTS / case / host for host in ("app1", "app2", "ldap")), box)


@pytest.mark.parametrize("writer", WRITERS)
class TestAnotherBox:
    def test_of_the_incident_makes_its_ghosts_certain(self, tmp_path, writer) -> None:
        diagnosis = rewritten(GHOSTS, writer, tmp_path)
        found = finding(diagnosis, "ghost-connections")
        assert found.observed["ghost_client_ports"] == ghost_ports(GHOSTS)
        assert len(ghost_ports(GHOSTS)) == 268
        assert found.confidence is Confidence.CERTAIN
        assert found.observed["pairing"] == "4-tuple"
        assert "40 of them held at both ends" in clear(diagnosis, "ghost-connections", APP2).reason

    def test_that_translates_joins_the_ends(self, tmp_path, writer) -> None:
        found = finding(rewritten(SNAT, writer, tmp_path), "ghost-connections")
        assert found.observed["ghost_client_ports"] == ghost_ports(SNAT)
        assert len(ghost_ports(SNAT)) == 80
        assert (found.observed["path"], found.observed["pairing"]) == ("nat", "box-table")
        assert (found.observed["server_count"], found.observed["matched"]) == (122, 42)
        assert found.confidence is Confidence.CERTAIN

    def test_whose_listing_is_cut_proves_nothing(self, tmp_path, writer) -> None:
        def cut(text: str) -> str:
            return text.replace("returned: ", "returned: 9") if "returned: " in text else text[: len(text) // 2]

        diagnosis = rewritten(SNAT, writer, tmp_path, cut)
        assert ghosts(diagnosis) == 0
        assert "was truncated" in not_judged(diagnosis, "ghost-connections", LEGS).reason


def test_an_f5_tells_its_own_timeout(tmp_path) -> None:
    diagnosis = rewritten(GHOSTS, "f5-all-properties", tmp_path)
    paths = finding(diagnosis, "idle-timeout").observed["paths"]
    assert {path["source"].partition(" of fw")[0] for path in paths} == {"Idle Timeout of its connections"}


def test_an_f5_is_no_linux_and_has_no_table_of_conntrack(tmp_path) -> None:
    diagnosis = rewritten(GHOSTS, "f5", tmp_path)
    assert all("fw" not in (verdict.subject or "") for verdict in _of(diagnosis, "conntrack-table-full"))


def _of(diagnosis: Diagnosis, check: str) -> list[Any]:
    return [one.verdict for one in diagnosis.judged if one.check == check]


def truth(state: str) -> list[int]:
    """Return the proxy's ports towards the server, as the server told the programs, of their connections in a state."""
    told = json.loads((PROXY / "TRUTH.json").read_text())
    return sorted(one["seen"] for app in told.values() for one in app if one["state"] == state)


def of_proxy(*files: str, hosts: tuple[str, ...] = ("app1", "app2", "ldap")) -> Diagnosis:
    return diagnosed(*(PROXY / host for host in hosts), *(PROXY / "haproxy" / name for name in files))


SESSIONS = ("show-sess-all.txt", "haproxy.cfg", "captured-at.txt")


class TestProxy:
    def test_what_its_table_lacks_is_a_ghost(self) -> None:
        found = finding(of_proxy(*SESSIONS), "ghost-connections")
        assert found.observed["ghost_client_ports"] == truth("ghost")
        assert (found.observed["path"], found.observed["pairing"]) == ("proxy", "box-table")
        assert (found.observed["server_count"], found.observed["matched"]) == (58, 52)
        assert found.observed["client_hosts"] == ["app1", "app2"]
        assert (found.observed["ghosts"], found.observed["unproven"]) == (6, 0)
        assert found.confidence is Confidence.CERTAIN

    def test_what_it_keeps_for_clients_that_are_gone_is_held(self) -> None:
        found = finding(of_proxy(*SESSIONS), "proxy-held-connections")
        assert found.observed == {"proxy": "haproxy", "server": "10.77.1.2:389", "connections": 15}
        assert ", ".join(map(str, truth("held"))) in found.detail
        assert len(truth("held")) == 15
        assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.LIKELY)
        assert found.hosts == ("app1", "haproxy", "ldap")

    def test_with_its_own_sockets_it_is_a_client_and_a_server_and_says_the_same(self) -> None:
        diagnosis = diagnosed(PROXY / "haproxy", *(PROXY / host for host in ("app1", "app2", "ldap")))
        found = findings(diagnosis, "ghost-connections")
        legs = found[LEGS].observed
        assert legs["ghost_client_ports"] == truth("ghost")
        assert (legs["path"], legs["pairing"], legs["client_hosts"]) == ("proxy", "4-tuple", ["haproxy"])
        clients = found["10.77.2.2 -> 10.77.2.1:389"].observed
        assert (clients["ghosts"], clients["client_hosts"]) == (15, ["app1"])
        assert "12 of them held" in clear(diagnosis, "ghost-connections", "10.77.3.2 -> 10.77.3.1:389").reason
        assert finding(diagnosis, "proxy-held-connections").observed["connections"] == 15
        assert findings(diagnosis, "stranded-connections") == {}

    def test_its_own_sockets_alone_tell_the_ghosts(self) -> None:
        found = findings(of_proxy("ss-tanoi.txt", "captured-at.txt"), "ghost-connections")
        assert found[LEGS].observed["ghost_client_ports"] == truth("ghost")

    def test_its_own_timeout_holds_on_the_path(self) -> None:
        diagnosis = of_proxy(*SESSIONS)
        (path,) = finding(diagnosis, "idle-timeout").observed["paths"]
        assert (path["lower_seconds"], path["upper_seconds"]) == (None, 3600)
        assert path["source"] == "timeout client of ldap_in of haproxy"
        assert "is set to close both ends after 3,600 s" in finding(diagnosis, "idle-timeout").detail
        assert "probes or not" in not_judged(diagnosis, "keepalive-too-slow", "ldap").reason

    def test_its_own_timeout_ends_what_clients_left_at_it(self) -> None:
        diagnosis = diagnosed(PROXY / "haproxy", *(PROXY / host for host in ("app1", "app2", "ldap")))
        found = findings(diagnosis, "idle-timeout")["haproxy"]
        assert found.observed["current_seconds"] == found.observed["ghost_lifetime_seconds"] == 3600
        steps = [remedy.title.partition(":")[0] for remedy in found.remedies]
        assert steps[-2:] == ["limit", "cure"]
        assert "timeout client 300s" in found.remedies[-2].text
        assert "option clitcpka" in found.remedies[-1].text

    def test_plain_sessions_give_counts_and_say_so(self) -> None:
        diagnosis = of_proxy("show-sess.txt", "captured-at.txt")
        assert findings(diagnosis, "ghost-connections") == findings(diagnosis, "proxy-held-connections") == {}
        reason = not_judged(diagnosis, "ghost-connections", LEGS).reason
        assert "58 connections at ldap" in reason
        assert "52 sessions, from 10.77.2.2 (40), 10.77.3.2 (12)" in reason
        assert "only counts can be compared" in reason
        assert "(52)" in not_judged(diagnosis, "proxy-held-connections", "ldap").reason

    def test_sessions_of_a_client_that_was_not_read_are_not_judged(self) -> None:
        diagnosis = of_proxy(*SESSIONS, hosts=("app2", "ldap"))
        assert finding(diagnosis, "ghost-connections").observed["ghost_client_ports"] == truth("ghost")
        assert "40 (of 10.77.2.2" in not_judged(diagnosis, "proxy-held-connections", HELD).reason

    def test_without_the_sessions_of_this_direction_nothing_is_a_ghost(self) -> None:
        evidence = [fact for host in ("app1", "app2", "ldap", "haproxy") for fact in gather([str(PROXY / host)]).facts]
        kept = [fact for fact in evidence if "haproxy/ss" not in fact.origin.path]
        (sessions,) = (fact for fact in kept if isinstance(fact, FlowTable) and any(fact.server))
        for column in (sessions.client, sessions.server, sessions.state, sessions.seconds_left):
            del column[:]  # type: ignore[attr-defined]  # lists, as the reader made them
        diagnosis = diagnosed_facts(kept)
        assert ghosts(diagnosis) == 0
        assert findings(diagnosis, "proxy-held-connections") == {}


HALF_CLOSED = CAPTURES / "haproxy" / "2.6.12-half-closed"
WAITING = 12
FAILOVER = CAPTURES / "failover-without-sync"
TUNNEL = CAPTURES / "incidents" / "ssh-tunnel-client-gone"


def half_closed(*without: str) -> Diagnosis:
    """Return the diagnosis of the half-closed sessions without these files or folders."""
    left_out = {HALF_CLOSED / name for name in (*without, "README.md", "TRUTH.json")}
    files = (path for path in HALF_CLOSED.rglob("*") if path.is_file() and not left_out & {path, path.parent})
    return diagnosed_facts([fact for path in sorted(files) for fact in facts_in(path)])


class TestAnApplicationThatDoesNotClose:
    def test_is_named_by_host_and_program(self) -> None:
        found = finding(half_closed(), "proxy-held-connections")
        told = json.loads((HALF_CLOSED / "TRUTH.json").read_text())
        assert [one["state"] for one in told["app1"]] == ["open"] * WAITING
        assert found.observed["applications"] == [
            {"host": "app1", "client": "10.77.2.2", "program": "python", "connections": WAITING}
        ]
        assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.CERTAIN)

    @pytest.mark.parametrize(
        ("without", "host"), [("app1", None), ("haproxy/ss-tanoiep.txt", "app1")], ids=["client", "proxy"]
    )
    def test_one_table_of_its_connection_is_enough_for_likely(self, without: str, host: str | None) -> None:
        found = finding(half_closed(without), "proxy-held-connections")
        (application,) = found.observed["applications"]
        assert (application["host"], application["connections"]) == (host, WAITING)
        assert found.confidence is Confidence.LIKELY

    def test_without_the_sessions_their_command_is_named(self) -> None:
        diagnosis = half_closed("haproxy/show-sess-all.txt")
        verdict = not_judged(diagnosis, "proxy-held-connections", "haproxy 10.77.1.1 -> 10.77.1.2:389")
        assert "haproxy has fewer established client-side sockets" in verdict.reason
        assert "16 of 16 connections end at haproxy" in not_judged(diagnosis, "ghost-connections", LEGS).reason
        assert "show sess all" in str(verdict.how)

    def test_nobody_else_is_blamed(self) -> None:
        diagnosis = half_closed()
        assert {check for check, found in diagnosis.found if found.severity > Severity.INFO} == {
            "proxy-held-connections",
            "close-wait-backlog",
        }
        assert diagnosis.roles() == {
            "app1": (),
            "app2": ("client",),
            "haproxy": ("client", "box"),
            "ldap": ("server",),
        }


class TestAFailoverWithoutSynchronisedState:
    """Both firewalls' tables were read: the first lists all, the second none, and six of twenty are unanswered."""

    def test_the_used_ones_prove_it_for_themselves(self) -> None:
        found = finding(diagnosed(FAILOVER), "severed-connections")
        assert (found.observed["severed"], found.observed["unanswered"], found.observed["unproven"]) == (6, 6, 14)
        assert (found.observed["middlebox"], found.confidence) == ("fw", Confidence.POSSIBLE)

    @pytest.mark.parametrize("boxes", [("first",), ()], ids=["the first firewall", "none"])
    def test_without_the_second_firewall_they_do_not_work_either(self, boxes: tuple[str, ...]) -> None:
        found = finding(diagnosed(*(FAILOVER / name for name in ("app1", "ldap", *boxes))), "severed-connections")
        assert (found.observed["severed"], found.observed["unanswered"], found.observed["middlebox"]) == (0, 6, None)
        assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.POSSIBLE)
        assert "None of the other 14 has received anything since" in found.detail


class TestASshTunnel:
    """app1 was booted again, and sshd on app2 keeps what it forwarded for it."""

    def test_its_connections_are_those_of_a_client_that_is_gone(self) -> None:
        found = finding(diagnosed(TUNNEL), "proxy-held-connections")
        assert found.title == "sshd on app2 keeps 16 of 16 connections to ldap whose client is gone"
        assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.LIKELY)

    def test_without_its_client_it_is_not_judged(self) -> None:
        diagnosis = diagnosed(TUNNEL / "app2", TUNNEL / "ldap")
        assert "sshd on app2" in not_judged(diagnosis, "ghost-connections", "10.77.3.2 -> 10.77.1.2:389").reason
        assert ghosts(diagnosis) == 0

    def test_without_the_jump_host_its_table_is_named(self) -> None:
        diagnosis = diagnosed(TUNNEL / "app1", TUNNEL / "ldap")
        verdict = not_judged(diagnosis, "ghost-connections", "10.77.3.2 -> 10.77.1.2:389")
        assert "no socket table of 10.77.3.2" in verdict.reason


def test_what_a_directory_server_has_is_not_its_proxy_s() -> None:
    """A proxy for TLS on the host of the server: the log, the limits and cn=monitor are the server's alone."""
    rows = [facts.listening(owner="slapd", pid=7), facts.listening(636, owner="haproxy", pid=8), *facts.at_server(3)]
    log = Log()
    log.visits(200)
    diagnosis = diagnosed_facts([facts.table(rows), facts.monitor(), log.fact()])
    assert {server.name for server in diagnosis.facts.every(Instance)} == {"ldap", "haproxy@ldap"}
    assert list(findings(diagnosis, "connection-churn")) == ["10.77.2.2 -> ldap"]
    for check in ("descriptor-headroom", "failed-binds", "costly-search", "harmful-index"):
        assert set(judged(diagnosis, check)) == {"ldap"}, check
