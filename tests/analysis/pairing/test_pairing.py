from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
from facts import APP1, APP2, LDAP, at_client, at_server, row, table
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.pairing.direction import Direction
from ldapdiag.analysis.pairing.pairing import Pairing, pair
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.sockets import TcpState

OTHERS = facts.row_of_another_service()


def directions(server: Any, *clients: Host, flows: tuple[Any, ...] = ()) -> dict[str, Direction]:
    pairing = pair(facts.server(), (facts.host("ldap", server), *clients), flows)
    assert isinstance(pairing, Pairing)
    return {one.client: one for one in pairing.directions}


def missing(direction: Direction) -> Missing:
    assert direction.missing is not None
    return direction.missing


def test_a_client_that_was_not_read_is_missing_with_the_way_to_get_it() -> None:
    why = missing(directions(table(at_server(3)))[APP1])
    assert why.reason == f"no socket table of {APP1}, which has 3 connections"
    assert why.lacks == ("socket-table",)
    assert (why.how or "").startswith(f"on {APP1}: ss -tan")


def test_what_a_middlebox_carries_of_an_unread_client_is_reported() -> None:
    why = missing(directions(table(at_server(3)), flows=(facts.flows(at_server(2)),))[APP1])
    assert "fw carries 2 of these 3" in why.reason


def test_a_middlebox_is_on_the_path_of_an_unread_client() -> None:
    assert directions(table(at_server(3)), flows=(facts.flows(at_server(2)),))[APP1].path.middleboxes == ("fw",)


def test_what_another_server_of_the_same_address_has_is_not_stranded() -> None:
    """Two servers own one virtual address and answer from it (DSR); each has a part of the client's connections."""
    one = table([*at_server(3), row("10.77.1.11:22", "10.77.9.9:50000")], shows_time_wait=True)
    two = table([*at_server(2, first=40003), row("10.77.1.12:22", "10.77.9.9:50000")], "two")
    client = facts.host("app1", table(at_client(6), "app1", shows_time_wait=True))
    found = directions(one, facts.host("two", two), client)[APP1]
    assert (found.matched, found.client_count, found.stranded.ports) == (3, 4, (40005,))


def test_a_client_whose_ports_the_server_shows_with_names_is_not_stranded() -> None:
    """`ss -ta` prints names for addresses: all 20 connections of a healthy client were stranded, of high severity."""
    rows = [facts.row("ds1.example.com…:389", f"app1.example.com…:{40000 + port}") for port in range(20)]
    server = replace(facts.host("ldap", facts.table([facts.listening(), *rows])), addresses=frozenset({facts.LDAP}))
    client = facts.host("app1", facts.table(facts.at_client(20), "app1"))
    found = {one.client: one for one in pair(facts.server(), (server, client), ()).directions}
    assert found[facts.APP1].missing is not None
    assert "with a name" in found[facts.APP1].missing.reason
    assert found[facts.APP1].stranded.count == 0


def test_an_address_of_several_hosts_identifies_no_client() -> None:
    shared = [row(f"{APP1}:22", "10.77.9.9:50000")]
    one = facts.host("one", table([*shared, row("10.77.5.1:22", "10.77.9.9:50000")], "one"))
    two = facts.host("two", table([*shared, row("10.77.5.2:22", "10.77.9.9:50000")], "two"))
    assert "address of several hosts" in missing(directions(table(at_server(3)), one, two)[APP1]).reason


def test_each_address_the_server_sees_is_a_direction() -> None:
    found = directions(
        table([*at_server(2), *at_server(3, APP2)]),
        facts.host("app1", table(at_client(2), "app1")),
        facts.host("app2", table(at_client(3, APP2), "app2")),
    )
    assert {client: one.matched for client, one in found.items()} == {APP1: 2, APP2: 3}


