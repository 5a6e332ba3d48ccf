"""Ghosts that no firewall made: clients that crashed, were made again or killed, beside a firewall that makes its own.

Each is judged live, from what `collect` saved, and from files that were captured by hand (docs/capture-by-hand.md).
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from lab import boxes
from lab.applications import OPEN, UNANSWERED, Application
from lab.connection_cases import kill_in_an_outage
from lab.directory_servers import account
from lab.host import Host, wait_for
from lab.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from lab.desk import Desk
    from lab.directory_servers import Server
    from lab.host import End

LOST, DROPPED, LIVE = 14, 6, 3
BOX_SECONDS = 3
LONG = 86_400
DAY = 86_400
HOSTS = ("ldap", "app1", "app2", "fw")
TIME = "date -u +%FT%T.%NZ >> captured-at.txt"
TABLE = f"{TIME}; ss -tanoiep > ss-tanoiep.txt; {TIME}"
AGES = "ps -eo pid,lstart,stat,comm > ps.txt; cat /proc/uptime > uptime.txt"
COMMANDS = {
    "ldap": TABLE,
    "app1": f"{TABLE}; {AGES}; sysctl -a 2>/dev/null > sysctl.txt",
    "app2": f"{TABLE}; {AGES}; nstat -az > nstat.txt",
    "fw": "conntrack -L -p tcp > conntrack-L.txt 2>/dev/null",
}
FORWARDING = {
    **COMMANDS,
    "app1": f"{TABLE}; ps -eo pid,netns,lstart,stat,comm > ps.txt; "
    'echo "2 $(stat -L -c %i /proc/self/ns/net) Mon Jan  1 00:00:00 2024 S kthreadd" >> ps.txt',
}
"""Without its setting of ip_forward and its boot, app1 may have containers unless all processes are in one namespace. A
host of the laboratory has no kernel threads; its list gets the line that a machine's has."""


@dataclass(kw_only=True)
class Site:
    """A network with a server, and the connections of app1 that nobody closed."""

    topology: Topology
    server: Server
    desk: Desk
    lost: set[End]
    alive: Application

    @property
    def ghosts(self) -> set[End]:
        """Those of them that the server still has, and no application."""
        return (self.lost & self.server.held()) - self.alive.truth().ends(OPEN)


def application(host: Host, mode: str, **settings: object) -> Application:
    return Application(host, mode, address="10.77.1.2", name=account("application_xyz"), **settings).ready()


def booted_again(topology: Topology, lost: Application) -> Host:
    """Crash the host, and boot it at the same address."""
    time.sleep(2.5)  # its boot time is in whole seconds, and must be after the last segment
    return topology.reboot("app1", uptime_seconds=1)


def made_again(topology: Topology, lost: Application) -> Host:
    """Make the client's namespace again, with all its processes, on a machine that booted long ago."""
    time.sleep(2.5)
    return topology.reboot("app1", uptime_seconds=DAY)


def killed_in_an_outage(topology: Topology, lost: Application) -> Host:
    kill_in_an_outage(topology.app1, lost)
    return topology.app1


WAYS_TO_GO = {"booted": booted_again, "made-again": made_again, "killed": killed_in_an_outage}


@pytest.fixture(scope="module", params=WAYS_TO_GO)
def site(request, laboratory, desk_of):
    """Return a network in which app1's client has gone in some way; the firewall still lists what it had."""
    with Topology() as topology:
        server = laboratory.slapd(topology.ldap)
        boxes.silent_drop(topology.fw, LONG)
        desk = desk_of(topology)
        first = application(topology.app1, "held", count=LOST)
        lost = topology.app1.ends("ESTAB")
        host = WAYS_TO_GO[request.param](topology, first)
        if request.param != "killed":
            laboratory.keys.serve(host)
        alive = application(host, "pool", count=LIVE, every=0.5)
        yield Site(topology=topology, server=server, desk=desk, lost=lost, alive=alive)


