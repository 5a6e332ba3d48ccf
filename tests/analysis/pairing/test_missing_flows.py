"""A box that has no flow of a connection proves it dead, if the connection was there when the box was asked."""

from __future__ import annotations

from typing import Any

import pytest

import facts
from facts import at_client, at_server, listening, row_of_another_service, table
from ldapdiag.analysis.pairing.pairing import pair
from ldapdiag.analysis.pairing.proof import proof_of
from ldapdiag.evidence.sockets import TcpState, Timer

FORWARDS = facts.KernelSettings(origin=facts.origin("app1"), values={"net.ipv4.ip_forward": "1"})
LIVING, HIDDEN = 10, 50


def direction(age_ms: int | None, *boxes: Any, ages_of_living: int = 500) -> Any:
    """Return ten living connections, and fifty of a container that nobody may read, seen by the server after 4 s."""
    ages: dict[str, Any] = {} if age_ms is None else {"last_received": age_ms}
    living: dict[str, Any] = {} if age_ms is None else {"last_received": ages_of_living}
    seen = [listening(), *at_server(LIVING, **living), *at_server(HIDDEN, first=50000, **ages)]
    server = facts.host("ldap", table(seen, columns=("receive_queue", *ages), taken=4))
    looks = [
        table([*at_client(LIVING), *row_of_another_service()], "app1", taken=taken, shows_time_wait=True)
        for taken in (3.9, 4.1)
    ]
    app1 = facts.host("app1", *looks, description=facts.description(), kernel=FORWARDS)
    return next(iter(pair(facts.server(), (server, app1), boxes).directions))


def box(*, carries: int = LIVING, taken: float | None = 0.2, first: int = 0) -> Any:
    return facts.flows(at_server(LIVING)[first : first + carries], taken=taken)


def test_of_what_was_opened_after_it_was_asked_a_box_says_nothing() -> None:
    found = direction(2_000, box())
    assert found.ghosts.count == 0
    assert sum(found.ghosts.unproven.values()) == HIDDEN


def test_what_was_there_before_and_that_it_lacks_is_dead() -> None:
    found = direction(60_000, box())
    assert (found.ghosts.count, found.evidence.without_flow, proof_of(found).degree) == (HIDDEN, HIDDEN, "certain")


@pytest.mark.parametrize(("carries", "ghosts"), [(1, 0), (4, 0), (5, HIDDEN)])
def test_a_box_that_lacks_most_of_the_living_was_cut(carries: int, ghosts: int) -> None:
    assert direction(60_000, box(carries=carries)).ghosts.count == ghosts


def test_a_box_that_was_asked_later_speaks_of_what_rests_longer_than_living_ones() -> None:
    assert direction(60_000, box(taken=5)).ghosts.count == HIDDEN
    assert direction(60_000, box(taken=5), ages_of_living=40_000).ghosts.count == 0


def test_of_several_tellings_the_last_before_the_server_counts() -> None:
    assert direction(2_000, box(), box(taken=3.95)).ghosts.count == HIDDEN


def test_without_times_a_box_is_believed() -> None:
    assert direction(60_000, box(taken=None)).ghosts.count == HIDDEN


class TestClosingBefore:
    def test_a_client_that_retransmitted_its_end_had_done_with_it(self) -> None:
        """Its leftover is there at the first look, and gone at the second."""
        left = at_client(3, first=50000, state=TcpState.FIN_WAIT_1, timer=Timer.RETRANSMIT, retransmits=2)
        seen = [listening(), *at_server(2, last_received=100), *at_server(3, first=50000, last_received=5_000)]
        server = facts.host("ldap", table(seen, columns=("receive_queue", "last_received"), taken=4))
        early = table([*at_client(2), *left], "app1", taken=3.5)
        late = table([*at_client(2), *row_of_another_service()], "app1", taken=4.1)
        found = next(iter(pair(facts.server(), (server, facts.host("app1", early, late)), ()).directions))
        assert (found.ghosts.count, found.matched) == (3, 2)
