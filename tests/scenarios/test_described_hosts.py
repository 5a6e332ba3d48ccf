"""Hosts that told which machine and network namespace they are, and which addresses they have."""

from __future__ import annotations

from dataclasses import replace

import facts
from facts import APP1, LDAP, at_client, at_server, listening, row, table
from ldapdiag.analysis.hosts.attribution import attribute
from ldapdiag.analysis.pairing.pairing import pair
from ldapdiag.evidence.bundle import Bundle
from ldapdiag.evidence.flows import FlowTable

IDLE_MS = 600_000


def attributed(*facts_read):
    return {host.host: host for host in attribute(Bundle(facts=facts_read)).hosts}


def test_two_namespaces_with_one_address_are_two_hosts() -> None:
    tables = [table(at_client(2), folder) for folder in ("app1", "lab")]
    spaces = [facts.description(folder, namespace=f"net:[{number}]") for number, folder in enumerate(("app1", "lab"))]
    assert set(attributed(*tables)) == {"app1"}
    assert set(attributed(*tables, *spaces)) == {"app1", "lab"}


def test_a_namespace_is_one_host_whatever_addresses_come_and_go() -> None:
    early = table([row("10.9.9.9:50000", "10.9.9.1:22")], "app1", taken=0)
    late = table(at_client(2), "app1", taken=5)
    assert len(attributed(early, late)) == 2
    hosts = attributed(early, late, facts.description("app1", namespace="net:[1]"))
    assert set(hosts) == {"app1"}
    assert len(hosts["app1"].snapshots) == 2


def test_a_host_whose_sockets_show_no_address_has_those_it_told() -> None:
    quiet = table([listening(22)], "app1", taken=0)
    told = facts.description("app1", addresses=frozenset({APP1, "127.0.0.1", "fe80::1", "172.17.0.1"}))
    assert attributed(quiet, told)["app1"].addresses == {APP1}


def test_what_a_box_tells_of_hidden_connections_accuses_nobody_else() -> None:
    """A container of app1 is hidden behind app1, as app1's tracking tells; app2 has a few that come and go."""
    inner, other = "172.30.0.2", "10.77.3.2"
    seen = [*at_server(2), *at_server(3, first=50000), *at_server(4, other, last_received=IDLE_MS)]
    server = facts.host("ldap", table([listening(), *seen], columns=("receive_queue", "last_received"), taken=1))
    flows = FlowTable(
        origin=facts.origin("app1", "conntrack.txt", taken=0),
        client=[(inner, 33000 + number, LDAP, 389) for number in range(3)],
        server=[(LDAP, 389, APP1, 50000 + number) for number in range(3)],
        state=["ESTABLISHED"] * 3,
        seconds_left=[300] * 3,
    )
    about = facts.description("app1", addresses=frozenset({APP1}))
    app1 = facts.host("app1", table(at_client(2), "app1", taken=0), description=about)
    rows = [row(f"{inner}:{33000 + number}", f"{LDAP}:389") for number in range(3)]
    web = facts.host("web", table(rows, "web", taken=0))
    web = replace(web, description=facts.description("web", addresses=frozenset({inner})))
    app2 = facts.host("app2", table(at_client(2, other), "app2", taken=0))
    directions = pair(facts.server(), (server, app1, web, app2), (flows,)).directions
    found = {one.client: (one.ghosts.count, one.matched, one.missing is None) for one in directions}
    assert found[other] == (2, 2, True)
    assert found[APP1] == (0, 5, True)


def test_a_container_and_its_host_are_both_ends_under_the_bridges_addresses() -> None:
    """The directory runs in a container, its clients on the container's host."""
    bridge, inner = "172.17.0.1", "172.17.0.2"
    seen = [row(f"{inner}:389", f"{bridge}:{40000 + number}") for number in range(5)]
    made = [row(f"{bridge}:{40000 + number}", f"{inner}:389") for number in range(2)]
    server = facts.host("ldap-web", table([listening(), *seen], "ldap-web", taken=1, shows_time_wait=True))
    server = replace(server, description=facts.description("ldap-web", addresses=frozenset({inner, "127.0.0.1"})))
    outside = facts.host("ldap", table(made, "ldap", taken=0, shows_time_wait=True))
    about = facts.description("ldap", addresses=frozenset({LDAP, bridge, "127.0.0.1"}))
    for machine, known in ((about.machine, True), ("another", False)):
        outside = replace(outside, description=replace(about, machine=machine))
        (direction,) = pair(facts.server("ldap-web"), (server, outside), ()).directions
        assert (direction.missing is None) is known
        assert direction.matched == (2 if known else 0)