def live(site: Site, _: Path) -> dict[str, Any]:
    return site.desk.diagnose(*(f"ssh://{name}" for name in HOSTS), "--apart", "1").report


def collected(site: Site, folder: Path) -> dict[str, Any]:
    targets = [f"ssh://{name}" for name in HOSTS]
    code, _, err = site.desk.run("collect", *targets, "--apart", "1", "--output", str(folder / "capture"))
    assert code == 0, err
    return elsewhere(folder / "capture")


def by_hand(site: Site, folder: Path, commands: Mapping[str, str] = COMMANDS) -> dict[str, Any]:
    for name, command in commands.items():
        (folder / name).mkdir()
        site.topology.hosts[name].run(f"cd {folder / name}; {command}")
    return elsewhere(folder)


def by_younger_process(site: Site, folder: Path) -> dict[str, Any]:
    report = by_hand(site, folder, FORWARDING)
    (ghosts,) = found(report, "ghost-connections")
    assert (ghosts["confidence"], ghosts["severity"]) == ("certain", "high")
    return report


def elsewhere(folder: Path, *options: str) -> dict[str, Any]:
    """Return the report on evidence, by a run on this machine itself."""
    command = [sys.executable, "-m", "ldapdiag", "diagnose", "--format", "json", str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stderr
    return json.loads(done.stdout)


def found(report: dict[str, Any], check: str) -> list[dict[str, Any]]:
    return [one for one in report["findings"] if one["check"] == check]


def ends(finding: dict[str, Any]) -> set[End]:
    seen = finding["observed"]
    return {(seen["client"], port) for port in seen["ghost_client_ports"]}


@pytest.mark.parametrize("judge", [live, collected, by_hand, by_younger_process])
def test_a_client_that_is_gone_is_named_whatever_the_firewall_lists(
    site: Site, judge: Callable[[Site, Path], dict[str, Any]], tmp_path: Path
) -> None:
    report = judge(site, tmp_path)
    (ghosts,) = found(report, "ghost-connections")
    assert ends(ghosts) == site.ghosts == site.lost
    assert ghosts["observed"]["style"] == "client-gone"
    (idle,) = found(report, "idle-timeout")
    assert {path["upper_seconds"] for path in idle["observed"]["paths"]} <= {None, LONG}
    remedies = [remedy for remedy in idle["remedies"] if not remedy["title"].startswith("prove: ")]
    assert any(remedy["title"].startswith("drain: ") for remedy in remedies)
    assert not [remedy for remedy in remedies if remedy["where"] not in {"server", "host"}]
    text = json.dumps(report["findings"])
    assert "drops the state of idle connections" not in text


def test_without_boot_processes_and_settings_they_are_possible_with_what_would_prove_it(site, tmp_path) -> None:
    for name in COMMANDS:
        (tmp_path / name).mkdir()
        table = "conntrack -L -p tcp" if name == "fw" else "ss -tan"
        site.topology.hosts[name].run(f"cd {tmp_path / name}; {table} > table.txt 2>/dev/null")
    report = elsewhere(tmp_path)
    (ghosts,) = found(report, "ghost-connections")
    assert (ghosts["confidence"], ghosts["severity"]) == ("possible", "medium")
    assert {("10.77.2.2", port) for port in ghosts["observed"]["ghost_client_ports_possible"]} == site.lost
    assert ghosts["observed"]["ghosts"] == 0
    assert "when it booted (uptime)" in ghosts["detail"]
    assert report["findings"][0]["check"] == "ghost-connections"


def test_a_client_that_closed_before_it_was_started_again_left_nothing(laboratory, topology, desk, tmp_path) -> None:
    server = laboratory.slapd(topology.ldap)
    boxes.silent_drop(topology.fw, LONG)
    first = application(topology.app1, "held", count=LOST)
    time.sleep(2.5)
    first.order("close")
    again = application(topology.app1, "pool", count=LIVE, every=0.5)
    made = Site(topology=topology, server=server, desk=desk, lost=set(), alive=again)
    report = by_hand(made, tmp_path, FORWARDING)
    assert found(report, "ghost-connections") == []
    assert [one["outcome"] for one in report["verdicts"] if one["check"] == "ghost-connections"] == ["clear"]


BOX_STYLES = {boxes.silent_drop: "silent-drop", boxes.reset_to_client: "reset-to-client"}


@pytest.mark.parametrize("box", BOX_STYLES)
def test_beside_a_firewall_each_has_its_own_ghosts_and_the_bracket_holds(
    laboratory, topology, desk, box, tmp_path
) -> None:
    """app1 is made again, and app2's connections are dropped after BOX_SECONDS: only app2's bound the timeout."""
    server = laboratory.slapd(topology.ldap)
    fates = box(topology.fw, BOX_SECONDS).ghost_fates
    first = application(topology.app1, "pool", count=LOST, every=0.3)
    # What the second round leaves was in use long after its process started.
    leaks = {"count": DROPPED, "rest": BOX_SECONDS + 1, "rounds": 2, "live": LIVE, "patience": 2}
    dropped = application(topology.app2, "leaking", **leaks)
    wait_for(lambda: not topology.app2.ends("FIN-WAIT-1"), "leftovers stay", seconds=60)
    lost = first.truth().ends(OPEN)
    laboratory.keys.serve(topology.reboot("app1", uptime_seconds=DAY))
    again = application(topology.app1, "pool", count=LIVE, every=0.5)
    time.sleep(2.5)  # longer idle than the time between the snapshots
    report = desk.diagnose("ssh://ldap", "ssh://app1", "ssh://app2", "--apart", "0.5").report
    ghosts = {one["observed"]["client"]: one for one in found(report, "ghost-connections")}
    assert ends(ghosts["10.77.2.2"]) == lost - again.truth().ends(OPEN)
    assert ends(ghosts["10.77.3.2"]) == dropped.truth().ends(*fates) & server.held()
    styles = {client: one["observed"]["style"] for client, one in ghosts.items()}
    assert styles == {"10.77.2.2": "client-gone", "10.77.3.2": BOX_STYLES[box]}
    (idle,) = found(report, "idle-timeout")
    paths = {path["client_network"]: path for path in idle["observed"]["paths"]}
    assert paths["10.77.2.0/24"]["upper_seconds"] is None
    bracket = paths["10.77.3.0/24"]
    assert (bracket["lower_seconds"] or 0) <= BOX_SECONDS
    assert bracket["upper_seconds"] is None
    assert any("a restart of the middlebox would explain it as well" in remark for remark in bracket["remarks"])


def test_an_application_that_was_started_again_bounds_no_timeout(laboratory, topology, desk, start) -> None:
    """Its firewall forgets after LONG; what it left in an outage is younger than that."""
    laboratory.slapd(topology.ldap)
    boxes.silent_drop(topology.fw, LONG)
    first = application(topology.app1, "held", count=LOST)
    host = killed_in_an_outage(topology, first)
    application(host, "pool", count=LIVE, every=0.5)
    report = desk.diagnose("ssh://ldap", "ssh://app1", "--apart", "0.5").report
    (ghosts,) = found(report, "ghost-connections")
    assert (ghosts["observed"]["ghosts"], ghosts["observed"]["style"]) == (LOST, "client-gone")
    paths = [path for one in found(report, "idle-timeout") for path in one["observed"]["paths"]]
    assert {path["upper_seconds"] for path in paths} == {None}


def test_ghosts_of_a_firewall_bound_nothing_where_the_start_of_the_client_is_not_known(
    laboratory, topology, desk, tmp_path
) -> None:
    laboratory.slapd(topology.ldap)
    boxes.silent_drop(topology.fw, BOX_SECONDS)
    leaking = application(topology.app1, "leaking", count=DROPPED, rest=BOX_SECONDS + 1, live=LIVE, patience=2)
    wait_for(lambda: not topology.app1.ends("FIN-WAIT-1"), "leftovers stay", seconds=60)
    for name in ("ldap", "app1"):
        (tmp_path / name).mkdir()
        topology.hosts[name].run(f"cd {tmp_path / name}; {TABLE}; nstat -az > nstat.txt")
    report = elsewhere(tmp_path)
    (ghosts,) = found(report, "ghost-connections")
    assert ends(ghosts) == leaking.truth().ends(UNANSWERED)
    assert "this supports a timeout" in ghosts["detail"]
    assert "when app1 booted (uptime)" in ghosts["detail"]
    paths = [path for one in found(report, "idle-timeout") for path in one["observed"]["paths"]]
    assert {path["upper_seconds"] for path in paths} == {None}


# One machine whose namespaces are hosts


@dataclass(frozen=True, kw_only=True)
class Inside:
    """A named network namespace, as an application's container."""

    name: str

    def enter(self, argv: Sequence[str]) -> list[str]:
        return ["ip", "netns", "exec", self.name, *map(str, argv)]


def plug(box: Host, name: str, number: int) -> None:
    """Make a namespace with a cable to the machine, which forwards; it forwards itself, as its machine does."""
    there = f"ip -n {name}"
    box.run(
        f"ip netns add {name}; ip link add to-{name} type veth peer name eth0 netns {name};"
        f"ip addr add 10.5.{number}.1/24 dev to-{name}; ip link set to-{name} up; {there} link set lo up;"
        f"{there} addr add 10.5.{number}.2/24 dev eth0; {there} link set eth0 up;"
        f"{there} route add default via 10.5.{number}.1; ip netns exec {name} sysctl -qw net.ipv4.ip_forward=1"
    )


@pytest.fixture(scope="module")
def machine(laboratory):
    """Return a machine with a server and a client in namespaces; the client's was deleted and made again."""
    with Host("box", uptime_seconds=DAY) as box:
        box.sysctl(net__ipv4__ip_forward=1)
        plug(box, "srv", 1)
        plug(box, "cli", 2)
        boxes.silent_drop(box, LONG)
        server = laboratory.slapd(box)
        server.process.end()
        box.start(Inside(name="srv").enter(server.argv))
        rows = ["ip", "netns", "exec", "srv", "ss", "-Htln"]
        wait_for(lambda: ":389" in box.run(rows), "slapd does not listen in its namespace")
        settings = {"address": "10.5.1.2", "container": Inside(name="cli")}
        first = Application(box, "held", count=LOST, **settings).ready()
        lost = first.truth().ends(OPEN)
        time.sleep(2.5)
        box.run("ip link del to-cli")
        first.process.end(signal.SIGKILL)
        box.run("ip netns del cli")
        plug(box, "cli", 2)
        again = Application(box, "pool", count=LIVE, every=0.5, **settings).ready()
        yield box, lost - again.truth().ends(OPEN)


@pytest.mark.parametrize("targets", [["local:"], ["netns:srv", "netns:cli"], ["netns:srv", "netns:cli", "local:"]])
def test_a_namespace_that_was_made_again_is_recognised_on_its_machine(machine, targets) -> None:
    box, lost = machine
    command = [sys.executable, "-m", "ldapdiag", "diagnose", *targets, "--apart", "0.5", "--format", "json"]
    report = json.loads(box.attempt(command).stdout)
    (ghosts,) = found(report, "ghost-connections")
    assert ends(ghosts) == lost
    assert ghosts["observed"]["style"] == "client-gone"
    assert ghosts["confidence"] == ("certain" if "local:" in targets else "likely")
    assert "drops the state of idle connections" not in json.dumps(report["findings"])
