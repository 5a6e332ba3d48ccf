from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
from facts import APP1, APP2, LDAP, at_client, at_server, row, table
from joins import OTHERS, joined, paired
from ldapdiag.analysis.pairing.pairing import pair
from ldapdiag.analysis.pairing.proof import proof_of
from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.sockets import TcpState, Timer


class TestMatching:
    def test_what_both_ends_have_established_is_matched(self) -> None:
        direction = joined(table(at_server(3)), table(at_client(3), "app1"))
        assert (direction.matched, direction.ghosts.count, direction.stranded.count) == (3, 0, 0)
        assert (direction.server_count, direction.client_count) == (3, 3)
        assert (str(direction.join), str(direction.path.kind)) == ("4-tuple", "direct")

    def test_an_absent_connection_is_a_ghost_without_churn(self) -> None:
        direction = joined(table(at_server(5), shows_time_wait=True), table(at_client(2), "app1", shows_time_wait=True))
        assert direction.ghosts.ports == (40002, 40003, 40004)
        assert proof_of(direction).degree == "likely"

    @pytest.mark.parametrize("state", [TcpState.TIME_WAIT, TcpState.FIN_WAIT_2, TcpState.SYN_SENT, TcpState.CLOSE_WAIT])
    def test_what_the_client_has_in_another_state_is_just_closing_or_opening(self, state: TcpState) -> None:
        direction = joined(table(at_server(2)), table([*at_client(1), *at_client(1, first=40001, state=state)], "app1"))
        assert (direction.matched, direction.closing, direction.ghosts.count) == (1, 1, 0)

    @pytest.mark.parametrize("state", [TcpState.FIN_WAIT_1, TcpState.LAST_ACK, TcpState.CLOSING])
    def test_a_client_that_closes_and_shows_no_timer_proves_neither(self, state: TcpState) -> None:
        direction = joined(table(at_server(2)), table([*at_client(1), *at_client(1, first=40001, state=state)], "app1"))
        assert (direction.matched, direction.closing, direction.ghosts.count) == (1, 0, 0)
        assert sum(direction.ghosts.unproven.values()) == 1

    @pytest.mark.parametrize("state", [TcpState.FIN_WAIT_1, TcpState.LAST_ACK, TcpState.CLOSING])
    def test_a_client_that_retransmits_its_last_packet_leaves_a_proven_ghost(self, state: TcpState) -> None:
        left = at_client(
            1, first=40001, state=state, timer=Timer.RETRANSMIT, retransmits=3, last_received=34_000, busy=4_000
        )
        direction = joined(table(at_server(2)), table([*at_client(1), *left], "app1"))
        assert direction.ghosts.ports == (40001,)
        assert direction.evidence.retransmitting == 1
        assert direction.idle_times.before_loss == (30.0,)
        assert str(direction.style) == "silent-drop"
        assert proof_of(direction).degree == "certain"

    def test_unanswered_probes_prove_a_ghost(self) -> None:
        dead = at_server(1, first=40001, timer=Timer.KEEPALIVE, probes=1)
        direction = joined(
            table([*at_server(1), *dead], shows_time_wait=True), table(at_client(1), "app1", shows_time_wait=True)
        )
        assert (direction.ghosts.count, direction.evidence.probes_unanswered) == (1, 1)
        assert proof_of(direction).degree == "certain"

    def test_one_ghost_is_not_proven_twice_for_another(self) -> None:
        """A client that retransmits, and the server's probes to it: one proof, of one ghost."""
        probing: dict[str, Any] = {"timer": Timer.KEEPALIVE, "probes": 2}
        left = at_client(1, state=TcpState.FIN_WAIT_1, timer=Timer.RETRANSMIT, retransmits=3)
        direction = joined(
            table([*at_server(1, **probing), *at_server(1, first=40001)], shows_time_wait=True),
            table([*left, *OTHERS], "app1", shows_time_wait=True),
        )
        assert direction.ghosts.count == 2
        assert proof_of(direction).degree == "likely"

    def test_a_table_without_header_lowers_the_confidence(self) -> None:
        direction = joined(
            table(at_server(1), shows_time_wait=True),
            table(OTHERS, "app1", shows_time_wait=True, has_header=False),
        )
        assert proof_of(direction).degree == "possible"
        assert "without its header" in proof_of(direction).because

    def test_loopback_pairs_the_server_with_itself(self) -> None:
        both = [row("127.0.0.1:389", "127.0.0.1:40000"), row("127.0.0.1:40000", "127.0.0.1:389")]
        (direction,) = paired(table([facts.listening(), *both])).directions
        assert (direction.client, direction.server, direction.matched) == ("127.0.0.1", "127.0.0.1:389", 1)

    def test_a_replica_is_both_ends(self) -> None:
        other = facts.host("replica", table([facts.listening(), row("10.77.9.9:40000", f"{LDAP}:389")], "replica"))
        accepted, made = row(f"{LDAP}:389", "10.77.9.9:40000"), row(f"{LDAP}:50000", "10.77.9.9:389")
        (direction,) = paired(table([facts.listening(), accepted, made]), other).directions
        assert (direction.client, direction.matched) == ("10.77.9.9", 1)


