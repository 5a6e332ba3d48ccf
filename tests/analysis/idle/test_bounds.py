from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import facts
from facts import APP1, APP2, at_server, direction, table
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.idle.bounds import (
    IdleBounds,
    PathBounds,
    agreed,
    bound_idle,
    network,
)
from ldapdiag.analysis.idle.keepalive import GhostLifetime
from ldapdiag.analysis.idle.observed_bounds import logged_idle_times
from ldapdiag.analysis.pairing.carriers import Carriers
from ldapdiag.analysis.pairing.direction import Severed
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
    traffic: Traffic | None = None,
) -> IdleBounds:
    return bound_idle(facts.pairing(*directions), host, lifetime(), kernels, traffic=traffic)


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


THROUGH_FW = Carriers(by_table=frozenset({"fw"}))
OVER_FW = Carriers(by_route=frozenset({"fw"}))


class TestABoxesOwnSetting:
    KERNEL = facts.settings("fw", tcp_timeout_established=30)

    @pytest.mark.parametrize("carriers", [THROUGH_FW, OVER_FW, Carriers(by_address=frozenset({"fw"}))])
    def test_it_counts_from_a_host_that_carries_the_path(self, carriers: Carriers) -> None:
        path = only(bound(direction(carriers=carriers), kernels=(self.KERNEL,)))
        assert (path.lower_seconds, path.upper_seconds, path.middlebox) == (None, 30, "fw")
        assert path.source == "nf_conntrack_tcp_timeout_established of fw"

    def test_it_is_named_and_not_used_from_a_host_that_is_not_known_to(self) -> None:
        bounds = bound(direction(), kernels=(self.KERNEL,))
        assert (only(bounds).upper_seconds, only(bounds).middlebox) == (None, None)
        assert [one.middlebox for one in bounds.elsewhere] == ["fw"]

    @pytest.mark.parametrize("end", ["ldap", "app1"])
    def test_it_does_not_count_from_a_host_that_owns_an_end(self, end: str) -> None:
        bounds = bound(direction(), kernels=(facts.settings(end, tcp_timeout_established=30),))
        assert (only(bounds).lower_seconds, only(bounds).upper_seconds, bounds.elsewhere) == (None, None, ())

    @pytest.mark.parametrize(("forwards", "upper"), [("0", None), ("1", 30)])
    def test_a_host_that_does_not_forward_is_no_middlebox(self, forwards: str, upper: int | None) -> None:
        kernel = replace(self.KERNEL, values={**self.KERNEL.values, "net.ipv4.ip_forward": forwards})
        assert only(bound(direction(carriers=OVER_FW), kernels=(kernel,))).upper_seconds == upper

    def test_it_counts_from_an_end_whose_table_holds_the_flow(self) -> None:
        kernel = facts.settings("app1", tcp_timeout_established=30)
        assert only(bound(direction(middleboxes=("app1",)), kernels=(kernel,))).upper_seconds == 30

    def test_it_counts_for_the_paths_that_its_host_carries(self) -> None:
        on, off = direction(middleboxes=("fw",)), direction(APP2, client_hosts=("app2",))
        bounds = bound(on, off, kernels=(self.KERNEL,))
        assert {path.client_network: path.upper_seconds for path in bounds.paths} == {
            "10.77.2.0/24": 30,
            "10.77.3.0/24": None,
        }

    def test_of_two_middleboxes_the_shorter_timeout_decides(self) -> None:
        kernels = (facts.settings("a", tcp_timeout_established=600), facts.settings("b", tcp_timeout_established=60))
        both = Carriers(by_table=frozenset({"a", "b"}))
        assert only(bound(direction(carriers=both), kernels=kernels)).middlebox == "b"

    def test_five_wrong_boxes_do_not_move_the_bracket(self) -> None:
        wrong = [facts.settings(f"wrong{n}", tcp_timeout_established=3 * 10**n) for n in range(5)]
        alone, beside = (
            bound(direction(carriers=THROUGH_FW), kernels=kernels)
            for kernels in ((self.KERNEL,), (*wrong, self.KERNEL))
        )
        assert alone.paths == beside.paths
        assert len(beside.elsewhere) == len(wrong)

    def test_another_setting_is_none(self) -> None:
        kernels = (facts.settings("fw", max=5),)
        assert only(bound(direction(carriers=THROUGH_FW), kernels=kernels)).upper_seconds is None


