from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
from ldapdiag.analysis.hosts.attribution import Attribution, attribute
from ldapdiag.evidence.bundle import Bundle
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.flows import BoxTimeouts, Relay
from ldapdiag.evidence.host_facts import CaptureTimes, DescriptorCount, ProcessLimits
from ldapdiag.evidence.sockets import TcpState

ROWS = facts.at_server(3)
LISTENING = [facts.listening(), *ROWS]
ELSEWHERE = facts.at_client(3)


def lying(fact: Any, folder: str, name: str) -> Any:
    """Return a fact as it was read from folder/name, before anybody has said whose it is."""
    known = replace(fact.origin, path=f"{folder}/{name}", folder=folder, host="")
    return replace(fact, origin=known)


def listing(rows: list[facts.Row], folder: str, name: str = "ss.txt", **traits: Any) -> Any:
    return lying(facts.table(rows, **traits), folder, name)


def found(*evidence: Any, ports: tuple[int, ...] = ()) -> Attribution:
    return attribute(Bundle(facts=evidence, ldap_ports=frozenset(ports)))


def names(attribution: Attribution) -> list[str]:
    return [host.host for host in attribution.hosts]


def owners(attribution: Attribution) -> dict[str, str]:
    return {fact.origin.path: fact.origin.host for fact in attribution.facts}


class TestInOneFolder:
    def test_tables_that_share_rows_are_one_host_named_by_the_folder(self) -> None:
        assert names(found(listing(ROWS, "in/ldap", "a.txt"), listing(ROWS[:1], "in/ldap", "b.txt"))) == ["ldap"]

    def test_tables_that_share_a_routable_address_are_one_host(self) -> None:
        other = facts.at_server(3, facts.APP2)
        assert names(found(listing(ROWS, "ldap", "a.txt"), listing(other, "ldap", "b.txt"))) == ["ldap"]

    def test_tables_of_different_addresses_are_hosts_called_by_their_files(self) -> None:
        assert names(found(listing(ROWS, "in", "ldap.txt"), listing(ELSEWHERE, "in", "app1.txt"))) == ["app1", "ldap"]

    def test_tables_without_any_identifying_address_are_one_host_when_they_share_rows(self) -> None:
        local = [facts.row("127.0.0.1:389", f"127.0.0.1:{port}") for port in (40000, 40001)]
        assert names(found(listing(local, "ldap", "a.txt"), listing(local[:1], "ldap", "b.txt"))) == ["ldap"]

    @pytest.mark.parametrize("address", ["127.0.0.1", "169.254.1.1", "172.17.0.1", "192.168.122.1", "10.0.2.15"])
    def test_an_address_of_many_hosts_merges_none(self, address: str) -> None:
        one = [facts.row(f"{address}:389", f"{address}:40000"), *ROWS]
        other = [facts.row(f"{address}:389", f"{address}:40001"), *ELSEWHERE]
        attribution = found(listing(one, "in", "ldap.txt"), listing(other, "in", "app1.txt"))
        assert names(attribution) == ["app1", "ldap"]
        assert all(address not in host.addresses for host in attribution.hosts)

    def test_a_virtual_address_on_hosts_that_otherwise_differ_merges_none(self) -> None:
        shared = facts.row("10.77.1.100:389", "10.77.2.2:41000")
        one, other = [shared, *ROWS], [facts.row("10.77.1.100:389", "10.77.3.2:42000"), *ELSEWHERE]
        assert names(found(listing(one, "in", "one.txt"), listing(other, "in", "two.txt"))) == ["one", "two"]

    def test_a_table_with_fewer_addresses_is_not_another_host(self) -> None:
        both = [*ROWS, facts.row("10.99.0.1:389", "10.99.0.2:40000")]
        assert names(
            found(listing(both, "ldap", "a.txt"), listing(facts.at_server(2, facts.APP2), "ldap", "b.txt"))
        ) == ["ldap"]

    def test_a_table_of_truncated_addresses_is_identified_by_its_ports(self) -> None:
        truncated = [
            facts.row("2001:db8:1234:5678:…:389", f"2001:db8:1234:567…:{40000 + number}") for number in range(4)
        ]
        exact = facts.at_server(4)
        assert names(found(listing(exact, "ldap", "ss.txt"), listing(truncated, "ldap", "an.txt"))) == ["ldap"]
        assert len(names(found(listing(exact[:1], "ldap", "ss.txt"), listing(truncated, "ldap", "an.txt")))) == 2

    def test_the_order_of_files_decides_nothing(self) -> None:
        tables = [listing(ROWS, "in", "b.txt"), listing(ELSEWHERE, "in", "c.txt"), listing(ROWS[:1], "in", "a.txt")]
        assert found(*tables).hosts == found(*reversed(tables)).hosts


