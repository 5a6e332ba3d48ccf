"""The sockets of one client's connections at both ends: what each table has, and what none of them can show."""

from __future__ import annotations

from typing import Any

import facts
from facts import APP1, LDAP, at_client, at_server, flows, listening, row_of_another_service, table
from joins import paired
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.pairing.socket_ends import socket_ends
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.sockets import TcpState

NAT = "10.77.1.1"
FIREWALL = Host(host="fw", description=facts.description("fw"), kernel=facts.settings(tcp_loose=0))
IDLE: dict[str, Any] = {"last_received": 600_000}


def ends(server: list[facts.Row], client: list[facts.Row], *boxes: Any, address: str = APP1) -> set[tuple[Any, ...]]:
    ldap = facts.host("ldap", table([listening(), *server], taken=1))
    app1 = facts.host("app1", table([*row_of_another_service(), *client], "app1", taken=2))
    found = socket_ends(paired(ldap, app1, FIREWALL, flows=boxes), [ldap, app1], address)
    assert [one.idle_seconds or -1.0 for one in found] == sorted(
        (one.idle_seconds or -1.0 for one in found), reverse=True
    )
    return {(one.client_port, one.at_server, one.at_client, one.verdict) for one in found}


def test_what_each_table_has_of_a_connection() -> None:
    waiting = at_server(1, first=41_000, state=TcpState.CLOSE_WAIT)
    found = ends(
        at_server(1) + waiting + at_server(1, first=50_000, **IDLE), at_client(1) + at_client(1, first=60_000, **IDLE)
    )
    assert found == {
        (40_000, "ESTABLISHED", "ESTABLISHED", ""),
        (41_000, "CLOSE_WAIT", "absent", ""),
        (50_000, "ESTABLISHED", "absent", "ghost"),
        (60_000, "absent", "ESTABLISHED", "stranded"),
    }


def test_connections_that_a_box_has_severed() -> None:
    live, dead = at_server(2, last_received=100), at_server(1, first=50_000, **IDLE)
    found = ends(
        live + dead, at_client(2, last_received=100) + at_client(1, first=50_000, **IDLE), flows(live, taken=3)
    )
    assert (50_000, "ESTABLISHED", "ESTABLISHED", "severed") in found
    assert {verdict for port, *_, verdict in found if port != 50_000} == {""}


def test_behind_a_nat_the_client_has_other_ports() -> None:
    translated = FlowTable(
        origin=facts.origin("fw", "conntrack.txt", taken=1),
        client=[(APP1, 40_000, LDAP, 389)],
        server=[(LDAP, 389, NAT, 61_000)],
        state=["ESTABLISHED"],
        seconds_left=[400],
    )
    found = ends(at_server(1, NAT, first=61_000), at_client(1), translated, address=NAT)
    assert found == {(61_000, "ESTABLISHED", "translated", "")}


def test_a_client_that_has_only_closed_is_shown() -> None:
    """Its server has not closed: the sockets hold descriptors, but no connection is established to be joined."""
    waiting = at_server(2, first=41_000, state=TcpState.CLOSE_WAIT, **IDLE)
    for others in ([], at_server(1, "10.77.3.2"), [facts.row(f"{LDAP}:22", f"{APP1}:50000")]):
        found = ends([*waiting, *others], [])
        assert found == {(port, "CLOSE_WAIT", "not judged", "") for port in (41_000, 41_001)}
