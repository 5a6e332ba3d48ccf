"""A flow table without an entry for a connection proves it dead, if the connection existed when it was taken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
from facts import at_client, at_server, listening, row_of_another_service, table
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.pairing.pairing import pair
from ldapdiag.analysis.pairing.proof import proof_of
from ldapdiag.evidence.host_facts import Route
from ldapdiag.evidence.sockets import TcpState, Timer

FORWARDS = facts.KernelSettings(origin=facts.origin("app1"), values={"net.ipv4.ip_forward": "1"})
LIVE, HIDDEN = 10, 50


def direction(age_ms: int | None, *boxes: Any, live_ages: int = 500) -> Any:
    """Return ten live connections, and fifty of a container that was not read, in the server's table 4 s later."""
    ages: dict[str, Any] = {} if age_ms is None else {"last_received": age_ms}
    live: dict[str, Any] = {} if age_ms is None else {"last_received": live_ages}
    seen = [listening(), *at_server(LIVE, **live), *at_server(HIDDEN, first=50000, **ages)]
    server = facts.host("ldap", table(seen, columns=("receive_queue", *ages), taken=4))
    snapshots = [
        table([*at_client(LIVE), *row_of_another_service()], "app1", taken=taken, shows_time_wait=True)
        for taken in (3.9, 4.1)
    ]
    app1 = facts.host("app1", *snapshots, description=facts.description(), kernel=FORWARDS)
    return next(iter(pair(facts.server(), (server, app1), boxes).directions))


def box(*, carries: int = LIVE, taken: float | None = 0.2, first: int = 0) -> Any:
    return facts.flows(at_server(LIVE)[first : first + carries], taken=taken)


def test_a_flow_table_proves_nothing_of_what_was_opened_later() -> None:
    found = direction(2_000, box())
    assert found.ghosts.count == 0
    assert sum(found.ghosts.unproven.values()) == HIDDEN


def test_what_was_there_before_and_that_it_lacks_is_dead() -> None:
    found = direction(60_000, box())
    assert (found.ghosts.count, found.evidence.without_flow, proof_of(found).degree) == (HIDDEN, HIDDEN, "certain")


@pytest.mark.parametrize(("carries", "ghosts"), [(1, 0), (4, 0), (5, HIDDEN)])
def test_a_flow_table_that_lacks_most_live_connections_was_truncated(carries: int, ghosts: int) -> None:
    assert direction(60_000, box(carries=carries)).ghosts.count == ghosts


def test_a_later_flow_table_proves_only_what_is_idle_for_longer_than_live_ones() -> None:
    assert direction(60_000, box(taken=5)).ghosts.count == HIDDEN
    assert direction(60_000, box(taken=5), live_ages=40_000).ghosts.count == 0


def test_of_several_flow_tables_the_last_before_the_server_counts() -> None:
    assert direction(2_000, box(), box(taken=3.95)).ghosts.count == HIDDEN


def test_without_times_a_flow_table_counts() -> None:
    assert direction(60_000, box(taken=None)).ghosts.count == HIDDEN


class TestClosingBefore:
    def test_a_client_that_retransmits_its_fin_has_closed(self) -> None:
        """Its retransmitting socket is in the first snapshot, and absent in the second."""
        left = at_client(3, first=50000, state=TcpState.FIN_WAIT_1, timer=Timer.RETRANSMIT, retransmits=2)
        seen = [listening(), *at_server(2, last_received=100), *at_server(3, first=50000, last_received=5_000)]
        server = facts.host("ldap", table(seen, columns=("receive_queue", "last_received"), taken=4))
        early = table([*at_client(2), *left], "app1", taken=3.5)
        late = table([*at_client(2), *row_of_another_service()], "app1", taken=4.1)
        found = next(iter(pair(facts.server(), (server, facts.host("app1", early, late)), ()).directions))
        assert (found.ghosts.count, found.matched) == (3, 2)


class TestABoxOnTheRoute:
    """All connections are dead, so no table can show by live ones that its box is on the path."""

    SERVER_ROUTES = (Route("0.0.0.0/0", ("10.77.1.1",)),)
    CLIENT_ROUTES = (Route("0.0.0.0/0", ("10.77.2.1",)),)
    FW = Host(host="fw", addresses=frozenset({"10.77.1.1", "10.77.2.1"}))

    def found(self, flows: Any, *, client_routes: Any = CLIENT_ROUTES, live: int = 0) -> Any:
        server_rows = [listening(), *at_server(HIDDEN, last_received=90_000)]
        server = facts.host("ldap", table(server_rows, taken=4), routes=self.SERVER_ROUTES)
        seen = [*at_client(live), *row_of_another_service()]
        tables = [table(seen, "app1", taken=taken, shows_time_wait=True) for taken in (3.9, 4.1)]
        app1 = facts.host("app1", *tables, description=facts.description(), routes=client_routes)
        (direction,) = pair(facts.server(), (server, app1, self.FW), (flows,)).directions
        return direction

    def test_its_empty_table_proves_them_dead(self) -> None:
        direction = self.found(facts.flows([], taken=4))
        assert (direction.ghosts.count, direction.evidence.without_flow) == (HIDDEN, HIDDEN)
        assert proof_of(direction).because == f"fw is on the path and has no entry for any of these {HIDDEN}."

    def test_one_that_may_track_nothing_proves_nothing(self) -> None:
        assert self.found(replace(facts.flows([], taken=4), tracks=False)).evidence.without_flow == 0

    def test_one_that_may_have_been_refused_proves_nothing(self) -> None:
        assert self.found(replace(facts.flows([], taken=4), whole=False)).evidence.without_flow == 0

    def test_one_of_unknown_position_proves_nothing(self) -> None:
        assert self.found(facts.flows([], "fw2", taken=4)).evidence.without_flow == 0
        assert self.found(facts.flows([], taken=4), client_routes=()).evidence.without_flow == 0

    def test_it_proves_nothing_where_it_lacks_the_live_ones_too(self) -> None:
        direction = self.found(facts.flows([], taken=4), live=5)
        assert (direction.matched, direction.evidence.without_flow) == (5, 0)

    def test_one_that_may_track_nothing_severs_nothing(self) -> None:
        rows = [listening(), *at_server(HIDDEN, last_received=90_000)]
        server = facts.host("ldap", table(rows, taken=4), routes=self.SERVER_ROUTES)
        app1 = facts.host("app1", table(at_client(HIDDEN), "app1", taken=4), routes=self.CLIENT_ROUTES)
        flows = replace(facts.flows([], taken=4), tracks=False)
        (direction,) = pair(facts.server(), (server, app1, self.FW), (flows,)).directions
        assert (direction.matched, direction.severed.count, direction.severed.lacks_rules) == (HIDDEN, 0, True)