class TestTheEmptyTable:
    def test_it_belongs_to_the_only_host_of_its_folder(self) -> None:
        attribution = found(listing(ROWS, "ldap", "tcp6.txt"), listing([], "ldap", "tcp.txt"))
        assert owners(attribution) == {"ldap/tcp6.txt": "ldap", "ldap/tcp.txt": "ldap"}

    def test_it_is_a_host_of_its_own_beside_two_others(self) -> None:
        attribution = found(listing(ROWS, "in", "a.txt"), listing(ELSEWHERE, "in", "b.txt"), listing([], "in", "c.txt"))
        assert names(attribution) == ["a", "b", "c"]

    def test_alone_it_is_a_host_without_connections(self) -> None:
        assert names(found(listing([], "app1"))) == ["app1"]


class TestAcrossFolders:
    def test_hosts_that_share_all_addresses_with_peers_are_one_with_a_reason(self) -> None:
        (host,) = found(listing(ROWS, "before/ldap"), listing(ROWS[1:], "after/ldap")).hosts
        assert host.host == "ldap"
        assert len(host.snapshots) == 2
        assert host.merge_reason == f"ldap shows the same addresses: {facts.LDAP}"

    def test_replicas_that_show_only_their_virtual_address_stay_two(self) -> None:
        one, other = ([facts.row("10.77.1.100:389", f"10.77.2.2:{port}")] for port in (41000, 42000))
        assert names(found(listing(one, "dc1/ldap"), listing(other, "dc2/ldap"))) == ["dc1/ldap", "dc2/ldap"]

    def test_a_snapshot_without_the_other_address_is_the_same_host(self) -> None:
        more = [*ROWS, facts.row("10.77.1.100:389", "10.77.2.2:41000")]
        (host,) = found(listing(more, "in/ldap/snap1"), listing(ROWS, "in/ldap/snap2")).hosts
        assert (host.host, [one.number for one in host.snapshots]) == ("ldap", [1, 2])
        assert host.merge_reason == "snap2 has a snapshot of the same host, by the names of the folders"

    def test_the_tables_in_the_tree_of_a_host_are_one_snapshot(self) -> None:
        tree = "in/sosreport-app1-2026-11-22-abcdefg"
        tables = listing(ELSEWHERE, f"{tree}/proc/net"), listing(ELSEWHERE, f"{tree}/sos_commands/networking")
        (host,) = found(*tables).hosts
        assert (host.host, len(host.snapshots)) == ("app1", 1)

    def test_an_order_that_nothing_shows_is_a_gap(self) -> None:
        attribution = found(
            listing(ROWS, "a/ldap"), listing(ROWS, "b/ldap"), listing(ELSEWHERE, "a/app"), listing(ELSEWHERE, "b/app")
        )
        assert [(gap.target, gap.reason.partition(";")[0]) for gap in attribution.gaps] == [
            ("app", "the order of its snapshots is unknown"),
            ("ldap", "the order of its snapshots is unknown"),
        ]

    def test_middleboxes_of_one_name_are_two_unless_their_folders_are_snapshots(self) -> None:
        boxes = [lying(facts.flows(ROWS), f"{folder}/fw", "conntrack.txt") for folder in ("dc1", "dc2")]
        assert names(found(*boxes)) == ["dc1/fw", "dc2/fw"]
        boxes = [lying(facts.flows(ROWS), f"{folder}/fw", "conntrack.txt") for folder in ("snap1", "snap2")]
        assert names(found(*boxes)) == ["fw"]

    def test_a_folder_within_a_host_s_belongs_to_it(self) -> None:
        limits = lying(TestOtherFacts.LIMITS, "in/ldap/more", "proc-limits.txt")
        tables = listing(LISTENING, "in/ldap"), listing(ELSEWHERE, "in/app1")
        assert owners(found(limits, *tables))["in/ldap/more/proc-limits.txt"] == "ldap"

    def test_sharing_one_of_two_addresses_is_not_enough(self) -> None:
        more = [*ROWS, facts.row("10.77.1.100:389", "10.77.2.2:41000")]
        assert len(found(listing(more, "one"), listing(ROWS, "two")).hosts) == 2

    def test_loopback_is_no_reason(self) -> None:
        local = [facts.row("127.0.0.1:389", "127.0.0.1:40000")]
        assert names(found(listing(local, "one"), listing(local, "two"))) == ["one", "two"]

    def test_two_folders_of_one_name_get_different_names(self) -> None:
        assert len(set(names(found(listing(ROWS, "a/host"), listing(ELSEWHERE, "b/host"))))) == 2


