from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

import facts
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.idle.advice import advise
from ldapdiag.analysis.idle.bounds import IdleBounds, PathBounds
from ldapdiag.analysis.idle.drain_remedies import idle_remedies
from ldapdiag.analysis.idle.idle_profile import IdleProfile
from ldapdiag.analysis.idle.keepalive import GhostLifetime, measure_lifetime
from ldapdiag.analysis.pairing.direction import Direction
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.flows import BoxTimeouts, Relay, ServiceTimeout
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, step_labels

HOST = Host(host="ldap")
NOT_LINUX = ServerIdentity(family=Family.AD, version=())
"""Runs where no command closes sockets."""
GHOSTS = facts.direction(
    server_count=5, ghosts=3, matched=2, idle_seconds=(8.0, 8.0), middleboxes=("fw",), without_flow=3
)


def forgetting(seconds: float | None, box: str | None = "fw") -> IdleBounds:
    path = PathBounds(
        client_network="10.77.2.0/24",
        lower_seconds=seconds,
        upper_seconds=seconds,
        source=f"nf_conntrack_tcp_timeout_established of {box}",
        middlebox=box,
    )
    return IdleBounds(server="ldap", paths=(path,))


def kernel(host: str, keepalive: int) -> KernelSettings:
    return KernelSettings(origin=facts.origin(host), values={"net.ipv4.tcp_keepalive_time": str(keepalive)})


def treated(
    direction: Direction = GHOSTS, bounds: IdleBounds | None = None, *others: Direction, **evidence: Any
) -> tuple[list[Remedy], GhostLifetime]:
    kernels, hosts = evidence.pop("kernels", ()), evidence.pop("hosts", ())
    states = {name: evidence.pop(name) for name in ("exhausted", "exempt_ghosts") if name in evidence}
    idle, keepalive = evidence.pop("idle", 0), evidence.pop("keepalive", 300)
    identity = evidence.setdefault("identity", facts.DS389)
    configuration = identity and Configuration(
        origin=facts.origin(name="cn-config.ldif"),
        identity=identity,
        idle_timeout_seconds=idle,
        keepalive_seconds=keepalive,
        replication_accounts=evidence.pop("replication", ()),
        idle_exemptions=evidence.pop("exempt", ()),
    )
    server, pairing = facts.server(configuration=configuration, **evidence), facts.pairing(direction, *others)
    lifetime = measure_lifetime(server, HOST)
    advice = advise(server, HOST, IdleProfile(server="ldap"), pairing, bounds)
    states["exempt"] = states.pop("exempt_ghosts", 0)
    return list(idle_remedies(server, lifetime, advice, bounds, pairing, kernels, hosts=hosts, **states)), lifetime


def steps(remedies: list[Remedy]) -> list[str]:
    return [remedy.title.partition(":")[0] for remedy in remedies]


def named(step: str, remedies: list[Remedy]) -> Remedy:
    """Return the only remedy of a step."""
    (remedy,) = (one for one in remedies if one.title.startswith(f"{step}: "))
    return remedy


def test_drain_comes_before_cure_and_cure_before_tidy() -> None:
    remedies, _ = treated(bounds=forgetting(30))
    assert steps(remedies) == ["drain", "drain", "limit", "cure", "cure", "tidy"]
    labels = step_labels(remedy.is_alternative for remedy in remedies)
    assert list(labels) == ["1", "or", "2", "3", "or", "4"], "probes from either end are enough"
    assert all(remedy.changes and remedy.risk and remedy.undo and remedy.verify for remedy in remedies)


