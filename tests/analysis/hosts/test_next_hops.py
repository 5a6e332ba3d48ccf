"""The hosts that routes lead through, and what is not known without all of them."""

from __future__ import annotations

import pytest

import facts
from facts import APP1, LDAP
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.next_hops import MOST_HOPS, NextHops, Way
from ldapdiag.evidence.host_facts import KernelSettings, Route


def host(name: str, *addresses: str, **routes: str) -> Host:
    """Return a host with routes: `default="10.77.1.1"`, `link="10.77.1.0/24"`, `link2=…`, `via="NETWORK GATEWAY"`."""
    known = []
    for kind, text in routes.items():
        network, _, gateway = text.partition(" ")
        if kind == "default":
            known.append(Route("0.0.0.0/0", (text,)))
        else:
            known.append(Route(network, (gateway,) if gateway else (), on_link=not gateway))
    return Host(host=name, addresses=frozenset(addresses), routes=tuple(known))


SERVER = host("ldap", LDAP, default="10.77.1.1", link="10.77.1.0/24")
CLIENT = host("app1", APP1, default="10.77.2.1", link="10.77.2.0/24")
FW = host("fw", "10.77.1.1", "10.77.2.1", link="10.77.1.0/24", link2="10.77.2.0/24")


def test_the_gateway_of_an_end_is_on_the_way() -> None:
    hops = NextHops([SERVER, CLIENT, FW])
    assert hops.way("ldap", APP1) == Way(("fw",), known=True)
    assert hops.way("app1", LDAP) == Way(("fw",), known=True)


def test_routes_are_followed_from_host_to_host() -> None:
    inner = host("inner", "10.77.1.1", "10.77.8.1", via="10.77.2.0/24 10.77.8.2")
    outer = host("outer", "10.77.8.2", "10.77.2.1", link="10.77.2.0/24")
    assert NextHops([SERVER, CLIENT, inner, outer]).way("ldap", APP1).through == ("inner", "outer")


def test_the_most_specific_route_applies() -> None:
    server = host("ldap", LDAP, default="10.77.1.9", via="10.77.2.0/24 10.77.1.1")
    other = host("other", "10.77.1.9")
    hops = NextHops([server, FW, other])
    assert hops.way("ldap", APP1).through == ("fw",)
    assert hops.way("ldap", "10.99.1.1").through == ("other",)


def test_an_unread_gateway_ends_the_way() -> None:
    assert NextHops([SERVER, CLIENT]).way("ldap", APP1) == Way(known=True)
    assert NextHops([host("ldap", LDAP), CLIENT]).way("ldap", APP1) == Way()


def test_an_address_that_two_hosts_own_leads_nowhere() -> None:
    twin = host("twin", "10.77.1.1")
    assert NextHops([SERVER, CLIENT, FW, twin]).way("ldap", APP1).through == ()


def test_a_neighbour_is_attached() -> None:
    hops = NextHops([SERVER, FW])
    assert hops.way("ldap", "10.77.1.33") == Way(attached=True, known=True)
    assert hops.way("ldap", LDAP) == Way()


def test_a_default_route_without_gateway_attaches_nothing() -> None:
    hops = NextHops([host("ldap", LDAP, link="0.0.0.0/0")])
    assert not hops.way("ldap", APP1).attached


def test_a_loop_ends() -> None:
    ring = [host(f"r{n}", f"10.80.0.{n}", default=f"10.80.0.{(n + 1) % 40}") for n in range(40)]
    assert len(NextHops(ring).way("r0", APP1).through) == MOST_HOPS


@pytest.mark.parametrize("address", ["app1…", "*", "", "10.77.2.0x"])
def test_a_name_has_no_route(address: str) -> None:
    assert NextHops([SERVER, FW]).way("ldap", address) == Way()


def test_the_only_forwarder_in_both_networks_joins_them() -> None:
    alone = [host("ldap", LDAP), host("app1", APP1), FW]
    assert NextHops(alone).joining(LDAP, APP1) == "fw"
    twin = host("twin", "10.77.1.8", "10.77.2.8", link="10.77.1.0/24", link2="10.77.2.0/24")
    assert NextHops([*alone, twin]).joining(LDAP, APP1) is None
    assert NextHops(alone).joining(LDAP, "10.77.1.7") is None


def test_a_host_that_does_not_forward_joins_nothing() -> None:
    off = KernelSettings(origin=facts.origin("fw"), values={"net.ipv4.ip_forward": "0"})
    ends = {"routes": FW.routes, "addresses": FW.addresses}
    assert NextHops([SERVER, Host(host="fw", kernel=off, **ends)]).joining(LDAP, APP1) is None