class TestMiddleboxesInSharedFolders:
    """A folder in which the files of several hosts lie."""

    OWN = "10.77.5.1"
    LEGS = facts.at_server(3, OWN)

    def among(self, *evidence: Any) -> dict[str, str]:
        hosts = (listing(LISTENING, "in", "ldap.txt"), listing(ELSEWHERE, "in", "app1.txt"))
        return {fact.origin.path: fact.origin.host for fact in found(*hosts, *evidence).facts}

    def test_a_proxy_is_the_host_that_owns_its_legs(self) -> None:
        sessions = lying(facts.sessions(self.LEGS, ELSEWHERE), "in", "show-sess-all.txt")
        own = [facts.row(f"{self.OWN}:40000", f"{facts.LDAP}:389")]
        assert self.among(sessions, listing(own, "in", "lb.txt"))["in/show-sess-all.txt"] == "lb"
        assert self.among(sessions)["in/show-sess-all.txt"] == "show-sess-all"

    def test_settings_belong_to_the_only_flow_table_of_their_kind(self) -> None:
        settings = BoxTimeouts(origin=facts.origin("in", "haproxy.cfg"), services=(), relay=Relay.PROXY)
        settings = lying(settings, "in", "haproxy.cfg")
        sessions = lying(facts.sessions(self.LEGS, ELSEWHERE), "in", "show-sess-all.txt")
        conntrack = lying(facts.flows(ROWS), "in", "conntrack.txt")
        assert self.among(settings, sessions, conntrack)["in/haproxy.cfg"] == "show-sess-all"
        assert self.among(settings, conntrack)["in/haproxy.cfg"] == "haproxy"

    def test_settings_alone_make_their_folder_a_host(self) -> None:
        settings = BoxTimeouts(origin=facts.origin("lb", "haproxy.cfg"), services=(), relay=Relay.PROXY)
        assert [host.host for host in found(lying(settings, "in/lb", "haproxy.cfg")).hosts] == ["lb"]


