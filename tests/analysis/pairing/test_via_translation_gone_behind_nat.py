"""Clients behind a NAT that booted since: the NAT still has their connections, and their tables do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import facts
from facts import APP1, LDAP, at_client, at_server, listening, row_of_another_service, table
from ldapdiag.analysis.pairing.pairing import pair
from ldapdiag.analysis.pairing.proof import proof_of
from ldapdiag.evidence.flows import FlowTable

if TYPE_CHECKING:
    from ldapdiag.analysis.pairing.direction import Direction

NAT = "10.77.1.1"
COUNT, LIVE = 5, 2


def joined(idle_ms: int = 600_000, **client: Any) -> Direction:
    """Return the connections of app1 behind a NAT that has all of them, of which app1 has two."""
    at_ldap = table([listening(), *at_server(COUNT, NAT, last_received=idle_ms)], columns=("last_received",), taken=1)
    at_app1 = table([*at_client(LIVE), *row_of_another_service()], "app1", taken=0)
    flows = FlowTable(
        origin=facts.origin("fw", "conntrack.txt", taken=0),
        client=[(APP1, 40000 + port, LDAP, 389) for port in range(COUNT)],
        server=[(LDAP, 389, NAT, 40000 + port) for port in range(COUNT)],
        state=["ESTABLISHED"] * COUNT,
        seconds_left=[400] * COUNT,
    )
    hosts = facts.host("ldap", at_ldap), facts.host("app1", at_app1, **client)
    (direction, *_) = pair(facts.server(), hosts, (flows,)).directions
    return direction


def test_a_boot_makes_them_ghosts_of_the_client() -> None:
    direction = joined(description=facts.description(up=100))
    assert (direction.ghosts.count, direction.ghosts.ports) == (3, (40002, 40003, 40004))
    assert (str(direction.style), proof_of(direction).degree) == ("client-gone", "certain")
    assert (direction.ghosts.unproven, direction.ghosts.possible_ports) == ({}, ())


def test_what_was_in_use_since_the_boot_is_possible() -> None:
    direction = joined(description=facts.description(up=10_000))
    assert (direction.ghosts.count, direction.undecided) == (0, 3)
    assert direction.ghosts.possible_ports == (40002, 40003, 40004)


def test_what_was_just_in_use_is_neither() -> None:
    direction = joined(5_000)
    assert (direction.ghosts.count, direction.undecided, direction.ghosts.possible_ports) == (0, 3, ())