class TestStranded:
    def test_a_connection_of_the_client_alone_is_stranded_without_churn(self) -> None:
        direction = joined(table(at_server(2), shows_time_wait=True), table(at_client(5), "app1", shows_time_wait=True))
        assert direction.stranded.ports == (40002, 40003, 40004)
        assert direction.ghosts.count == 0

    def test_a_client_whose_connections_the_server_has_all_lost_is_reported(self) -> None:
        direction = joined(
            table([facts.listening(), *at_server(0), row(f"{LDAP}:22", "10.77.4.2:50000")], shows_time_wait=True),
            table(at_client(5), "app1", shows_time_wait=True),
        )
        assert (direction.server_count, direction.stranded.count) == (0, 5)

    def test_what_the_client_opened_after_the_servers_table_is_churn(self) -> None:
        """As many are closing at the client as are new there: the same churn."""
        closing = at_client(30, state=TcpState.TIME_WAIT)
        direction = joined(
            table(at_server(30), taken=0), table([*at_client(30, first=50000), *closing], "app1", taken=5)
        )
        assert (direction.stranded.count, direction.closing) == (0, 30)
        assert sum(direction.stranded.unproven.values()) == 30

    def test_a_connection_absent_in_one_snapshot_of_the_client_is_not_stranded(self) -> None:
        direction = joined(
            table(at_server(2), taken=5, shows_time_wait=True),
            table(at_client(4), "app1", taken=4, shows_time_wait=True),
            table(at_client(3), "app1", taken=7, shows_time_wait=True),
        )
        assert direction.stranded.ports == (40002,)
        assert direction.stranded.unproven == {"not in every snapshot of the client: opened or closed between them": 1}


class TestSeveralSnapshots:
    def test_a_later_snapshot_of_the_client_proves_live_ones(self) -> None:
        direction = joined(
            table(at_server(2), taken=5),
            table([*at_client(1), *OTHERS], "app1", taken=4),
            table(at_client(2), "app1", taken=8),
        )
        assert (direction.matched, direction.ghosts.count) == (2, 0)

    def test_one_that_closed_between_snapshots_of_the_client_is_unproven(self) -> None:
        direction = joined(
            table(at_server(2), taken=5, shows_time_wait=True),
            table(at_client(2), "app1", taken=1, shows_time_wait=True),
            table(at_client(1), "app1", taken=6, shows_time_wait=True),
        )
        assert (direction.matched, direction.ghosts.count) == (1, 0)
        closed = [
            count for reason, count in direction.ghosts.unproven.items() if "may have closed in between" in reason
        ]
        assert closed == [1]

    def test_it_is_a_ghost_when_the_middlebox_has_no_entry(self) -> None:
        direction = joined(
            table(at_server(2), taken=5, shows_time_wait=True),
            table(at_client(2), "app1", taken=1, shows_time_wait=True),
            table(at_client(1), "app1", taken=6, shows_time_wait=True),
            flows=(facts.flows(at_server(1)),),
        )
        assert direction.ghosts.ports == (40001,)
        assert proof_of(direction).degree == "certain"

    def test_snapshots_of_the_server_before_and_after_the_clients_prove_it(self) -> None:
        server = facts.host("ldap", table(at_server(3), taken=0), table(at_server(3), taken=10))
        direction = joined(server, table(at_client(1), "app1", taken=5))
        assert direction.ghosts.ports == (40001, 40002)
        assert direction.ghosts.reasons == ("2 are in snapshots before and after the other end's table",)

    def test_snapshots_of_the_server_on_one_side_prove_nothing(self) -> None:
        server = facts.host("ldap", table(at_server(3), taken=6), table(at_server(3), taken=10))
        direction = joined(server, table(at_client(1), "app1", taken=5))
        assert (direction.ghosts.count, sum(direction.ghosts.unproven.values())) == (0, 2)

    def test_a_row_that_a_listing_of_the_servers_table_lacks_is_unproven(self) -> None:
        other = table(at_server(2), tool="netstat", shows_time_wait=True)
        other = replace(other, origin=replace(other.origin, path="ldap/netstat.txt"))
        server = facts.host("ldap", table(at_server(3), shows_time_wait=True), other)
        direction = joined(server, table(at_client(1), "app1", shows_time_wait=True))
        assert direction.ghosts.ports == (40001,)
        assert list(direction.ghosts.unproven.values()) == [1]


