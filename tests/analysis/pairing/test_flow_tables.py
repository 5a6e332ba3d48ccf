from __future__ import annotations

from dataclasses import replace

import facts
from facts import APP1, LDAP, at_server
from ldapdiag.analysis.pairing.flow_tables import boxes_of
from ldapdiag.evidence.flows import Relay

ROWS = at_server(3)


def test_several_tellings_of_a_boxes_table_are_one_box() -> None:
    table = facts.flows(ROWS)
    again = replace(table, origin=replace(table.origin, path="fw/nf_conntrack.txt"))
    (box,) = boxes_of([table, again])
    assert len(box.flows) == 3
    assert box.origins == ("fw/conntrack.txt", "fw/nf_conntrack.txt")


def test_hosts_that_track_flows_are_boxes_by_name() -> None:
    assert [box.host for box in boxes_of([facts.flows(ROWS, "fw2"), facts.flows(ROWS, "fw1")])] == ["fw1", "fw2"]


def test_a_box_carries_what_it_holds_as_established() -> None:
    (box,) = boxes_of([facts.flows(ROWS[:1]), facts.flows(ROWS[1:2], state="TIME_WAIT")])
    assert [box.carries(row.key) for row in ROWS] == [True, False, False]


def test_established_goes_before_another_telling_of_the_state() -> None:
    for order in (["ESTABLISHED", "TIME_WAIT"], ["TIME_WAIT", "ESTABLISHED"]):
        (box,) = boxes_of([facts.flows(ROWS, state=state) for state in order])
        assert box.carries(ROWS[0].key)


def test_a_proxys_host_that_tracks_packets_too_is_two_boxes() -> None:
    packets, sessions = facts.flows(ROWS, "proxy"), facts.sessions(ROWS, facts.at_client(3))
    nat, proxy = boxes_of([sessions, packets])
    assert (nat.host, nat.relay, proxy.host, proxy.relay) == ("proxy", Relay.NAT, "proxy", Relay.PROXY)


def test_a_flow_without_the_servers_side_joins_nothing() -> None:
    sessions = facts.sessions(ROWS, facts.at_client(3))
    (box,) = boxes_of([replace(sessions, server=[None, *sessions.server[1:]])])
    assert len(box.flows) == 2
    assert [flow.client for flow in box.unjoined] == [(APP1, 40000, LDAP, 389)]


def test_one_whole_telling_makes_the_box_whole() -> None:
    cut, whole = replace(facts.flows(ROWS[:1]), whole=False), facts.flows(ROWS)
    assert [box.whole for box in boxes_of([cut])] == [False]
    assert [box.whole for box in boxes_of([cut, whole])] == [True]


def test_a_box_that_changes_addresses_says_which_it_puts_in_place() -> None:
    table = facts.flows(at_server(1, "10.77.1.1"))
    (box,) = boxes_of([replace(table, client=[(APP1, 40000, LDAP, 389)]), facts.flows(ROWS)])
    assert box.translated == {"10.77.1.1"}
    assert box.hidden == {(APP1, LDAP, 389)}
    assert box.clients == {(APP1, 40000, LDAP, 389), *((key[2], key[3], *key[:2]) for key in facts.flows(ROWS).server)}


def test_a_box_serves_the_ways_of_its_flows() -> None:
    (box,) = boxes_of([facts.flows(ROWS)])
    assert box.serves((LDAP, 389, APP1))
    assert not box.serves((LDAP, 389, "10.77.9.9"))
    assert box.by_way == {(LDAP, 389, APP1): tuple(row.key for row in ROWS)}