class TestOtherFacts:
    LIMITS = ProcessLimits(origin=facts.origin(), open_files_soft=1024, open_files_hard=4096)
    COUNT = DescriptorCount(origin=facts.origin(), open=335)

    def test_one_belongs_to_the_host_in_whose_folder_it_lies(self) -> None:
        attribution = found(listing(LISTENING, "ldap"), listing(ELSEWHERE, "app1"), lying(self.COUNT, "app1", "fd.txt"))
        assert owners(attribution)["app1/fd.txt"] == "app1"

    def test_a_proxy_is_not_the_only_directory_server(self) -> None:
        proxy = listing([facts.row("*:389", "*:*", TcpState.LISTEN, owner="haproxy"), *ELSEWHERE], "lb")
        attribution = found(listing(LISTENING, "ldap"), proxy, lying(self.COUNT, "elsewhere", "fd.txt"))
        assert owners(attribution)["elsewhere/fd.txt"] == "ldap"

    @pytest.mark.parametrize("folder", ["elsewhere", "in"])
    def test_one_without_a_host_is_the_only_directory_servers(self, folder: str) -> None:
        attribution = found(
            listing(LISTENING, "in", "ldap.txt"),
            listing(ELSEWHERE, "in", "app1.txt"),
            lying(self.LIMITS, folder, "limits"),
        )
        assert owners(attribution)[f"{folder}/limits"] == "ldap"

    def test_among_hosts_of_a_folder_a_reported_port_finds_the_server(self) -> None:
        rows = [facts.listening(1389), facts.row("10.77.1.2:1389", f"{facts.APP1}:40000")]
        told_port = Configuration(origin=facts.origin(), identity=facts.DS389, ports=(1389,))
        evidence = (
            listing(rows, "all", "ldap.txt"),
            listing(ELSEWHERE, "all", "app1.txt"),
            lying(told_port, "all", "c.ldif"),
        )
        assert owners(found(*evidence))["all/c.ldif"] == "ldap"

    def test_between_two_servers_it_is_ambiguous_with_a_reason(self) -> None:
        second = [facts.row("10.77.9.9:389", "10.77.2.2:40000"), facts.listening()]
        attribution = found(
            listing(LISTENING, "one"), listing(second, "two"), lying(self.LIMITS, "elsewhere", "limits")
        )
        (gap,) = attribution.gaps
        assert gap.target == "elsewhere/limits"
        assert "2 directory servers (one, two)" in gap.reason
        assert gap.how == "put it into a folder with that host's socket table"
        assert "elsewhere/limits" not in owners(attribution)

    def test_between_two_hosts_of_a_folder_kernel_settings_are_ambiguous(self) -> None:
        kernel = lying(facts.settings(max=5), "in", "sysctl.txt")
        attribution = found(listing(LISTENING, "in", "ldap.txt"), listing(ELSEWHERE, "in", "app1.txt"), kernel)
        (gap,) = attribution.gaps
        assert "2 hosts in its folder (app1, ldap)" in gap.reason

    def test_a_middlebox_is_named_by_its_folder(self) -> None:
        attribution = found(
            listing(LISTENING, "ldap"),
            lying(facts.flows(ROWS), "in/fw", "conntrack.txt"),
            lying(facts.settings(max=5), "in/fw", "sysctl.txt"),
        )
        assert names(attribution) == ["fw", "ldap"]
        assert attribution.gaps == ()

    def test_a_monitor_alone_makes_its_folder_a_host(self) -> None:
        assert names(found(lying(facts.monitor(), "in/ldap", "cn-monitor.ldif"))) == ["ldap"]

    def test_a_port_that_the_operator_names_makes_a_directory_server(self) -> None:
        rows = [facts.listening(10389), facts.row(f"{facts.LDAP}:10389", "10.77.2.2:40000")]
        evidence = (listing(rows, "one"), listing(ELSEWHERE, "two"), lying(self.LIMITS, "elsewhere", "limits"))
        assert owners(found(*evidence, ports=(10389,)))["elsewhere/limits"] == "one"

    def test_times_are_those_of_the_tables_beside_them(self) -> None:
        times = CaptureTimes(origin=facts.origin(), span=facts.at(7))
        attribution = found(listing(ROWS, "ldap"), listing(ELSEWHERE, "app1"), lying(times, "ldap", "captured-at.txt"))
        taken = {host.host: host.snapshots[0].taken for host in attribution.hosts}
        assert taken == {"ldap": facts.at(7), "app1": None}

    def test_the_time_in_the_table_itself_has_precedence(self) -> None:
        times = CaptureTimes(origin=facts.origin(), span=facts.at(7))
        attribution = found(listing(ROWS, "ldap", taken=3), lying(times, "ldap", "captured-at.txt"))
        assert attribution.hosts[0].snapshots[0].taken == facts.at(3)


class TestCounters:
    def read(self, *moments: float | None) -> tuple[str | None, str | None]:
        """Return the first and the last reading of a host's counters, by file."""
        readings = [
            lying(replace(facts.counters(), origin=facts.origin(taken=moment)), "ldap", f"nstat-{number}.txt")
            for number, moment in enumerate(moments)
        ]
        (host,) = found(listing(LISTENING, "ldap"), *readings).hosts
        both = (host.first_counters, host.counters)
        first, last = (one.origin.path.rpartition("/")[2] if one else None for one in both)
        return first, last

    def test_the_latest_reading_counts_and_the_first_is_kept(self) -> None:
        assert self.read(10, 2, 5) == ("nstat-1.txt", "nstat-0.txt")

    @pytest.mark.parametrize("moments", [(3,), (3, 3), (None, 3), (None, None)])
    def test_without_times_or_at_one_time_there_is_no_first(self, moments: tuple[float | None, ...]) -> None:
        assert self.read(*moments)[0] is None


def test_a_row_that_is_no_longer_established_does_not_make_two_tables_one() -> None:
    local = [facts.row("127.0.0.1:389", "127.0.0.1:40000", TcpState.TIME_WAIT)]
    assert names(found(listing(local, "in", "a.txt"), listing(local, "in", "b.txt"))) == ["a", "b"]


def test_nothing_at_all_makes_no_host() -> None:
    assert found().hosts == ()
