"""A server out of descriptors, live: LDAP cannot be reached, and what ssh reads of sockets and /proc names it all."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from lab import boxes
from lab.applications import OPEN, UNANSWERED
from lab.host import wait_for
from lab.terminal import paste

if TYPE_CHECKING:
    from lab.applications import Application, Truth
    from lab.desk import Said
    from lab.directory_servers import Server
    from lab.host import End

DEAD, LIVING = 40, 3
BOX_SECONDS = 3
TIMEOUT, APART = 4, 1
SPARE = 30.0
"""Seconds for starting Python, reading and judging on a busy machine."""
TARGETS = ("ldap://ldap", "ssh://ldap", "ssh://app1", "ssh://app2", "ssh://fw")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhausted:
    """What the report said of a server that the dead of app1 and a crowd of app2 have filled."""

    server: Server
    dead: set[End]
    crowd: Application
    said: Said
    seconds: float

    @property
    def served(self) -> int:
        """How many of the crowd the server has answered."""
        return answered(self.crowd.truth())


@pytest.fixture
def exhausted(topology, desk, start):
    def happened(server: Server, crowd: int) -> Exhausted:
        boxes.silent_drop(topology.fw, BOX_SECONDS)
        pool = start(topology.app1, "leaking", count=DEAD, rest=BOX_SECONDS + 1, live=LIVING, patience=2)
        wait_for(lambda: not topology.app1.ends("FIN-WAIT-1"), "app1 goes on telling the dead that it has closed them")
        # From now on the box forgets nobody: who waits, waits for the server.
        topology.fw.sysctl(net__netfilter__nf_conntrack_tcp_timeout_established=600)
        coming = start(topology.app2, "crowd", name="foo", count=crowd, patience=3)
        assert answered(coming.truth()) < crowd, "the server has room for all"
        started = time.monotonic()
        said = desk.diagnose(*TARGETS, *desk.bind, "--apart", str(APART), "--timeout", str(TIMEOUT))
        seconds = time.monotonic() - started
        assert pool.truth().fates == {UNANSWERED: DEAD, OPEN: LIVING}
        dead = pool.truth().ends(UNANSWERED)
        return Exhausted(server=server, dead=dead, crowd=coming, said=said, seconds=seconds)

    return happened


def test_389ds_stops_accepting_and_the_dead_give_their_places_back(laboratory, topology, exhausted) -> None:
    """It keeps the reserved 64 descriptors back twice, so that of 200 only 72 are left for connections."""
    server = laboratory.ds389(topology.ldap, settings={"nsslapd-maxdescriptors": "200"})
    case = exhausted(server, crowd=250)
    says_who_holds_them(case)
    (headroom,) = case.said.found("descriptor-headroom")
    assert headroom["severity"] == "critical"
    assert headroom["observed"]["witnesses"], "its log alone tells: descriptors that are kept back are never used"
    (queue,) = case.said.found("accept-queue-overflow")
    assert queue["severity"] == "critical"
    assert queue["observed"]["waiting"] > queue["observed"]["backlog"] == 128

    (idle,) = case.said.found("idle-timeout")
    (close,) = [one for one in idle["remedies"] if "dead connections" in one["title"]]
    before = case.served
    paste(topology.hosts[close["target"]], close["text"])
    assert not case.dead & server.held()
    case.crowd.order("use")
    assert before < case.crowd.truth().fates[OPEN] <= before + DEAD


def test_slapd_at_its_ulimit(laboratory, topology, exhausted) -> None:
    case = exhausted(laboratory.slapd(topology.ldap, descriptors=150), crowd=150)
    says_who_holds_them(case)
    (headroom,) = case.said.found("descriptor-headroom")
    assert headroom["severity"] == "critical"
    assert headroom["confidence"] == "certain"
    assert 0.95 * 150 <= headroom["observed"]["used"] <= headroom["observed"]["limit"] == 150
    assert headroom["title"].startswith("ldap has run out of descriptors: "), "a state, and no time"
    (ghosts,) = case.said.found("ghost-connections")
    assert ghosts["severity"] == "critical"
    close = ghosts["remedies"][0]
    assert "ss -K" in close["text"], "it accepts no connection by which a new idle timeout could be set"
    paste(topology.hosts[close["target"]], close["text"])
    assert not case.dead & case.server.held()


def says_who_holds_them(case: Exhausted) -> None:
    """Assert what holds of either server: a gap in time, and dead and holders named none the less."""
    said = case.said
    assert "answer" in said.gaps["ldap://ldap"]
    assert case.seconds < TIMEOUT + APART + SPARE
    assert said.code == 1
    assert said.ghost_ends == case.dead
    (share,) = said.found("connection-share")
    held = {one["client"]: one["connections"] for one in share["observed"]["by_client"]}
    assert held["10.77.2.2"] == DEAD + LIVING
    assert held["10.77.3.2"] >= case.served


def answered(truth: Truth) -> int:
    """Return how many connections of an application got an answer."""
    return sum(1 for one in truth.sockets if one["answered"])
