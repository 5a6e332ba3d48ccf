"""An application that does not close what HAProxy has closed: the server's connections are the proxy's to keep.

The truth is the application's: to it every connection is open, and its kernel has them in CLOSE-WAIT.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from lab import boxes
from lab.applications import OPEN, Application
from lab.connection_cases import CARRIED, STANDS, TUNNEL, forward_by_ssh
from lab.directory_servers import account
from lab.host import wait_for
from lab.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


COUNT, LIVE = 12, 4
HOSTS = ("ssh://ldap", "ssh://app1", "ssh://app2", "ssh://fw")
BY_HAND = {
    "ss": "ss -tanoiep > {folder}/{host}/ss-tanoiep.txt",
    "netstat": "ss -tan > {folder}/{host}/ss-tan.txt",
    "proc": "cat /proc/net/tcp > {folder}/{host}/proc-net-tcp.txt; "
    "cat /proc/net/tcp6 > {folder}/{host}/proc-net-tcp6.txt",
}
SESSIONS = "echo 'show sess all' | socat stdio {socket} > {folder}/fw/show-sess-all.txt"


@pytest.fixture(scope="module")
def site(laboratory) -> Iterator[Topology]:
    """Return a network whose HAProxy waits for one application to close, and carries another that lives."""
    with Topology() as running:
        laboratory.slapd(running.ldap)
        box = boxes.proxy(running.fw, 3600, server_seconds=2)
        held = Application(running.app1, "held", count=COUNT, address=box.address, name=account("application_xyz"))
        pool = {"count": LIVE, "every": 0.4, "name": account("application_foo")}
        Application(running.app2, "pool", address="10.77.3.1", **pool).ready()
        held.ready()
        wait_for(lambda: len(running.app1.ends("CLOSE-WAIT")) == COUNT, "the proxy closes nothing")
        assert running.app1.ends("CLOSE-WAIT") == held.truth().ends(OPEN)
        time.sleep(STANDS)
        yield running


@pytest.fixture(scope="module")
def sitting(site, desk_of):
    return desk_of(site)


def held_by(report: dict[str, Any]) -> dict[str, Any]:
    """Return the only finding about connections that a proxy keeps."""
    (found,) = [one for one in report["findings"] if one["check"] == "proxy-held-connections"]
    return found


def unblamed(report: dict[str, Any]) -> None:
    """Nothing else is found that would be somebody else's fault, and the proxy is no directory server."""
    others = {"ghost-connections", "stranded-connections", "severed-connections", "unreleased-connections"}
    assert not others & {one["check"] for one in report["findings"]}
    roles = {one["name"]: one["roles"] for one in report["hosts"]}
    assert [name for name, of in roles.items() if "server" in of] == ["ldap"]
    assert "box" in roles["fw"]
    directory = {"descriptor-headroom", "costly-search", "missing-index", "failed-binds"}
    assert not [one for one in report["verdicts"] if one["subject"] == "fw" and one["check"] in directory]


def application(host: str | None = "app1", program: str | None = "python") -> dict[str, Any]:
    return {"host": host, "client": "10.77.2.2", "program": program, "connections": COUNT}


