"""Which middlebox speaks for which path: five wrong ones beside the right one, untrue settings, empty tables.

The right box is the router `fw`; the wrong ones forward packets of others, each with a timeout of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import pytest

from lab import boxes
from lab.applications import OPEN, UNANSWERED, Application
from lab.host import wait_for
from lab.topology import Topology, container

BOX_SECONDS = 2
GHOSTS = 6
KERNEL_DEFAULT = 432_000
WRONG = {"app2": 1, "app3": 7, "app4": 90, "app5": 3600, "app6": KERNEL_DEFAULT}
"""Hosts that forward packets, by their timeouts in seconds."""
RIGHT = ("ssh://ldap", "ssh://app1", "ssh://fw")
ALL = (*RIGHT, *(f"ssh://{name}" for name in WRONG))
APART = ("--apart", "0.3")


def forward(host: Any, seconds: int) -> None:
    """Make a host a forwarding one with a connection tracking of its own."""
    host.run(
        ["nft", "-f", "-"], stdin="table ip own { chain in { type filter hook input priority 0; ct state new; }; }"
    )
    host.sysctl(net__ipv4__ip_forward=1, net__netfilter__nf_conntrack_tcp_timeout_established=seconds)


def forget(running: Topology) -> None:
    """Wait until the router tracks no connection to the server."""
    listed = ["conntrack", "-L", "-p", "tcp", "--dport", "389"]
    wait_for(lambda: "ESTABLISHED" not in running.fw.attempt(listed).stdout, "the box keeps its entries")


def paths(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the bounds of each path that the report of idle-timeout contains."""
    (found,) = [one for one in report["findings"] if one["check"] == "idle-timeout"]
    return {path["client_network"]: path for path in found["observed"]["paths"]}