class TestASettingAndTheMeasurement:
    @staticmethod
    def path(seconds: int, *, host: Host = NO_TABLE, **evidence: Any) -> PathBounds:
        kernel = facts.settings("fw", tcp_timeout_established=seconds)
        return only(bound(direction(carriers=THROUGH_FW, **evidence), host=host, kernels=(kernel,)))

    def test_connections_that_were_dropped_earlier_contradict_it(self) -> None:
        path = self.path(432_000, idle_before_loss=(9.016, 9.02))
        assert (path.lower_seconds, path.upper_seconds, path.middlebox) == (None, 9.016, None)
        (remark,) = path.remarks
        assert "fw is 432,000 s" in remark
        assert "dropped after at most 9.016 s" in remark

    def test_a_connection_that_was_used_again_later_contradicts_it(self) -> None:
        path = self.path(3, host=looks(20_000, 3_000))
        assert (path.lower_seconds, path.upper_seconds, path.middlebox) == (20.0, None, None)
        assert "used again after 20 s" in path.remarks[0]

    def test_a_measurement_that_agrees_confirms_it(self) -> None:
        path = self.path(9, idle_before_loss=(9.016, 9.02), host=looks(8_000, 3_000))
        assert (path.upper_seconds, path.middlebox, path.drop_seen, path.remarks) == (9, "fw", True, ())

    def test_without_a_drop_another_middlebox_may_be_sooner(self) -> None:
        assert (self.path(432_000).lower_seconds, self.path(600).lower_seconds) == (None, None)
        path = self.path(600, host=looks(20_000, 3_000))
        assert (path.lower_seconds, path.upper_seconds) == (20.0, 600)
        seen = self.path(9, idle_before_loss=(9.016, 9.02))
        assert (seen.lower_seconds, seen.upper_seconds) == (9, 9)

    def test_connections_that_were_lost_sooner_leave_it_an_upper_bound(self) -> None:
        """Another middlebox of 5 s drops them; the entries of this one, of 8 s, have expired since."""
        path = self.path(8, ghosts=2, ghost_ages=(12.0, 14.0), lost_sooner=True, host=looks(4_000, 3_000))
        assert (path.lower_seconds, path.upper_seconds, path.drop_seen) == (4.0, 8, True)

    def test_without_a_drop_it_is_a_setting_and_no_more(self) -> None:
        path = self.path(432_000)
        assert (path.upper_seconds, path.drop_seen, path.is_cause) == (432_000, False, False)
        assert self.path(600).is_cause

    def test_the_next_setting_counts_where_the_shortest_is_contradicted(self) -> None:
        kernels = [facts.settings(name, tcp_timeout_established=seconds) for name, seconds in (("a", 3), ("b", 60))]
        both = Carriers(by_table=frozenset({"a", "b"}))
        path = only(bound(direction(carriers=both), host=looks(20_000, 3_000), kernels=tuple(kernels)))
        assert (path.middlebox, path.upper_seconds, len(path.remarks)) == ("b", 60, 1)

    def test_ghosts_that_are_younger_have_another_cause(self) -> None:
        """A client that resets its connections leaves ghosts within seconds, whatever a firewall is set to."""
        for seconds in (3600, 432_000):
            path = self.path(seconds, ghosts=3, ghost_ages=(12.0, 14.0, 12.5))
            assert (path.explains_ghosts, path.is_cause, path.drop_seen) == (False, False, False)
            assert "does not explain the 3 ghost connections: the longest idle time is 14 s" in path.remarks[0]
            assert (path.lower_seconds, path.upper_seconds) == (None, seconds)

    def test_a_setting_that_explains_no_ghosts_is_no_cause_on_other_paths(self) -> None:
        """Another box on the path of both dropped them sooner: probes for this setting would not cure it."""
        kernels = (facts.settings("fw", tcp_timeout_established=600),)
        young = direction(carriers=THROUGH_FW, ghosts=2, ghost_ages=(12.0, 14.0))
        bounds = bound(young, direction(APP2, carriers=THROUGH_FW), kernels=kernels)
        assert [path.is_cause for path in bounds.paths] == [False, False]
        assert bounds.silent_drop_seconds is None
        old = direction(carriers=THROUGH_FW, ghosts=1, ghost_ages=(900.0,))
        bounds = bound(replace(young, client=APP2), old, kernels=kernels)
        assert sorted(path.is_cause for path in bounds.paths) == [False, True]

    def test_ghosts_that_are_older_may_be_its_own(self) -> None:
        path = self.path(30, ghosts=3, ghost_ages=(31.0, 200.0, 12.5))
        assert (path.explains_ghosts, path.is_cause, path.drop_seen, path.remarks) == (True, True, True, ())

    def test_a_drop_on_one_path_confirms_the_setting_on_others(self) -> None:
        kernels = (facts.settings("fw", tcp_timeout_established=30),)
        one = direction(carriers=THROUGH_FW, ghosts=1, ghost_ages=(200.0,))
        bounds = bound(one, direction(APP2, carriers=THROUGH_FW), kernels=kernels)
        assert [path.drop_seen for path in bounds.paths] == [True, True]

    def test_ghosts_of_a_client_that_booted_show_no_drop(self) -> None:
        path = self.path(30, ghosts=1, ghost_ages=(200.0,), before_boot=1)
        assert not path.drop_seen


