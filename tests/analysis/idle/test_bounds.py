from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
from facts import APP1, APP2, at_server, direction, table
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.idle.bounds import (
    IdleBounds,
    PathBounds,
    agreed,
    bound_idle,
    logged_idle_times,
    network,
    survived_idle_times,
)
from ldapdiag.analysis.idle.keepalive import GhostLifetime
from traffic import Log, Traffic

NO_TABLE = Host(host="ldap")


def lifetime(keepalive: int | None = None, idle_timeout: int | None = 0) -> GhostLifetime:
    return GhostLifetime(
        server="ldap",
        host="ldap",
        idle_timeout_seconds=idle_timeout,
        idle_timeout_source="ldap/cn-config.ldif",
        keepalive=keepalive is not None,
        keepalive_seconds=keepalive,
        keepalive_source="ldap/cn-config.ldif",
        probing_seconds=675,
    )


def bound(
    *directions: Any,
    host: Host = NO_TABLE,
    kernels: tuple[Any, ...] = (),
    flows: tuple[Any, ...] = (),
    traffic: Traffic | None = None,
) -> IdleBounds:
    return bound_idle(facts.pairing(*directions), host, lifetime(), kernels, flows, traffic=traffic)


def rested(client: str, *seconds: float) -> Traffic:
    """Return a log in which a connection of this client rested so long, again and again, before it asked."""
    log = Log()
    number = log.opens(client)
    for op, rest in enumerate((*seconds, 0)):
        log.searches(number, op)
        log.now += rest
    log.closes(number)
    return log.traffic()


def only(bounds: IdleBounds) -> PathBounds:
    (path,) = bounds.paths
    return path


class TestABoxesOwnSetting:
    KERNEL = facts.settings("fw", tcp_timeout_established=30)

    def test_it_counts_from_a_host_that_owns_neither_end(self) -> None:
        path = only(bound(direction(), kernels=(self.KERNEL,)))
        assert (path.lower_seconds, path.upper_seconds, path.middlebox) == (30, 30, "fw")
        assert path.source == "nf_conntrack_tcp_timeout_established of fw"

    @pytest.mark.parametrize("end", ["ldap", "app1"])
    def test_it_does_not_count_from_a_host_that_owns_an_end(self, end: str) -> None:
        path = only(bound(direction(), kernels=(facts.settings(end, tcp_timeout_established=30),)))
        assert (path.lower_seconds, path.upper_seconds) == (None, None)

    @pytest.mark.parametrize(("forwards", "upper"), [("0", None), ("1", 30)])
    def test_a_host_that_does_not_forward_is_no_middlebox(self, forwards: str, upper: int | None) -> None:
        kernel = replace(self.KERNEL, values={**self.KERNEL.values, "net.ipv4.ip_forward": forwards})
        assert only(bound(direction(), kernels=(kernel,))).upper_seconds == upper

    def test_it_counts_from_an_end_whose_table_holds_the_flow(self) -> None:
        kernel = facts.settings("app1", tcp_timeout_established=30)
        path = only(bound(direction(middleboxes=("app1",)), kernels=(kernel,), flows=(facts.flows([], "app1"),)))
        assert path.upper_seconds == 30

    def test_it_does_not_count_where_its_table_holds_none_of_the_flows(self) -> None:
        on, off = direction(middleboxes=("fw",)), direction(APP2, client_hosts=("app2",))
        bounds = bound(on, off, kernels=(self.KERNEL,), flows=(facts.flows([]),))
        assert {path.client_network: path.upper_seconds for path in bounds.paths} == {
            "10.77.2.0/24": 30,
            "10.77.3.0/24": None,
        }

    def test_of_two_middleboxes_the_shorter_timeout_decides(self) -> None:
        kernels = (facts.settings("a", tcp_timeout_established=600), facts.settings("b", tcp_timeout_established=60))
        assert only(bound(direction(), kernels=kernels)).middlebox == "b"

    def test_another_setting_is_none(self) -> None:
        assert only(bound(direction(), kernels=(facts.settings("fw", max=5),))).upper_seconds is None


