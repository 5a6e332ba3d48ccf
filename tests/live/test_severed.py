"""Dead connections that the table of one end does not betray: stranded at the client, or severed by a box."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from lab import boxes
from lab.applications import OPEN, RESET, UNANSWERED
from lab.connection_cases import FOREVER, OLD, STATES, fail_over, retransmitting
from lab.host import wait_for
from lab.idle_pools import CASES, tried

if TYPE_CHECKING:
    from pathlib import Path

    from lab.applications import Application
    from lab.desk import Desk, Said
    from lab.host import End, Host
    from lab.topology import Topology

COUNT = 20
CHECK = "severed-connections"
BOX_SECONDS = 2
HOSTS = ("ssh://ldap", "ssh://app1", "ssh://app2", "ssh://fw")
LOSE_STATE = ["conntrack", "-D", "-p", "tcp", "-s", "10.77.2.2", "--dport", "389"]
FLOWS = "conntrack -L > {folder}/conntrack.txt; date -u +%FT%T.%NZ > {folder}/captured-at.txt"
CAPTURE = "date -u +%FT%T.%NZ > {folder}/captured-at.txt; ss -tanoiep > {folder}/ss.txt"
SILENCE = "table inet silence { chain forward { type filter hook forward priority 0; tcp sport 389 drop; }; }\n"
"""Nothing that a directory server sends arrives."""
TRACKING = "table inet tracking { chain forward { type filter hook forward priority 0; ct state new accept; }; }\n"


def by_hand(folder: Path, *hosts: Host, desk: Desk | None = None, run: str = CAPTURE) -> str:
    """Take tables as a person does, one folder for each host: on its console, or logged in from the desk."""
    for host in hosts:
        place = folder / host.name
        place.mkdir(parents=True, exist_ok=True)
        command = run.format(folder=place)
        if desk is None:
            host.run(command)
        else:
            ssh = f"{desk.environment['LDAPDIAG_SSH']} {host.name} {shlex.quote(command)}"
            desk.host.run(ssh, env=desk.environment)
    return str(folder)


def collected(desk: Desk, folder: Path, *targets: str) -> str:
    """Collect from these targets, and return the archive."""
    archive = str(folder / "collected.tar.gz")
    code, _, err = desk.run("collect", *targets, "--apart", "0.3", "--output", archive)
    assert code == 0, err
    return archive


_LAST_RECEIVED = re.compile(r"(lastrcv:(?P<age>\d+)|$)")
"""ss leaves `lastrcv` out where it is 0 ms."""


def _ages(host: Host, held: Application) -> int:
    """Return for how many milliseconds the connections of an application have received nothing, at least."""
    shown = host.run(["ss", "-HtniO", "state", "established", "sport", "=", ":389"]).splitlines()
    ports = {port for _, port in held.truth().ends(OPEN)}
    ages = [int(_LAST_RECEIVED.search(line)["age"] or 0) for line in shown if _port(line) in ports]
    return min(ages, default=0)


def _port(line: str) -> int:
    return int(line.split()[3].rpartition(":")[2])


class TestStranded:
    """The server's closes did not reach the clients: a firewall dropped them."""

    @pytest.fixture
    def server(self, laboratory, topology):
        return laboratory.slapd(topology.ldap)

    def restart_unheard(self, topology, server, *, orphans: bool) -> None:
        """Restart the server while nothing it sends arrives; its kernel gives the closed sockets up, or keeps on."""
        topology.ldap.sysctl(net__ipv4__tcp_orphan_retries=15 if orphans else 1)
        topology.fw.run(["nft", "-f", "-"], stdin=SILENCE)
        server.stop()
        if not orphans:
            wait_for(lambda: not topology.ldap.sockets(), "the server's kernel still has its connections")
            topology.fw.run(["nft", "delete", "table", "inet", "silence"])
        server.start()

    def check(self, said: Said, ends: set[End]) -> None:
        (found,) = said.found("stranded-connections")
        seen = found["observed"]
        assert {(seen["client"], port) for port in seen["stranded_client_ports"]} == ends
        assert (len(ends), said.ghosts, said.code) == (COUNT, {}, 1)

    @pytest.mark.parametrize("orphans", [False, True], ids=["nothing-left", "orphans-left"])
    def test_every_way_of_capture_finds_them(self, server, topology, desk, start, tmp_path, orphans) -> None:
        held = start(topology.app1, "held", count=COUNT)
        self.restart_unheard(topology, server, orphans=orphans)
        ends = held.truth().ends(OPEN)
        assert topology.app1.ends("ESTAB") == ends
        assert topology.ldap.ends("FIN-WAIT-1") == (ends if orphans else set())
        self.check(desk.diagnose("ssh://ldap", "ssh://app1", "--apart", "0.3"), ends)
        self.check(desk.diagnose(collected(desk, tmp_path, "ssh://ldap", "ssh://app1")), ends)
        self.check(desk.diagnose(by_hand(tmp_path / "hand", topology.app1, topology.ldap, desk=desk)), ends)

    def test_a_table_of_listeners_alone_is_named(self, server, topology, desk, start, tmp_path) -> None:
        """It may be that of `ss -l`; a person who is logged in has a connection of their own in it."""
        held = start(topology.app1, "held", count=COUNT)
        self.restart_unheard(topology, server, orphans=False)
        said = desk.diagnose(by_hand(tmp_path / "hand", topology.app1, topology.ldap))
        (verdict,) = [one for one in said.report["verdicts"] if one["check"] == "stranded-connections"]
        assert (verdict["outcome"], verdict["missing"]) == ("not-judged", ["socket-table"])
        assert "the table of ldap's sockets lists listening sockets only" in verdict["reason"]
        _, script, _ = desk.run("collect", "--print-script")
        printed = tmp_path / "printed"
        printed.mkdir()
        time.sleep(OLD)
        for host in (topology.app1, topology.ldap):
            (printed / f"{host.name}.txt").write_text(host.run(["env", "PAUSE=0", "sh", "-s"], stdin=script))
        self.check(desk.diagnose(str(printed)), held.truth().ends(OPEN))