class TestDrain:
    def test_a_timeout_that_reaches_no_open_connection_limits_the_later_ones_and_is_taken_back(self) -> None:
        limit = named("limit", treated()[0])
        assert "nsslapd-idletimeout: 300" in limit.text
        assert "nsslapd-idletimeout: 0" in limit.undo
        assert limit.needs.clause == "reaches connections opened, or bound, from now on"

    def test_one_that_reaches_open_connections_drains(self) -> None:
        (drain, *_), _ = treated(identity=facts.OPENLDAP, keepalive=None)
        assert "olcIdleTimeout: 300" in drain.text
        assert drain.title.startswith("drain: ")
        assert drain.needs is Needs.NONE

    def test_without_ghosts_it_drains_nothing(self) -> None:
        remedies, _ = treated(facts.direction(server_count=5, matched=5), identity=facts.OPENLDAP, keepalive=None)
        assert steps(remedies) == ["limit"]

    @pytest.mark.parametrize("identity", [facts.OPENLDAP, facts.DS389])
    def test_a_server_without_descriptors_accepts_no_setting_before_connections_are_closed(self, identity: Any) -> None:
        remedies, _ = treated(identity=identity, keepalive=None, exhausted=True)
        assert "ss -K" in remedies[0].text
        assert steps(remedies)[:3] in (["drain", "drain", "drain"], ["drain", "drain", "limit"])

    def test_where_no_timeout_applies_to_the_accounts_of_all_ghosts_none_is_set(self) -> None:
        assert steps(treated(exempt_ghosts=99)[0])[:2] == ["drain", "drain"]
        assert "limit" not in steps(treated(exempt_ghosts=99)[0])

    @pytest.mark.parametrize(("current", "set_anew"), [(300, False), (90, False), (301, True), (0, True)])
    def test_a_timeout_that_drains_already_is_left_alone(self, current: int, *, set_anew: bool) -> None:
        remedies, _ = treated(idle=current)
        assert ("limit" in steps(remedies)) is set_anew

    def test_ghosts_from_before_a_timeout_was_set_are_closed_by_hand_all_the_same(self) -> None:
        remedies, _ = treated(idle=300)
        assert "ss -K" in remedies[0].text

    def test_an_unknown_product_gets_advice_and_no_command(self) -> None:
        remedies, _ = treated(identity=None)
        assert "ss -K" in remedies[0].text
        limit = named("limit", remedies)
        assert limit.kind is RemedyKind.ADVICE
        assert "300 s" in limit.text

    def test_ghosts_that_are_certain_are_closed_by_port(self) -> None:
        (close, *_), _ = treated()
        assert close.title == "drain: close the 3 dead connections from 10.77.2.2 now"
        assert all(str(port) in close.text for port in (40000, 40001, 40002))
        assert "ss -K" in close.text

    @pytest.mark.parametrize("doubt", [{"without_flow": 0, "middleboxes": ()}, {"ghost_ports": None}])
    def test_ghosts_that_are_not_certain_are_never_closed(self, doubt: dict[str, Any]) -> None:
        known: dict[str, Any] = {
            "server_count": 5,
            "ghosts": 3,
            "matched": 2,
            "middleboxes": ("fw",),
            "without_flow": 3,
        }
        remedies, _ = treated(facts.direction(**(known | doubt)))
        assert not any("ss -K" in remedy.text for remedy in remedies)
        assert [one.title[:11] for one in remedies[:3]] == ["prove: coll", "drain: wait", "drain: rest"]
        assert (remedies[0].target, "ldapdiag collect" in remedies[0].text) == ("app1", True)

    def test_the_client_with_the_most_ghosts_comes_first(self) -> None:
        many = facts.direction("10.77.3.2", server_count=9, ghosts=9, middleboxes=("fw",), without_flow=9)
        remedies, _ = treated(GHOSTS, None, many)
        assert ["10.77.3.2" in remedies[0].title, "10.77.2.2" in remedies[1].title] == [True, True]

    @pytest.mark.parametrize(
        ("system", "closes"),
        [("", True), ("Linux 6.1.0-13-amd64 x86_64", True), ("Linux 3.10.0-1160.el7.x86_64 x86_64", False),
         ("SunOS 5.11 sun4v", False), ("Linux 4.4.0 x86_64", False), ("Linux 4.5.1 x86_64", True)],
    )  # fmt: skip
    def test_a_host_that_cannot_close_sockets_is_restarted(self, system: str, *, closes: bool) -> None:
        host = facts.host("ldap", description=facts.description("ldap", system=system))
        remedies, _ = treated(hosts=(host,), exhausted=True)
        assert any("ss -K" in remedy.text for remedy in remedies) is closes
        restart = next(remedy for remedy in remedies if remedy.needs is Needs.RESTART)
        assert (restart.title, restart.is_alternative) == ("drain: restart the server", closes)
        assert "connections of its clients are cut" in restart.risk

    @pytest.mark.parametrize(
        ("in_force", "states", "first"),
        [({"idle": 1800}, {}, "drain: wait about 1,800 s: the idle timeout of 1,800 s closes them"),
         ({"idle": 0, "keepalive": 300}, {}, "drain: wait at most 975 s: unanswered keepalive probes close them"),
         ({"idle": 0}, {}, "drain: restart the server"),
         ({"idle": 1800}, {"exhausted": True}, "drain: restart the server"),
         ({"idle": 1800}, {"exempt_ghosts": 99}, "drain: restart the server")],
    )  # fmt: skip
    def test_no_server_is_restarted_first_whose_timeout_in_force_ends_them(self, in_force, states, first) -> None:
        solaris = facts.host("ldap", description=facts.description("ldap", system="SunOS 5.11 sun4v"))
        identity = facts.DS389 if "keepalive" in in_force else NOT_LINUX
        known = {"identity": identity, "keepalive": None, "hosts": (solaris,)} | in_force | states
        remedies, _ = treated(**known)
        assert remedies[0].title == first
        assert not remedies[0].is_alternative
        restart = next(one for one in remedies if one.title == "drain: restart the server")
        assert restart.is_alternative is (restart is not remedies[0])

    def test_to_wait_frees_none_of_an_account_that_no_idle_timeout_applies_to(self) -> None:
        remedies, _ = treated(identity=NOT_LINUX, keepalive=None, idle=1800, exempt_ghosts=1)
        wait = next(one for one in remedies if one.title.startswith("drain: wait"))
        assert "1 of them belongs to accounts that no idle timeout applies to, and stays open." in wait.risk
        remedies, _ = treated(identity=NOT_LINUX, idle=0, keepalive=300, exempt_ghosts=99)
        assert not any("no idle timeout applies" in one.risk for one in remedies)

    def test_one_that_is_older_than_the_timeout_shows_that_waiting_does_not_close_it(self) -> None:
        known = {"server_count": 5, "matched": 2, "ghosts": 3, "middleboxes": ("fw",), "without_flow": 3}
        for oldest, first in ((1700.0, "drain: wait about"), (9000.0, "drain: restart")):
            ages = replace(facts.direction(**known).idle_times, ghosts=(60.0, oldest))
            old = replace(facts.direction(**known), idle_times=ages)
            remedies, _ = treated(old, identity=NOT_LINUX, keepalive=None, idle=1800)
            assert remedies[0].title.startswith(first)

    def test_when_the_sockets_were_read_is_by_the_clock_of_the_server(self) -> None:
        table = facts.table(facts.at_server(1), taken=0)
        ahead = facts.description("ldap", clock=facts.START + timedelta(hours=1))
        here, there = (
            treated(hosts=(facts.host("ldap", table, **traits),))[0][0].text for traits in ({}, {"description": ahead})
        )
        seconds = int(facts.START.timestamp())
        assert f"- {seconds}) * 1000" in here
        assert f"- {seconds + 3600}) * 1000" in there

    def test_where_a_new_timeout_reaches_open_connections_none_is_closed_by_hand(self) -> None:
        remedies, _ = treated(identity=facts.OPENLDAP, keepalive=None)
        assert not any("ss -K" in remedy.text for remedy in remedies)


