from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import facts
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import (
    Instance,
    choose_monitor,
    find_instances,
    merge_configurations,
    merge_settings,
)
from ldapdiag.analysis.hosts.servers import attribute_to_servers
from ldapdiag.check import needs_of
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.host_facts import DescriptorCount, KernelSettings
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.server_log import ServerLog

UNVERSIONED = ServerIdentity(family=Family.DS389)


def configured(name: str = "cn-config.ldif", identity: ServerIdentity = facts.DS389, **values: Any) -> Configuration:
    return Configuration(origin=facts.origin(name=name), identity=identity, **values)


def monitor_of(host: str) -> Monitor:
    return replace(facts.monitor(), origin=facts.origin(host))


def found(*hosts: Host, **evidence: Any) -> list[Instance]:
    own = attribute_to_servers(hosts, [fact for kind in evidence.values() for fact in kind])
    kinds = {need.name: need.fact for need in needs_of(find_instances)} | {"servers": None, "hosts": None}
    read = {name: tuple(fact for fact in own.facts if isinstance(fact, kind)) for name, kind in kinds.items() if kind}
    return list(find_instances(own.servers, hosts, **read))


def test_a_host_that_listens_on_an_ldap_port_is_a_directory_server() -> None:
    (server,) = found(facts.host("ldap", facts.table([facts.listening(), *facts.at_server(3)])))
    assert (server.host, server.ports, server.established) == ("ldap", frozenset({389}), 3)
    assert (server.family, server.version, server.product) == (None, (), None)


def test_a_proxy_is_no_directory_server_and_keeps_its_connections() -> None:
    rows = [facts.listening(owner="haproxy"), *facts.at_server(3)]
    (server,) = found(facts.host("lb", facts.table(rows, "lb")), monitors=(monitor_of("lb"),))
    assert (server.proxy, server.description, server.established) == ("haproxy", "proxy (haproxy)", 3)
    assert (server.monitor, server.identity) == (None, None)
    assert server.not_a_directory is not None


def test_a_directory_server_beside_a_proxy_has_its_own_ports() -> None:
    rows = [facts.listening(636, owner="haproxy"), facts.listening(owner="slapd"), *facts.at_server(3)]
    server, proxy = found(facts.host("ldap", facts.table(rows)))
    assert (server.proxy, server.ports, server.not_a_directory) == ("", frozenset({389}), None)
    assert (proxy.name, proxy.proxy, proxy.ports) == ("haproxy@ldap", "haproxy", frozenset({636}))


def test_a_directory_server_that_reports_about_itself_is_none_for_the_sessions_of_a_proxy_on_its_host() -> None:
    sessions = facts.sessions(facts.at_server(2, facts.OTHER), facts.at_client(2), "ldap")
    host = facts.host("ldap", facts.table([facts.listening(), *facts.at_server(3)]))
    assert [server.proxy for server in found(host, flows=(sessions,))] == ["proxy"]
    assert [server.proxy for server in found(host, flows=(sessions,), configurations=(configured(),))] == [""]


def test_a_client_is_none() -> None:
    assert found(facts.host("app1", facts.table(facts.at_client(3), "app1"))) == []


def test_a_server_is_identified_by_what_it_reports() -> None:
    (server,) = found(Host(host="ldap"), monitors=(facts.monitor(),))
    assert (server.family, server.version, server.established) == (Family.DS389, (2, 3, 1), None)


def test_a_port_that_the_configuration_names_is_served() -> None:
    rows = [facts.listening(10389), facts.row(f"{facts.LDAP}:10389", f"{facts.APP1}:40000")]
    host = facts.host("ldap", facts.table(rows))
    assert found(host) == []
    (server,) = found(host, configurations=(configured(ports=(10389,)),))
    assert (server.ports, server.established) == (frozenset({10389}), 1)


def test_a_port_that_a_listener_in_the_log_names_is_served() -> None:
    rows = [facts.listening(13390), facts.row("127.0.0.1:13390", "127.0.0.1:40000")]
    log = ServerLog(
        origin=facts.origin(name="slapd.log"), identity=facts.OPENLDAP, exhaustion_messages=(), listeners=(("", 13390),)
    )
    (server,) = found(facts.host("ldap", facts.table(rows)), logs=(log,))
    assert server.ports == {13390}