class TestPathsWithoutAMiddlebox:
    DIRECT = Carriers(direct=True)

    def test_they_have_no_bounds_and_no_setting_is_named(self) -> None:
        kernels = (facts.settings("fw", tcp_timeout_established=30),)
        bounds = bound(direction(carriers=self.DIRECT), host=looks(20_000, 3_000), kernels=kernels)
        assert (bounds.paths, bounds.elsewhere, bounds.direct) == ((), (), True)

    def test_packets_that_are_lost_there_are_measured(self) -> None:
        assert only(bound(direction(carriers=self.DIRECT, idle_before_loss=(30.0, 30.1)))).upper_seconds == 30.0


def looks(before: int | None, after: int | None, *, apart: float = 10) -> Host:
    return facts.host(
        "ldap",
        table(at_server(1, last_received=before), taken=0),
        table(at_server(1, last_received=after), taken=apart),
    )


class TestTheLowerBound:
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
        path = only(bound(direction(), host=looks(24_000, 3_000), traffic=rested(APP1, logged)))
        assert path.lower_seconds == lower
        assert ("access log" in path.source) is by_log

    def test_a_client_whose_timers_are_hidden_may_send_probes(self) -> None:
        """A firewall of 5 s, and a client that probes every 2 s: its connection is used again after 24 s."""
        hidden = direction(matched=1, timers_shown=False)
        assert only(bound(hidden, host=looks(24_000, 3_000), traffic=rested(APP1, 24))).lower_seconds is None

    def test_the_path_names_its_source(self) -> None:
        path = only(bound(direction(), host=looks(24_000, 3_000)))
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
        host = looks(310_000, 3_000)
        path = only(bound(direction(idle_before_loss=(350.1, 350.2)), host=host))
        assert path.range_text == "310 to 350.1 s"
        assert path.suspects == ("AWS Network Load Balancer", "AWS NAT gateway")

    def test_bounds_that_contradict_each_other_leave_neither(self) -> None:
        """Either may be wrong: probes of a client that has ended kept the one, or a restart cost the others."""
        host = looks(60_000, 3_000)
        path = only(bound(direction(idle_before_loss=(30.0, 30.1)), host=host))
        assert (path.lower_seconds, path.upper_seconds) == (None, None)
        assert "contradict" in path.source
        assert "used again after 60 s of idle time, and others were lost after 30 s" in path.remarks[0]

    def test_losses_that_one_event_explains_bound_nothing(self) -> None:
        """A pool that asks every 2 s loses all its connections when a firewall of 3600 s restarts."""
        lost = {"idle_before_loss": (1.9, 2.0), "one_event": True}
        path = only(bound(direction(**lost)))
        assert (path.upper_seconds, path.drop_seen) == (None, False)
        assert "lost after 1.9 s of idle time, all of which were idle at one moment" in path.remarks[0]

    def test_a_flow_table_excludes_a_restart(self) -> None:
        path = only(bound(direction(carriers=THROUGH_FW, idle_before_loss=(9.0, 9.1), one_event=True)))
        assert (path.upper_seconds, path.drop_seen, path.remarks) == (9.0, True, ())

    def test_losses_at_other_times_on_one_client_are_no_single_event(self) -> None:
        at_once = direction("10.77.2.3", idle_before_loss=(9.0,), one_event=True)
        path = only(bound(at_once, direction(idle_before_loss=(9.1, 9.3))))
        assert path.upper_seconds == 9.0


