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


def told(rows: list[facts.Row], telling: str, name: str = "", *, not_understood: int = 0, **traits: Any) -> SocketTable:
    table = facts.table(rows, tool=telling, **traits)
    known = replace(table.origin, path=f"ldap/{name or telling}.txt", not_understood=not_understood)
    return replace(table, origin=known)


def test_tellings_of_one_table_are_one_table() -> None:
    one = merge_tables(None, [told(ROWS, "netstat"), told(ROWS, "ss"), told(ROWS, "lsof")])
    assert len(one.sockets) == 3
    assert one.tools == ("lsof", "netstat", "ss")
    assert one.origins == ("ldap/lsof.txt", "ldap/netstat.txt", "ldap/ss.txt")


def test_a_column_comes_from_whoever_tells_it() -> None:
    rich = [replace(one, columns={"timer": Timer.KEEPALIVE}) for one in ROWS]
    owned = [replace(one, columns={"owner": "ns-slapd"}) for one in ROWS]
    table = merge_tables(None, [told(rich, "netstat"), told(owned, "lsof", columns=()), told(ROWS, "ss")]).sockets
    assert table.timer == [Timer.KEEPALIVE] * 3
    assert table.owner == ["ns-slapd"] * 3
    assert table.last_received is None


def test_the_halves_of_proc_are_a_sum() -> None:
    halves = [told(ROWS[:1], "proc", "tcp", families=IPV4), told(ROWS[1:], "proc", "tcp6", families=IPV6)]
    one = merge_tables(None, halves)
    assert len(one.sockets) == 3
    assert one.inconsistent == frozenset()
    assert one.sockets.families == {4, 6}


def test_the_halves_together_are_one_telling_beside_another() -> None:
    halves = [told(ROWS[:1], "proc", "tcp", families=IPV4), told(ROWS[1:2], "proc", "tcp6", families=IPV6)]
    one = merge_tables(None, [*halves, told(ROWS, "ss")])
    assert len(one.sockets) == 3
    assert one.inconsistent == {ROWS[2].key}


def test_rows_that_one_whole_telling_lacks_are_wavering() -> None:
    assert merge_tables(None, [told(ROWS, "ss"), told(ROWS[1:], "netstat")]).inconsistent == {ROWS[0].key}


@pytest.mark.parametrize("traits", [{"shows_all_programs": False}, {"families": IPV4}, {"has_header": False}])
def test_a_telling_that_is_not_whole_makes_nothing_waver(traits: dict[str, Any]) -> None:
    assert merge_tables(None, [told(ROWS, "ss"), told(ROWS[1:], "other", **traits)]).inconsistent == frozenset()


def test_a_list_of_listeners_makes_nothing_waver() -> None:
    assert merge_tables(None, [told(ROWS, "ss"), told([facts.listening()], "ss", "ss-ltn")]).inconsistent == frozenset()


def test_an_empty_telling_makes_nothing_waver() -> None:
    assert merge_tables(None, [told(ROWS, "netstat"), told([], "ss")]).inconsistent == frozenset()


def test_a_telling_of_one_state_makes_nothing_waver_and_decides_no_state() -> None:
    one = merge_tables(None, [told(ROWS, "netstat"), told([replace(ROWS[0], state=TcpState.UNKNOWN)], "ss")])
    assert one.inconsistent == frozenset()
    assert one.sockets.count(TcpState.ESTABLISHED) == 3


@pytest.mark.parametrize("peer", ["2001:db8:1234:567…:40000", "app1.example.com…:40000", f"{facts.APP1}:-1"])
def test_a_row_that_is_cut_or_named_is_the_one_an_exact_telling_shows(peer: str) -> None:
    inexact = told([facts.row(f"{facts.LDAP}:389", peer), *ROWS[1:]], "netstat")
    one = merge_tables(None, [told(ROWS, "ss"), inexact])
    assert sorted(one.sockets.keys()) == [row.key for row in ROWS]
    assert one.inconsistent == frozenset()
    assert len(merge_tables(None, [inexact]).sockets) == 3


def test_a_cut_row_is_known_by_its_ports_to_a_telling_of_one_program() -> None:
    cut = told([facts.row(f"{facts.LDAP}:389", f"2001:db8:1234:567…:{port}") for port in (40000, 50000)], "netstat")
    one = merge_tables(None, [told(ROWS, "lsof", shows_all_programs=False), cut])
    assert [key[3] for key in one.sockets.keys()] == [50000, 40000, 40001, 40002]  # noqa: SIM118  not a mapping


def test_the_first_telling_by_rank_decides_a_state() -> None:
    closing = [replace(one, state=TcpState.TIME_WAIT) for one in ROWS]
    table = merge_tables(None, [told(closing, "lsof"), told(ROWS, "ss"), told(closing, "netstat")]).sockets
    assert table.count(TcpState.ESTABLISHED) == 3


def test_a_look_is_a_selection_when_no_telling_has_a_header() -> None:
    bare = told(ROWS, "ss", has_header=False)
    assert merge_tables(None, [bare]).headerless
    assert not merge_tables(None, [bare, told(ROWS, "netstat")]).headerless


def test_a_look_is_as_well_read_as_its_best_telling() -> None:
    assert merge_tables(None, [told(ROWS, "ss", not_understood=3)]).unreadable == 3
    assert merge_tables(None, [told(ROWS, "ss", not_understood=3), told(ROWS, "netstat")]).unreadable == 0
    halves = [
        told(ROWS, "proc", "tcp", families=IPV4, not_understood=1),
        told([], "proc", "tcp6", families=IPV6, not_understood=2),
    ]
    assert merge_tables(None, halves).unreadable == 3


def test_a_telling_that_cuts_ports_counts_only_where_no_whole_one_is() -> None:
    cut = told(facts.at_server(1, first=UNKNOWN_PORT), "netstat", "A", ports_truncated=True)
    for whole in (told(ROWS, "ss"), told(ROWS, "netstat")):
        one = merge_tables(None, [cut, whole])
        assert len(one.sockets) == 3
        assert not one.sockets.ports_truncated
        assert one.inconsistent == frozenset()
    one = merge_tables(None, [cut, told(ROWS, "lsof", shows_all_programs=False)])
    assert len(one.sockets) == 4
    assert one.sockets.ports_truncated


def test_tables_apart_in_time_are_looks_in_order() -> None:
    looks = snapshots_of([told(ROWS, "ss", "late", taken=10), told(ROWS[:1], "ss", "early", taken=2)])
    assert [len(one.sockets) for one in looks] == [1, 3]
    assert [one.taken for one in looks] == [facts.at(2), facts.at(10)]


def test_a_look_of_unknown_time_comes_last() -> None:
    looks = snapshots_of([told(ROWS, "ss", "unknown"), told(ROWS[:1], "ss", "timed", taken=2)])
    assert [one.taken for one in looks] == [facts.at(2), None]


def test_one_table_more_does_not_change_what_is_counted() -> None:
    once = merge_tables(None, [told(ROWS, "ss")]).sockets
    twice = merge_tables(None, [told(ROWS, "ss"), told(ROWS, "ss", "again")]).sockets
    assert list(once.keys()) == list(twice.keys())
