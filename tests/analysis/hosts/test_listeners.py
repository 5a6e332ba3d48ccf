from __future__ import annotations

import pytest

import facts
from ldapdiag.analysis.hosts.listeners import listener_ports, served_ports, unfit_because
from ldapdiag.evidence.sockets import TcpState


@pytest.mark.parametrize("port", [389, 636, 3268, 3269])
def test_the_registered_ports_are_ldap(port: int) -> None:
    assert served_ports(facts.table([facts.listening(port)]), ()) == {port}


def test_another_port_is_ldap_when_it_is_named() -> None:
    table = facts.table([facts.listening(10389), facts.listening(22)])
    assert served_ports(table, ()) == frozenset()
    assert served_ports(table, {10389}) == {10389}


@pytest.mark.parametrize("program", ["ns-slapd", "slapd", "dsamain.exe"])
def test_a_directorys_program_makes_its_port_ldap(program: str) -> None:
    table = facts.table([facts.listening(1389, owner=program), facts.listening(22, owner="sshd")])
    assert listener_ports(table, ()) == {1389}


def test_a_domain_controllers_other_listeners_are_not_ldap() -> None:
    ports = (88, 389, 464, 636, 3268, 3269, 49664)
    table = facts.table([facts.listening(port, owner="lsass.exe") for port in ports])
    assert listener_ports(table, ()) == {389, 636, 3268, 3269}


def test_a_windows_client_serves_no_ldap_through_the_rpc_port_of_its_lsass() -> None:
    rows = [facts.listening(49664, owner="lsass.exe"), *facts.at_client(2)]
    assert served_ports(facts.table(rows), ()) == frozenset()


def test_without_listeners_a_registered_port_with_peers_elsewhere_is_served() -> None:
    assert served_ports(facts.table(facts.at_server(2)), ()) == {389}


def test_a_client_serves_nothing() -> None:
    assert served_ports(facts.table(facts.at_client(2)), ()) == frozenset()


def test_a_table_with_other_listeners_only_serves_nothing() -> None:
    assert served_ports(facts.table([facts.listening(22), *facts.at_server(2)]), ()) == frozenset()


def test_two_registered_ports_that_talk_to_each_other_prove_no_server() -> None:
    assert served_ports(facts.table([facts.row("10.77.1.2:389", "10.77.9.9:636")]), ()) == frozenset()


def test_a_list_of_listeners_does_not_show_connections() -> None:
    assert unfit_because(facts.table([facts.listening()]), {389}) == "lists listening sockets only"
    assert unfit_because(facts.table(facts.at_server(1, state=TcpState.UNKNOWN)), {389}) is not None
    assert unfit_because(facts.table([facts.listening(), *facts.at_server(1)]), {389}) is None


def test_a_row_without_a_state_beside_others_does_no_harm() -> None:
    rows = [*facts.at_server(2), *facts.at_server(1, first=50000, state=TcpState.UNKNOWN)]
    assert unfit_because(facts.table(rows), {389}) is None
