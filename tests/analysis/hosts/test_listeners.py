from __future__ import annotations

import pytest

import facts
from ldapdiag.analysis.hosts.listeners import is_relay, listener_ports, relays_at, served_ports, unfit_because
from ldapdiag.evidence.flows import BoxTimeouts, Relay
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


def test_a_table_without_the_servers_listeners_is_of_another_namespace() -> None:
    rows = [facts.listening(22), facts.row("10.77.1.2:22", "10.77.9.9:50000")]
    assert "another network namespace" in (unfit_because(facts.table(rows), set()) or "")


def test_a_row_without_a_state_beside_others_does_no_harm() -> None:
    rows = [*facts.at_server(2), *facts.at_server(1, first=50000, state=TcpState.UNKNOWN)]
    assert unfit_because(facts.table(rows), {389}) is None


class TestRelays:
    @pytest.mark.parametrize(
        "program",
        ["haproxy", "haproxy-2.8", "stunnel4", "nginx", "envoy", "socat", "docker-pr", "kube-proxy", "HAProxy"],
    )
    def test_a_program_that_passes_connections_on_is_a_relay(self, program: str) -> None:
        assert is_relay(program)

    @pytest.mark.parametrize("program", ["ns-slapd", "slapd", "java", "", "lsass.exe", "systemd", "nginx-ldap-auth"])
    def test_any_other_program_is_none(self, program: str) -> None:
        assert not is_relay(program)

    def test_the_owner_of_a_listener_decides(self) -> None:
        rows = [facts.listening(389, owner="haproxy"), facts.listening(636, owner="slapd"), facts.listening(22)]
        assert relays_at({389, 636}, [facts.table(rows)]) == {389: "haproxy"}

    def test_a_port_that_a_directory_serves_too_is_not_a_relays(self) -> None:
        rows = [facts.listening(389, owner="haproxy"), facts.listening(389, owner="slapd")]
        assert relays_at({389}, [facts.table(rows)]) == {}

    def test_without_listeners_the_owner_of_the_connections_decides(self) -> None:
        assert relays_at({389}, [facts.table(facts.at_server(2, owner="nginx"))]) == {389: "nginx"}

    def test_without_owners_a_configuration_of_a_proxy_decides_about_its_ports(self) -> None:
        table = facts.table([facts.listening(389), facts.listening(636)])
        settings = BoxTimeouts(
            origin=facts.origin("lb", "haproxy.cfg"), services=(), relay=Relay.PROXY, ports=frozenset({636})
        )
        assert relays_at({389, 636}, [table], timeouts=[settings]) == {636: "proxy"}
        assert relays_at({389, 636}, [table]) == {}

    def test_without_owners_the_sessions_of_a_proxy_decide(self) -> None:
        sessions = facts.sessions(facts.at_server(2, facts.OTHER), facts.at_client(2))
        assert relays_at({389}, [facts.table([facts.listening()])], [sessions]) == {389: "proxy"}

    def test_an_owner_has_precedence_over_them(self) -> None:
        sessions = facts.sessions(facts.at_server(2, facts.OTHER), facts.at_client(2))
        assert relays_at({389}, [facts.table([facts.listening(owner="slapd")])], [sessions]) == {}

    def test_a_flow_table_of_packets_makes_no_proxy(self) -> None:
        assert relays_at({389}, [facts.table([facts.listening()])], [facts.flows(facts.at_server(2))]) == {}

    def test_a_port_whose_connections_the_kernel_translates_is_not_served_by_this_host(self) -> None:
        assert served_ports(facts.table([facts.listening(389, owner="docker-proxy")]), ()) == frozenset()