def test_a_host_that_stands_in_for_others_is_not_asked_for_their_sockets() -> None:
    """A gateway's table was read, the client behind it, too; the gateway's has no LDAP connection of its own."""
    gateway = facts.host("gateway", table([row("10.77.1.1:22", "10.77.9.9:50000")], "gateway"))
    behind = facts.host("app1", table(at_client(3), "app1"))
    found = directions(table(at_server(3, "10.77.1.1", first=20000)), gateway, behind)
    why = missing(found["10.77.1.1"])
    assert "appears to translate the addresses of other hosts" in why.reason
    assert why.how == "on 10.77.1.1, as root: conntrack -L"
    assert "may be translated" in missing(found[APP1]).reason or "translat" in missing(found[APP1]).reason


def test_ports_that_another_host_has_open_unseen_are_no_ghosts() -> None:
    """The gateway has one connection of its own, as a client has; the others keep their clients' ports."""
    gateway = facts.host("gateway", table(at_client(1, "10.77.1.1"), "gateway", shows_time_wait=True))
    behind = facts.host("app1", table(at_client(3, first=40001), "app1", shows_time_wait=True))
    found = directions(table(at_server(4, "10.77.1.1"), shows_time_wait=True), gateway, behind)
    assert found["10.77.1.1"].ghosts.count == 0
    assert sum(found["10.77.1.1"].ghosts.unproven.values()) == 3


@pytest.mark.parametrize(("behind", "judged"), [(2, True), (3, False)])
def test_a_gateway_with_connections_of_its_own_may_stand_in_for_others(behind: int, *, judged: bool) -> None:
    """It translates the others to new ports, so only their number is known."""
    gateway = facts.host("gateway", table(at_client(1, "10.77.1.1"), "gateway", shows_time_wait=True))
    others = facts.host("app1", table(at_client(behind, first=50000), "app1", shows_time_wait=True))
    found = directions(table(at_server(4, "10.77.1.1"), shows_time_wait=True), gateway, others)
    assert (found["10.77.1.1"].missing is None) == judged
    assert "may be translated" in missing(found[APP1]).reason


def test_a_second_address_of_a_client_that_the_server_lost_is_stranded() -> None:
    second = "10.77.2.3"
    client = facts.host("app1", table([*at_client(3), *at_client(2, second)], "app1", shows_time_wait=True))
    found = directions(table(at_server(3), shows_time_wait=True), client)
    assert (found[second].missing, found[second].stranded.count) == (None, 2)


def test_a_server_without_a_table_of_its_own_cannot_be_paired() -> None:
    why = pair(facts.server(), (Host(host="ldap"),), ())
    assert isinstance(why, Missing)
    assert why.lacks == ("socket-table",)


def test_a_list_of_listeners_cannot_be_paired() -> None:
    why = pair(facts.server(), (facts.host("ldap", table([facts.listening()])),), ())
    assert isinstance(why, Missing)
    assert "listening sockets only" in why.reason