class TestPortsWithNames:
    """A table taken without -n has names for ports, whose numbers are unknown."""

    NAMED = "-1"

    def named(self, count: int) -> list[facts.Row]:
        return [row(f"{LDAP}:389", f"{APP1}:{self.NAMED}") for _ in range(count)]

    def connections(self, count: int) -> list[facts.Row]:
        return [row(f"{APP1}:{self.NAMED}", f"{LDAP}:389") for _ in range(count)]

    def test_at_the_server_they_cannot_be_attributed(self) -> None:
        direction = joined(table([*at_server(2), *self.named(3)]), table(at_client(5), "app1"))
        assert (direction.matched, direction.ghosts.count, sum(direction.ghosts.unproven.values())) == (2, 0, 3)
        assert (direction.stranded.count, sum(direction.stranded.unproven.values())) == (0, 3)

    def test_at_the_client_they_may_be_any_of_the_absent_ones(self) -> None:
        client = table([*at_client(2), *self.connections(3)], "app1", shows_time_wait=True)
        direction = joined(table(at_server(5), shows_time_wait=True), client)
        assert (direction.client_count, direction.ghosts.count, sum(direction.ghosts.unproven.values())) == (5, 0, 3)
        direction = joined(table(at_server(9), shows_time_wait=True), client)
        assert (direction.ghosts.count, direction.ghosts.ports, sum(direction.ghosts.unproven.values())) == (4, None, 3)

    def test_at_both_ends_they_are_the_same(self) -> None:
        direction = joined(table([*at_server(1), *self.named(2)]), table([*at_client(1), *self.connections(2)], "app1"))
        assert (direction.matched, direction.ghosts.count, direction.stranded.count) == (3, 0, 0)


@pytest.mark.parametrize(("families", "ghosts"), [({4}, 0), ({6}, 0), ({4, 6}, 3)])
def test_half_a_client_table_proves_nothing(families: set[int], ghosts: int) -> None:
    """A Java client keeps its IPv4 connections in /proc/net/tcp6."""
    client = table(OTHERS, "app1", shows_time_wait=True, families=frozenset(families))
    assert joined(table(at_server(3), shows_time_wait=True), client).ghosts.count == ghosts


@pytest.mark.parametrize(("families", "stranded"), [({4}, 0), ({4, 6}, 3)])
def test_half_a_server_table_strands_no_client(families: set[int], stranded: int) -> None:
    rows = [facts.listening(), row(f"{LDAP}:22", "10.77.9.9:50000")]
    server = table(rows, shows_time_wait=True, families=frozenset(families))
    direction = joined(server, table(at_client(3), "app1", shows_time_wait=True))
    assert direction.stranded.count == stranded
    assert sum(direction.stranded.unproven.values()) == 3 - stranded


def test_a_client_table_of_one_state_proves_nothing() -> None:
    """For example from ss -tn state time-wait: it has no column of states."""
    client = table(at_client(2, first=50000, state=TcpState.UNKNOWN), "app1", shows_time_wait=True)
    direction = joined(table(at_server(3), shows_time_wait=True), client)
    assert (direction.ghosts.count, sum(direction.ghosts.unproven.values())) == (0, 3)


