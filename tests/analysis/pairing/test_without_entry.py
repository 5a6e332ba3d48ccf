"""What both ends show of a connection that a flow table does not contain."""

from __future__ import annotations

from typing import Any

import pytest

import facts
from facts import LDAP, at_client, at_server, flows, table
from ldapdiag.analysis.pairing.flow_tables import merge_flow_tables
from ldapdiag.analysis.pairing.socket_index import ClientSnapshots, ServerIndex
from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection
from ldapdiag.analysis.pairing.without_entry import EntryTracer, MatchedEnds, Pair, Trace
from ldapdiag.evidence.sockets import Timer

ONE = Pair(0, 0)


def ends(
    server: dict[str, Any], client: dict[str, Any], *, times: tuple[float | None, float | None], before: Any = None
) -> MatchedEnds:
    own = facts.host("ldap", table(at_server(1, **server), taken=times[0]))
    earlier = [] if before is None else [table(at_client(1, **before), "app1", taken=-5)]
    app1 = ClientSnapshots(facts.host("app1", *earlier, table(at_client(1, **client), "app1", taken=times[1])))
    assert own.latest
    unjoined = UnjoinedDirection(facts.APP1, LDAP, 389, [0], ServerIndex(own.latest))
    return MatchedEnds(unjoined, app1.latest, app1.indexes, [ONE])


def traced(matched: MatchedEnds, *taken: float | None) -> Trace:
    (box,) = merge_flow_tables([flows([], taken=moment) for moment in taken])
    return EntryTracer(box, matched, []).trace(ONE)


@pytest.mark.parametrize(
    ("server_ms", "client_ms", "trace"),
    [
        (60_000, 60_000, Trace.QUIET),
        (60_000, 500, Trace.USED),
        (500, 60_000, Trace.USED),
        (4_500, 60_000, Trace.NEW),
        (None, 60_000, Trace.QUIET),
        (None, None, Trace.UNKNOWN),
    ],
)
def test_ages_against_a_table_taken_before(server_ms: int | None, client_ms: int | None, trace: Trace) -> None:
    found = ends({"last_received": server_ms}, {"last_received": client_ms}, times=(4, 4))
    assert traced(found, 0) is trace


def test_an_acknowledgement_counts_as_much_as_data() -> None:
    columns = {"last_received": 60_000, "last_acknowledged": 500}
    assert traced(ends(columns, columns, times=(4, 4)), 0) is Trace.USED


@pytest.mark.parametrize(("age", "trace"), [(60_000, Trace.QUIET), (5_000, Trace.ENDED)])
def test_against_a_table_taken_later_only_old_ones_count(age: int, trace: Trace) -> None:
    found = ends({"last_received": age}, {"last_received": age}, times=(0, 1))
    assert traced(found, 4) is trace


def test_of_several_tables_that_before_an_end_counts() -> None:
    found = ends({"last_received": 4_500}, {"last_received": 5_500}, times=(4, 5))
    assert traced(found, 2, 6) is Trace.QUIET


class TestExistedBefore:
    WITHOUT_AGES: dict[str, Any] = {"timer": Timer.RETRANSMIT, "retransmits": 3, "cookie": 7}  # noqa: RUF012  never changed

    @pytest.mark.parametrize(("cookie", "trace"), [(7, Trace.UNANSWERED), (8, Trace.UNKNOWN)])
    def test_the_same_socket_in_an_earlier_snapshot_existed_then(self, cookie: int, trace: Trace) -> None:
        found = ends({}, self.WITHOUT_AGES, times=(4, 4), before={"cookie": cookie})
        assert traced(found, 0) is trace

    def test_without_one_it_may_be_new(self) -> None:
        assert traced(ends({}, self.WITHOUT_AGES, times=(4, 4)), 0) is Trace.UNKNOWN


def test_the_idle_time_is_that_when_the_table_was_taken() -> None:
    found = ends({"last_received": 60_000}, {"last_received": 62_000}, times=(4, 5))
    (box,) = merge_flow_tables([flows([], taken=1)])
    assert EntryTracer(box, found, []).idle_seconds(ONE) == 57.0
