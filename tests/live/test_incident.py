"""The founding incident, live: a box silently forgets a pool's idle connections, and ldapdiag names exactly those."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lab import boxes
from lab.applications import OPEN, UNANSWERED
from lab.topology import container

if TYPE_CHECKING:
    from lab.host import End

BOX_SECONDS = 2
TARGETS = ("ldap://ldap", "ssh://ldap", "ssh://app1", "ssh://app2", "ssh://fw")
RUNS = 10
FEW = 10


@pytest.fixture
def leaking(start):
    """Start a pool whose connections rest longer than the box remembers, some of which it finds dead and closes."""

    def started(topology, **settings):
        boxes.silent_drop(topology.fw, BOX_SECONDS)
        how = {"count": 12, "rest": BOX_SECONDS + 1, "rounds": 2, "live": 3} | settings
        return start(topology.app1, "leaking", **how)

    return started


@pytest.mark.parametrize("family", ["389-ds", "openldap"])
def test_exactly_the_dead_ones_are_named_with_account_and_timeout(
    laboratory, topology, desk, leaking, start, family
) -> None:
    server = laboratory.server(family, topology.ldap)
    app = leaking(topology)
    start(topology.app2, "pool", name="foo", count=8, every=1)
    said = desk.diagnose(*TARGETS, *(desk.bind if family == "389-ds" else ()), "--apart", "1")

    (found,) = said.found("ghost-connections")
    seen = found["observed"]
    assert said.ghost_ends == app.truth().ends(UNANSWERED) & server.held()
    assert (seen["ghosts"], seen["matched"], seen["style"]) == (24, 3, "silent-drop")
    assert found["confidence"] == "certain"
    if family == "389-ds":
        assert seen["accounts"] == {"uid=application_xyz,ou=services,dc=example,dc=com": 24}
    (idle,) = said.found("idle-timeout")
    assert idle["observed"]["box_upper_seconds"] == BOX_SECONDS
    assert said.code == 1


def test_ten_runs_while_200_connections_a_second_come_and_go(laboratory, topology, desk, leaking, start) -> None:
    """The churn is the dead pool's neighbour on the same host: all of it comes from one address.

    A new connection may get the port of a dead one, which ends that one at the server: the truth shrinks meanwhile, on
    a busy machine until hardly any is left.
    """
    server = laboratory.ds389(topology.ldap)
    app = leaking(topology, count=40)
    churn = start(topology.app1, "churn", name="foo", rate=200, life=0.5)
    start(topology.app2, "pool", name="foo", count=8, every=1)

    def dead() -> set[End]:
        used_again = {(one["address"], one["port"]) for one in churn.truth().sockets}
        return (app.truth().ends(UNANSWERED) & server.held()) - used_again

    def opening() -> set[End]:
        """Return the ends whose port a new connection is about to take: one of the two will end."""
        return topology.app1.ends("SYN-SENT", "SYN-RECV")

    for run in range(RUNS):
        before, taken = dead(), opening()
        if len(before) < FEW:
            break
        said = desk.diagnose(*TARGETS, *desk.bind, "--apart", "0.3")
        assert dead() - taken - opening() <= said.ghost_ends <= before, f"run {run}"
        assert sum(seen["ghosts"] for seen in said.ghosts.values()) == len(said.ghost_ends), f"run {run}"
    assert run >= RUNS / 4, "hardly any dead one was left to be found"


@pytest.mark.parametrize("family", ["389-ds", "openldap"])
def test_nobody_is_dead_where_connections_only_come_and_go(laboratory, topology, desk, start, family) -> None:
    laboratory.server(family, topology.ldap)
    start(topology.app1, "churn", rate=200, life=0.5)
    start(topology.app1, "pool", count=10, every=1)
    said = desk.diagnose("ssh://ldap", "ssh://app1", "--apart", "0.3")
    assert said.ghosts == {}
    assert said.found("stranded-connections") == []


class TestContainers:
    """A second application on app1, masqueraded in a network namespace of its own."""

    @pytest.fixture(params=["random", "kept"])
    def box(self, request, laboratory, topology):
        laboratory.ds389(topology.ldap)
        return container(topology.app1, "web", ports=request.param, named=request.param == "kept")

    @pytest.fixture
    def inner(self, topology, start, box):
        return lambda: start(topology.app1, "pool", name="foo", count=9, every=0.5, container=box)

    def test_none_of_its_connections_is_claimed_beside_real_ghosts(self, topology, desk, leaking, inner) -> None:
        app = leaking(topology)
        living = inner()
        said = desk.diagnose(*TARGETS, *desk.bind, "--apart", "0.3")
        assert living.truth().fates == {OPEN: 9}
        assert said.ghost_ends == app.truth().ends(UNANSWERED)

    def test_none_is_claimed_by_a_user_who_may_not_see_it(self, desk, inner) -> None:
        living = inner()
        said = desk.diagnose("ssh://ldap", "ssh://visitor@app1", "--apart", "0.3")
        assert living.truth().fates == {OPEN: 9}
        assert said.ghosts == {}
        assert any("--sudo" in (gap["how"] or "") for gap in said.report["gaps"])

    def test_none_is_claimed_of_those_it_opens_all_the_time(self, topology, desk, box, inner, start) -> None:
        """Some of them are opened after the box was asked, which has no flow of them then."""
        living = inner()
        start(topology.app1, "churn", rate=30, life=3, container=box)
        said = desk.diagnose("ssh://ldap", "ssh://visitor@app1", "ssh://fw", "--apart", "4")
        assert living.truth().fates == {OPEN: 9}
        assert said.ghosts == {}