class TestFlowTables:
    def test_a_carried_flow_may_be_live_outside_the_clients_table(self) -> None:
        direction = joined(
            table(at_server(3), shows_time_wait=True),
            table(at_client(1), "app1", shows_time_wait=True),
            flows=(facts.flows(at_server(3)),),
        )
        assert direction.ghosts.count == 0
        assert sum(direction.ghosts.unproven.values()) == 2

    def test_a_flow_it_is_closing_is_closing(self) -> None:
        alive, closing = facts.flows(at_server(1)), facts.flows(at_server(2, first=40001), state="TIME_WAIT")
        direction = joined(
            table(at_server(3), shows_time_wait=True),
            table(at_client(1), "app1", shows_time_wait=True),
            flows=(alive, closing),
        )
        assert (direction.ghosts.count, direction.closing) == (0, 2)

    def test_a_table_that_lacks_most_live_connections_proves_nothing(self) -> None:
        """It may be truncated, a selection, or that of one of two middleboxes."""
        direction = joined(
            table(at_server(8), shows_time_wait=True),
            table(at_client(5), "app1", shows_time_wait=True),
            flows=(facts.flows(at_server(2)),),
        )
        assert (direction.ghosts.count, direction.evidence.without_flow) == (3, 0)
        assert proof_of(direction).degree == "likely"

    def test_a_middlebox_that_carries_none_of_the_path_proves_nothing(self) -> None:
        direction = joined(
            table(at_server(3), shows_time_wait=True),
            table(at_client(1), "app1", shows_time_wait=True),
            flows=(facts.flows(at_server(3, APP2)),),
        )
        assert (direction.path.middleboxes, direction.evidence.without_flow, direction.ghosts.count) == ((), 0, 2)
        assert proof_of(direction).degree == "likely"


class TestTruncatedPorts:
    """BSD's netstat -A cuts digits of ports; a port with a name is as unknown."""

    def test_a_truncated_port_at_the_server_is_unproven_and_the_others_are_judged(self) -> None:
        rows = [*at_server(15), *at_server(1, first=UNKNOWN_PORT)]
        direction = joined(table(rows, shows_time_wait=True), table(at_client(2), "app1", shows_time_wait=True))
        assert (direction.matched, direction.ghosts.count) == (2, 13)
        assert sum(direction.ghosts.unproven.values()) == 1
        assert "truncated port" in next(iter(direction.ghosts.unproven))

    def test_what_may_stand_under_a_cut_port_at_the_server_is_not_stranded(self) -> None:
        rows = [*at_server(2), *at_server(1, first=UNKNOWN_PORT)]
        whole = joined(table(at_server(2), shows_time_wait=True), table(at_client(30), "app1", shows_time_wait=True))
        truncated = joined(table(rows, shows_time_wait=True), table(at_client(30), "app1", shows_time_wait=True))
        assert (whole.stranded.count, truncated.stranded.count) == (28, 0)
        assert sum(truncated.stranded.unproven.values()) == 28

    @pytest.mark.parametrize(
        "truncated",
        [at_client(1, first=UNKNOWN_PORT), [row(f"{APP1}:41000", f"{LDAP}:{UNKNOWN_PORT}")]],
        ids=["its own", "the server's"],
    )
    def test_a_truncated_port_at_the_client_may_be_any_of_the_absent(self, truncated: list[facts.Row]) -> None:
        client = table([*at_client(2), *truncated], "app1", shows_time_wait=True, ports_truncated=True)
        direction = joined(table(at_server(30), shows_time_wait=True), client)
        assert (direction.matched, direction.ghosts.count, direction.stranded.count) == (2, 0, 0)
        assert sum(direction.ghosts.unproven.values()) == 28
        assert "without -A" in next(iter(direction.ghosts.unproven))

    def test_a_server_that_cuts_its_own_ports_is_not_judged(self) -> None:
        rows = [facts.listening(), *at_server(2), row(f"{LDAP}:{UNKNOWN_PORT}", f"{APP1}:40009")]
        truncated = facts.host("ldap", table(rows, ports_truncated=True))
        missing = pair(facts.server(), (truncated, facts.host("app1", table(at_client(1), "app1"))), ())
        assert isinstance(missing, Missing)
        assert "netstat -A" in missing.reason

    def test_a_truncated_port_behind_a_middlebox_is_unproven(self) -> None:
        nat = "10.77.1.1"
        rows = [row(f"{LDAP}:389", f"{nat}:{port}") for port in (40000, UNKNOWN_PORT)]
        flow = replace(facts.flows(at_server(1, nat)), client=[(APP1, 40000, LDAP, 389)])
        client = facts.host("app1", table([*at_client(1), *OTHERS], "app1", shows_time_wait=True))
        server = table([facts.listening(), *rows], shows_time_wait=True)
        found = {one.client: one for one in paired(server, client, flows=(flow,)).directions}[nat]
        assert (str(found.join), found.matched, found.ghosts.count) == ("box-table", 1, 0)
        assert sum(found.ghosts.unproven.values()) == 1