class TestCure:
    def test_it_probes_at_half_the_middleboxs_timeout(self) -> None:
        remedies, _ = treated(bounds=forgetting(30))
        cure = next(remedy for remedy in remedies if remedy.title.startswith("cure"))
        assert "nsslapd-tcp-keepalive-time: 15" in cure.text

    @pytest.mark.parametrize(("keepalive", "set_anew"), [(15, False), (16, True)])
    def test_probes_in_time_are_left_alone(self, keepalive: int, *, set_anew: bool) -> None:
        remedies, _ = treated(bounds=forgetting(30), keepalive=keepalive)
        assert ("cure" in steps(remedies)) is set_anew

    def test_an_unknown_product_is_cured_by_its_kernel(self) -> None:
        remedies, _ = treated(bounds=forgetting(30), identity=None)
        cure = next(remedy for remedy in remedies if remedy.title.startswith("cure"))
        assert "net.ipv4.tcp_keepalive_time" in cure.text

    def test_without_a_known_timeout_there_is_none(self) -> None:
        assert "cure" not in steps(treated()[0])

    @pytest.mark.parametrize(("seconds", "slow"), [(7200, True), (16, True), (15, False)])
    def test_the_client_may_probe_instead_unless_it_does_already(self, seconds: int, *, slow: bool) -> None:
        remedies, _ = treated(bounds=forgetting(30), kernels=(kernel("app1", seconds),))
        cures = [one for one in remedies if one.is_alternative and one.title.startswith("cure")]
        assert bool(cures) is slow
        for cure in cures:
            assert (cure.where, cure.target) == (Where.CLIENT, "app1")
            assert "net.ipv4.tcp_keepalive_time = 15" in cure.text
            assert f"tcp_keepalive_time={seconds}" in cure.undo

    def test_an_unknown_client_behind_a_middlebox_is_not_named(self) -> None:
        remedies, _ = treated(facts.direction(server_count=5, ghosts=3, translated_by="fw"), forgetting(30))
        assert not [one for one in remedies if one.is_alternative and one.title.startswith("cure")]