class TestViaTranslation:
    """Behind masquerade the server sees the NAT's address; the NAT's flow table leads to the client's socket."""

    BOX = "10.77.1.1"

    def flows(self, ports: range, client: str = APP1, state: str = "ESTABLISHED") -> Any:
        carried = facts.flows(at_server(len(ports), self.BOX, first=ports.start), state=state)
        dialled = [(client, port, LDAP, 389) for port in ports]
        return type(carried)(
            origin=carried.origin,
            client=dialled,
            server=carried.server,
            state=carried.state,
            seconds_left=carried.seconds_left,
        )

    def through(self, *flows: Any, client_rows: list[facts.Row], at_box: int = 10) -> Direction:
        server = table([facts.listening(), *at_server(at_box, self.BOX)], shows_time_wait=True)
        client = facts.host("app1", table([*client_rows, *OTHERS], "app1", shows_time_wait=True))
        return directions(server, client, flows=flows)[self.BOX]

    def test_a_flow_leads_to_the_clients_socket(self) -> None:
        direction = self.through(self.flows(range(40000, 40010)), client_rows=at_client(10))
        assert (direction.matched, direction.ghosts.count) == (10, 0)
        assert (direction.join, direction.path.kind, direction.path.translated_by) == (
            "box-table",
            "nat",
            "fw",
        )
        assert direction.client_hosts == ("app1",)

    def test_a_socket_without_a_flow_is_a_ghost(self) -> None:
        direction = self.through(self.flows(range(40000, 40004)), client_rows=at_client(4))
        assert direction.ghosts.ports == tuple(range(40004, 40010))
        assert direction.evidence.without_flow == 6

    def test_a_flow_whose_client_lacks_it_is_unproven(self) -> None:
        direction = self.through(self.flows(range(40000, 40010)), client_rows=at_client(4))
        assert (direction.matched, direction.ghosts.count, sum(direction.ghosts.unproven.values())) == (4, 0, 6)

    def test_a_flow_of_a_client_that_was_not_read_is_unproven(self) -> None:
        direction = self.through(
            self.flows(range(40000, 40004)), self.flows(range(40004, 40010), "10.77.9.9"), client_rows=at_client(4)
        )
        assert direction.ghosts.unproven == {"carried by fw for 10.77.9.9, whose table was not read": 6}

    def test_a_flow_that_is_closing_is_closing(self) -> None:
        direction = self.through(
            self.flows(range(40000, 40004)),
            self.flows(range(40004, 40010), state="TIME_WAIT"),
            client_rows=at_client(4),
        )
        assert (direction.closing, direction.ghosts.count) == (6, 0)

    def test_the_clients_own_address_is_judged_there(self) -> None:
        server = table([facts.listening(), *at_server(3, self.BOX)])
        client = facts.host("app1", table(at_client(3), "app1"))
        found = directions(server, client, flows=(self.flows(range(40000, 40003)),))
        assert missing(found[APP1]).reason == f"fw translates its address: see the connections from {self.BOX}"

    def test_the_owner_of_the_address_has_connections_of_its_own(self) -> None:
        """An application's host translates its containers; a list of translated flows has none of the host's own."""
        server = table([facts.listening(), *at_server(10, self.BOX)], shows_time_wait=True)
        owner = facts.host("fw", table(at_client(6, self.BOX, first=40004), "fw", shows_time_wait=True))
        direction = directions(server, owner, flows=(self.flows(range(40000, 40004), "172.17.0.5"),))[self.BOX]
        assert (direction.matched, direction.ghosts.count, sum(direction.ghosts.unproven.values())) == (6, 0, 4)
        assert direction.client_hosts == ("fw",)

    def test_a_live_client_that_the_table_lacks_makes_it_a_selection(self) -> None:
        direction = self.through(self.flows(range(40000, 40004)), client_rows=at_client(10))
        assert (direction.matched, direction.ghosts.count, sum(direction.ghosts.unproven.values())) == (4, 0, 6)

    def test_new_flows_at_the_middlebox_are_churn(self) -> None:
        server = table([facts.listening(), *at_server(30, self.BOX)])
        client = facts.host("app1", table([*at_client(10), *at_client(20, first=50000)], "app1"))
        flows = (self.flows(range(40000, 40010)), self.flows(range(50000, 50020)))
        direction = directions(server, client, flows=flows)[self.BOX]
        assert (direction.ghosts.count, sum(direction.ghosts.unproven.values())) == (0, 20)

    def test_churn_at_the_middlebox_is_subtracted(self) -> None:
        rows = [
            facts.listening(),
            *at_server(10, self.BOX),
            *at_server(60, self.BOX, first=50000, state=TcpState.TIME_WAIT),
        ]
        server = table(rows, shows_time_wait=True, taken=0)
        client = facts.host("app1", table(at_client(4), "app1"))
        direction = directions(server, client, flows=(self.flows(range(40000, 40004)),))[self.BOX]
        assert (direction.ghosts.count, sum(direction.ghosts.unproven.values())) == (0, 6)
