"""Which absent connections are possible ghosts: those that an unread container may have, and churn does not explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import facts
from facts import at_client, at_server, listening, row_of_another_service, table
from ldapdiag.analysis.pairing.half_open import possible_sentences
from ldapdiag.analysis.pairing.pairing import pair
from ldapdiag.evidence.sockets import Timer

if TYPE_CHECKING:
    from ldapdiag.analysis.pairing.direction import Direction

FORWARDING = facts.KernelSettings(origin=facts.origin("app1"), values={"net.ipv4.ip_forward": "1"})


def joined(idle_ms: int | None = 600_000, *, carried: bool = True, live: int = 2, **client: Any) -> Direction:
    """Return a direction of five connections, of which the client has some and the firewall all."""
    ages = {} if idle_ms is None else {"last_received": idle_ms}
    at_ldap = table([listening(), *at_server(5, **ages)], columns=tuple(ages), taken=1)
    at_app1 = table([*at_client(live), *row_of_another_service()], "app1", taken=0, shows_time_wait=True)
    hosts = facts.host("ldap", at_ldap), facts.host("app1", at_app1, **client)
    flows = (facts.flows(at_server(5), taken=0),) if carried else ()
    (direction, *_) = pair(facts.server(), hosts, flows).directions
    assert direction.ghosts.count == 0
    return direction


def test_what_the_firewall_still_has() -> None:
    assert joined().ghosts.possible_ports == (40002, 40003, 40004)


def test_what_an_unread_namespace_may_have() -> None:
    direction = joined(carried=False, kernel=FORWARDING, description=facts.description())
    assert direction.ghosts.possible_ports == (40002, 40003, 40004)


@pytest.mark.parametrize("idle_ms", [500, 30_000])
def test_a_connection_that_was_just_in_use_is_none(idle_ms: int) -> None:
    assert joined(idle_ms).ghosts.possible_ports == ()


def test_of_unknown_ages_churn_decides() -> None:
    assert joined(None, live=5).ghosts.possible_ports == ()


def test_unanswered_probes_of_a_client_that_was_not_read() -> None:
    """Its host may be down; nothing else shows it, and the server's side alone never proves it."""
    probed = at_server(2, timer=Timer.KEEPALIVE, probes=1)
    answered = at_server(1, first=50000, timer=Timer.KEEPALIVE, probes=0)
    at_ldap = table([listening(), *probed, *answered], columns=("last_received",), taken=1)
    (direction,) = pair(facts.server(), (facts.host("ldap", at_ldap),), ()).directions
    assert direction.missing is not None
    assert (direction.ghosts.count, direction.ghosts.possible_ports) == (0, (40000, 40001))
    (sentence, proof) = possible_sentences(direction, "")
    assert "keepalive probes on them are unanswered: 10.77.2.2 crashed, is unreachable" in sentence
    assert proof.startswith("What would prove it: ")


@pytest.mark.parametrize(("taken", "possible"), [(1, 18), (-60, 0)], ids=["server later", "client later"])
def test_what_may_have_been_opened_between_the_tables(taken: float, possible: int) -> None:
    """No age shows it, and nothing else changed: 18 connections in a second are possible, and no explanation."""
    at_ldap = table([listening(), *at_server(20)], columns=(), taken=taken, shows_time_wait=True)
    at_app1 = table([*at_client(2), *row_of_another_service()], "app1", columns=(), taken=0, shows_time_wait=True)
    hosts = facts.host("ldap", at_ldap), facts.host("app1", at_app1)
    (direction, *_) = pair(facts.server(), hosts, ()).directions
    assert len(direction.ghosts.possible_ports) == possible
    assert direction.ghosts.count == (0 if possible else 18)


def test_where_connections_open_and_close_all_the_time_none_is_possible() -> None:
    at_ldap = table([listening(), *at_server(20)], columns=(), taken=1)
    busy = [*at_client(12, first=50000), *row_of_another_service()]
    at_app1 = table(busy, "app1", columns=(), taken=0)
    hosts = facts.host("ldap", at_ldap), facts.host("app1", at_app1)
    (direction, *_) = pair(facts.server(), hosts, ()).directions
    assert (direction.ghosts.count, direction.ghosts.possible_ports) == (0, ())
