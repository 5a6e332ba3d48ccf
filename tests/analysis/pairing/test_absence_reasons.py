from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
from ldapdiag.analysis.pairing import absence_reasons
from ldapdiag.analysis.pairing.absence_reasons import (
    ABSENCE_REASONS,
    AbsenceContext,
    AbsenceReason,
    carried_by_middlebox,
    closing_at_middlebox,
    cut_table,
    explain_absences,
    in_unread_namespace,
    inexact_address,
    not_in_every_listing,
    one_family_read,
    open_at_other_host,
    state_not_shown,
    truncated_ports,
    unreadable_lines,
)
from ldapdiag.analysis.pairing.flow_tables import merge_flow_tables
from ldapdiag.analysis.pairing.socket_index import ClientIndex, ServerIndex
from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.sockets import TcpState

ROWS = facts.at_server(4)
PORTS = [row.key[3] for row in ROWS]


def snapshot(*tables: Any) -> Any:
    return facts.host("ldap", *tables).snapshots[0]


def context(**changes: Any) -> AbsenceContext:
    """Return a context in which no reason applies: the client's table is complete, and shows none of the rows."""
    known = {"server": facts.table(ROWS), "client": facts.table(facts.row_of_another_service(), "app1")} | changes
    server, client = snapshot(known.pop("server")), facts.host("app1", known.pop("client"))
    near = ClientIndex(client.snapshots[0], frozenset())
    unjoined = UnjoinedDirection(facts.APP1, facts.LDAP, 389, list(range(len(ROWS))), ServerIndex(server))
    fields: dict[str, Any] = {"unjoined": unjoined, "client": client, "near": near} | known
    return AbsenceContext(**fields)


def with_flows(state: str, *more: Any, **changes: Any) -> AbsenceContext:
    """Return a context with a middlebox that has the first row in a state."""
    return context(middleboxes=merge_flow_tables([facts.flows(ROWS[:1], state=state), *more]), **changes)


def inconsistent() -> AbsenceContext:
    known = context()
    changed = replace(known.unjoined.snapshot, inconsistent=frozenset({ROWS[1].key}))
    return replace(known, unjoined=replace(known.unjoined, server_index=ServerIndex(changed)))


def in_namespaces(unread: int) -> AbsenceContext:
    known = context(dead=frozenset({3}))
    return replace(known, client=replace(known.client, description=facts.description(namespaces_unread=unread)))


def near_with(**changes: Any) -> AbsenceContext:
    known = context()
    return replace(known, near=ClientIndex(replace(known.near.snapshot, **changes), frozenset()))


def without_states() -> AbsenceContext:
    rows = [replace(row, state=TcpState.UNKNOWN) for row in facts.row_of_another_service()]
    return context(client=facts.table(rows, "app1"))


def truncated() -> AbsenceContext:
    row = facts.row(f"{facts.APP1}:{UNKNOWN_PORT}", f"{facts.LDAP}:389")
    return context(client=facts.table([row], "app1", ports_truncated=True))


def named(*spelled: str) -> AbsenceContext:
    rows = [facts.row(f"{client}:{PORTS[0]}", f"{server}:389") for client, server in [spelled]]
    return context(client=facts.table([*rows, *facts.row_of_another_service()], "app1"))


ALL, IPV4 = {0, 1, 2, 3}, frozenset({4})
CASES = [
    (closing_at_middlebox, with_flows("TIME_WAIT"), {0}, "closing"),
    (carried_by_middlebox, with_flows("ESTABLISHED"), {0}, "fw still has them as established"),
    (not_in_every_listing, inconsistent(), {1}, "not in every listing"),
    (open_at_other_host, context(foreign_ports=frozenset({PORTS[2]})), {2}, "from the same ports"),
    (inexact_address, named("app1.example.com…", "ds1.example.com…"), {0}, "with a name or a truncated address"),
    (inexact_address, named(facts.APP1, "10.77.1.2001:d…"), {0}, "with a name or a truncated address"),
    (inexact_address, named(facts.APP1, "10.77.9.9"), set(), "with a name or a truncated address"),
    (in_unread_namespace, in_namespaces(2), {0, 1, 2}, "2 other network namespaces of app1 could not be read"),
    (state_not_shown, without_states(), ALL, "one unnamed state"),
    (one_family_read, context(client=facts.table([], "app1", families=IPV4)), ALL, "only one of"),
    (one_family_read, context(client=facts.table([], "app1", families=IPV4), has_live=True), set(), "only one of"),
    (unreadable_lines, near_with(unreadable=4), ALL, "4 lines"),
    (unreadable_lines, near_with(unreadable=3), set(), "3 lines"),
    (truncated_ports, truncated(), ALL, "truncates ports"),
]


