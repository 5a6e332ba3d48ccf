"""For how long connections were idle and then used again, and which packets interrupt an idle time unseen."""

from __future__ import annotations

from typing import Any

import pytest

import facts
from facts import APP1, APP2, at_server, direction, table
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.idle.observed_bounds import survived_idle_times, without_probes

NO_TABLE = Host(host="ldap")


def lifetime(keepalive: int | None = None) -> Any:
    return facts.lifetime(keepalive=keepalive is not None, keepalive_seconds=keepalive)


def looks(before: int | None, after: int | None, *, apart: float = 10, **first: Any) -> Host:
    return facts.host(
        "ldap",
        table(at_server(1, last_received=before, **first), taken=0),
        table(at_server(1, last_received=after), taken=apart),
    )


def test_an_idle_time_followed_by_traffic_is_a_lower_bound() -> None:
    assert survived_idle_times(looks(24_000, 3_000), lifetime()) == {APP1: 24.0}


@pytest.mark.parametrize(("after", "survived"), [(9_999, True), (10_000, False)])
def test_traffic_is_shown_by_an_age_below_the_time_between(after: int, *, survived: bool) -> None:
    assert bool(survived_idle_times(looks(24_000, after), lifetime())) is survived


def test_an_idle_time_counts_up_to_the_keepalive_interval() -> None:
    assert survived_idle_times(looks(3_600_000, 3_000), lifetime(keepalive=300)) == {APP1: 300}
    assert survived_idle_times(looks(24_000, 3_000), lifetime(keepalive=300)) == {APP1: 24.0}


def test_the_longest_idle_time_of_a_client_counts() -> None:
    rows = [*at_server(1, last_received=24_000), *at_server(1, first=40001, last_received=8_000)]
    later = at_server(2, last_received=1_000)
    assert survived_idle_times(facts.host("ldap", table(rows, taken=0), table(later, taken=10)), lifetime()) == {
        APP1: 24.0
    }


def test_ages_or_times_that_are_missing_show_nothing() -> None:
    assert survived_idle_times(looks(None, None), lifetime()) == {}
    untimed = facts.host("ldap", table(at_server(1, last_received=24_000)))
    assert survived_idle_times(untimed, lifetime()) == {}
    assert survived_idle_times(NO_TABLE, lifetime()) == {}


def test_an_acknowledgement_of_the_client_ends_an_idle_time() -> None:
    """The server may send for hours to a client that asks nothing (a persistent search)."""
    assert survived_idle_times(looks(7_200_000, 3_000, last_acknowledged=4_000), lifetime()) == {APP1: 4.0}


def test_keepalive_probes_of_a_client_limit_it() -> None:
    survived = {APP1: 7200.0, APP2: 50.0}
    assert without_probes(survived, [direction(probed=60.0), direction(APP2)]) == {APP1: 60.0, APP2: 50.0}