class TestTheWholeServer:
    def test_the_tightest_path_gives_the_bounds(self) -> None:
        one, other = direction(idle_before_loss=(30.0, 30.1)), direction(APP2, idle_before_loss=(9.0, 9.1))
        bounds = bound(one, other)
        assert bounds.tightest == bounds.for_client(APP2)
        assert bounds.silent_drop_seconds == 9.0

    def test_without_an_upper_bound_the_highest_lower_one_is_given(self) -> None:
        bounds = bound(direction(), host=looks(24_000, 3_000))
        assert (bounds.tightest, bounds.silent_drop_seconds, bounds.lower_seconds) == (None, None, 24.0)

    @given(settings=st.lists(st.integers(1, 80_000), min_size=1, max_size=4), seen=st.booleans())
    def test_of_several_settings_the_shortest_may_drop_and_the_longest_has_dropped(self, settings, seen) -> None:
        shortest, longest = float(min(settings)), float(max(settings))
        path = PathBounds(
            client_network="10.77.2.0/24",
            lower_seconds=shortest if seen else None,
            upper_seconds=longest,
            source="profile of f5",
            middlebox="f5",
            shortest_setting=shortest,
            drop_seen=seen,
        )
        bounds = IdleBounds(server="ldap", paths=(path,))
        assert (bounds.silent_drop_seconds, bounds.dropped_by_seconds) == (shortest, longest)
        assert (bounds.dropped_by("10.77.2.9"), bounds.dropped_by("10.77.9.2")) == (longest, None)

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


class TestSevered:
    def severed(self, *idle_seconds: float, kept: float | None, **traits: Any) -> Severed:
        ports = tuple(range(50000, 50000 + len(idle_seconds)))
        return Severed(ports=ports, middlebox="fw", idle_seconds=idle_seconds, kept_seconds=kept, **traits)

    def test_the_youngest_expired_one_bounds_from_above(self) -> None:
        found = only(bound(direction(matched=4, severed=self.severed(42.0, 50.0, 70.0, kept=30.0))))
        assert (found.lower_seconds, found.upper_seconds, found.loose) == (None, 42.0, True)
        assert "severed connections, whose entries have expired" in found.source

    def test_a_lost_table_bounds_nothing(self) -> None:
        assert only(bound(direction(matched=4, severed=self.severed(2.0, 3.0, kept=3599.0)))).upper_seconds is None
        assert only(bound(direction(matched=4, severed=self.severed(2.0, 3.0, kept=None)))).upper_seconds is None

    def test_a_measured_loss_counts_for_more(self) -> None:
        severed = self.severed(42.0, 50.0, kept=30.0, unanswered=2)
        found = only(bound(direction(matched=4, severed=severed, idle_before_loss=(30.1, 30.2))))
        assert (found.upper_seconds, found.loose) == (30.1, False)

    def test_an_idle_time_that_others_survived_is_no_bound(self) -> None:
        severed = direction(matched=4, severed=self.severed(42.0, 50.0, kept=30.0))
        assert only(bound(severed, traffic=rested(APP1, 60.0))).upper_seconds is None


@pytest.mark.parametrize(
    ("more", "action", "text", "bracket"),
    [
        ({"drop_seen": True}, "drops its state after", "0.5 to 600 s", (0.5, 600)),
        ({}, "drops its state after", "0.5 to 600 s", (0.5, 600)),
        ({"middlebox": "fw", "shortest_setting": 600}, "is set to drop its state after", "600 s", (600, 600)),
        ({"middlebox": "fw", "shortest_setting": 60}, "is set to drop its state after", "60 to 600 s", (60, 600)),
        (
            {"middlebox": "lb", "shortest_setting": 600, "closes_both_ends": True},
            "is set to close both ends after",
            "600 s",
            (600, 600),
        ),
        (
            {"middlebox": "lb", "lower_seconds": 600, "closes_both_ends": True, "drop_seen": True},
            "closes both ends after",
            "600 s",
            (600, 600),
        ),
        (
            {"middlebox": "fw", "shortest_setting": 600, "explains_ghosts": False},
            "keeps its state for",
            "600 s",
            (0.5, None),
        ),
        ({"upper_seconds": None}, "keeps its state for", "more than 0.5 s", (0.5, None)),
    ],
)
def test_a_setting_is_no_drop_that_was_seen(more: Any, action: str, text: str, bracket: Any) -> None:
    path = PathBounds(client_network="", lower_seconds=0.5, upper_seconds=600, source="")
    path = replace(path, **more)
    assert (path.action, path.range_text, path.bracket) == (action, text, bracket)


def test_a_setting_that_explains_no_ghost_is_no_bound_of_the_server() -> None:
    setting = PathBounds(
        client_network="",
        lower_seconds=None,
        upper_seconds=432_000,
        source="",
        middlebox="fw",
        shortest_setting=432_000,
        explains_ghosts=False,
    )
    assert IdleBounds(server="ldap", paths=(setting,)).tightest is None
    assert setting.observed["upper_seconds"] is None
    assert IdleBounds(server="ldap", paths=(replace(setting, explains_ghosts=True),)).tightest is not None
