"""Which connections of both ends a middlebox has severed, what proves it, and what its table cannot prove."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
from facts import APP1, at_client, at_server, flows, listening, table
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.pairing.direction import Direction
from ldapdiag.analysis.pairing.pairing import pair
from ldapdiag.analysis.pairing.proof import proof_of_severed
from ldapdiag.evidence.host_facts import Route
from ldapdiag.evidence.ruleset import Ruleset
from ldapdiag.evidence.sockets import Timer

LIVE, DEAD = 5, 20
FIRST_DEAD = 50000
IDLE_MS = 60_000
SENDING: dict[str, Any] = {"timer": Timer.RETRANSMIT, "retransmits": 4}
PROBING: dict[str, Any] = {"timer": Timer.KEEPALIVE, "probes": 2}
ROUTES = tuple(Route(network=f"10.77.{n}.0/24", on_link=True) for n in (1, 2, 3))


def fw(*, loose: int | None = None, described: bool = True, routes: tuple[Route, ...] = (), **kernel: int) -> Host:
    settings = kernel | ({} if loose is None else {"tcp_loose": loose})
    return Host(
        host="fw",
        description=facts.description("fw") if described else None,
        kernel=facts.settings(**settings) if settings else None,
        routes=routes,
    )


def dead_rows(idle_ms: int | None = IDLE_MS, *, at: Any = at_server, **columns: Any) -> list[facts.Row]:
    ages = {} if idle_ms is None else {"last_received": idle_ms}
    return at(DEAD, first=FIRST_DEAD, **ages, **columns)


def severing(
    *boxes: Any,
    client: dict[str, Any] | None = None,
    idle_ms: int | None = IDLE_MS,
    live_ms: int | None = 100,
    times: tuple[float | None, ...] = (3, 4),
    hosts: tuple[Host, ...] = (),
    earlier: bool = False,
    routed: bool = False,
) -> Direction:
    """Return app1's direction: five live connections, and twenty that no box has an entry for; `times` of both ends.

    `routed`: the routes of both lead through the first host.
    """
    ages = {} if live_ms is None else {"last_received": live_ms}
    at_ldap = [listening(), *at_server(LIVE, **ages), *dead_rows(idle_ms)]
    at_app1 = [*at_client(LIVE, **ages), *dead_rows(idle_ms, at=at_client, **(client or {}))]
    columns = ("receive_queue",) if idle_ms is None else ("receive_queue", "last_received")
    server = facts.host("ldap", table(at_ldap, columns=columns, taken=times[0]))
    before = [table(at_app1, "app1", columns=columns, taken=-9)] if earlier else []
    app1 = facts.host("app1", *before, table(at_app1, "app1", columns=columns, taken=times[1]))
    if routed:
        server, app1 = (
            replace(one, routes=(Route(network="0.0.0.0/0", gateways=(gateway,)),))
            for one, gateway in ((server, "10.77.1.1"), (app1, "10.77.2.1"))
        )
        hosts = tuple(replace(one, addresses=frozenset({"10.77.1.1", "10.77.2.1"})) for one in hosts)
    (direction, *_) = pair(facts.server(), (server, app1, *(hosts or (fw(),))), boxes).directions
    return direction


def table_of_fw(*, carries: int = LIVE, taken: float | None = 0, left: float = 20, host: str = "fw") -> Any:
    known = flows(at_server(carries), host, taken=taken)
    return replace(known, seconds_left=[left] * carries)


PORTS = tuple(range(FIRST_DEAD, FIRST_DEAD + DEAD))


class TestProof:
    def test_unanswered_packets_without_an_entry_are_certain(self) -> None:
        found = severing(table_of_fw(), client=SENDING)
        assert (found.severed.ports, found.severed.unanswered, found.severed.middlebox) == (PORTS, DEAD, "fw")
        assert (found.matched, found.held, found.live, found.ghosts.count) == (LIVE + DEAD, LIVE, LIVE, 0)
        assert proof_of_severed(found.severed).degree == "certain"

    def test_so_are_unanswered_keepalive_probes(self) -> None:
        assert proof_of_severed(severing(table_of_fw(), client=PROBING).severed).degree == "certain"

    def test_quiet_ones_without_rules_depend_on_the_kernels_setting(self) -> None:
        found = severing(table_of_fw(), hosts=(fw(loose=0),)).severed
        assert (found.count, found.unanswered, proof_of_severed(found).degree) == (DEAD, 0, "likely")

    @pytest.mark.parametrize("loose", [1, None])
    def test_those_that_may_be_taken_up_again_are_not_judged(self, loose: int | None) -> None:
        found = severing(table_of_fw(), hosts=(fw(loose=loose),)).severed
        assert (found.count, sum(found.unproven.values()), found.lacks_rules) == (0, DEAD, True)

    def test_without_times_unanswered_ones_are_likely(self) -> None:
        found = severing(table_of_fw(taken=None), client=SENDING, times=(None, None))
        assert (found.severed.count, proof_of_severed(found.severed).degree) == (DEAD, "likely")

    @pytest.mark.parametrize(("described", "degree"), [(True, "likely"), (False, "possible")])
    def test_a_box_that_lost_everything_is_known_by_the_routes(self, *, described: bool, degree: str) -> None:
        other = flows([facts.row("10.77.7.7:22", f"{APP1}:40000")], taken=0)
        found = severing(other, client=SENDING, hosts=(fw(described=described, routes=ROUTES),))
        assert (found.severed.count, found.severed.carries_path) == (LIVE + DEAD - LIVE, False)
        assert proof_of_severed(found.severed).degree == degree

    def test_one_that_tracks_nothing_has_severed_nothing(self) -> None:
        """A router without a stateful rule has an empty table, and the cause of unanswered packets is elsewhere."""
        empty = replace(flows([], taken=0), tracks=False)
        found = severing(empty, client=SENDING, hosts=(fw(routes=ROUTES),))
        assert (found.severed.count, found.severed.middlebox, found.severed.lacks_rules) == (0, "fw", True)
        assert sum(found.severed.unproven.values()) == DEAD

    @pytest.mark.parametrize(("version", "reason"), [("ip", "none of this path"), ("ip6", "may not track")])
    def test_nor_one_that_tracks_packets_of_the_other_ip_version_only(self, version: str, reason: str) -> None:
        """Linux tracks IPv4 and IPv6 each by its own rules: the table is empty of what no rule asks for."""
        rules = Ruleset(
            origin=facts.origin("fw", "iptables-save.txt"), chains=(), tracking=frozenset({version}), whole=False
        )
        empty = replace(flows([], taken=0), tracks=False)
        box = replace(fw(routes=ROUTES, loose=0, count=0), rulesets=(rules,))
        found = severing(empty, live_ms=IDLE_MS, hosts=(box,)).severed
        assert [reason in one for one in found.unproven] == [True]

    def test_nor_one_that_tracks_others_unless_packets_are_unanswered(self) -> None:
        other = flows([facts.row("10.77.7.7:22", f"{APP1}:40000")], taken=0)
        found = severing(other, hosts=(fw(routes=ROUTES, loose=0),))
        assert (found.severed.count, sum(found.severed.unproven.values())) == (0, DEAD)


class TestNotJudged:
    """What a table leaves open is never clear, and no finding either."""

    def test_an_earlier_table_without_any_connection_that_was_used_since(self) -> None:
        """The clock of the firewall was 5 min slow: 20 connections that it had dropped were used after its table."""
        other = flows([facts.row("10.77.7.7:22", f"{APP1}:40000")], taken=-300)
        found = severing(other, hosts=(fw(loose=0),), routed=True)
        assert (found.severed.count, found.live) == (0, 0)
        assert ["clock" in one for one in found.severed.unproven] == [True]
        assert sum(found.severed.unproven.values()) == LIVE + DEAD
        assert severing(table_of_fw(taken=-300), hosts=(fw(loose=0),), routed=True).severed.unproven == {}

    @pytest.mark.parametrize("box", ["fw", "app2"])
    def test_a_box_of_unknown_position_that_lists_other_clients_only(self, box: str) -> None:
        """Of an end host, app2, the connection tracking lists its own connections."""
        others = flows(at_server(LIVE, facts.APP2), box, taken=0)
        host = fw(loose=0) if box == "fw" else replace(fw(loose=0), host=box, addresses=frozenset({facts.APP2}))
        found = severing(others, hosts=(host,), live_ms=IDLE_MS).severed
        assert (found.count, sum(found.unproven.values())) == (0, LIVE + DEAD if box == "fw" else 0)
        assert not severing(others, hosts=(host,)).severed.unproven  # some were used since: it carries others alone

    @pytest.mark.parametrize(("left", "expired"), [(20, DEAD), (600, 0)])
    def test_an_entry_that_has_run_out_since(self, left: float, expired: int) -> None:
        """The table was taken 100 s before those of both ends, and nothing has arrived for 200 s."""
        entries = flows([*at_server(LIVE), *at_server(DEAD, first=FIRST_DEAD)], taken=0)
        entries = replace(entries, seconds_left=[left] * (LIVE + DEAD))
        found = severing(entries, idle_ms=200_000, times=(100, 101))
        assert (found.severed.count, sum(found.severed.unproven.values())) == (0, expired)
        assert found.live == LIVE + DEAD - expired
        netstat = severing(entries, idle_ms=None, live_ms=None, times=(100, 101))
        assert (netstat.severed.unproven, netstat.live) == ({}, LIVE + DEAD)


class TestLive:
    def test_what_was_used_since_the_table_was_taken_is_live(self) -> None:
        assert severing(table_of_fw(), idle_ms=1_000).severed.count == 0

    def test_what_may_have_been_opened_since_is_no_finding(self) -> None:
        found = severing(table_of_fw(), idle_ms=4_100)
        assert (found.severed.count, found.severed.unproven) == (0, {})

    def test_an_entry_in_any_state_is_an_entry(self) -> None:
        offloaded = flows([*at_server(LIVE), *at_server(DEAD, first=FIRST_DEAD)], state="OFFLOAD", taken=0)
        assert severing(offloaded, table_of_fw(), client=SENDING).severed.count == 0

    def test_a_box_without_an_entry_for_connections_in_use_proves_nothing(self) -> None:
        """They pass without an entry, or another way: they existed before, and have been used since."""
        found = severing(table_of_fw(carries=2), earlier=True)
        assert found.severed.count == 0
        assert sum(found.severed.unproven.values()) == DEAD

    def test_nor_does_one_whose_entries_are_unanswered_as_well(self) -> None:
        """The cause is elsewhere: the server's cable is out."""
        entries = flows([*at_server(LIVE), *at_server(12, first=FIRST_DEAD)], taken=0)
        assert severing(entries, client=SENDING).severed.count == 0

    def test_an_alternative_box_may_carry_them(self) -> None:
        second = flows(at_server(DEAD, first=FIRST_DEAD), "fw2", taken=0)
        found = severing(table_of_fw(), second, client=SENDING, hosts=(fw(), replace(fw(), host="fw2")))
        assert (found.severed.count, sum(found.severed.unproven.values())) == (0, DEAD)

    def test_one_that_the_routes_have_left_carries_none_that_is_unanswered(self) -> None:
        """The standby box has taken over without state; the one before still lists what it had."""
        before = flows(at_server(DEAD, first=FIRST_DEAD), "fw2", taken=0)
        new = flows([facts.row("10.77.7.7:22", f"{APP1}:40000")], taken=0)
        routed = fw(routes=ROUTES), Host(host="fw2", description=facts.description("fw2"))
        found = severing(before, new, client=SENDING, hosts=routed)
        assert (found.severed.count, found.severed.middlebox) == (DEAD, "fw")
        assert severing(before, new, hosts=routed).severed.count == 0

    def test_unanswered_packets_are_not_clear_where_the_only_table_has_their_entries(self) -> None:
        entries = flows([*at_server(LIVE), *at_server(DEAD, first=FIRST_DEAD)], taken=0)
        found = severing(entries, client=SENDING).severed
        assert (found.count, found.middlebox, sum(found.unproven.values())) == (0, "", DEAD)
        assert severing(entries).severed.unproven == {}

    @pytest.mark.parametrize("tries", [1, 3])
    def test_a_packet_that_was_just_lost_is_not_unanswered_again_and_again(self, tries: int) -> None:
        assert severing(client=SENDING | {"retransmits": tries}).severed.unanswered_ports == ()

    @pytest.mark.parametrize(("live_ms", "works"), [(100, True), (None, True), (IDLE_MS, False)])
    def test_unanswered_ones_are_named_and_whether_others_work(self, live_ms: int | None, *, works: bool) -> None:
        found = severing(client=SENDING, live_ms=live_ms)
        assert (found.severed.unanswered_ports, found.severed.none_works) == (PORTS, not works)
        assert found.live == 0
        assert DEAD not in {len(found.idle_times.live), found.idle_times.live.count(IDLE_MS / 1000)}

    def test_a_second_box_on_the_same_path_does_not(self) -> None:
        second = flows([*at_server(LIVE), *at_server(DEAD, first=FIRST_DEAD)], "fw2", taken=0)
        found = severing(table_of_fw(), second, client=SENDING, hosts=(fw(), replace(fw(), host="fw2")))
        assert (found.severed.count, found.severed.middlebox) == (DEAD, "fw")

    def test_what_is_not_judged_says_nothing_of_how_long_live_ones_are_idle(self) -> None:
        """An idle timeout above 1.5 times the age of a connection that may be dead would keep it for as long again."""
        found = severing(table_of_fw(), idle_ms=20_000_000, hosts=(fw(loose=1),))
        assert (sum(found.severed.unproven.values()), max(found.idle_times.matched)) == (DEAD, 20_000)
        assert found.idle_times.live == (0.1,) * LIVE
        assert max(severing(idle_ms=20_000_000).idle_times.live) == 20_000, "without a box all are held, and count"

    def test_without_a_box_only_what_was_used_between_two_snapshots_is(self) -> None:
        found = severing(live_ms=2_000)
        assert (found.held, found.live) == (LIVE + DEAD, 0)
        assert severing(live_ms=2_000, earlier=True).live == LIVE

    def test_without_its_table_what_was_used_within_the_boxs_timeout_is(self) -> None:
        """Its table is empty and not in use: nothing else shows it."""
        empty = replace(flows([], taken=0), tracks=False)
        short = fw(routes=ROUTES, tcp_timeout_established=30)
        assert severing(empty, live_ms=20_000, hosts=(short,)).live == LIVE

    def test_what_a_cut_table_does_not_list_is_not_both_live_and_not_judged(self) -> None:
        """Two firewalls, one table cut: "20 held at both ends and live, 20 of these severed or not judged"."""
        cut = replace(table_of_fw(), whole=False)
        found = severing(cut, hosts=(fw(described=False, loose=0, tcp_timeout_established=3_600),))
        assert (found.held, found.live, sum(found.severed.unproven.values())) == (LIVE + DEAD, LIVE, DEAD)


