"""Several directory servers on one host, each out of descriptors in turn: the right one is named, the others are clear.

What became of every connection is the application's own account of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lab.applications import OPEN, Application
from lab.fleet import start_fleet
from lab.host import wait_for
from lab.topology import Topology

if TYPE_CHECKING:
    from pathlib import Path

    from lab.fleet import Member
    from live.conftest import Said

LIMIT, CROWD, HELD = 60, 90, 3
"""Descriptors of each slapd, connections to the one that runs out of them, and to each of the others."""
APART = ("--apart", "0.3")


class Site:
    """A host with several slapds, and applications on another one."""

    def __init__(self, topology: Topology, folder: Path, ports: list[int]) -> None:
        self.topology = topology
        self.members: dict[int, Member] = start_fleet(topology.ldap, folder, ports, descriptors=LIMIT)
        for port in ports:
            Application(topology.app1, "held", address="10.77.1.2", port=port, count=HELD).ready()

    def name(self, port: int) -> str:
        return f"ldap:{port}"

    def fill(self, port: int) -> Application:
        """Take all descriptors of the server on a port, and more; return the application that did."""
        crowd = Application(
            self.topology.app2, "crowd", address="10.77.1.2", port=port, count=CROWD, patience=1
        ).ready()
        answered = crowd.truth().fates[OPEN]
        assert 0 < answered < CROWD, "the server has room for all"
        return crowd

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


@pytest.fixture(scope="module", params=[2, 10])
def site(request, laboratory):
    with Topology() as running:
        yield Site(running, laboratory.folder, [389, *(1389 + number for number in range(request.param - 1))])


@pytest.fixture(scope="module")
def sitting(site, desk_of):
    return desk_of(site.topology, "ldap", "app1", "app2")


def test_each_exhausted_in_turn_is_named_on_the_server_itself(site, sitting) -> None:
    for port in (min(site.members), max(site.members)):
        crowd = site.fill(port)
        site.assert_named(sitting.diagnose(*APART, host=site.topology.ldap), port)
        site.free(port, crowd)


def test_all_that_are_not_exhausted_are_clear(site, sitting) -> None:
    said = sitting.diagnose(*APART, host=site.topology.ldap)
    assert said.outcomes("descriptor-headroom") == {"clear"}
    assert said.report["gaps"] == []
    assert {one["subject"] for one in said.report["verdicts"] if one["check"] == "descriptor-headroom"} == {
        site.name(port) for port in site.members
    }
