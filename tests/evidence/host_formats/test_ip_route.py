"""Routes and interfaces' addresses as ip prints them, and as the collection script saves them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.host_facts import HostDescription, Route, RouteTable
from ldapdiag.evidence.host_formats.ip_route import MOST_ROUTES
from reading import facts_of

ROUTES = """default via 10.61.2.1 dev eth0 proto static
10.61.2.0/24 dev eth0 proto kernel scope link src 10.61.2.2
10.62.0.0/16 via 10.61.2.9 dev eth0 metric 100
blackhole 10.9.0.0/16
10.63.0.0/16 proto static metric 20
\tnexthop via 10.61.2.7 dev eth0 weight 1
\tnexthop via 10.61.2.8 dev eth0 weight 1
fd61::/64 dev eth0 proto kernel metric 256 pref medium
default via fe80::1 dev eth0 metric 1024 pref medium
"""

INTERFACES = """1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
2: eth0@if7: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default
    link/ether 02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff
    inet 10.61.2.2/24 brd 10.61.2.255 scope global eth0
       valid_lft forever preferred_lft forever
    inet6 fd61::2/64 scope global
       valid_lft forever preferred_lft forever
"""

ONE_LINE = """1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever
2: eth0    inet 10.61.2.2/24 brd 10.61.2.255 scope global eth0\\       valid_lft forever preferred_lft forever
"""


def table(text: str) -> RouteTable:
    (fact,) = facts_of(text)
    assert isinstance(fact, RouteTable)
    return fact


def test_routes_have_networks_gateways_and_the_hosts_addresses() -> None:
    found = table(ROUTES)
    assert found.routes[:4] == (
        Route("0.0.0.0/0", ("10.61.2.1",)),
        Route("10.61.2.0/24", on_link=True),
        Route("10.62.0.0/16", ("10.61.2.9",)),
        Route("10.9.0.0/16"),
    )
    assert found.routes[4] == Route("10.63.0.0/16", ("10.61.2.7", "10.61.2.8"))
    assert found.routes[5:] == (Route("fd61::/64", on_link=True), Route("::/0", ("fe80::1",)))
    assert found.addresses == {"10.61.2.2"}
    assert found.origin.not_understood == 0


def test_the_networks_of_interfaces_are_attached() -> None:
    for text in (INTERFACES, ONE_LINE):
        found = table(text)
        assert Route("10.61.2.0/24", on_link=True) in found.routes
        assert "10.61.2.2" in found.addresses
        assert found.origin.not_understood == 0


def test_a_description_contains_them_too() -> None:
    text = "ldapdiag-host 1\nname: app1\naddress: 10.61.2.2\n"
    lines = "".join(f"route: {line}\n" for line in ROUTES.splitlines()[:3])
    description, found = facts_of(text + lines)
    assert isinstance(description, HostDescription)
    assert isinstance(found, RouteTable)
    assert found.routes == table(ROUTES).routes[:3]
    assert description.origin.not_understood == 0


def test_a_table_that_is_too_long_is_not_used() -> None:
    lines = (f"10.{number >> 8}.{number & 255}.0/24 via 10.61.2.1 dev eth0\n" for number in range(MOST_ROUTES + 1))
    assert facts_of("".join(lines)) == []


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_line_is_read_or_counted(one: str, other: str) -> None:
    facts_of(f"default via 10.61.2.1 dev eth0\n{one}\n{other}\n")
    facts_of(f"ldapdiag-host 1\nroute: {one}\nroute: default {other}\n")