class Site:
    """A firewall that keeps idle connections for an hour, until it loses those of app1; app2 has a pool beside."""

    def __init__(self, topology: Topology, server, start) -> None:
        self.topology, self.server, self.start = topology, server, start
        self.fw = topology.fw
        start(topology.app2, "pool", name="foo", count=5, every=0.5)
        self.beside: Application | None = None

    def lose_state(self) -> None:
        """Lose the entries of app1's connections, and let it open two more afterwards."""
        self.fw.run(LOSE_STATE)
        self.beside = self.start(self.topology.app1, "pool", name="foo", count=2, every=0.3)

    def send(self, held: Application) -> None:
        """Let an application send a request on each of its connections, and wait until each is sent again."""
        held.begin("use")
        wait_for(lambda: retransmitting(self.topology.app1) >= COUNT, "the client does not retransmit")

    @property
    def at_both_ends(self) -> set[End]:
        return self.topology.app1.ends("ESTAB") & self.server.held()


@pytest.fixture
def site(laboratory, topology, start) -> Site:
    boxes.silent_drop(topology.fw, 3600)
    return Site(topology, laboratory.slapd(topology.ldap), start)


def severed(said: Said, ends: set[End], *, confidence: str) -> dict:
    """Return what was observed of severed connections, once they are exactly these."""
    (found,) = said.found("severed-connections")
    seen = found["observed"]
    assert {(seen["client"], port) for port in seen["severed_client_ports"]} == ends
    assert (seen["middlebox"], found["confidence"]) == ("fw", confidence)
    assert said.outcome("severed-connections", "10.77.3.2 -> 10.77.1.2:389") == "clear"
    return seen