class TestReusedPorts:
    def test_another_socket_on_the_same_port_has_not_lasted(self) -> None:
        def server(cookie: int, taken: float) -> Any:
            return table([*at_server(1, cookie=1), *at_server(1, first=50000, cookie=cookie)], taken=taken)

        near = [table(at_client(1), "app1", taken=taken) for taken in (2, 4)]
        for cookie, ghosts in ((7, 1), (8, 0)):
            ldap = facts.host("ldap", server(7, 1), server(cookie, 3))
            (direction,) = paired(ldap, facts.host("app1", *near)).directions
            assert direction.ghosts.count == ghosts


class TestServersWithoutConnections:
    LISTENERS = table([facts.listening(), row("127.0.0.1:53000", "127.0.0.1:8080")], shows_time_wait=True)
    AT_APP1 = table(at_client(5, last_received=60_000), "app1", columns=("last_received",), shows_time_wait=True)

    def test_connections_to_the_hosts_own_address_are_stranded(self) -> None:
        server = facts.host("ldap", self.LISTENERS)
        known = replace(server, addresses=frozenset({LDAP}))
        (direction,) = paired(known, facts.host("app1", self.AT_APP1)).directions
        assert (direction.server_count, direction.stranded.count) == (0, 5)

    @pytest.mark.parametrize("asked", ["ss -tanoiep", ""])
    def test_a_table_of_listeners_alone_counts_if_ldapdiag_took_it(self, asked: str) -> None:
        listeners = table([facts.listening()], shows_time_wait=True)
        listeners = replace(listeners, origin=replace(listeners.origin, asked=asked))
        server = replace(facts.host("ldap", listeners), addresses=frozenset({LDAP}))
        found = pair(facts.server(), (server, facts.host("app1", self.AT_APP1)), ())
        assert isinstance(found, Missing) is (not asked)
        assert isinstance(found, Missing) or found.directions[0].stranded.count == 5

    def test_those_to_an_address_of_unknown_owner_are_not_judged(self) -> None:
        (direction,) = paired(self.LISTENERS, facts.host("app1", self.AT_APP1)).directions
        assert (direction.stranded.count, direction.missing and direction.missing.lacks) == (0, ("host-description",))

    def test_those_to_an_address_of_another_host_are_not_its_own(self) -> None:
        other = facts.host("other", table([facts.row(f"{LDAP}:22", f"{APP2}:50000")], "other"))
        assert paired(self.LISTENERS, facts.host("app1", self.AT_APP1), other).directions == ()

    def test_those_to_another_port_are_not_its_own(self) -> None:
        rows = [facts.row(f"{APP1}:40000", f"{LDAP}:5432")]
        assert paired(self.LISTENERS, facts.host("app1", table(rows, "app1"))).directions == ()


class TestOrphansOfTheServer:
    """The server has closed them, and its FIN is not acknowledged: they own no connection of the client."""

    def at_ldap(self, **columns: Any) -> Any:
        closed = at_server(3, first=50000, state=TcpState.FIN_WAIT_1, **columns)
        return table([facts.listening(), *at_server(2), *closed], taken=1)

    def at_app1(self, age_ms: int) -> Any:
        rows = [*at_client(2, last_received=100), *at_client(3, first=50000, last_received=age_ms)]
        return table(rows, "app1", columns=("last_received",), taken=3)

    def test_a_fin_in_retransmission_leaves_the_client_stranded(self) -> None:
        direction = joined(self.at_ldap(timer=Timer.RETRANSMIT, retransmits=4), self.at_app1(60_000))
        assert (direction.stranded.ports, direction.matched) == ((50000, 50001, 50002), 2)

    def test_a_fin_that_was_just_sent_is_closing(self) -> None:
        direction = joined(self.at_ldap(timer=Timer.RETRANSMIT, retransmits=0), self.at_app1(60_000))
        assert (direction.stranded.count, direction.stranded.unproven) == (0, {})

    def test_a_client_that_has_received_data_since_is_not_stranded(self) -> None:
        direction = joined(self.at_ldap(timer=Timer.RETRANSMIT, retransmits=4), self.at_app1(1_500))
        assert direction.stranded.count == 0

    def test_a_table_without_timers_proves_neither(self) -> None:
        direction = joined(self.at_ldap(), self.at_app1(60_000))
        assert (direction.stranded.count, sum(direction.stranded.unproven.values())) == (0, 3)
