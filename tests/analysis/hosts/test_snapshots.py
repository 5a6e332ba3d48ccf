from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
from ldapdiag.analysis.hosts.snapshots import merge_tables, snapshots_of
from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.sockets import SocketTable, TcpState, Timer

ROWS = facts.at_server(3)
IPV4, IPV6 = frozenset({4}), frozenset({6})


def listing(
    rows: list[facts.Row], telling: str, name: str = "", *, not_understood: int = 0, **traits: Any
) -> SocketTable:
    table = facts.table(rows, tool=telling, **traits)
    known = replace(table.origin, path=f"ldap/{name or telling}.txt", not_understood=not_understood)
    return replace(table, origin=known)


def test_listings_of_one_table_are_one_table() -> None:
    one = merge_tables(None, [listing(ROWS, "netstat"), listing(ROWS, "ss"), listing(ROWS, "lsof")])
    assert len(one.sockets) == 3
    assert one.tools == ("lsof", "netstat", "ss")
    assert one.origins == ("ldap/lsof.txt", "ldap/netstat.txt", "ldap/ss.txt")


def test_a_column_comes_from_the_listing_that_has_it() -> None:
    rich = [replace(one, columns={"timer": Timer.KEEPALIVE}) for one in ROWS]
    owned = [replace(one, columns={"owner": "ns-slapd"}) for one in ROWS]
    table = merge_tables(
        None, [listing(rich, "netstat"), listing(owned, "lsof", columns=()), listing(ROWS, "ss")]
    ).sockets
    assert table.timer == [Timer.KEEPALIVE] * 3
    assert table.owner == ["ns-slapd"] * 3
    assert table.last_received is None


def test_the_halves_of_proc_are_a_sum() -> None:
    halves = [listing(ROWS[:1], "proc", "tcp", families=IPV4), listing(ROWS[1:], "proc", "tcp6", families=IPV6)]
    one = merge_tables(None, halves)
    assert len(one.sockets) == 3
    assert one.inconsistent == frozenset()
    assert one.sockets.families == {4, 6}


def test_the_halves_together_are_one_listing_beside_another() -> None:
    halves = [listing(ROWS[:1], "proc", "tcp", families=IPV4), listing(ROWS[1:2], "proc", "tcp6", families=IPV6)]
    one = merge_tables(None, [*halves, listing(ROWS, "ss")])
    assert len(one.sockets) == 3
    assert one.inconsistent == {ROWS[2].key}


def test_rows_that_one_complete_listing_lacks_are_inconsistent() -> None:
    assert merge_tables(None, [listing(ROWS, "ss"), listing(ROWS[1:], "netstat")]).inconsistent == {ROWS[0].key}


@pytest.mark.parametrize("traits", [{"shows_all_programs": False}, {"families": IPV4}, {"has_header": False}])
def test_an_incomplete_listing_makes_nothing_inconsistent(traits: dict[str, Any]) -> None:
    assert merge_tables(None, [listing(ROWS, "ss"), listing(ROWS[1:], "other", **traits)]).inconsistent == frozenset()


def test_a_list_of_listeners_makes_nothing_inconsistent() -> None:
    assert (
        merge_tables(None, [listing(ROWS, "ss"), listing([facts.listening()], "ss", "ss-ltn")]).inconsistent
        == frozenset()
    )


def test_an_empty_listing_makes_nothing_inconsistent() -> None:
    assert merge_tables(None, [listing(ROWS, "netstat"), listing([], "ss")]).inconsistent == frozenset()


def test_a_listing_of_one_state_makes_nothing_inconsistent_and_decides_no_state() -> None:
    one = merge_tables(None, [listing(ROWS, "netstat"), listing([replace(ROWS[0], state=TcpState.UNKNOWN)], "ss")])
    assert one.inconsistent == frozenset()
    assert one.sockets.count(TcpState.ESTABLISHED) == 3


