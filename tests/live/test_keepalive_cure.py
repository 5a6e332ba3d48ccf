"""The cure, live: once the printed keepalive is set, connections rest beyond the box's memory, and none of them dies.

Before it, the same pool on the same path loses every one: that is the incident, and the proof that the box works.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from lab import boxes
from lab.applications import OPEN, UNANSWERED, UNBOUND
from lab.host import wait_for
from lab.terminal import paste

if TYPE_CHECKING:
    from lab.desk import Said
    from lab.topology import Topology

BOX_SECONDS = 10
"""The cure is half of it, and below 5 s there is none that a person would set."""
REST = BOX_SECONDS + 2
COUNT = 12
HOSTS = ("ssh://ldap", "ssh://app1", "ssh://app2", "ssh://fw")


@pytest.fixture
def sick(topology, desk, start):
    """Let a pool of app1 die of the box, and return what the report says of it."""

    def happened(server) -> Said:
        boxes.silent_drop(topology.fw, BOX_SECONDS)
        pool = start(topology.app1, "leaking", count=COUNT, rest=REST, live=3, patience=2)
        wait_for(lambda: not topology.app1.ends("FIN-WAIT-1"), "app1 goes on telling the dead that it has closed them")
        assert pool.truth().fates == {UNANSWERED: COUNT, OPEN: 3}
        said = desk.diagnose(*HOSTS, "--apart", "1")
        assert said.ghost_ends == pool.truth().ends(UNANSWERED) <= server.held()
        (slow,) = said.found("keepalive-too-slow")
        assert (slow["observed"]["host"], slow["observed"]["box_upper_seconds"]) == ("ldap", BOX_SECONDS)
        return said

    return happened


def test_the_servers_own_keepalive_keeps_a_resting_pool_alive(laboratory, topology, desk, start, sick) -> None:
    """On 389-ds, where the time holds for new connections: the dead ones are closed by the drain."""
    server = laboratory.ds389(topology.ldap)
    before = sick(server)
    for remedy in [*printed(before, "drain: close "), *printed(before, "limit: ")]:
        apply(topology, remedy)
    cure, _ = printed(before, "cure: ")
    assert "nsslapd-tcp-keepalive-time: 5" in apply(topology, cure)

    rested = start(topology.app1, "leaking", count=COUNT, rest=REST, live=3, patience=5)
    assert rested.truth().fates == {UNBOUND: COUNT, OPEN: 3}
    is_cured(desk.diagnose(*HOSTS, "--apart", "1"))


def test_the_kernels_keepalive_at_either_end_keeps_a_resting_pool_alive(
    laboratory, topology, desk, start, sick
) -> None:
    """On slapd, which leaves the time to the kernel.

    First at the client: that pool is accepted before the server's kernel is cured, whose timer for it is armed with
    two hours. Then at the server: that pool's client has no keepalive at all.
    The drain is printed with 300 s; here it is pasted with 5 s, then as printed (see test_closed_loop.py).
    """
    server = laboratory.slapd(topology.ldap)
    before = sick(server)
    (drain,) = printed(before, "drain: ")
    seconds = before.found("idle-timeout")[0]["observed"]["recommended_seconds"]
    apply(topology, drain | {"text": drain["text"].replace(f": {seconds}", ": 5")})
    wait_for(lambda: not before.ghost_ends & server.held(), "the idle timeout does not close the dead")
    apply(topology, drain)

    at_server, at_client = printed(before, "cure: ")
    assert (at_server["alternative"], at_client["alternative"]) == (False, True)
    assert (at_client["target"], at_server["target"]) == ("app1", "ldap")
    assert "net.ipv4.tcp_keepalive_time = 5" in apply(topology, at_client)
    first = start(topology.app1, "held", count=COUNT, keepalive="kernel", patience=5)
    assert "net.ipv4.tcp_keepalive_time = 5" in apply(topology, at_server)
    second = start(topology.app2, "leaking", name="foo", count=COUNT, rest=REST, live=3, patience=5)
    first.order("use")
    assert first.truth().fates == {OPEN: COUNT}
    assert second.truth().fates == {UNBOUND: COUNT, OPEN: 3}
    is_cured(desk.diagnose(*HOSTS, "--apart", "1"))


def test_probes_that_only_the_clients_send_are_enough(laboratory, topology, desk, start) -> None:
    """The server's kernel would send its first probe after two hours; app2, which sends none, is the contrast."""
    laboratory.slapd(topology.ldap)
    boxes.silent_drop(topology.fw, BOX_SECONDS)
    start(topology.app1, "held", count=3, keepalive=BOX_SECONDS // 3)
    time.sleep(BOX_SECONDS)
    assert desk.diagnose(*HOSTS, "--apart", "1").outcomes("keepalive-too-slow") == {"clear"}

    start(topology.app2, "held", count=1)
    (slow,) = desk.diagnose(*HOSTS, "--apart", "1").found("keepalive-too-slow")
    assert [(one["client"], one["in_time"]) for one in slow["observed"]["clients"]] == [("app2", False)]


def printed(said: Said, step: str) -> list[dict[str, Any]]:
    """Return the remedies of one step, in the order in which they are printed."""
    (idle,) = said.found("idle-timeout")
    return [remedy for remedy in idle["remedies"] if remedy["title"].startswith(step)]


def apply(topology: Topology, remedy: dict[str, Any]) -> str:
    """Paste what a remedy prints on the host it names, and return what its check shows."""
    host = topology.hosts[remedy["target"]]
    paste(host, remedy["text"])
    return paste(host, remedy["verify"])


def is_cured(said: Said) -> None:
    """Assert that nobody is dead, and that keepalive is in time."""
    assert said.outcomes("ghost-connections") == {"clear"}
    assert said.outcomes("keepalive-too-slow") == {"clear"}
    assert said.alarms == set()