def elsewhere(*evidence: object, code: int = 1) -> dict[str, Any]:
    """Return the report on evidence, by a run on this machine itself."""
    command = [sys.executable, "-m", "ldapdiag", "diagnose", "--format", "json", *map(str, evidence)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_live_the_application_that_does_not_close_is_named(sitting) -> None:
    said = sitting.diagnose(*HOSTS, "--apart", "0.3")
    found = held_by(said.report)
    assert (found["severity"], found["confidence"]) == ("high", "certain")
    assert found["observed"] == {
        "proxy": "fw",
        "server": "10.77.1.2:389",
        "connections": COUNT,
        "applications": [application()],
    }
    assert found["hosts"] == ["app1", "fw", "ldap"]
    assert "python on app1 does not close" in found["title"]
    assert (said.code, said.outcomes("proxy-held-connections")) == (1, {"finding", "clear"})
    unblamed(said.report)


def test_without_the_clients_table_its_address_is_named(sitting) -> None:
    said = sitting.diagnose("ssh://ldap", "ssh://fw", "--apart", "0.3")
    found = held_by(said.report)
    assert (found["confidence"], found["observed"]["applications"]) == ("likely", [application(None, None)])
    unblamed(said.report)


def test_without_the_proxy_it_is_not_judged_and_its_table_is_named(sitting) -> None:
    said = sitting.diagnose("ssh://ldap", "ssh://app1", "ssh://app2", "--apart", "0.3")
    assert said.outcomes("proxy-held-connections") == {"not-judged"}
    assert said.ghosts == {}
    (waiting,) = said.found("close-wait-backlog")
    assert (waiting["observed"]["host"], waiting["observed"]["connections"]) == ("app1", COUNT)


def test_a_capture_is_judged_as_the_live_run_was(sitting, tmp_path) -> None:
    capture = tmp_path / "capture.tar.gz"
    code, out, err = sitting.run("collect", *HOSTS, "--apart", "0.3", "--output", str(capture))
    assert (code, out) == (0, ""), err
    report = elsewhere(capture)
    assert held_by(report)["observed"]["applications"] == [application()]
    assert held_by(report)["confidence"] == "certain"
    unblamed(report)


@pytest.mark.parametrize("tool", BY_HAND)
def test_tables_saved_by_hand_give_the_same_number(site, tmp_path: Path, tool: str) -> None:
    """Ages show that it stands; without, a second snapshot."""
    for snapshot in ("snap1",) if tool == "ss" else ("snap1", "snap2"):
        for host in ("app1", "app2", "fw", "ldap"):
            (tmp_path / snapshot / host).mkdir(parents=True)
            site.hosts[host].run(BY_HAND[tool].format(folder=tmp_path / snapshot, host=host))
        site.fw.run(SESSIONS.format(socket=boxes.ADMIN_SOCKET, folder=tmp_path / snapshot))
        if tool != "ss" and snapshot == "snap1":
            once = elsewhere(tmp_path, code=0)
            standing = {"proxy-held-connections", "close-wait-backlog"}
            assert not standing & {one["check"] for one in once["findings"]}
            assert standing <= {one["check"] for one in once["verdicts"] if one["outcome"] == "not-judged"}
    report = elsewhere(tmp_path)
    found = held_by(report)
    assert found["observed"]["applications"] == [application(program="python" if tool == "ss" else None)]
    assert found["confidence"] == "certain"
    unblamed(report)


def test_a_healthy_site_behind_a_proxy_has_nothing_to_blame(laboratory, topology, desk, start) -> None:
    """Idle for longer than the connection tracking of the proxy's own host keeps them."""
    server = laboratory.slapd(topology.ldap)
    box = boxes.proxy(topology.fw, 3600)
    boxes.silent_drop(topology.fw, 2)
    held = start(topology.app1, "held", count=COUNT, address=box.address)
    wait_for(lambda: held.truth().at - max(one["answered"] for one in held.truth().sockets) > 4, "no time passes")
    said = desk.diagnose(*HOSTS, "--apart", "0.3")
    assert len(server.held()) == COUNT
    unblamed(said.report)
    assert said.outcomes("proxy-held-connections") == {"clear"}
    assert said.outcomes("ghost-connections") == {"clear"}


@pytest.mark.parametrize(
    ("where", "port", "dialled"),
    [("ldap", 636, "10.77.1.2"), ("app1", 1389, "127.0.0.1")],
    ids=["at-the-server", "at-the-client"],
)
def test_a_proxy_on_the_host_of_an_end(laboratory, topology, desk, start, where: str, port: int, dialled: str) -> None:
    laboratory.slapd(topology.ldap)
    server = "127.0.0.1" if where == "ldap" else "10.77.1.2"
    boxes.proxy(topology.hosts[where], 3600, server_seconds=1, port=port, server=server)
    start(topology.app1, "held", count=COUNT, address=dialled, port=port)
    wait_for(lambda: sum(row[0] == "CLOSE-WAIT" for row in topology.app1.sockets(port)) == COUNT, "it closes nothing")
    time.sleep(STANDS)
    said = desk.diagnose("ssh://ldap", "ssh://app1", "--apart", "0.3")
    (named,) = held_by(said.report)["observed"]["applications"]
    assert (named["host"], named["program"], named["connections"]) == ("app1", "python", COUNT)
    assert said.ghosts == {}
    roles = {one["name"]: one["roles"] for one in said.report["hosts"]}
    assert "server" in roles["ldap"]
    assert "box" in roles[where]


def test_an_answer_through_the_proxy_is_not_the_proxy_s(sitting) -> None:
    """LDAP to the proxy reaches the server behind it; with that server's host read, it is known which one."""
    said = sitting.diagnose("ldap://fw", "ssh://fw", "--apart", "0.3")
    roles = {one["name"]: one["roles"] for one in said.report["hosts"]}
    assert (set(roles), "server" in roles["fw"]) == ({"behind-fw", "fw"}, False)
    said = sitting.diagnose("ldap://fw", *HOSTS, "--apart", "0.3")
    assert {one["name"] for one in said.report["hosts"]} == {"ldap", "app1", "app2", "fw"}
    unblamed(said.report)


def test_a_limit_for_half_closed_connections_leaves_none(laboratory, topology, desk, start) -> None:
    """The remedy's line, in a real HAProxy: the application still does not close, and the server has none left."""
    server = laboratory.slapd(topology.ldap)
    box = boxes.proxy(topology.fw, 3600, server_seconds=1, settings="  timeout client-fin 1s\n")
    start(topology.app1, "held", count=COUNT, address=box.address)
    wait_for(lambda: len(topology.app1.ends("CLOSE-WAIT")) == COUNT, "the proxy closes nothing")
    wait_for(lambda: not server.held(), "the proxy keeps the server's connections")
    time.sleep(STANDS)
    said = desk.diagnose(*HOSTS, "--apart", "0.3")
    assert said.found("proxy-held-connections") == []
    assert said.ghosts == {}
    assert {one["observed"]["host"] for one in said.found("close-wait-backlog")} == {"app1"}


def test_a_server_that_does_not_close_is_not_the_proxys_fault(laboratory, topology, desk, start) -> None:
    server = laboratory.slapd(topology.ldap)
    box = boxes.proxy(topology.fw, 3600)
    held = start(topology.app1, "held", count=COUNT, address=box.address)
    topology.ldap.run(["kill", "-STOP", str(server.pid)])
    held.order("close")
    wait_for(lambda: len(topology.ldap.ends("CLOSE-WAIT")) == COUNT, "the proxy passes no close on")
    time.sleep(STANDS)
    checks = ("--check", "close-wait-backlog", "--check", "proxy-held-connections")
    said = desk.diagnose(*HOSTS, *checks, "--apart", "0.3", "--timeout", "5")
    topology.ldap.run(["kill", "-CONT", str(server.pid)])
    titles = {one["observed"]["host"]: one["title"] for one in said.found("close-wait-backlog")}
    assert "until its server does" in titles["fw"]
    assert titles["ldap"].startswith("slapd on ldap keeps 12 connections")
    assert said.found("proxy-held-connections") == []


class TestSshTunnel:
    """app1 reaches the server by `ssh -L` through app2: the server's peer is an sshd, which outlives its client."""

    TARGETS = ("ssh://ldap", "ssh://app1", "ssh://app2")

    def test_connections_that_sshd_keeps_for_a_client_that_is_gone(
        self, laboratory, topology, desk, start, tmp_path
    ) -> None:
        laboratory.slapd(topology.ldap)
        forward_by_ssh(laboratory, topology)
        start(topology.app1, "held", count=COUNT, address="127.0.0.1", port=TUNNEL)
        start(topology.app1, "pool", name="foo", count=LIVE, every=0.5, address="127.0.0.1", port=TUNNEL)
        time.sleep(STANDS)
        said = desk.diagnose(*self.TARGETS, "--apart", "0.3")
        assert said.outcomes("ghost-connections") == said.outcomes("proxy-held-connections") == {"clear"}
        laboratory.keys.serve(topology.reboot("app1"))
        time.sleep(CARRIED)
        said = desk.diagnose(*self.TARGETS, "--apart", "0.3")
        found = held_by(said.report)
        assert (found["observed"]["proxy"], found["observed"]["connections"]) == ("app2", COUNT + LIVE)
        assert found["title"] == "sshd on app2 keeps 16 of 16 connections to ldap whose client is gone"
        assert (found["severity"], found["confidence"], said.code) == ("high", "likely", 1)
        said = desk.diagnose("ssh://ldap", "ssh://app2", "--apart", "0.3")
        assert said.outcome("ghost-connections", "10.77.3.2 -> 10.77.1.2:389") == "not-judged"
        for name in ("ldap", "app2", "app1"):
            (tmp_path / name).mkdir()
            capture = f"cd {tmp_path / name}; date -u +%FT%T.%NZ > captured-at.txt; ss -tanoiep > ss.txt"
            login = desk.environment["LDAPDIAG_SSH"]  # a connection of its own shows app1's address
            desk.host.run(f"{login} {name} {shlex.quote(capture)}", env=desk.environment)
        assert held_by(elsewhere(tmp_path))["observed"]["connections"] == COUNT + LIVE
