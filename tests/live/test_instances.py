"""Several directory servers on one host, each out of descriptors in turn: the right one is named, the others are clear.

What became of every connection is the application's own account of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lab.applications import Application
from lab.fleet import start_fleet
from lab.host import wait_for
from lab.topology import Topology, container

if TYPE_CHECKING:
    from pathlib import Path

    from lab.desk import Said
    from lab.fleet import Member
    from lab.host import Host

LIMIT, CROWD, HELD = 60, 90, 3
"""Descriptors of each slapd, connections to the one that runs out of them, and to each of the others."""
APART = ("--apart", "0.3", "--timeout", "60")


class Site:
    """A host with several slapds, and applications on another one."""

    def __init__(self, topology: Topology, folder: Path, ports: list[int]) -> None:
        self.topology = topology
        self.members: dict[int, Member] = start_fleet(topology.ldap, folder, ports, descriptors=LIMIT)
        for port in ports:
            Application(topology.app1, "held", address="10.77.1.2", port=port, count=HELD).ready()

    @property
    def host(self) -> Host:
        return self.topology.ldap

    def name(self, port: int) -> str:
        return f"ldap:{port}"

    def fill(self, port: int) -> Application:
        """Take all descriptors of the server on a port, and more; return the application that did."""
        return crowd_of(self.topology.app2, "10.77.1.2", self.members[port])

    def free(self, port: int, crowd: Application) -> None:
        """End a crowd, and wait until the server has closed its connections."""
        crowd.end()
        wait_for(lambda: len(self.topology.ldap.ends(port=port)) == HELD, "the server keeps the crowd's connections")

    def assert_named(self, said: Said, port: int) -> None:
        """Assert that this server is named, and that all others are clear."""
        (found,) = said.found("descriptor-headroom")
        assert (found["server"], found["severity"]) == (self.name(port), "critical")
        assert found["observed"]["limit"] == LIMIT
        assert found["observed"]["used"] >= 0.9 * LIMIT
        for other in self.members.keys() - {port}:
            assert said.outcome("descriptor-headroom", self.name(other)) == "clear"
        assert said.code == 1


@pytest.fixture(scope="module", params=[2, 5])
def site(request, laboratory):
    with Topology() as running:
        yield Site(running, laboratory.folder, [389, *(1389 + number for number in range(request.param - 1))])


@pytest.fixture(scope="module")
def sitting(site, desk_of):
    return desk_of(site.topology, "ldap", "app1", "app2")


def test_each_exhausted_in_turn_is_named_on_the_server_itself(site, sitting) -> None:
    for port in (min(site.members), max(site.members))[-1 if len(site.members) > 2 else 0 :]:
        crowd = site.fill(port)
        site.assert_named(sitting.diagnose(*APART, host=site.topology.ldap), port)
        site.free(port, crowd)


def test_the_same_from_afar_from_a_capture_and_from_files_made_by_hand(site, sitting, tmp_path) -> None:
    port = max(site.members)
    crowd = site.fill(port)
    hosts = ("ssh://ldap", "ssh://app2")
    site.assert_named(sitting.diagnose(*hosts, *APART), port)
    code, _, error = sitting.run("collect", *hosts, *APART, "--output", str(tmp_path / "case.tar.gz"))
    assert code == 0, error
    site.assert_named(sitting.diagnose(str(tmp_path / "case.tar.gz")), port)
    code, _, error = sitting.run("collect", *hosts, *APART, "--anonymise", "--output", str(tmp_path / "hidden.tar.gz"))
    assert code == 0, error
    outcomes = headroom(sitting.diagnose(str(tmp_path / "hidden.tar.gz"))).values()
    assert sorted(outcomes) == ["clear"] * (len(site.members) - 1) + ["finding"]
    code, _, error = sitting.run("collect", "local:", *APART, "--output", str(tmp_path / "own.tar.gz"), host=site.host)
    assert code == 0, error
    site.assert_named(sitting.diagnose(str(tmp_path / "own.tar.gz")), port)
    by_hand(site, tmp_path / "case" / "ldap")
    site.assert_named(sitting.diagnose(str(tmp_path / "case")), port)
    site.free(port, crowd)


def test_all_that_are_not_exhausted_are_clear(site, sitting) -> None:
    said = sitting.diagnose(*APART, host=site.topology.ldap)
    assert said.outcomes("descriptor-headroom") == {"clear"}
    assert not [gap for gap in said.report["gaps"] if "ambiguous" in gap["reason"]]
    assert headroom(said).keys() == {site.name(port) for port in site.members}


def test_targets_of_one_host_are_separate_servers(site, sitting) -> None:
    ports = sorted(site.members)[:2]
    said = sitting.diagnose(*(f"ldap://ldap:{port}" for port in ports))
    shares = {one["server"]: one["observed"]["by_client"] for one in said.found("connection-share")}
    assert {server: [one["connections"] for one in clients] for server, clients in shares.items()} == {
        site.name(port): [HELD] for port in ports
    }


def test_a_389_ds_and_a_slapd_on_one_host_are_two_servers(topology, laboratory, desk) -> None:
    laboratory.ds389(topology.ldap)
    start_fleet(topology.ldap, laboratory.folder, [1389], descriptors=LIMIT)
    for port, count in ((389, 5), (1389, 7)):
        Application(topology.app1, "held", address="10.77.1.2", port=port, count=count).ready()
    names = {"slapd-live@ldap": 5, "ldap:1389": 7}
    for targets in ((), ("ssh://ldap",)):
        said = desk.diagnose(*targets, *APART, host=None if targets else topology.ldap)
        shares = {one["server"]: one["observed"]["by_client"] for one in said.found("connection-share")}
        assert {server: sum(one["connections"] for one in clients) for server, clients in shares.items()} == names
        assert said.outcomes("descriptor-headroom") == {"clear"}
        of_indexes = [one for one in said.report["verdicts"] if one["check"] == "harmful-index"]
        assert {one["subject"] for one in of_indexes if one["outcome"] != "finding"} <= {*names, None}
        origins = {one["origin"]: one["server"] for one in said.report["evidence"] if one["fact"] == "configuration"}
        assert set(origins.values()) <= set(names)


def test_servers_in_a_namespace_are_servers_of_no_other_target(topology, laboratory, desk) -> None:
    start_fleet(topology.ldap, laboratory.folder, [389], descriptors=LIMIT)
    box = container(topology.ldap, "web")
    members = start_fleet(topology.ldap, laboratory.folder, [1389, 2389], descriptors=LIMIT, box=box)
    crowd_of(topology.ldap, box.address, members[2389])
    said = desk.diagnose("netns:web", *APART, host=topology.ldap)
    assert headroom(said) == {"web:1389": "clear", "web:2389": "finding"}
    for target, host in (("local:", topology.ldap), ("ssh://ldap", None)):
        said = desk.diagnose(target, *APART, host=host)
        assert headroom(said) == {"ldap": "clear", "ldap-web:1389": "clear", "ldap-web:2389": "finding"}


def crowd_of(host: Host, address: str, member: Member) -> Application:
    """Connect to a server until it has nearly no free descriptor, and return the application that did."""
    crowd = Application(host, "crowd", address=address, port=member.port, count=CROWD, patience=1).ready()
    count = f"ls /proc/{member.pid}/fd | wc -l"
    wait_for(lambda: int(member.host.run(count)) >= 0.95 * LIMIT, "the server has room for all", seconds=60)
    return crowd


def headroom(said: Said) -> dict[str, str]:
    """Return the outcomes of descriptor-headroom by server."""
    verdicts = [one for one in said.report["verdicts"] if one["check"] == "descriptor-headroom"]
    return {one["subject"]: one["outcome"] for one in verdicts}


def by_hand(site: Site, folder: Path) -> None:
    """Write the files that an administrator makes: one socket table, and two files per process."""
    folder.mkdir(parents=True)
    host = site.topology.ldap
    (folder / "ss.txt").write_text(host.run(["ss", "-tanp"]))
    for member in site.members.values():
        (folder / f"proc-limits-{member.pid}.txt").write_text(host.run(["cat", f"/proc/{member.pid}/limits"]))
        (folder / f"proc-fd-count-{member.pid}.txt").write_text(host.run(f"ls /proc/{member.pid}/fd | wc -l"))
