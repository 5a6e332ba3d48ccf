"""Programs at the client's end that forward connections: which sessions are live, gone, or not known."""

from __future__ import annotations

from typing import Any

import pytest

import facts
from facts import APP1, APP2, at_client, at_server, row, table
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.pairing.direction import ProxyLegs
from ldapdiag.analysis.pairing.pairing import Pairing, pair
from ldapdiag.evidence.sockets import TcpState
from ldapdiag.finding import Clear, NotJudged
from ldapdiag_checks import ghost_connections, proxy_held_connections

COUNT = 9
IDLE_MS = 60_000
TRANSPORT = row(f"{APP2}:22", f"{APP1}:33314", owner="sshd", pid=23)
AT_APP1 = row(f"{APP1}:33314", f"{APP2}:22", owner="ssh", pid=7)


def forwarding(
    *legs: facts.Row, program: str = "sshd", pid: int | None = 23, idle_ms: int = IDLE_MS
) -> list[facts.Row]:
    """Return the jump host's rows: its connections to the server, and the client-side legs."""
    rows = at_client(COUNT, APP2, owner=program, pid=pid, last_received=idle_ms)
    return [facts.listening(22, owner="sshd", pid=22), facts.listening(1389, owner="stunnel", pid=22), *rows, *legs]


def paired(jump: list[facts.Row], *clients: Host, idle_ms: int = IDLE_MS) -> Pairing:
    ldap = facts.host("ldap", table([facts.listening(), *at_server(COUNT, APP2, last_received=idle_ms)], taken=0))
    jump_host = facts.host("app2", table(jump, "app2", taken=1))
    pairing = pair(facts.server(), (ldap, jump_host, *clients), ())
    assert isinstance(pairing, Pairing)
    return pairing


def legs_of(*arguments: Any, **settings: Any) -> ProxyLegs:
    (direction,) = paired(*arguments, **settings).directions
    assert direction.proxy_legs is not None
    return direction.proxy_legs


def app1(*rows: facts.Row) -> Host:
    return facts.host("app1", table([*rows, *facts.row_of_another_service()], "app1", taken=2))


def test_the_sessions_of_an_ssh_tunnel_are_live_while_its_client_has_the_other_end() -> None:
    legs = legs_of(forwarding(TRANSPORT), app1(AT_APP1))
    assert (legs.name, legs.sessions, legs.live, legs.held) == ("sshd on app2", COUNT, COUNT, 0)


def test_they_are_kept_for_a_client_that_is_gone() -> None:
    legs = legs_of(forwarding(TRANSPORT), app1())
    assert (legs.live, legs.held, legs.clients) == (0, COUNT, ("app1",))


@pytest.mark.parametrize(("idle_ms", "live"), [(10_000, COUNT), (10_001, 0)])
def test_of_an_unread_client_what_was_just_used_is_live(idle_ms: int, live: int) -> None:
    legs = legs_of(forwarding(TRANSPORT), idle_ms=idle_ms)
    assert (legs.live, legs.orphaned.unproven) == (
        live,
        {} if live else {f"of {APP1}, whose table was not read": COUNT},
    )


def accepted(count: int, state: TcpState = TcpState.ESTABLISHED) -> list[facts.Row]:
    return [row(f"{APP2}:1389", f"{APP1}:{50000 + n}", state, owner="stunnel", pid=23) for n in range(count)]


@pytest.mark.parametrize(
    ("client_side", "reason"),
    [
        (accepted(COUNT), "stunnel on app2 has several client-side sockets"),
        (accepted(COUNT - 1), "stunnel has fewer established client-side sockets in app2's table"),
        (accepted(COUNT, TcpState.FIN_WAIT_2), "stunnel has fewer established client-side sockets in app2's table"),
        ([], "stunnel has fewer established client-side sockets in app2's table"),
    ],
    ids=["as many", "fewer", "half-closed", "none"],
)
def test_which_socket_of_several_belongs_to_which_is_not_known(client_side: list[facts.Row], reason: str) -> None:
    legs = legs_of(forwarding(*client_side, program="stunnel"), app1())
    assert (legs.live, legs.held, legs.orphaned.unproven) == (0, 0, {reason: COUNT})


def test_of_a_process_with_fewer_client_side_sockets_none_is_live_by_its_use() -> None:
    assert legs_of(forwarding(program="stunnel", idle_ms=5), app1(), idle_ms=5).live == 0
    assert legs_of(forwarding(*accepted(COUNT), program="stunnel", idle_ms=5), app1(), idle_ms=5).live == COUNT


@pytest.mark.parametrize("rows", [forwarding(program="java"), at_client(COUNT, APP2)])
def test_any_other_program_and_an_unknown_one_is_the_client_itself(rows: list[facts.Row]) -> None:
    (direction,) = paired(rows).directions
    assert (direction.proxy_legs, direction.matched) == (None, COUNT)


def test_it_is_no_ghost_and_not_clear_either_until_the_client_is_read() -> None:
    pairing = paired(forwarding(TRANSPORT))
    (ghosts,) = ghost_connections.judge(pairing)
    assert isinstance(ghosts, NotJudged)
    assert "9 of 9 connections end at sshd on app2, which forwards those of other programs" in ghosts.reason
    (held,) = proxy_held_connections.judge(pairing, (), ())
    assert isinstance(held, NotJudged)
    (clear,) = ghost_connections.judge(paired(forwarding(TRANSPORT), app1(AT_APP1)))
    assert isinstance(clear, Clear)


def test_the_remedy_is_the_setting_of_the_program() -> None:
    (held,) = proxy_held_connections.judge(paired(forwarding(TRANSPORT), app1()), (), ())
    (remedy,) = held.remedies
    assert held.title == "sshd on app2 keeps 9 of 9 connections to ldap whose client is gone"
    assert (remedy.target, "ClientAliveInterval 60" in remedy.text) == ("app2", True)
