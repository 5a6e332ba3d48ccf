"""Sampled ghosts: each is one of the ghosts, and its values are those of the tables."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

import facts
from facts import at_client, at_server, row_of_another_service, table
from joins import joined
from ldapdiag.analysis.pairing.samples import MOST
from ldapdiag.evidence.sockets import TcpState, Timer

if TYPE_CHECKING:
    from ldapdiag.analysis.pairing.direction import Direction

LIVE = 3
FIRST = 50000


def sampled(ages: list[int], *, probes: int = 0) -> Direction:
    """Return a direction with a ghost of each of these ages in milliseconds, taken at the same time at both ends."""
    timer = {"timer": Timer.KEEPALIVE, "probes": probes} if probes else {}
    ghosts = [at_server(1, first=FIRST + n, last_received=age, **timer)[0] for n, age in enumerate(ages)]
    server = table([*at_server(LIVE, last_received=900), *ghosts], taken=0, shows_time_wait=True)
    client = table([*at_client(LIVE), *row_of_another_service()], "app1", taken=0, shows_time_wait=True)
    return joined(server, client, flows=(facts.flows(at_server(LIVE), taken=0),))


@given(ages=st.lists(st.integers(60_000, 3_600_000), min_size=1, max_size=40))
def test_are_a_few_of_the_ghosts_with_the_shortest_and_the_longest_idle(ages: list[int]) -> None:
    direction = sampled(ages)
    idle = [one.idle_seconds or 0 for one in direction.samples]
    assert len(direction.samples) == min(MOST, len(ages))
    assert {one.client_port for one in direction.samples} <= set(direction.ghosts.ports or ())
    assert len({one.client_port for one in direction.samples}) == len(idle)
    assert (idle, idle[0], idle[-1]) == (sorted(idle), min(ages) / 1000, max(ages) / 1000)
    assert all(one.idle_seconds == ages[one.client_port - FIRST] / 1000 for one in direction.samples)


def test_show_each_connection_at_the_server_the_client_and_the_middlebox() -> None:
    (sample,) = sampled([300_000], probes=2).samples
    last = facts.START - timedelta(seconds=300)
    assert sample.observed == {
        "client_port": FIRST,
        "server": {
            "state": "ESTABLISHED",
            "idle_seconds": 300.0,
            "last_received_at": last.isoformat().replace("+00:00", "Z"),
            "unanswered_probes": 2,
        },
        "client": {"host": "app1", "state": None},
        "boxes": [{"host": "fw", "state": None}],
    }


def test_name_the_state_of_a_client_that_retransmits_its_fin() -> None:
    left = at_client(1, first=40001, state=TcpState.FIN_WAIT_1, timer=Timer.RETRANSMIT, retransmits=3)
    direction = joined(table(at_server(2)), table([*at_client(1), *left], "app1"))
    (sample,) = direction.samples
    assert (sample.client_state, sample.idle_seconds, sample.last_received) == ("FIN_WAIT_1", None, None)
    assert sample.unanswered_probes is None


def test_of_no_ghost_there_is_no_sample() -> None:
    assert joined(table(at_server(2)), table(at_client(2), "app1")).samples == ()
