"""A container host that is a client, too: its flow table has the containers' connections, its socket table its own."""

from __future__ import annotations

from dataclasses import replace

import facts
from facts import APP1, LDAP, at_client, at_server, listening, table
from ldapdiag.analysis.pairing.pairing import pair
from ldapdiag.evidence.flows import FlowTable

INNER = "10.88.1.2"
IDLE_MS = 600_000


def conntrack(own: int, inner: int) -> FlowTable:
    """Return app1's own tracking: its own connections from port 40000 on, a container's seen from port 50000 on."""
    dialled = [(APP1, 40000 + number, LDAP, 389) for number in range(own)]
    dialled += [(INNER, 33000 + number, LDAP, 389) for number in range(inner)]
    seen = [(LDAP, 389, APP1, 40000 + number) for number in range(own)]
    seen += [(LDAP, 389, APP1, 50000 + number) for number in range(inner)]
    return FlowTable(
        origin=facts.origin("app1", "conntrack.txt", taken=0),
        client=dialled,
        server=seen,
        state=["ESTABLISHED"] * len(seen),
        seconds_left=[300] * len(seen),
    )


def site(flows: FlowTable, *, web: bool = True, described: bool = True):
    at_ldap = table(
        [listening(), *at_server(5, last_received=IDLE_MS), *at_server(4, first=50000, last_received=IDLE_MS)],
        columns=("receive_queue", "last_received"),
        taken=1,
    )
    about = facts.description(addresses=frozenset({APP1, "10.88.1.1"}), namespaces_unread=0) if described else None
    app1 = facts.host("app1", table(at_client(2), "app1", taken=0), description=about)
    rows = [facts.row(f"{INNER}:{33000 + number}", f"{LDAP}:389") for number in range(4)]
    inner = facts.host("app1-web", table(rows, "app1-web", taken=0))
    inner = replace(inner, description=facts.description("app1-web", addresses=frozenset({INNER})))
    hosts = (facts.host("ldap", at_ldap), app1, *((inner,) if web else ()))
    return next(iter(pair(facts.server(), hosts, (flows,)).directions))


def test_the_containers_live_and_the_hosts_own_dead_ones_are_found() -> None:
    direction = site(conntrack(own=2, inner=4))
    assert (direction.ghosts.count, direction.matched, direction.server_count) == (3, 6, 9)
    assert direction.ghosts.ports == (40002, 40003, 40004)
    assert direction.client_hosts == ("app1",)


def test_the_hosts_own_entry_of_a_closed_connection_excludes_nothing() -> None:
    assert site(conntrack(own=5, inner=4)).ghosts.count == 3


def test_a_container_that_was_not_read_is_not_claimed() -> None:
    direction = site(conntrack(own=2, inner=4), web=False)
    assert (direction.ghosts.count, direction.matched) == (3, 2)
    assert sum(direction.ghosts.unproven.values()) == 4


def test_without_a_word_on_machines_a_containers_address_is_anybodys() -> None:
    direction = site(conntrack(own=2, inner=4), described=False)
    assert (direction.ghosts.count, direction.matched) == (3, 2)
    assert sum(direction.ghosts.unproven.values()) == 4


def test_what_was_opened_since_the_flows_were_listed_may_be_a_containers() -> None:
    """A container opens and closes 40 connections a second; the host's flows were listed four seconds ago."""
    old = conntrack(own=2, inner=1)
    direction = site(replace(old, origin=facts.origin("app1", "conntrack.txt", taken=-700)))
    assert direction.ghosts.count == 0
    assert sum(direction.ghosts.unproven.values()) == 6


def test_the_hosts_own_connections_may_be_given_another_port() -> None:
    own = [(APP1, 41000 + number, LDAP, 389) for number in range(3)]
    seen = [(LDAP, 389, APP1, 40000 + number) for number in range(3)]
    flows = FlowTable(
        origin=facts.origin("app1", "conntrack.txt", taken=0),
        client=[*own, (INNER, 33000, LDAP, 389)],
        server=[*seen, (LDAP, 389, APP1, 50000)],
        state=["ESTABLISHED"] * 4,
        seconds_left=[300] * 4,
    )
    at_ldap = table(
        [listening(), *at_server(3, last_received=IDLE_MS)], columns=("receive_queue", "last_received"), taken=1
    )
    about = facts.description(addresses=frozenset({APP1}), namespaces_unread=0)
    app1 = facts.host("app1", table(at_client(3, first=41000), "app1", taken=0), description=about)
    (direction, *_) = pair(facts.server(), (facts.host("ldap", at_ldap), app1), (flows,)).directions
    assert (direction.ghosts.count, direction.matched) == (0, 3)