class TestLostState:
    def test_every_way_of_capture_finds_them_beside_ghosts_and_live_ones(self, site, desk, tmp_path) -> None:
        topology = site.topology
        doomed = site.start(topology.app1, "held", count=6)
        held = site.start(topology.app1, "held", count=COUNT, patience=FOREVER)
        ends = held.truth().ends(OPEN)
        site.lose_state()
        doomed.order("use")
        wait_for(lambda: not topology.app1.ends("FIN-WAIT-1"), "the client's kernel does not give up")
        site.send(held)
        assert ends <= site.at_both_ends
        by_hand(tmp_path / "hand", topology.ldap, topology.app1, topology.app2)
        by_hand(tmp_path / "hand", topology.fw, run=FLOWS)
        for evidence in (HOSTS, (collected(desk, tmp_path, *HOSTS),), (str(tmp_path / "hand"),)):
            said = desk.diagnose(*evidence, "--apart", "0.5")
            seen = severed(said, ends, confidence="certain")
            assert (seen["unanswered"], seen["style"]) == (COUNT, "silent-drop")
            assert said.ghost_ends == doomed.truth().ends(UNANSWERED)
            assert (seen["matched"], said.code) == (COUNT + 2, 1)

    def test_a_firewall_that_lost_its_whole_table_is_known_by_the_routes(self, site, desk) -> None:
        held = site.start(site.topology.app1, "held", count=COUNT, patience=FOREVER)
        ends = held.truth().ends(OPEN)
        site.fw.run(["conntrack", "-F"])
        site.send(held)
        said = desk.diagnose("ssh://ldap", "ssh://app1", "ssh://fw", "--apart", "0.3")
        (found,) = [one for one in said.found("severed-connections") if "app1" in one["hosts"]]  # app2 is not read
        assert set(found["observed"]["severed_client_ports"]) == {port for _, port in ends}
        assert (found["observed"]["middlebox"], found["confidence"], said.code) == ("fw", "likely", 1)

    def test_the_printed_commands_close_exactly_these(self, site, desk) -> None:
        topology = site.topology
        held = site.start(topology.app1, "held", count=COUNT, patience=FOREVER)
        ends = held.truth().ends(OPEN)
        site.lose_state()
        site.send(held)
        (found,) = desk.diagnose(*HOSTS, "--apart", "0.3").found("severed-connections")
        commands = {one["target"]: one["text"] for one in found["remedies"] if one["kind"] == "shell"}
        assert set(commands) == {"app1", "ldap"}
        for name, text in commands.items():
            topology.hosts[name].run(text)
        assert not ends & (topology.app1.ends("ESTAB") | site.server.held())
        assert held.obeyed() == "done"
        assert held.truth().fates == {RESET: COUNT}
        assert site.beside.truth().fates == {OPEN: 2}

    def test_without_the_firewalls_table_nothing_is_claimed_and_it_is_named(self, site, desk) -> None:
        held = site.start(site.topology.app1, "held", count=COUNT, patience=FOREVER)
        site.lose_state()
        site.send(held)
        said = desk.diagnose("ssh://ldap", "ssh://app1", "--apart", "0.3")
        (verdict,) = [
            one
            for one in said.report["verdicts"]
            if (one["check"], one["subject"]) == ("severed-connections", "10.77.2.2 -> 10.77.1.2:389")
        ]
        if verdict["outcome"] == "finding":  # a busy machine: sent again four times until then, whatever lost them
            (found,) = said.found("severed-connections")
            assert found["confidence"] == "possible"
        else:
            assert (verdict["outcome"], verdict["missing"]) == ("not-judged", ["flow-table"])

    @pytest.mark.parametrize("loose", [0, 1])
    def test_before_anything_is_sent_the_firewalls_rules_decide(self, site, desk, loose) -> None:
        site.fw.sysctl(net__netfilter__nf_conntrack_tcp_loose=loose)
        held = site.start(site.topology.app1, "held", count=COUNT)
        site.lose_state()
        wait_for(lambda: _ages(site.topology.ldap, held) > 3_000, "its connections do not rest")
        said = desk.diagnose(*HOSTS, "--apart", "0.3")
        seen = severed(said, held.truth().ends(OPEN), confidence="certain")
        assert (seen["unanswered"], seen["style"], said.ghosts) == (0, "unknown", {})

    def test_what_the_firewall_takes_up_again_is_not_severed(self, site, desk) -> None:
        """Without a rule, Linux makes a new entry for a packet in the middle of a connection."""
        site.fw.sysctl(net__netfilter__nf_conntrack_tcp_loose=1)
        site.fw.run(["nft", "delete", "table", "inet", "firewall"])
        site.fw.run(["nft", "-f", "-"], stdin=TRACKING)
        held = site.start(site.topology.app1, "held", count=COUNT)
        site.lose_state()
        held.order("use")
        said = desk.diagnose(*HOSTS, "--apart", "0.3")
        assert held.truth().fates == {OPEN: COUNT}
        assert said.outcomes("severed-connections") == {"clear"}


