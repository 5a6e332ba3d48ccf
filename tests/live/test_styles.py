"""What stands between, told by what it leaves behind: each style of box named right, or unknown where nothing tells."""

from __future__ import annotations

import time

import pytest

from lab import boxes
from lab.applications import ENDED, OPEN, RESET, UNANSWERED
from lab.host import wait_for

BOX_SECONDS = 2
COUNT = 20
HOSTS = ("ssh://ldap", "ssh://app1", "ssh://app2", "ssh://fw")
BOTH_ENDS = ("ssh://ldap", "ssh://app1")


@pytest.fixture
def server(laboratory, topology):
    return laboratory.slapd(topology.ldap)


def rest() -> None:
    """Let the box's clock run out; it is not ours, so there is nothing to wait for."""
    time.sleep(BOX_SECONDS + 1)


@pytest.fixture
def parted(server, topology, start):
    """Let app1's connections rest beyond the memory of a box, and use them again; app2 has a pool in good health."""

    def made(box):
        held = start(topology.app1, "held", count=COUNT, address=box.address)
        start(topology.app2, "pool", name="foo", count=5, every=0.5, address=box.address)
        rest()
        held.order("use")
        return held

    return made


@pytest.mark.parametrize("targets", [HOSTS, BOTH_ENDS], ids=["with-fw", "without-fw"])
def test_silent_drop(server, topology, desk, parted, targets) -> None:
    held = parted(boxes.silent_drop(topology.fw, BOX_SECONDS))
    wait_for(lambda: not topology.app1.ends("FIN-WAIT-1"), "leftovers stay")
    said = desk.diagnose(*targets, "--apart", "0.3")
    assert said.ghost_ends == held.truth().ends(UNANSWERED) == server.held() & held.truth().ends(UNANSWERED)
    assert said.ghosts["10.77.2.2"]["style"] == "silent-drop"
    assert said.ghosts["10.77.2.2"]["path"] == "direct"


@pytest.mark.parametrize("targets", [HOSTS, BOTH_ENDS], ids=["with-fw", "without-fw"])
@pytest.mark.parametrize("box", [boxes.reset_to_client, boxes.reset_client_when_idle], ids=["when-used", "at-expiry"])
def test_reset_to_the_client_alone(desk, topology, parted, box, targets) -> None:
    held = parted(box(topology.fw, BOX_SECONDS))
    said = desk.diagnose(*targets, "--apart", "0.3")
    assert said.ghost_ends == held.truth().ends(RESET)
    assert len(said.ghost_ends) == COUNT
    assert said.ghosts["10.77.2.2"]["style"] == "reset-to-client"


COUNTERS = "nstat -az > {folder}/nstat.txt"
SNAPSHOT = "date -u +%FT%T.%NZ > {folder}/captured-at.txt; ss -tanoiep > {folder}/ss.txt"


@pytest.mark.parametrize("counted", ["twice", "once"])
def test_counters_that_are_large_for_other_reasons_count_by_what_they_grew(
    server, topology, desk, start, tmp_path, counted
) -> None:
    """Its host has aborted more connections than there are ghosts, long before."""
    box = boxes.reset_to_client(topology.fw, BOX_SECONDS)
    start(topology.app1, "held", name="foo", count=3 * COUNT).order("reset")
    held = start(topology.app1, "held", count=COUNT, address=box.address)
    start(topology.app1, "pool", name="foo", count=3, every=0.3)

    def snapshot(name: str, *commands: str) -> None:
        for host in (topology.app1, topology.ldap):
            folder = tmp_path / name / host.name
            folder.mkdir(parents=True)
            host.run("; ".join(commands).format(folder=folder))

    snapshot("snap1", SNAPSHOT, *([COUNTERS] if counted == "twice" else []))
    rest()
    held.order("use")
    assert held.truth().fates == {RESET: COUNT}
    snapshot("snap2", SNAPSHOT, COUNTERS)
    said = desk.diagnose(str(tmp_path))
    assert said.ghost_ends == held.truth().ends(RESET)
    assert said.ghosts["10.77.2.2"]["style"] == ("reset-to-client" if counted == "twice" else "unknown")


def test_reset_to_both_leaves_nobody_behind(server, desk, topology, parted) -> None:
    held = parted(boxes.reset_to_both(topology.fw, BOX_SECONDS))
    assert held.truth().fates == {RESET: COUNT}
    assert not held.truth().ends(RESET) & server.held()
    said = desk.diagnose(*HOSTS, "--apart", "0.3")
    assert said.ghosts == {}
    assert said.found("stranded-connections") == []


