"""What a proxy keeps for clients that are gone, and what coming and going may explain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import facts
from facts import APP1, at_server, row, table
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.pairing.direction import Direction, ProxyLegs
from ldapdiag.analysis.pairing.pairing import Pairing, pair
from ldapdiag.evidence.sockets import TcpState

OWN, FRONTEND = "10.77.5.1", "10.77.5.2"
SERVER = at_server(5, OWN, first=45000)
CLIENT = [row(f"{APP1}:{46000 + number}", f"{FRONTEND}:389") for number in range(5)]
CLIENT_SIDE = [row(f"{FRONTEND}:389", f"{APP1}:{46000 + number}") for number in range(5)]
SERVER_SIDE = [row(f"{OWN}:{45000 + number}", f"{facts.LDAP}:389") for number in range(5)]
OTHERS = facts.row_of_another_service()
IDLE: dict[str, Any] = {"last_received": 600_000}


def joined(*hosts: Host, server: Any = None, sessions: Any = None) -> Direction:
    ldap = server if isinstance(server, Host) else facts.host("ldap", table(SERVER, shows_time_wait=True))
    flows = facts.sessions(SERVER, CLIENT) if sessions is None else sessions
    pairing = pair(facts.server(), (ldap, *hosts), (flows,))
    assert isinstance(pairing, Pairing)
    return next(one for one in pairing.directions if one.client == OWN)


def legs(*hosts: Host, **more: Any) -> ProxyLegs:
    found = joined(*hosts, **more).proxy_legs
    assert found is not None
    return found


def app1(rows: list[facts.Row], **traits: Any) -> Host:
    return facts.host("app1", table([*rows, *OTHERS], "app1", **{"shows_time_wait": True} | traits))


def test_a_session_with_both_legs_is_live() -> None:
    found = legs(app1(CLIENT))
    assert (found.sessions, found.live, found.orphaned.count, found.orphaned.unproven) == (5, 5, 0, {})


def test_a_session_whose_client_lacks_its_leg_is_orphaned() -> None:
    found = legs(app1(CLIENT[:2]))
    assert (found.live, found.orphaned.count, found.orphaned.ports) == (2, 3, (45002, 45003, 45004))
    assert (found.proxy, found.clients, found.absent_at_proxy) == ("proxy", ("app1",), False)


def test_an_orphaned_session_is_no_ghost_since_the_proxy_has_it() -> None:
    direction = joined(app1(CLIENT[:2]))
    assert (direction.ghosts.count, direction.matched, direction.ghosts.unproven) == (0, 5, {})


def test_a_leg_that_is_closing_at_its_client_is_not_orphaned() -> None:
    closing = [row(f"{APP1}:{46000 + number}", f"{FRONTEND}:389", TcpState.FIN_WAIT_2) for number in range(2)]
    found = legs(app1([*CLIENT[2:], *closing]))
    assert (found.live, found.orphaned.count) == (3, 0)
    assert found.orphaned.unproven == {"closing or opening at app1": 2}


def test_what_a_cut_session_table_does_not_list_is_unproven() -> None:
    """`show sess all` cut in the middle: clear with "10 of 10 sessions", while the server had 20."""
    found = legs(app1(CLIENT), sessions=facts.sessions(SERVER[:3], CLIENT[:3], whole=False))
    assert (found.sessions, found.live, found.orphaned.count) == (5, 3, 0)
    assert found.orphaned.unproven == {"not in the session table of proxy, which is cut or a selection": 2}
    whole = legs(app1(CLIENT), sessions=facts.sessions(SERVER[:3], CLIENT[:3]))
    assert (whole.sessions, whole.orphaned.unproven) == (3, {})


def test_any_snapshot_of_the_client_proves_a_leg_live() -> None:
    snapshots = (table([*CLIENT[:2], *OTHERS], "app1", taken=0), table([*CLIENT, *OTHERS], "app1", taken=60))
    ldap = facts.host("ldap", table(SERVER, taken=30))
    assert legs(facts.host("app1", *snapshots), server=ldap).live == 5


def test_churn_explains_absent_legs() -> None:
    """Those that the client lacks may have closed: it opened as many that the proxy's table does not have yet."""
    new = [row(f"{APP1}:{47000 + number}", f"{FRONTEND}:389") for number in range(5)]
    gone = [row(f"{APP1}:{48000 + number}", f"{FRONTEND}:389", TcpState.TIME_WAIT) for number in range(60)]
    ldap = facts.host("ldap", table(SERVER, taken=0))
    sessions = facts.sessions(SERVER, CLIENT, taken=0)
    found = legs(app1([*new, *gone], taken=5), server=ldap, sessions=sessions)
    assert (found.orphaned.count, sum(found.orphaned.unproven.values())) == (0, 5)