def test_the_identity_with_a_version_goes_before_one_without() -> None:
    (server,) = found(
        Host(host="ldap"), monitors=(facts.monitor(UNVERSIONED),), configurations=(configured(identity=facts.DS389),)
    )
    assert server.version == (2, 3, 1)


def test_facts_of_another_host_are_not_taken() -> None:
    other = KernelSettings(origin=facts.origin("fw"), values={"a": "1"})
    (server,) = found(Host(host="ldap"), monitors=(facts.monitor(),), kernels=(other,))
    assert server.kernel is None


class TestSeveralReadings:
    def test_the_monitor_with_connections_goes_first_then_the_latest(self) -> None:
        def monitor(name: str, minute: int, **counters: Any) -> Monitor:
            at = facts.START + timedelta(minutes=minute)
            return Monitor(origin=facts.origin(name=name), identity=facts.DS389, taken_at=at, **counters)

        anonymous, early, late = monitor("a", 9), monitor("b", 1, connections=()), monitor("c", 5, connections=())
        assert choose_monitor([anonymous, early, late]) is late
        assert choose_monitor([anonymous]) is anonymous
        assert choose_monitor([]) is None

    def test_excerpts_of_a_configuration_are_one(self) -> None:
        one = merge_configurations(
            [configured("a", idle_timeout_seconds=90), configured("b", max_descriptors=1024, ports=(389,))]
        )
        assert one is not None
        assert (one.idle_timeout_seconds, one.max_descriptors, one.ports) == (90, 1024, (389,))

    def test_a_timeout_of_zero_is_a_word_like_any_other(self) -> None:
        for excerpts in (
            [configured("a", idle_timeout_seconds=0), configured("b", max_descriptors=1024)],
            [configured("a", max_descriptors=1024), configured("b", idle_timeout_seconds=0)],
            [configured("a", idle_timeout_seconds=0), configured("b", idle_timeout_seconds=90)],
        ):
            one = merge_configurations(excerpts)
            assert one is not None
            assert one.idle_timeout_seconds == 0

    def test_the_whole_entry_goes_before_an_excerpt(self) -> None:
        one = merge_configurations(
            [configured("a", idle_timeout_seconds=90), configured("b", idle_timeout_seconds=30, complete=True)]
        )
        assert one is not None
        assert (one.idle_timeout_seconds, one.complete) == (30, True)

    def test_kernel_settings_of_several_files_are_one(self) -> None:
        one = merge_settings([facts.settings("ldap", max=5), facts.settings("ldap", count=3)])
        assert one is not None
        assert len(one.values) == 2
        assert merge_settings([]) is None

    def test_of_two_values_of_a_kernel_parameter_the_later_counts(self) -> None:
        late, early = (
            KernelSettings(origin=facts.origin(name="sysctl.txt", taken=taken), values={"max": value})
            for taken, value in ((60, 5), (0, 3))
        )
        for settings in ([late, early], [early, late]):
            merged = merge_settings(settings)
            assert merged is not None
            assert merged.values == {"max": 5}

    def test_the_latest_count_of_descriptors_is_used_whatever_the_order(self) -> None:
        late, early = (
            DescriptorCount(origin=facts.origin(name="proc-fd-count.txt", taken=taken), open=count)
            for taken, count in ((60, 335), (0, 191))
        )
        host = facts.host("ldap", facts.table([facts.listening()]))
        for counts in ((late, early), (early, late)):
            (server,) = found(host, descriptors=counts)
            assert server.descriptors is not None
            assert server.descriptors.open == 335


def test_servers_on_one_port_have_the_sockets_of_their_addresses() -> None:
    second = "10.77.1.3"
    listening = [
        facts.row(f"{address}:389", "*:*", facts.TcpState.LISTEN, owner="ns-slapd", pid=pid)
        for address, pid in ((facts.LDAP, 101), (second, 102))
    ]
    there = [facts.row(f"{second}:389", f"{facts.APP1}:{50000 + number}") for number in range(2)]
    host = facts.host("ldap", facts.table([*listening, *facts.at_server(5), *there]))
    one, two = found(host)
    assert (one.name, one.established) == ("ldap:10.77.1.2:389", 5)
    assert (two.name, two.established) == ("ldap:10.77.1.3:389", 2)
    assert two.serves(second, 389)
    assert not two.serves(facts.LDAP, 389)
    assert len(two.own_sockets(host).latest.sockets) == 3