def test_a_crashed_and_rebooted_client(server, desk, topology, laboratory, start) -> None:
    start(topology.app1, "held", count=COUNT)
    start(topology.app2, "pool", name="foo", count=5, every=0.5)
    dead = topology.app1.ends("ESTAB")
    rest()
    rest()
    host = topology.reboot("app1", uptime_seconds=1)
    laboratory.keys.serve(host)
    alive = start(host, "pool", count=3, every=0.5)
    said = desk.diagnose(*HOSTS, "--apart", "0.3")
    assert dead <= server.held()
    assert said.ghost_ends == dead - alive.truth().ends(OPEN)
    (found,) = said.found("ghost-connections")
    assert (found["observed"]["style"], found["confidence"]) == ("client-gone", "certain")


def test_a_proxy_ends_both_legs_and_leaves_nobody_behind(desk, topology, parted) -> None:
    held = parted(boxes.proxy(topology.fw, BOX_SECONDS))
    assert held.truth().fates == {ENDED: COUNT}
    said = desk.diagnose(*HOSTS, "--apart", "0.3")
    assert said.ghosts == {}
    assert said.outcomes("ghost-connections") == {"clear"}
    paths = [path for one in said.found("idle-timeout") for path in one["observed"]["paths"]]
    assert {path["upper_seconds"] for path in paths} <= {None, BOX_SECONDS}


def test_what_a_proxy_keeps_for_clients_that_are_gone_is_held_by_it(server, desk, topology, laboratory, start) -> None:
    """The clients' host lost its power; the proxy believes in their legs, and keeps its own to the server."""
    box = boxes.proxy(topology.fw, 3600)
    start(topology.app1, "held", count=COUNT, address=box.address)
    start(topology.app2, "pool", name="foo", count=5, every=0.5, address="10.77.3.1")
    rest()
    laboratory.keys.serve(topology.reboot("app1", uptime_seconds=1))
    said = desk.diagnose(*HOSTS, "--apart", "0.3")
    assert len(server.held()) == COUNT + 5
    (held,) = said.found("proxy-held-connections")
    assert (held["observed"]["proxy"], held["observed"]["connections"]) == ("fw", COUNT)
    assert all(seen["server"] != "10.77.1.2:389" for seen in said.ghosts.values())


class TestAddressTranslation:
    @pytest.fixture
    def box(self, topology, request):
        boxes.snat(topology.fw, ports=request.param)
        return boxes.silent_drop(topology.fw, BOX_SECONDS)

    @pytest.mark.parametrize("box", ["random", "kept"], indirect=True)
    def test_through_the_boxs_own_table(self, server, desk, topology, parted, box) -> None:
        held = parted(box)
        wait_for(lambda: not topology.app1.ends("FIN-WAIT-1"), "leftovers stay")
        said = desk.diagnose(*HOSTS, "--apart", "0.3")
        (seen,) = said.ghosts.values()
        assert held.truth().fates == {UNANSWERED: COUNT}
        assert (seen["client"], seen["ghosts"], seen["matched"]) == ("10.77.1.1", COUNT, 5)
        assert (seen["path"], seen["pairing"]) == ("nat", "box-table")
        assert set(seen["ghost_client_ports"]) <= {port for _, port in server.held()}

    @pytest.mark.parametrize("box", ["random"], indirect=True)
    def test_without_it_nothing_is_claimed(self, desk, parted, box) -> None:
        parted(box)
        said = desk.diagnose("ssh://ldap", "ssh://app1", "ssh://app2", "--apart", "0.3")
        assert said.ghosts == {}
        assert said.outcomes("ghost-connections") == {"not-judged"}


def test_a_virtual_address_is_joined_by_the_clients_endpoint(desk, topology, parted) -> None:
    box = boxes.dnat(topology.fw)
    boxes.silent_drop(topology.fw, BOX_SECONDS)
    held = parted(box)
    wait_for(lambda: not topology.app1.ends("FIN-WAIT-1"), "leftovers stay")
    said = desk.diagnose(*BOTH_ENDS, "ssh://app2", "--apart", "0.3")
    assert said.ghost_ends == held.truth().ends(UNANSWERED)
    assert len(said.ghost_ends) == COUNT
    assert said.ghosts["10.77.2.2"]["style"] == "silent-drop"


def test_a_virtual_address_of_living_connections_hides_no_ghost(server, desk, topology, start) -> None:
    box = boxes.dnat(topology.fw)
    held = start(topology.app1, "held", count=COUNT, address=box.address)
    said = desk.diagnose(*BOTH_ENDS, "--apart", "0.3", "--check", "ghost-connections")
    assert held.truth().ends(OPEN) == server.held()
    assert said.ghosts == {}
    assert said.outcomes("ghost-connections") == {"clear"}