class TestLimitsOfTables:
    def test_without_ages_quiet_ones_are_not_judged(self) -> None:
        found = severing(table_of_fw(), idle_ms=None, live_ms=None)
        assert (found.severed.count, sum(found.severed.unproven.values())) == (0, DEAD)

    def test_a_short_table_taken_by_hand_may_be_a_selection(self) -> None:
        found = severing(table_of_fw(), hosts=(fw(described=False),))
        assert (found.severed.count, sum(found.severed.unproven.values())) == (0, DEAD)

    def test_one_as_long_as_the_kernel_counts_is_none(self) -> None:
        assert severing(table_of_fw(), hosts=(fw(described=False, loose=0, count=LIVE),)).severed.count == DEAD
        assert severing(table_of_fw(), hosts=(fw(described=False, loose=0, count=2 * LIVE),)).severed.count == 0

    def test_a_count_that_contradicts_the_table_proves_nothing(self) -> None:
        for count in (1, 2, 100):
            assert severing(table_of_fw(), hosts=(fw(described=False, loose=0, count=count),)).severed.count == 0

    def test_a_count_of_none_beside_entries_proves_nothing(self) -> None:
        """A network namespace may count 0 whatever its table lists: `conntrack -L | head` would prove the rest dead."""
        found = severing(table_of_fw(), hosts=(fw(described=False, loose=0, count=0),))
        assert (found.severed.count, sum(found.severed.unproven.values())) == (0, DEAD)

    def test_a_table_taken_much_later_proves_nothing_of_young_ones(self) -> None:
        found = severing(table_of_fw(taken=8), idle_ms=5_000)
        assert (found.severed.count, sum(found.severed.unproven.values())) == (0, DEAD)
        assert severing(table_of_fw(taken=8), hosts=(fw(loose=0),)).severed.count == DEAD

    def test_one_taken_seconds_later_proves_unanswered_ones(self) -> None:
        """The entry of a connection that ended meanwhile would still be there."""
        assert severing(table_of_fw(taken=8), idle_ms=5_000, client=SENDING).severed.count == DEAD
        assert severing(table_of_fw(taken=60), idle_ms=5_000, client=SENDING).severed.count == 0

    def test_without_any_table_unanswered_packets_are_not_judged(self) -> None:
        found = severing(client=SENDING)
        assert (found.severed.count, found.severed.middlebox) == (0, "")
        assert sum(found.severed.unproven.values()) == DEAD