@pytest.mark.parametrize("peer", ["2001:db8:1234:567…:40000", "app1.example.com…:40000", f"{facts.APP1}:-1"])
def test_a_truncated_or_named_row_is_the_one_of_an_exact_listing(peer: str) -> None:
    inexact = listing([facts.row(f"{facts.LDAP}:389", peer), *ROWS[1:]], "netstat")
    one = merge_tables(None, [listing(ROWS, "ss"), inexact])
    assert sorted(one.sockets.keys()) == [row.key for row in ROWS]
    assert one.inconsistent == frozenset()
    assert len(merge_tables(None, [inexact]).sockets) == 3


def test_a_truncated_row_is_found_by_its_ports_in_a_listing_of_one_program() -> None:
    truncated = listing(
        [facts.row(f"{facts.LDAP}:389", f"2001:db8:1234:567…:{port}") for port in (40000, 50000)], "netstat"
    )
    one = merge_tables(None, [listing(ROWS, "lsof", shows_all_programs=False), truncated])
    assert [key[3] for key in one.sockets.keys()] == [50000, 40000, 40001, 40002]  # noqa: SIM118  not a mapping


def test_the_listing_of_highest_precedence_decides_a_state() -> None:
    closing = [replace(one, state=TcpState.TIME_WAIT) for one in ROWS]
    table = merge_tables(None, [listing(closing, "lsof"), listing(ROWS, "ss"), listing(closing, "netstat")]).sockets
    assert table.count(TcpState.ESTABLISHED) == 3


def test_a_snapshot_is_headerless_when_no_listing_has_a_header() -> None:
    bare = listing(ROWS, "ss", has_header=False)
    assert merge_tables(None, [bare]).headerless
    assert not merge_tables(None, [bare, listing(ROWS, "netstat")]).headerless


def test_a_snapshot_is_as_readable_as_its_best_listing() -> None:
    assert merge_tables(None, [listing(ROWS, "ss", not_understood=3)]).unreadable == 3
    assert merge_tables(None, [listing(ROWS, "ss", not_understood=3), listing(ROWS, "netstat")]).unreadable == 0
    halves = [
        listing(ROWS, "proc", "tcp", families=IPV4, not_understood=1),
        listing([], "proc", "tcp6", families=IPV6, not_understood=2),
    ]
    assert merge_tables(None, halves).unreadable == 3


def test_a_listing_with_truncated_ports_counts_only_without_a_complete_one() -> None:
    truncated = listing(facts.at_server(1, first=UNKNOWN_PORT), "netstat", "A", ports_truncated=True)
    for whole in (listing(ROWS, "ss"), listing(ROWS, "netstat")):
        one = merge_tables(None, [truncated, whole])
        assert len(one.sockets) == 3
        assert not one.sockets.ports_truncated
        assert one.inconsistent == frozenset()
    one = merge_tables(None, [truncated, listing(ROWS, "lsof", shows_all_programs=False)])
    assert len(one.sockets) == 4
    assert one.sockets.ports_truncated


def test_tables_of_different_times_are_snapshots_in_order() -> None:
    snapshots = snapshots_of([listing(ROWS, "ss", "late", taken=10), listing(ROWS[:1], "ss", "early", taken=2)])
    assert [len(one.sockets) for one in snapshots] == [1, 3]
    assert [one.taken for one in snapshots] == [facts.at(2), facts.at(10)]


def test_a_snapshot_of_unknown_time_comes_last() -> None:
    snapshots = snapshots_of([listing(ROWS, "ss", "unknown"), listing(ROWS[:1], "ss", "timed", taken=2)])
    assert [one.taken for one in snapshots] == [facts.at(2), None]


def test_one_table_more_does_not_change_what_is_counted() -> None:
    once = merge_tables(None, [listing(ROWS, "ss")]).sockets
    twice = merge_tables(None, [listing(ROWS, "ss"), listing(ROWS, "ss", "again")]).sockets
    assert list(once.keys()) == list(twice.keys())