class TestIdleAltogether:
    """Every connection is idle and has no entry: live and from files by hand, of a firewall and its healthy twin."""

    @pytest.mark.parametrize("name", ["flushed, strict", "flushed, loose"])
    def test_the_rules_decide(self, laboratory, topology, desk, start, tmp_path, name) -> None:
        laboratory.slapd(topology.ldap)
        case = CASES[name]
        result = tried(case, topology, desk, start, tmp_path)
        assert result.wrong(case) == "", result
        command = [sys.executable, "-m", "ldapdiag", "diagnose", str(tmp_path), "--format"]
        for form in ("text", "markdown", "html"):
            shown = subprocess.run([*command, form], check=False, capture_output=True, text=True).stdout
            lost = "20 of the 20 connections that app1 and ldap both have no longer exist at fw"
            assert (lost in " ".join(shown.split())) is not case.lives, form


class TestBehindNat:
    @pytest.mark.parametrize("ports", ["random", "kept"])
    def test_the_clients_own_ports_are_reported_and_no_ghost(self, topology, laboratory, desk, start, ports) -> None:
        boxes.snat(topology.fw, ports=ports)
        boxes.silent_drop(topology.fw, 3600)
        site = Site(topology, laboratory.slapd(topology.ldap), start)
        held = start(topology.app1, "held", count=COUNT, patience=FOREVER)
        ends = held.truth().ends(OPEN)
        site.lose_state()
        site.send(held)
        said = desk.diagnose(*HOSTS, "--apart", "0.3")
        (found,) = said.found("severed-connections")
        assert {("10.77.2.2", port) for port in found["observed"]["severed_client_ports"]} == ends
        assert (found["observed"]["middlebox"], found["confidence"]) == ("fw", "certain")
        assert (said.ghosts, said.code) == ({}, 1)


class TestExpiry:
    def test_idle_connections_whose_entries_expired(self, laboratory, topology, desk, start, tmp_path) -> None:
        """Nobody has sent anything yet; the shortest of their idle times bounds the timeout."""
        boxes.silent_drop(topology.fw, BOX_SECONDS)
        laboratory.slapd(topology.ldap)
        held = start(topology.app1, "held", count=COUNT)
        start(topology.app1, "pool", name="foo", count=3, every=0.3)
        start(topology.app2, "pool", name="foo", count=5, every=0.5)
        ends = held.truth().ends(OPEN)
        wait_for(lambda: _ages(topology.ldap, held) > 2_000 * BOX_SECONDS, "its connections are not idle")
        said = desk.diagnose(*HOSTS, "--apart", "0.3")
        seen = severed(said, ends, confidence="certain")
        assert said.code == 1
        assert seen["idle_seconds"] >= BOX_SECONDS
        assert said.ghosts == {}
        by_hand(tmp_path, topology.fw, run=FLOWS)
        by_hand(tmp_path, topology.ldap, topology.app1, topology.app2)
        said = desk.diagnose(str(tmp_path))
        assert said.outcome("severed-connections", "10.77.2.2 -> 10.77.1.2:389") == "not-judged"
        by_hand(tmp_path, topology.fw, run="sysctl -a 2>/dev/null | grep conntrack > {folder}/sysctl.txt")
        severed(desk.diagnose(str(tmp_path)), ends, confidence="likely")

    def test_none_is_invented_while_200_connections_a_second_come_and_go(
        self, laboratory, topology, desk, start
    ) -> None:
        boxes.silent_drop(topology.fw, 3600)
        laboratory.slapd(topology.ldap)
        held = start(topology.app1, "held", count=5)
        start(topology.app1, "churn", name="foo", rate=200, life=0.3)
        assert desk.diagnose(*HOSTS, "--apart", "0.3", "--check", CHECK).found(CHECK) == []
        lost = min(held.truth().ends(OPEN))[1]
        topology.fw.run([*LOSE_STATE, "--sport", str(lost)])
        wait_for(lambda: _ages(topology.ldap, held) > 10_000, "its connections are not idle")
        said = desk.diagnose(*HOSTS, "--apart", "0.3", "--check", CHECK)
        verdicts = [one for one in said.report["verdicts"] if one["check"] == "severed-connections"]
        assert [one["observed"]["severed_client_ports"] for one in said.found("severed-connections")] == [[lost]], (
            verdicts
        )