class TestTimeout:
    def test_ages_of_live_connections_are_not_those_of_severed_ones(self) -> None:
        assert severing(table_of_fw(), hosts=(fw(loose=0),)).idle_times.matched == (0.1,) * LIVE

    def test_expired_ones_bound_the_timeout(self) -> None:
        severed = severing(table_of_fw(left=20), hosts=(fw(loose=0),)).severed
        assert severed.expired_seconds == pytest.approx(IDLE_MS / 1000 - 3, abs=1.1)

    def test_those_that_the_box_lost_otherwise_do_not(self) -> None:
        busy = SENDING | {"busy": 4_000}
        found = severing(table_of_fw(left=3_599), client=busy)
        assert found.severed.expired_seconds is None
        assert found.idle_times.before_loss == ()
        assert severing(table_of_fw(left=20), client=busy).idle_times.before_loss == (56.0,) * DEAD


def test_the_packet_table_of_a_proxy_is_that_of_an_end() -> None:
    """HAProxy's host tracks packets for others, and none of its own connections."""
    rows = at_server(DEAD, "10.77.5.1", last_received=IDLE_MS)
    own = at_client(DEAD, "10.77.5.1", last_received=IDLE_MS)
    columns = ("receive_queue", "last_received")
    server = facts.host("ldap", table([listening(), *rows], columns=columns, taken=3))
    proxy = facts.host("proxy", table(own, "proxy", columns=columns, taken=4), description=facts.description("proxy"))
    legs = facts.sessions(rows, at_client(DEAD), taken=5)
    for entries in ([], at_server(3, facts.APP2)):
        tracked = flows(entries, "proxy", taken=5)
        (direction, *_) = pair(facts.server(), (server, proxy), (legs, tracked)).directions
        assert (direction.matched, direction.severed.count, direction.severed.unproven) == (DEAD, 0, {})