class TestSettingsOfClients:
    @pytest.mark.parametrize(("program", "settings"), [("sssd_be", 1), ("unheard-of", 0)])
    def test_a_client_whose_software_is_known_gets_its_settings(self, program: str, settings: int) -> None:
        table = facts.table(facts.at_client(2), "app1", owner=[program, program])
        remedies, _ = treated(bounds=forgetting(30), hosts=(facts.host("app1", table),))
        found = [remedy for remedy in remedies if remedy.title.startswith("at clients:")]
        assert [(remedy.target, "SSSD" in remedy.title) for remedy in found] == [("app1", True)] * settings

    def test_programs_with_other_connections_do_not_count(self) -> None:
        table = facts.table(facts.row_of_another_service(), "app1", owner=["sssd_be"])
        remedies, _ = treated(bounds=forgetting(30), hosts=(facts.host("app1", table),))
        assert "at clients" not in steps(remedies)


class TestTidy:
    def test_below_a_minute_the_middleboxs_timeout_is_raised(self) -> None:
        remedies, _ = treated(bounds=forgetting(30))
        tidy = remedies[-1]
        assert (tidy.where, tidy.target) == (Where.BOX, "fw")
        assert "3600" in tidy.text
        assert "(20 s)" in tidy.changes
        assert "unsafe" in tidy.changes

    def test_a_load_balancer_gets_advice_and_no_sysctl(self) -> None:
        (path,) = forgetting(30, "f5").paths
        bounds = IdleBounds(server="ldap", paths=(replace(path, source="idle-timeout of tcp profile ldap of f5"),))
        tidy = treated(bounds=bounds)[0][-1]
        assert (tidy.target, tidy.kind) == ("f5", RemedyKind.ADVICE)

    def test_a_long_idle_time_asks_for_a_longer_timeout(self) -> None:
        resting = facts.direction(server_count=2, matched=2, idle_seconds=(2000.0,))
        assert "8000" in treated(resting, forgetting(30))[0][-1].text

    @pytest.mark.parametrize(("current", "tidied"), [(240, False), (241, True)])
    def test_a_timeout_below_the_middleboxs_is_tidy_already(self, current: int, *, tidied: bool) -> None:
        remedies, _ = treated(bounds=forgetting(300), idle=current)
        assert ("tidy" in steps(remedies)) == tidied

    def test_from_a_minute_on_it_is_an_idle_timeout_below_the_middleboxs(self) -> None:
        remedies, _ = treated(bounds=forgetting(300))
        tidy = remedies[-1]
        assert tidy.where is Where.SERVER
        assert "nsslapd-idletimeout: 240" in tidy.text

    def test_a_drain_value_below_the_middleboxs_timeout_is_tidy_as_well(self) -> None:
        assert "tidy" not in steps(treated(bounds=forgetting(3600))[0])

    def test_live_connections_that_are_idle_for_longer_ask_for_a_longer_timeout_at_the_middlebox(self) -> None:
        resting = facts.direction(server_count=2, matched=2, idle_seconds=(900.0,))
        tidy = treated(resting, forgetting(300))[0][-1]
        assert (tidy.where, "3600" in tidy.text) == (Where.BOX, True)
        assert "(240 s)" in tidy.changes
        assert "connections held at both ends are idle for longer" in tidy.changes

    def test_without_a_known_timeout_there_is_none(self) -> None:
        assert "tidy" not in steps(treated()[0])