@pytest.mark.parametrize(("reason", "known", "rows", "text"), CASES)
def test_each_reason_explains_its_rows_and_names_itself(
    reason: AbsenceReason, known: AbsenceContext, rows: set[int], text: str
) -> None:
    explanation = reason(known, range(4))
    assert explanation.rows == rows
    assert text in explanation.reason


@pytest.mark.parametrize("reason", ABSENCE_REASONS)
@pytest.mark.parametrize("known", [context(), *(case[1] for case in CASES)])
def test_each_reason_is_pure(reason: AbsenceReason, known: AbsenceContext) -> None:
    """The same answer for the same rows, whatever was asked before; nothing handed in is changed."""
    rows, unjoined_rows = [0, 1, 2, 3], list(known.unjoined.rows)
    first = reason(known, rows)
    for other in ABSENCE_REASONS:
        other(known, rows)
    assert reason(known, rows) == first
    assert (rows, known.unjoined.rows) == ([0, 1, 2, 3], unjoined_rows)
    assert first.rows <= set(rows)
    assert reason(known, ()).rows == frozenset()


def test_a_cut_table_explains_what_nothing_proves_dead() -> None:
    table = replace(facts.table(facts.row_of_another_service(), "app1"), is_cut=True)
    assert cut_table(context(client=table, dead=frozenset({0})), range(4)).rows == {1, 2, 3}
    assert cut_table(context(), range(4)).rows == frozenset()


class TestOrder:
    def test_the_first_reason_of_the_tuple_that_explains_a_row_excludes_it(self) -> None:
        known = with_flows("ESTABLISHED", foreign_ports=frozenset(PORTS[:2]))
        assert open_at_other_host(known, range(4)).rows == {0, 1}
        explained = explain_absences(known, range(4))
        assert explained.rows(carried_by_middlebox) == {0}
        assert explained.rows(open_at_other_host) == {1}
        assert explained.remaining == (2, 3)

    def test_another_order_would_give_another_reason(self, monkeypatch: pytest.MonkeyPatch) -> None:
        known = with_flows("ESTABLISHED", foreign_ports=frozenset(PORTS[:2]))
        assert explain_absences(known, range(4)).rows(open_at_other_host) == {1}
        monkeypatch.setattr(absence_reasons, "ABSENCE_REASONS", ABSENCE_REASONS[::-1])
        assert explain_absences(known, range(4)).rows(open_at_other_host) == {0, 1}

    def test_a_later_reason_sees_only_what_is_left(self) -> None:
        known = replace(near_with(unreadable=3), foreign_ports=frozenset(PORTS[:1]))
        assert unreadable_lines(known, range(4)).rows == frozenset()
        assert explain_absences(known, range(4)).rows(unreadable_lines) == {1, 2, 3}

    def test_reasons_of_single_rows_come_before_reasons_of_all(self) -> None:
        single = (closing_at_middlebox, carried_by_middlebox, not_in_every_listing, open_at_other_host, inexact_address)
        whole = (state_not_shown, one_family_read, unreadable_lines, cut_table, truncated_ports)
        assert (*single, in_unread_namespace, *whole) == ABSENCE_REASONS


def test_what_is_closing_is_no_unproven_absence() -> None:
    explained = explain_absences(with_flows("TIME_WAIT"), range(4))
    assert (explained.closing, dict(explained.unproven), explained.remaining) == (1, {}, (1, 2, 3))