class TestBeyondATranslator:
    """A NAT still lists what the firewall between it and the server has dropped."""

    NAT = "10.77.1.1"

    def found(self, *boxes: Any, age_ms: int | None = 60_000, live_ms: int | None = 500, quiet: int = 0) -> Any:
        at_ldap = [
            listening(),
            *at_server(LIVE - quiet, self.NAT, last_received=live_ms),
            *at_server(quiet, self.NAT, first=40000 + LIVE - quiet, last_received=50_000),
            *at_server(HIDDEN, self.NAT, first=50000, last_received=age_ms),
        ]
        server = facts.host("ldap", table(at_ldap, columns=("receive_queue", "last_received"), taken=4))
        app1 = facts.host("app1", table([*at_client(LIVE), *row_of_another_service()], "app1", taken=3.9))
        translated = facts.flows([*at_server(LIVE, self.NAT), *at_server(HIDDEN, self.NAT, first=50000)], taken=0)
        own = [(facts.APP1, port, address, to) for address, to, _, port in translated.server if address]
        translated = replace(translated, client=own)
        return next(iter(pair(facts.server(), (server, app1), (translated, *boxes)).directions))

    def beyond(self, count: int = LIVE) -> Any:
        return facts.flows(at_server(count, self.NAT), "fw2", taken=1)

    def test_what_it_lacks_is_dead_and_it_is_named(self) -> None:
        direction = self.found(self.beyond())
        assert (direction.ghosts.count, direction.ghosts.unproven, direction.matched) == (HIDDEN, {}, LIVE)
        assert (direction.evidence.lost_by, proof_of(direction).degree) == (("fw2",), "certain")
        assert proof_of(direction).because.startswith("fw2 carries the live connections")

    def test_one_without_the_connections_in_use_proves_nothing(self) -> None:
        for boxes in ((), (self.beyond(4),), (self.beyond(0),)):
            assert self.found(*boxes).ghosts.count == 0

    def test_nor_does_any_where_no_connection_is_in_use(self) -> None:
        assert self.found(self.beyond(), live_ms=40_000).ghosts.count == 0

    def test_without_ages_it_may_be_churn(self) -> None:
        assert self.found(self.beyond(), age_ms=None, live_ms=None).ghosts.count == 0

    def test_what_both_ends_have_and_it_lacks_is_not_clear(self) -> None:
        kept = self.beyond(1)
        direction = self.found(kept, quiet=LIVE - 1)
        assert (direction.matched, sum(direction.severed.unproven.values())) == (LIVE, LIVE - 1)
        assert self.found(self.beyond(), quiet=LIVE - 1).severed.unproven == {}

    def test_nor_of_what_may_have_been_opened_since(self) -> None:
        assert self.found(self.beyond(), age_ms=2_000).ghosts.count == 0


def test_a_container_hosts_own_table_hides_none_that_the_firewall_has_dropped() -> None:
    """The host lists its unread container's connections for days; the firewall lacks fifty of them."""
    inner = "10.88.1.2"
    seen = [*at_server(LIVE, last_received=500), *at_server(HIDDEN, first=50000, last_received=60_000)]
    server = facts.host("ldap", table([listening(), *seen], columns=("receive_queue", "last_received"), taken=4))
    app1 = facts.host("app1", table([*at_client(LIVE), *row_of_another_service()], "app1", taken=4.1), kernel=FORWARDS)
    at_host = facts.flows(seen, "app1", taken=4.2)
    own = [(facts.APP1, port, *key[:2]) if port < 50000 else (inner, port - 1, *key[:2])
           for key in at_host.server if key for port in key[3:]]  # fmt: skip
    at_host = replace(at_host, client=own)
    for boxes, ghosts in (((at_host, box()), HIDDEN), ((at_host,), 0)):
        (found, *_) = pair(facts.server(), (server, app1), boxes).directions
        assert (found.ghosts.count, found.matched) == (ghosts, LIVE)
        assert sum(found.ghosts.unproven.values()) == HIDDEN - ghosts