def read(*evidence: object) -> dict[str, Any]:
    """Return the report on files, by a run on this machine itself."""
    command = [sys.executable, "-m", "ldapdiag", "diagnose", "--format", "json", *map(str, evidence)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


@pytest.fixture(scope="module")
def site(laboratory, desk_of):
    """Return a network with ghosts of app1 that the router has dropped, and hosts that forward others' packets."""
    with Topology(apps=6) as running:
        server = laboratory.slapd(running.ldap)
        boxes.silent_drop(running.fw, BOX_SECONDS)
        for name, seconds in WRONG.items():
            forward(running.hosts[name], seconds)
        app = Application(running.app1, "held", address="10.77.1.2", count=GHOSTS).ready()
        forget(running)
        app.order("use")
        wait_for(lambda: not running.app1.ends("FIN-WAIT-1"), "the client does not give up")
        running.ghosts = app.truth().ends(UNANSWERED)
        assert len(running.ghosts) == GHOSTS
        assert running.ghosts <= server.held()
        running.sitting = desk_of(running)
        running.app1.start(["socat", f"TCP:{running.address('desk')}:22", "SYSTEM:sleep 600"])
        wait_for(lambda: running.app1.ends("ESTAB", port=22), "app1 has no other connection")  # which names its table
        yield running


class TestFiveWrongBoxes:
    def test_the_bracket_does_not_move(self, site) -> None:
        desk = site.sitting
        alone, beside = desk.diagnose(*RIGHT, *APART), desk.diagnose(*ALL, *APART)
        assert alone.ghost_ends == beside.ghost_ends == site.ghosts
        for said in (alone, beside):
            (path,) = paths(said.report).values()
            assert (path["box"], path["lower_seconds"], path["upper_seconds"]) == ("fw", BOX_SECONDS, BOX_SECONDS)
        (found,) = beside.found("idle-timeout")
        assert "Not used" in found["detail"]

    def test_without_the_right_box_no_setting_is_used(self, site) -> None:
        said = site.sitting.diagnose("ssh://ldap", "ssh://app1", *(f"ssh://{name}" for name in WRONG), *APART)
        assert said.ghost_ends == site.ghosts
        assert {path["box"] for path in paths(said.report).values()} == {None}
        assert all(path["lower_seconds"] is None for path in paths(said.report).values())
        certain = [one for one in said.found("keepalive-too-slow") if one["confidence"] == "certain"]
        assert certain == []

    def test_its_empty_table_proves_the_ghosts(self, site, tmp_path) -> None:
        """Live and from a capture; a table that was saved by hand needs the routes that show its place."""
        desk = site.sitting
        assert site.fw.run("conntrack -L -p tcp --dport 389") == ""
        said = desk.diagnose(*RIGHT, *APART)
        (found,) = said.found("ghost-connections")
        assert (found["confidence"], found["observed"]["ghosts"]) == ("certain", GHOSTS)
        code, _, err = desk.run("collect", *ALL, *APART, "--output", str(tmp_path / "capture"))
        assert code == 0, err
        report = read(tmp_path / "capture")
        (path,) = paths(report).values()
        assert (path["box"], path["upper_seconds"]) == ("fw", BOX_SECONDS)
        tables = {one["origin"] for one in report["evidence"] if one["fact"] == "flow-table"}
        assert {f"{name}/conntrack-1.txt" for name in ("fw", *WRONG)} <= tables

    @pytest.mark.parametrize("places", [True, False], ids=["with-routes", "without-routes"])
    def test_files_taken_by_hand(self, site, tmp_path, places) -> None:
        for name in ("ldap", "app1", "fw", *WRONG):
            folder = tmp_path / name
            folder.mkdir()
            commands = {"sysctl.txt": "sysctl -a 2>/dev/null", "conntrack-L.txt": "conntrack -L -p tcp 2>&1"}
            if name in {"ldap", "app1"}:
                commands = {"ss.txt": "ss -tanoiep", "captured-at.txt": "date -u +%FT%T.%NZ"}
            if places:
                commands |= {"ip-route.txt": "ip route", "ip-addr.txt": "ip addr"}
            for file, command in commands.items():
                (folder / file).write_text(site.hosts[name].run(command))
        (path,) = paths(read(tmp_path)).values()
        assert (path["box"], path["upper_seconds"]) == (("fw", BOX_SECONDS) if places else (None, None))


RULE = """
table inet own_timeouts {
  ct timeout ldap_idle {
    protocol tcp
    l3proto ip
    policy = { established: %d, close: 2 }
  }
  chain pre {
    type filter hook prerouting priority -150
    tcp dport 389 ct timeout set "ldap_idle"
  }
}
"""


class TestASettingThatIsNotTrue:
    def test_the_measurement_outweighs_it(self, laboratory, topology, desk, start) -> None:
        """The router shows the kernel's default; a rule of it drops what is idle for two seconds."""
        laboratory.slapd(topology.ldap)
        boxes.silent_drop(topology.fw, KERNEL_DEFAULT)
        topology.fw.run(["nft", "-f", "-"], stdin=RULE % BOX_SECONDS)
        topology.app1.sysctl(net__ipv4__tcp_orphan_retries=8)
        dropped = start(topology.app1, "held", count=GHOSTS, patience=0.2)
        forget(topology)
        start(topology.app2, "pool", name="foo", count=3, every=0.2)
        dropped.order("use")
        said = desk.diagnose(*RIGHT, "ssh://app2", *APART)
        path = paths(said.report)["10.77.2.0/24"]
        assert (path["box"], path["drop_seen"]) == (None, True)
        assert BOX_SECONDS <= path["upper_seconds"] < KERNEL_DEFAULT / 100
        assert any("432,000 s" in remark and "contradiction" in remark for remark in path["remarks"]), path
        assert [one for one in said.found("keepalive-too-slow") if one["confidence"] == "certain"] == []
        (found,) = said.found("idle-timeout")
        assert "86400" not in json.dumps(found["remedies"])

    def test_a_setting_that_was_changed_explains_no_ghost(self, laboratory, topology, desk, start) -> None:
        """New connections are kept for days by the table itself: the old ones were lost, not idle for too long."""
        laboratory.slapd(topology.ldap)
        boxes.silent_drop(topology.fw, BOX_SECONDS)
        topology.app1.sysctl(net__ipv4__tcp_orphan_retries=8)
        dropped = start(topology.app1, "held", count=GHOSTS, patience=0.2)
        forget(topology)
        topology.fw.sysctl(net__netfilter__nf_conntrack_tcp_timeout_established=KERNEL_DEFAULT)
        start(topology.app2, "pool", name="foo", count=3, every=0.2)
        dropped.order("use")
        said = desk.diagnose(*RIGHT, "ssh://app2", *APART)
        path = paths(said.report)["10.77.2.0/24"]
        assert any("does not explain" in remark for remark in path["remarks"]), path
        assert not path["drop_seen"]
        (found,) = said.found("idle-timeout")
        assert "86400" not in json.dumps(found["remedies"])

    def test_a_connection_that_outlives_it_contradicts_it(self, laboratory, topology, desk, start) -> None:
        """The router shows one second, and lets connections go on from their middle."""
        laboratory.slapd(topology.ldap)
        forward(topology.fw, 1)
        topology.fw.run(["nft", "add", "chain", "ip", "own", "on", "{ type filter hook forward priority 0; }"])
        topology.fw.run(["nft", "add", "rule", "ip", "own", "on", "ct", "state", "established", "accept"])
        slow = []
        for _ in range(4):  # whenever the first snapshot is taken, one of them has been idle for most of its interval
            slow.append(start(topology.app1, "pool", count=1, every=5))
            time.sleep(1.25)
        said = desk.diagnose(*RIGHT, "--apart", "7")
        assert [one.truth().fates for one in slow] == [{OPEN: 1}] * 4
        assert said.found("keepalive-too-slow") == []
        (verdict,) = [one for one in said.report["verdicts"] if one["check"] == "keepalive-too-slow"]
        assert "established of fw is 1 s, but a connection was used again after" in verdict["reason"]


class TestPathsWithoutABox:
    def test_loopback_and_another_namespace_of_the_machine_have_no_bracket(
        self, laboratory, topology, desk, start
    ) -> None:
        """`local:` reads every namespace of the machine: one of them forwards, and belongs to another network."""
        laboratory.slapd(topology.ldap)
        other = container(topology.ldap, "other")
        topology.ldap.run(other.enter(["sysctl", "-qw", "net.ipv4.ip_forward=1"]))
        topology.ldap.run(other.enter(["sysctl", "-qw", "net.netfilter.nf_conntrack_tcp_timeout_established=3"]))
        start(topology.ldap, "pool", count=3, every=0.2, address="127.0.0.1")
        start(topology.app1, "pool", count=3, every=0.2)
        said = desk.diagnose("local:", *APART, host=topology.ldap)
        shown = json.dumps(said.report["findings"]) + json.dumps(said.report["verdicts"])
        assert "127.0.0.0/24" not in shown
        for one in said.found("idle-timeout"):
            assert [path["box"] for path in one["observed"]["paths"]] == [None] * len(one["observed"]["paths"])
            assert one["observed"]["box_upper_seconds"] is None
        assert [one for one in said.found("keepalive-too-slow") if one["confidence"] == "certain"] == []

    def test_a_default_that_never_dropped_anything_is_no_finding_to_act_on(
        self, laboratory, topology, desk, start
    ) -> None:
        laboratory.slapd(topology.ldap)
        forward(topology.fw, KERNEL_DEFAULT)
        topology.fw.run(["nft", "add", "chain", "ip", "own", "on", "{ type filter hook forward priority 0; }"])
        topology.fw.run(["nft", "add", "rule", "ip", "own", "on", "ct", "state", "established", "accept"])
        start(topology.app1, "pool", count=3, every=0.2)
        said = desk.diagnose(*RIGHT, *APART)
        assert {(one["severity"], one["confidence"]) for one in said.found("keepalive-too-slow")} <= {
            ("info", "likely")
        }

    def test_a_client_that_resets_its_connections_is_no_work_of_the_box(
        self, laboratory, topology, desk, start
    ) -> None:
        """The router drops the reset, and would track the connections for days."""
        server = laboratory.slapd(topology.ldap)
        boxes.silent_drop(topology.fw, KERNEL_DEFAULT)
        app = start(topology.app1, "held", count=GHOSTS)
        start(topology.app2, "pool", name="foo", count=3, every=0.2)
        topology.fw.run(["nft", "insert", "rule", "inet", "firewall", "forward", "tcp", "flags", "rst", "drop"])
        app.order("reset")
        topology.fw.run(["conntrack", "-D", "-s", "10.77.2.2"])
        said = desk.diagnose(*RIGHT, "ssh://app2", "--apart", "1")
        assert len(server.held()) == GHOSTS + 3
        for one in said.found("idle-timeout"):
            assert "86400" not in json.dumps(one["remedies"])
            assert "probe" not in " ".join(remedy["title"] for remedy in one["remedies"] if "cure" in remedy["title"])


class TestTwoInARow:
    def test_what_a_container_host_lists_and_the_firewall_has_dropped_is_dead(
        self, laboratory, topology, start, tmp_path
    ) -> None:
        """Its own connection tracking keeps the entries of its container for days; the container was not read."""
        server = laboratory.slapd(topology.ldap)
        boxes.silent_drop(topology.fw, BOX_SECONDS)
        inner = container(topology.app1, named=False)
        dropped = start(topology.app1, "held", count=GHOSTS, container=inner)
        forget(topology)
        start(topology.app1, "pool", count=3, every=0.2)
        start(topology.app1, "pool", count=2, every=0.2, container=inner)
        dropped.order("use")
        assert dropped.truth().fates == {UNANSWERED: GHOSTS}
        assert len(server.held()) == GHOSTS + 5
        time.sleep(2)  # they are idle for longer than the tables are apart
        flows = "conntrack -L -p tcp --dport 389 2>&1"
        for name, commands in {
            "fw": {"conntrack-L.txt": flows},
            "app1": {"conntrack-L.txt": flows, "ss.txt": "ss -tanoiep"},
            "ldap": {"ss.txt": "ss -tanoiep"},
        }.items():
            (tmp_path / name).mkdir()
            for file, command in ({"captured-at.txt": "date -u +%FT%T.%NZ"} | commands).items():
                (tmp_path / name / file).write_text(topology.hosts[name].run(command))
        (found,) = [one for one in read(tmp_path)["findings"] if one["check"] == "ghost-connections"]
        assert (found["observed"]["ghosts"], found["observed"]["matched"]) == (GHOSTS, 3)