class TestBehindNat:
    """The server sees the router's address; app1 and app2 are behind it."""

    ROUTER = "10.77.1.1"

    def directions(self, *, first_at_server: int, read_client: bool = True) -> dict[str, Direction]:
        carried = flows(at_server(LIVE, self.ROUTER, first=30000), taken=0)
        carried = replace(carried, client=[(APP1, key[3], facts.LDAP, 389) for key in carried.server])
        at_ldap = [
            listening(),
            *at_server(LIVE, self.ROUTER, first=30000, last_received=100),
            *at_server(DEAD, self.ROUTER, first=first_at_server, last_received=IDLE_MS),
        ]
        at_app1 = [*at_client(LIVE, first=30000, last_received=100), *dead_rows(at=at_client, **SENDING)]
        server = facts.host("ldap", table(at_ldap, columns=("last_received",), taken=3))
        app1 = facts.host("app1", table(at_app1, "app1", columns=("last_received",), taken=4))
        clients = (app1,) if read_client else ()
        return {one.client: one for one in pair(facts.server(), (server, *clients, fw()), (carried,)).directions}

    @pytest.mark.parametrize("first_at_server", [FIRST_DEAD, 20000], ids=["kept ports", "other ports"])
    def test_sockets_without_an_entry_are_no_ghosts_if_clients_have_as_many(self, first_at_server: int) -> None:
        found = self.directions(first_at_server=first_at_server)
        assert (found[APP1].severed.ports, found[APP1].severed.middlebox) == (PORTS, "fw")
        assert proof_of_severed(found[APP1].severed).degree == "certain"
        assert found[self.ROUTER].ghosts.count == 0
        assert sum(found[self.ROUTER].ghosts.unproven.values()) == DEAD

    def test_without_the_client_they_have_none_behind_the_nat(self) -> None:
        found = self.directions(first_at_server=20000, read_client=False)
        assert (found[self.ROUTER].ghosts.count, APP1 in found) == (DEAD, False)