class TestSurvivedIdleTimes:
    @staticmethod
    def looks(before: int | None, after: int | None, *, apart: float = 10, **first: Any) -> Host:
        return facts.host(
            "ldap",
            table(at_server(1, last_received=before, **first), taken=0),
            table(at_server(1, last_received=after), taken=apart),
        )

    def test_an_idle_time_followed_by_traffic_is_a_lower_bound(self) -> None:
        assert survived_idle_times(self.looks(24_000, 3_000), lifetime()) == {APP1: 24.0}

    @pytest.mark.parametrize(("after", "survived"), [(9_999, True), (10_000, False)])
    def test_traffic_is_shown_by_an_age_below_the_time_between(self, after: int, *, survived: bool) -> None:
        assert bool(survived_idle_times(self.looks(24_000, after), lifetime())) is survived

    def test_an_idle_time_counts_up_to_the_keepalive_interval(self) -> None:
        assert survived_idle_times(self.looks(3_600_000, 3_000), lifetime(keepalive=300)) == {APP1: 300}
        assert survived_idle_times(self.looks(24_000, 3_000), lifetime(keepalive=300)) == {APP1: 24.0}

    def test_the_longest_idle_time_of_a_client_counts(self) -> None:
        rows = [*at_server(1, last_received=24_000), *at_server(1, first=40001, last_received=8_000)]
        later = at_server(2, last_received=1_000)
        assert survived_idle_times(facts.host("ldap", table(rows, taken=0), table(later, taken=10)), lifetime()) == {
            APP1: 24.0
        }

    def test_ages_or_times_that_are_missing_show_nothing(self) -> None:
        assert survived_idle_times(self.looks(None, None), lifetime()) == {}
        untimed = facts.host("ldap", table(at_server(1, last_received=24_000)))
        assert survived_idle_times(untimed, lifetime()) == {}
        assert survived_idle_times(NO_TABLE, lifetime()) == {}

    def test_the_access_log_shows_idle_times_of_whole_days(self) -> None:
        traffic = rested(APP1, 7200.5, 24)
        assert logged_idle_times(traffic, lifetime()) == {APP1: 7200.5}
        assert logged_idle_times(traffic, lifetime(keepalive=300)) == {APP1: 300}
        assert logged_idle_times(None, lifetime()) == {}
        path = only(bound(direction(), traffic=traffic))
        assert (path.lower_seconds, path.upper_seconds) == (7200.5, None)
        assert path.source == "the longest idle time followed by traffic in the access log"

    def test_an_idle_time_of_another_client_is_no_bound(self) -> None:
        assert only(bound(direction(), traffic=rested(APP2, 7200))).lower_seconds is None

    @pytest.mark.parametrize(("logged", "lower", "by_log"), [(20, 24.0, False), (25, 25.0, True)])
    def test_the_longer_of_both_counts(self, logged: float, lower: float, *, by_log: bool) -> None:
        path = only(bound(direction(), host=self.looks(24_000, 3_000), traffic=rested(APP1, logged)))
        assert path.lower_seconds == lower
        assert ("access log" in path.source) is by_log

    def test_the_path_names_its_source(self) -> None:
        path = only(bound(direction(), host=self.looks(24_000, 3_000)))
        assert (path.lower_seconds, path.upper_seconds) == (24.0, None)
        assert path.source == "the longest idle time followed by traffic"
        assert path.range_text == "more than 24 s"


class TestTheUpperBound:
    @pytest.mark.parametrize(
        ("measured", "upper"),
        [
            ([], None),
            ([30.0], None),
            ([30.0, 90.0], None),
            ([30.0, 30.4], 30.0),
            ([30.0, 33.0], 30.0),
            ([30.0, 33.1], None),
            ([4.0, 5.0], 4.0),
            ([4.0, 5.1], None),
            ([90.0, 30.0, 31.0, 91.0], 30.0),
            ([5.0, 30.0, 31.0], 30.0),
        ],
    )
    def test_it_is_the_smallest_that_another_measurement_confirms(
        self, measured: list[float], upper: float | None
    ) -> None:
        assert agreed(measured) == upper

    def test_retransmitting_clients_give_it(self) -> None:
        path = only(bound(direction(idle_before_loss=(30.01, 30.02))))
        assert (path.lower_seconds, path.upper_seconds) == (None, 30.01)
        assert path.source == "clients whose first packet after an idle time is not answered"
        assert path.range_text == "at most 30.01 s"

    def test_clients_of_one_network_confirm_each_other(self) -> None:
        one, other = (
            direction("10.77.2.2", idle_before_loss=(30.0,)),
            direction("10.77.2.3", idle_before_loss=(30.5,)),
        )
        assert only(bound(one, other)).upper_seconds == 30.0

    def test_a_bracket_with_one_vendors_default_in_it_names_the_suspect(self) -> None:
        host = TestSurvivedIdleTimes.looks(310_000, 3_000)
        path = only(bound(direction(idle_before_loss=(350.1, 350.2)), host=host))
        assert path.range_text == "310 to 350.1 s"
        assert path.suspects == ("AWS Network Load Balancer", "AWS NAT gateway")

    def test_bounds_that_contradict_each_other_leave_the_lower_one(self) -> None:
        host = TestSurvivedIdleTimes.looks(60_000, 3_000)
        path = only(bound(direction(idle_before_loss=(30.0, 30.1)), host=host))
        assert (path.lower_seconds, path.upper_seconds) == (60.0, None)
        assert "contradict" in path.source


class TestTheWholeServer:
    def test_the_tightest_path_gives_the_bounds(self) -> None:
        one, other = direction(idle_before_loss=(30.0, 30.1)), direction(APP2, idle_before_loss=(9.0, 9.1))
        bounds = bound(one, other)
        assert bounds.tightest == bounds.for_client(APP2)
        assert bounds.silent_drop_seconds == 9.0

    def test_without_an_upper_bound_the_highest_lower_one_is_given(self) -> None:
        bounds = bound(direction(), host=TestSurvivedIdleTimes.looks(24_000, 3_000))
        assert (bounds.tightest, bounds.silent_drop_seconds, bounds.lower_seconds) == (None, None, 24.0)

    def test_a_client_that_is_not_on_any_path_has_no_bounds(self) -> None:
        assert bound(direction()).for_client("192.0.2.1") is None

    @pytest.mark.parametrize(
        ("address", "told"),
        [("10.77.2.2", "10.77.2.0/24"), ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"), ("app1…", "app1…")],
    )
    def test_a_path_is_reported_by_its_network(self, address: str, told: str) -> None:
        assert network(address) == told


def test_the_bounds_of_a_path_as_text() -> None:
    path = PathBounds(client_network="", lower_seconds=None, upper_seconds=None, source="")
    assert path.range_text == "an unknown time"
    assert replace(path, lower_seconds=30, upper_seconds=30).range_text == "30 s"