def test_legs_idle_for_longer_than_the_interval_did_not_close_in_it() -> None:
    ldap = facts.host("ldap", table(at_server(5, OWN, first=45000, **IDLE), taken=0))
    gone = [row(f"{APP1}:{48000 + number}", f"{FRONTEND}:389", TcpState.TIME_WAIT) for number in range(60)]
    found = legs(app1(gone, taken=5), server=ldap, sessions=facts.sessions(SERVER, CLIENT, taken=1))
    assert (found.orphaned.count, found.orphaned.unproven) == (5, {})
    assert "5 had been idle for longer than the 6.0 s" in found.orphaned.reasons[0]


def test_the_proxys_table_may_be_further_away_than_the_servers() -> None:
    ldap = facts.host("ldap", table(at_server(5, OWN, first=45000, last_received=30_000), taken=0))
    found = legs(
        app1([], shows_time_wait=None, taken=5), server=ldap, sessions=facts.sessions(SERVER, CLIENT, taken=50)
    )
    assert (found.orphaned.count, sum(found.orphaned.unproven.values())) == (0, 5)


def test_snapshots_of_the_server_before_and_after_the_clients_prove_it() -> None:
    ldap = facts.host("ldap", table(SERVER, taken=0), table(SERVER, taken=10))
    found = legs(app1([], taken=5, shows_time_wait=None), server=ldap)
    assert (found.orphaned.count, found.orphaned.ports) == (5, (45000, 45001, 45002, 45003, 45004))


class TestTheProxysOwnSockets:
    def proxy(self, accepted: list[facts.Row], **traits: Any) -> Host:
        rows = [facts.listening(), *accepted, *SERVER_SIDE]
        return facts.host("proxy", table(rows, "proxy", **{"shows_time_wait": True} | traits))

    def test_make_it_certain_where_they_lack_the_clients_leg_too(self) -> None:
        found = legs(app1([]), self.proxy([]))
        assert (found.orphaned.count, found.absent_at_proxy) == (5, True)

    def test_leave_it_likely_where_the_proxy_has_the_leg(self) -> None:
        found = legs(app1([]), self.proxy(CLIENT_SIDE))
        assert (found.orphaned.count, found.absent_at_proxy) == (5, False)

    def test_show_the_legs_of_a_client_that_was_not_read(self) -> None:
        """More legs to the server than to clients, and sessions that name them: no client's table is needed."""
        found = legs(self.proxy(CLIENT_SIDE[:3]))
        assert (found.orphaned.count, found.orphaned.ports, found.clients) == (2, (45003, 45004), ("proxy",))
        assert found.orphaned.unproven == {f"of {APP1}, whose table was not read": 3}

    def test_a_leg_the_client_has_closed_counts_as_gone(self) -> None:
        waiting = [replace(one, state=TcpState.CLOSE_WAIT) for one in CLIENT_SIDE]
        assert legs(self.proxy(waiting)).orphaned.count == 5

    def test_join_the_proxy_as_any_client(self) -> None:
        direction = joined(app1(CLIENT), self.proxy(CLIENT_SIDE))
        assert (direction.join, direction.path.kind, direction.client_hosts) == (
            "4-tuple",
            "proxy",
            ("proxy",),
        )


def test_where_the_destination_is_unknown_the_clients_port_is_enough() -> None:
    sessions = facts.sessions(SERVER, CLIENT)
    sessions = replace(sessions, client=[(address, port, "*", -1) for address, port, _, _ in sessions.client])
    assert legs(app1(CLIENT[:4]), sessions=sessions).live == 4


def test_a_session_not_established_towards_the_server_is_none() -> None:
    sessions = replace(facts.sessions(SERVER, CLIENT), state=["CON", *["ESTABLISHED"] * 4])
    assert legs(app1(CLIENT), sessions=sessions).sessions == 4