class TestUnreadClient:
    """The server's table and the middlebox's alone: what is dead at the middlebox is a ghost, or severed."""

    def direction(
        self,
        *boxes: Any,
        probes: int = 0,
        idle_ms: int = IDLE_MS,
        live_ms: int = 100,
        taken: float | None = 3,
        hosts: tuple[Host, ...] = (),
        more: tuple[facts.Row, ...] = (),
    ) -> Direction:
        dead = [
            replace(one, columns=one.columns | ({"timer": Timer.KEEPALIVE, "probes": 2} if n < probes else {}))
            for n, one in enumerate(dead_rows(idle_ms))
        ]
        rows = [listening(), *at_server(LIVE, last_received=live_ms), *dead, *more]
        columns = ("last_received", "timer", "probes")
        server = facts.host("ldap", table(rows, columns=columns, taken=taken))
        (direction,) = pair(facts.server(), (server, *(hosts or (fw(),))), boxes).directions
        return direction

    @pytest.mark.parametrize(("probes", "degree"), [(5, "likely"), (DEAD, "certain")])
    def test_what_the_box_does_not_list_is_dead_if_probes_are_unanswered(self, probes: int, degree: str) -> None:
        found = self.direction(table_of_fw(), probes=probes)
        assert (found.severed.ports, found.severed.unanswered, found.severed.middlebox) == (PORTS, probes, "fw")
        assert (found.held, found.ghosts.count, found.undecided) == (0, 0, LIVE)
        assert proof_of_severed(found.severed).degree == degree

    def test_without_a_packet_its_setting_decides(self) -> None:
        strict = self.direction(table_of_fw(), hosts=(fw(loose=0),))
        assert (strict.severed.count, proof_of_severed(strict.severed).degree) == (DEAD, "likely")
        for loose in (1, None):  # its next packet may be taken up again
            assert self.direction(table_of_fw(), hosts=(fw(loose=loose),)).severed.count == 0

    def test_a_box_that_lists_all_is_clear(self) -> None:
        entries = flows([*at_server(LIVE), *at_server(DEAD, first=FIRST_DEAD)], taken=0)
        assert self.direction(entries, hosts=(fw(loose=0),)).severed.count == 0

    def test_a_box_that_sees_only_a_part_proves_nothing_of_quiet_ones(self) -> None:
        """Two firewalls share the load: what the one lists was idle for as long as what it does not list."""
        half = flows([*at_server(LIVE), *at_server(DEAD // 2, first=FIRST_DEAD)], taken=0)
        assert self.direction(half, hosts=(fw(loose=0),)).severed.count == 0
        assert self.direction(half, probes=DEAD // 2, hosts=(fw(loose=0),)).severed.count == 0
        in_use = tuple(at_server(DEAD, first=60000, last_received=200))
        assert self.direction(table_of_fw(), hosts=(fw(loose=0),), more=in_use).severed.count == 0

    def test_nor_does_one_that_lists_none_of_the_clients_connections(self) -> None:
        other = flows([facts.row("10.77.7.7:22", f"{APP1}:40000")], taken=0)
        routed = (fw(loose=0, routes=ROUTES),)
        assert self.direction(other, probes=5, hosts=routed).severed.count == 0
        assert self.direction(flows(at_server(LIVE, facts.APP2), taken=0), probes=5, hosts=routed).severed.count == 0

    def test_nor_a_table_of_another_time(self) -> None:
        assert self.direction(table_of_fw(taken=90), hosts=(fw(loose=0),)).severed.count == 0
        assert self.direction(table_of_fw(taken=-90), hosts=(fw(loose=0),)).severed.count == 0
        assert self.direction(table_of_fw(taken=90), idle_ms=900_000, hosts=(fw(loose=0),)).severed.count == 0

    def test_of_a_selection_only_those_with_unanswered_probes_count(self) -> None:
        """`conntrack -L | head`."""
        cut = self.direction(table_of_fw(), probes=5, hosts=(fw(described=False),)).severed
        assert (cut.count, sum(cut.unproven.values())) == (5, DEAD - 5)
        assert self.direction(table_of_fw(), hosts=(fw(described=False, loose=0),)).severed.count == 0


class TestTheClockOfTheMiddlebox:
    """The table was taken 3 s before those of the ends, by a host whose clock is 300 s slow, or is right."""

    def found(self, *, live_ms: int, left: float, idle_ms: int = IDLE_MS) -> Direction:
        box = fw(loose=0, tcp_timeout_established=600)
        known = table_of_fw(left=left)
        return severing(known, hosts=(box,), live_ms=live_ms, idle_ms=idle_ms, times=(303, 304))

    def test_of_a_slow_one_idle_connections_tell_the_time(self) -> None:
        """They were idle for 20 s at the ends, and for 17 s in the table: it is 3 s old, not 303 s."""
        slow = self.found(live_ms=20_000, left=600 - 17).severed
        assert (slow.count, sum(slow.unproven.values())) == (0, DEAD)
        assert "unless a clock is wrong" in next(iter(slow.unproven))

    def test_of_a_right_one_they_agree_with_it(self) -> None:
        right = self.found(live_ms=320_000, left=600 - 17, idle_ms=60_000).severed
        assert (right.count, right.unproven) == (0, {})

    def test_connections_in_use_tell_nothing(self) -> None:
        busy = self.found(live_ms=100, left=600 - 17, idle_ms=60_000).severed
        assert (busy.count, busy.unproven) == (0, {})
