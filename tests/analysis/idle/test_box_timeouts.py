"""Which configured timeouts of middleboxes hold for which direction."""

from __future__ import annotations

from typing import Any

import pytest

import facts
from facts import APP1, APP2, LDAP
from ldapdiag.analysis.idle.box_timeouts import middlebox_timeouts
from ldapdiag.analysis.pairing.carriers import Carriers
from ldapdiag.analysis.pairing.direction import PathKind
from ldapdiag.evidence.flows import BoxTimeouts, Relay, ServiceTimeout

OWN = "10.77.5.1"
SUBJECT = f"{OWN} -> {LDAP}:389"


def told(*services: ServiceTimeout, host: str = "proxy", relay: Relay = Relay.PROXY) -> BoxTimeouts:
    return BoxTimeouts(origin=facts.origin(host, "haproxy.cfg"), services=services, relay=relay)


def service(seconds: float, *servers: tuple[str, int], name: str = "timeout client of ldap_in") -> ServiceTimeout:
    return ServiceTimeout(name=name, seconds=seconds, servers=frozenset(servers))


def settings(timeouts: BoxTimeouts, *directions: Any) -> list[tuple[float, float, str, list[str]]]:
    found = middlebox_timeouts(facts.pairing(*directions), (), (timeouts,))
    return [(one.lower_seconds, one.upper_seconds, one.source, sorted(one.directions)) for one in found]


THROUGH = facts.direction(OWN, server_count=5, path=PathKind.PROXY, middleboxes=("proxy",))
DIRECT = facts.direction(APP2, server_count=5, client_hosts=("app2",))


def test_a_proxys_timeout_holds_for_what_its_table_holds() -> None:
    source = "timeout client of ldap_in of proxy"
    assert settings(told(service(3600, (LDAP, 389))), THROUGH, DIRECT) == [(3600, 3600, source, [SUBJECT])]


def test_it_closes_both_ends() -> None:
    (setting,) = middlebox_timeouts(facts.pairing(THROUGH), (), (told(service(60, (LDAP, 389))),))
    assert setting.closes_both_ends


def test_it_holds_for_the_legs_its_own_host_dials() -> None:
    own = facts.direction(OWN, server_count=5, client_hosts=("proxy",))
    assert len(settings(told(service(60, (LDAP, 389))), own)) == 1


def unread(**carriers: Any) -> Any:
    return facts.direction(OWN, server_count=5, client_hosts=(), carriers=Carriers(**carriers))


@pytest.mark.parametrize("carriers", [{"owner": "proxy"}, {"proxies": frozenset({"proxy"})}])
def test_it_holds_for_legs_in_its_table_or_from_its_address(carriers: dict[str, Any]) -> None:
    ((_, _, _, subjects),) = settings(told(service(60, (LDAP, 389))), unread(**carriers), DIRECT)
    assert subjects == [SUBJECT]


@pytest.mark.parametrize("carriers", [{}, {"owner": "other"}, {"by_table": frozenset({"proxy"})}])
def test_it_holds_for_nothing_else_and_is_named(carriers: dict[str, Any]) -> None:
    """A host that forwards packets of direct connections may run a proxy for others, too."""
    ((_, _, _, subjects),) = settings(told(service(60, (LDAP, 389))), unread(**carriers))
    assert subjects == []


def test_a_balancer_holds_for_what_its_table_or_route_carries() -> None:
    balancer = told(service(60, (LDAP, 389)), host="f5", relay=Relay.NAT)
    for carriers in ({"by_table": frozenset({"f5"})}, {"by_route": frozenset({"f5"})}):
        ((_, _, _, subjects),) = settings(balancer, unread(**carriers))
        assert subjects == [SUBJECT]
    assert settings(balancer, unread())[0][3] == []


@pytest.mark.parametrize(
    ("servers", "holds"),
    [
        ([(LDAP, 389)], True),
        ([("ds1.example.com…", 389)], True),
        ([("ds1.example.com…", 636)], False),
        ([("10.77.1.9", 389)], False),
        ([], True),
    ],
)
def test_a_service_holds_for_its_own_servers(servers: list[tuple[str, int]], *, holds: bool) -> None:
    assert bool(settings(told(service(60, *servers)), THROUGH)) == holds


def test_several_possible_profiles_give_bounds() -> None:
    profiles = told(
        service(300, name="idle-timeout of tcp profile tcp"),
        service(1800, name="idle-timeout of tcp profile ldap"),
        host="f5",
        relay=Relay.NAT,
    )
    through = facts.direction(APP1, server_count=5, middleboxes=("f5",))
    ((lower, upper, source, _),) = settings(profiles, through)
    assert (lower, upper) == (300, 1800)
    assert source == "idle-timeout of tcp profile tcp of f5, the shortest of 2 that may hold"


def test_a_host_that_is_an_end_is_no_middlebox_of_the_path() -> None:
    timeouts = told(service(60), host="app2", relay=Relay.NAT)
    assert [subjects for *_, subjects in settings(timeouts, DIRECT)] == [[]]