def test_accounts_that_are_exempt_already_are_left_alone() -> None:
    spared = (("cn=Replication Manager,cn=config", -1), ("uid=pool,dc=example,dc=com", 900))
    accounts = ("cn=replication manager,cn=config", "uid=pool,dc=example,dc=com")
    remedies, _ = treated(replication=accounts, exempt=spared)
    assert "cn=replication manager" not in remedies[-1].text
    assert "uid=pool" in remedies[-1].text


def test_accounts_that_replicate_are_exempt() -> None:
    remedies, _ = treated(replication=("cn=replication manager,cn=config",))
    assert steps(remedies)[-1] == "exempt"
    assert "cn=replication manager,cn=config" in remedies[-1].text


@pytest.mark.parametrize(
    ("seconds", "direction", "expected"),
    [
        (2, facts.direction(server_count=2, matched=2, idle_seconds=(8.0, 8.0)), ["raise"]),
        (3600, GHOSTS, ["drain", "drain", "limit", "cure"]),
        (120, GHOSTS, ["drain", "drain", "cure"]),
        (2, GHOSTS, ["drain", "drain", "raise", "cure"]),
    ],
)
def test_a_proxy_s_short_timeout_is_raised_and_probes_find_clients_that_are_gone(
    seconds: int, direction: Direction, expected: list[str]
) -> None:
    server = facts.server("lb", identity=None, proxy="haproxy")
    lifetime = facts.lifetime(idle_timeout_seconds=seconds, proxy=True)
    advice = advise(server, HOST, IdleProfile(server="ldap"), facts.pairing(direction), None)
    remedies = list(idle_remedies(server, lifetime, advice, None, facts.pairing(direction)))
    assert steps(remedies) == expected


def test_a_proxy_whose_settings_are_not_known_gets_advice() -> None:
    server = facts.server("lb", identity=None, proxy="nginx")
    lifetime = measure_lifetime(server, Host(host="lb"))
    advice = advise(server, HOST, IdleProfile(server="ldap"), facts.pairing(GHOSTS), None)
    remedies = list(idle_remedies(server, lifetime, advice, None, facts.pairing(GHOSTS)))
    drain = named("limit", remedies)
    assert (drain.kind, lifetime.idle_timeout_source) == (
        RemedyKind.ADVICE,
        "the proxy's configuration was not collected",
    )
    assert drain.text == "Set the idle timeout of the proxy to 300 s (no commands for nginx are known)."


def test_the_timeouts_of_a_proxy_on_its_host_are_not_the_directory_server_s() -> None:
    timeouts = BoxTimeouts(
        origin=facts.origin(), services=(ServiceTimeout(name="timeout client", seconds=50.0),), relay=Relay.PROXY
    )
    server = facts.server(identity=None)
    assert measure_lifetime(server, HOST, timeouts).idle_timeout_seconds is None
    assert measure_lifetime(replace(server, proxy="haproxy"), HOST, timeouts).idle_timeout_seconds == 50
