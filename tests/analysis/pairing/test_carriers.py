"""Which middleboxes a direction passes through: by tables, addresses and routes; and which stand elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import facts
from facts import APP1, APP2, LDAP, at_client, at_server, listening, table
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.pairing.carriers import Carriers
from ldapdiag.analysis.pairing.pairing import pair
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.host_facts import Route

COUNT = 4
VIP = "10.77.100.1"


def carriers(*flows: FlowTable, hosts: tuple[Host, ...] = (), routes: tuple[Route, ...] = ()) -> Carriers:
    """Return the carriers of app1's four connections."""
    server = facts.host("ldap", table([listening(), *at_server(COUNT)]), routes=routes)
    app1 = facts.host("app1", table([*at_client(COUNT), *facts.row_of_another_service()], "app1"))
    (direction,) = pair(facts.server(), (server, app1, *hosts), flows).directions
    return direction.path.carriers


def translated(inside: FlowTable, *, client: str = APP1, to: str = VIP, shift: int = 0) -> FlowTable:
    """Return a table whose flows come from another address and go to another destination."""
    return replace(inside, client=[(client, key[1] + shift, to, 389) for key in inside.client])


def test_a_box_counts_whose_table_has_the_connections() -> None:
    assert carriers(facts.flows(at_server(COUNT))).by_table == {"fw"}


def test_a_box_that_carries_others_does_not_count() -> None:
    elsewhere = facts.flows(at_server(COUNT, APP2), "fw2")
    others = facts.flows([facts.row("10.77.7.7:389", f"{APP1}:{40000 + n}") for n in range(COUNT)], "fw3")
    found = carriers(elsewhere, others)
    assert found == Carriers(may_carry=frozenset({"fw2"}))
    assert not found.all


def test_five_wrong_boxes_beside_the_right_one() -> None:
    wrong = [facts.flows(at_server(COUNT, f"10.77.{n}.9"), f"wrong{n}") for n in range(5)]
    assert carriers(*wrong, facts.flows(at_server(COUNT))) == Carriers(by_table=frozenset({"fw"}))


def test_a_connection_that_was_never_answered_is_not_carried() -> None:
    assert carriers(facts.flows(at_server(COUNT), state="SYN_SENT")) == Carriers()


def test_other_connections_of_the_same_addresses_count_where_no_table_has_these() -> None:
    closed = facts.flows(at_server(COUNT, first=50000), "fw2", state="TIME_WAIT")
    assert carriers(closed).by_address == {"fw2"}
    assert carriers(closed, facts.flows(at_server(COUNT))) == Carriers(by_table=frozenset({"fw"}))


def test_a_box_before_a_translation_carries_it_too() -> None:
    balancer = translated(facts.flows(at_server(COUNT), "balancer"), shift=7)
    before = facts.flows([facts.row(f"{VIP}:389", f"{APP1}:{40007 + n}") for n in range(COUNT)], "fw")
    stranger = facts.flows([facts.row(f"{VIP}:389", f"{APP2}:{40007 + n}") for n in range(COUNT)], "fw2")
    assert carriers(balancer, before, stranger).by_table == {"balancer", "fw"}


def test_the_tracking_of_an_end_is_no_middlebox() -> None:
    found = carriers(facts.flows(at_server(COUNT), "app1"), facts.flows(at_server(COUNT), "ldap"))
    assert found.all == frozenset()


GATEWAY = (Route("10.77.1.0/24", on_link=True), Route("0.0.0.0/0", ("10.77.1.1",)))


def test_the_servers_gateway_is_on_the_route() -> None:
    boxes = (
        Host(host="fw", addresses=frozenset({"10.77.1.1"})),
        Host(host="fw2", addresses=frozenset({"10.77.1.9"})),
    )
    assert carriers(hosts=boxes, routes=GATEWAY).by_route == {"fw"}


def test_ends_in_one_network_have_no_box_between_them() -> None:
    wide = (Route("10.77.0.0/16", on_link=True),)
    fw = Host(host="fw", addresses=frozenset({"10.77.1.1"}))
    assert carriers(hosts=(fw,), routes=wide).direct
    assert not carriers(hosts=(fw,), routes=GATEWAY).direct
    assert not carriers(facts.flows(at_server(COUNT)), routes=wide).direct


def test_a_client_on_the_servers_own_host_has_none() -> None:
    local: list[Any] = [facts.row(f"{end}:389", f"{end}:50000") for end in ("127.0.0.1", LDAP)]
    local += [facts.row(f"{end}:50000", f"{end}:389") for end in ("127.0.0.1", LDAP)]
    server = facts.host("ldap", table([listening(), *local]))
    directions = pair(facts.server(), (server,), ()).directions
    assert [direction.path.carriers.direct for direction in directions] == [True, True]