PLACE = "{folder}/captured-at.txt; ip route > {folder}/ip-route.txt; ip addr > {folder}/ip-addr.txt"


class TestFailover:
    """The gateways' addresses move to a second firewall, to which six of twenty connections then send in vain."""

    USED = 6

    def capture(self, folder: Path, topology: Topology, first: Host) -> str:
        by_hand(folder, topology.ldap, topology.app1, run=f"{CAPTURE}; date -u +%FT%T.%NZ > {PLACE}")
        settings = "sysctl -a 2>/dev/null | grep conntrack > {folder}/sysctl.txt"
        by_hand(folder, topology.fw, run=f"{FLOWS}; {settings}; date -u +%FT%T.%NZ > {PLACE}")
        (folder / "first").mkdir()
        first.run(FLOWS.format(folder=folder / "first"))
        return str(folder)

    def test_the_used_ones_prove_it_and_the_idle_ones_share_their_path(
        self, laboratory, topology, desk, start, tmp_path
    ) -> None:
        boxes.silent_drop(topology.fw, 3600)
        laboratory.slapd(topology.ldap)
        used = start(topology.app1, "held", count=self.USED, patience=FOREVER)
        idle = start(topology.app1, "held", count=COUNT - self.USED)
        used_ends, idle_ends = used.truth().ends(OPEN), idle.truth().ends(OPEN)
        first = fail_over(topology)
        try:
            laboratory.keys.serve(topology.fw)
            used.begin("use")
            wait_for(lambda: retransmitting(topology.app1) >= self.USED, "the client does not retransmit")
            assert first.run(STATES).count("389") >= COUNT
            live = desk.diagnose("ssh://ldap", "ssh://app1", "ssh://fw", "--apart", "0.3")
            wait_for(lambda: _ages(topology.ldap, idle) > 1_000 * OLD, "they are not idle")
            for said in (live, desk.diagnose(self.capture(tmp_path, topology, first))):
                (found,) = said.found(CHECK)
                seen = found["observed"]
                assert {("10.77.2.2", port) for port in seen["severed_client_ports"]} == used_ends | idle_ends
                assert (seen["middlebox"], seen["unanswered"], said.ghosts) == ("fw", self.USED, {})
                assert (found["severity"], found["confidence"], said.code) == ("high", "likely", 1)
            (tmp_path / "fw" / "sysctl.txt").unlink()  # the table may be a selection: the used ones prove themselves
            (found,) = desk.diagnose(str(tmp_path)).found(CHECK)
            assert {("10.77.2.2", port) for port in found["observed"]["severed_client_ports"]} == used_ends
        finally:
            first.stop()

    def test_with_synchronised_state_all_is_clear(self, laboratory, topology, desk, start, tmp_path) -> None:
        boxes.silent_drop(topology.fw, 3600)
        laboratory.slapd(topology.ldap)
        used = start(topology.app1, "held", count=COUNT)
        first = fail_over(topology, synchronised=True)
        try:
            laboratory.keys.serve(topology.fw)
            used.order("use")
            assert used.truth().fates == {OPEN: COUNT}
            live = desk.diagnose("ssh://ldap", "ssh://app1", "ssh://fw", "--apart", "0.3")
            for said in (live, desk.diagnose(self.capture(tmp_path, topology, first))):
                assert said.outcomes(CHECK) == {"clear"}
                assert said.ghosts == {}
        finally:
            first.stop()
