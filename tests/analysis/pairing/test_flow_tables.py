from __future__ import annotations

from dataclasses import replace

import facts
from facts import APP1, LDAP, at_server
from ldapdiag.analysis.pairing.flow_tables import merge_flow_tables
from ldapdiag.evidence.flows import Relay

ROWS = at_server(3)


def test_several_tables_of_a_middlebox_are_one() -> None:
    table = facts.flows(ROWS)
    again = replace(table, origin=replace(table.origin, path="fw/nf_conntrack.txt"))
    (box,) = merge_flow_tables([table, again])
    assert len(box.flows) == 3
    assert box.origins == ("fw/conntrack.txt", "fw/nf_conntrack.txt")


def test_hosts_that_track_flows_are_middleboxes_by_name() -> None:
    tables = [facts.flows(ROWS, "fw2"), facts.flows(ROWS, "fw1")]
    assert [box.host for box in merge_flow_tables(tables)] == ["fw1", "fw2"]


def test_a_middlebox_carries_established_entries() -> None:
    (box,) = merge_flow_tables([facts.flows(ROWS[:1]), facts.flows(ROWS[1:2], state="TIME_WAIT")])
    assert [box.carries(row.key) for row in ROWS] == [True, False, False]


def test_established_has_precedence_over_other_states() -> None:
    for order in (["ESTABLISHED", "TIME_WAIT"], ["TIME_WAIT", "ESTABLISHED"]):
        (box,) = merge_flow_tables([facts.flows(ROWS, state=state) for state in order])
        assert box.carries(ROWS[0].key)


def test_a_proxys_host_that_tracks_packets_too_is_two_middleboxes() -> None:
    packets, sessions = facts.flows(ROWS, "proxy"), facts.sessions(ROWS, facts.at_client(3))
    nat, proxy = merge_flow_tables([sessions, packets])
    assert (nat.host, nat.relay, proxy.host, proxy.relay) == ("proxy", Relay.NAT, "proxy", Relay.PROXY)


def test_a_flow_without_the_servers_side_joins_nothing() -> None:
    sessions = facts.sessions(ROWS, facts.at_client(3))
    (box,) = merge_flow_tables([replace(sessions, server=[None, *sessions.server[1:]])])
    assert len(box.flows) == 2
    assert [flow.client for flow in box.unjoined] == [(APP1, 40000, LDAP, 389)]


def test_one_complete_table_makes_the_middlebox_complete() -> None:
    truncated, whole = replace(facts.flows(ROWS[:1]), whole=False), facts.flows(ROWS)
    assert [box.whole for box in merge_flow_tables([truncated])] == [False]
    assert [box.whole for box in merge_flow_tables([truncated, whole])] == [True]


def test_a_middlebox_that_translates_lists_the_addresses_it_uses() -> None:
    table = facts.flows(at_server(1, "10.77.1.1"))
    (box,) = merge_flow_tables([replace(table, client=[(APP1, 40000, LDAP, 389)]), facts.flows(ROWS)])
    assert box.translated == {"10.77.1.1"}
    assert box.translated_clients == {(APP1, LDAP, 389)}
    assert box.client_keys == {
        (APP1, 40000, LDAP, 389),
        *((key[2], key[3], *key[:2]) for key in facts.flows(ROWS).server),
    }


def test_flows_are_found_by_their_direction() -> None:
    (box,) = merge_flow_tables([facts.flows(ROWS)])
    assert box.keys_by_direction == {(LDAP, 389, APP1): tuple(row.key for row in ROWS)}
