"""A leg that the proxy has closed and the client has not, and how long it must last to count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
from facts import APP1, at_server, row, table
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.pairing.direction import ProxyLegs
from ldapdiag.analysis.pairing.pairing import Pairing, pair
from ldapdiag.evidence.sockets import TcpState

OWN, FRONTEND = "10.77.5.1", "10.77.5.2"
SERVER = at_server(5, OWN, first=45000)
CLIENT = [row(f"{APP1}:{46000 + number}", f"{FRONTEND}:389") for number in range(5)]
CLIENT_SIDE = [row(f"{FRONTEND}:389", f"{APP1}:{46000 + number}") for number in range(5)]
SERVER_SIDE = [row(f"{OWN}:{45000 + number}", f"{facts.LDAP}:389") for number in range(5)]
OTHERS = facts.row_of_another_service()
LASTING = {"last_acknowledged": 60_000}


def waiting(number: int, **columns: Any) -> list[facts.Row]:
    """Return the client's rows, the first few of which wait for its program to close them."""
    columns = {"owner": "java"} | columns
    return [replace(one, state=TcpState.CLOSE_WAIT, columns=columns) for one in CLIENT[:number]] + CLIENT[number:]


def closed(number: int, **columns: Any) -> list[facts.Row]:
    """Return the proxy's accepted rows, the first few of which it has closed."""
    return [replace(one, state=TcpState.FIN_WAIT_2, columns=columns) for one in CLIENT_SIDE[:number]] + CLIENT_SIDE[
        number:
    ]


def legs(*hosts: Host) -> ProxyLegs:
    ldap = facts.host("ldap", table(SERVER, shows_time_wait=True))
    pairing = pair(facts.server(), (ldap, *hosts), (facts.sessions(SERVER, CLIENT),))
    assert isinstance(pairing, Pairing)
    (found,) = (one.proxy_legs for one in pairing.directions if one.client == OWN)
    assert found is not None
    return found


def app1(*snapshots: list[facts.Row]) -> Host:
    tables = [table([*rows, *OTHERS], "app1", taken=10.0 * at) for at, rows in enumerate(snapshots)]
    return facts.host("app1", *tables)


def proxy(*snapshots: list[facts.Row]) -> Host:
    rows = [facts.listening(), *SERVER_SIDE]
    return facts.host(
        "proxy", *(table([*rows, *one], "proxy", taken=5.0 + 10 * at) for at, one in enumerate(snapshots))
    )


def test_at_both_ends_it_names_the_program_and_the_proxys_ports() -> None:
    found = legs(app1(waiting(2)), proxy(closed(2)))
    (unclosed,) = found.unclosed
    assert (unclosed.host, unclosed.program, unclosed.ports, unclosed.at_both) == ("app1", "java", (45000, 45001), True)
    assert (found.held, found.live, found.orphaned.count, found.orphaned.unproven) == (2, 3, 0, {})


@pytest.mark.parametrize(
    "hosts",
    [
        (app1(waiting(2), waiting(2)),),
        (app1(waiting(2, **LASTING)),),
        (app1(CLIENT, waiting(2), waiting(2)),),
    ],
    ids=["in two snapshots", "for a minute", "after it was live"],
)
def test_at_the_client_alone_it_must_last(hosts: tuple[Host, ...]) -> None:
    (unclosed,) = legs(*hosts).unclosed
    assert (len(unclosed.ports), unclosed.at_both) == (2, False)


@pytest.mark.parametrize("columns", [{}, {"last_acknowledged": 200}])
def test_at_the_client_once_it_may_just_be_closing(columns: dict[str, int]) -> None:
    found = legs(app1(waiting(2, **columns)))
    assert (found.unclosed, found.held) == ((), 0)
    assert found.orphaned.unproven == {"closing or opening at app1": 2}


def test_a_leg_that_has_closed_since_is_not_counted() -> None:
    assert legs(app1(waiting(2), waiting(2), CLIENT[2:])).unclosed == ()


@pytest.mark.parametrize("snapshots", [(closed(2), closed(2)), (closed(2, **LASTING),)])
def test_at_the_proxy_alone_the_clients_address_is_named(snapshots: tuple[list[facts.Row], ...]) -> None:
    found = legs(proxy(*snapshots))
    (unclosed,) = found.unclosed
    assert (unclosed.host, unclosed.address, unclosed.application) == ("", APP1, f"an application on {APP1}")
    assert found.orphaned.unproven == {f"of {APP1}, whose table was not read": 3}


def test_a_client_that_is_gone_after_the_proxys_close_is_gone() -> None:
    gone = facts.host("app1", table(OTHERS, "app1", shows_time_wait=True))
    found = legs(gone, facts.host("proxy", table([facts.listening(), *closed(2), *SERVER_SIDE], "proxy")))
    assert (found.unclosed, found.orphaned.count, found.absent_at_proxy) == ((), 5, False)


def test_each_program_is_counted_alone() -> None:
    rows = [waiting(1)[0], waiting(2, owner="sssd")[1], *CLIENT[2:]]
    found = legs(app1(rows), proxy(closed(2)))
    assert [(one.program, one.ports) for one in found.unclosed] == [("java", (45000,)), ("sssd", (45001,))]


def test_a_client_on_the_proxys_own_host_is_known_by_loopback() -> None:
    """A proxy beside the application, which connects to 127.0.0.1."""
    dialled = [row(f"127.0.0.1:{46000 + number}", "127.0.0.1:1389") for number in range(5)]
    ends = [
        *(replace(one, state=TcpState.CLOSE_WAIT, columns={"owner": "java"} | LASTING) for one in dialled),
        *(row("127.0.0.1:1389", f"127.0.0.1:{46000 + number}", TcpState.FIN_WAIT_2) for number in range(5)),
    ]
    host = facts.host("proxy", table([facts.listening(1389), *ends, *SERVER_SIDE], "proxy"))
    ldap = facts.host("ldap", table(SERVER, shows_time_wait=True))
    pairing = pair(facts.server(), (ldap, host), (facts.sessions(SERVER, dialled),))
    assert isinstance(pairing, Pairing)
    (found,) = (one.proxy_legs for one in pairing.directions if one.client == OWN)
    assert found is not None
    assert [(one.host, one.program, len(one.ports), one.at_both) for one in found.unclosed] == [
        ("proxy", "java", 5, True)
    ]
