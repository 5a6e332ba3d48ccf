"""Sampled connections: readings at any times become few intervals of equal length."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

import facts
from ldapdiag.analysis.load.readings import Reading, sampled_connections
from ldapdiag.evidence.log.timeline import MOST, STEPS


def at(seconds: float) -> datetime:
    return facts.START + timedelta(seconds=seconds)


@given(st.lists(st.tuples(st.floats(0, 10**8), st.integers(0, 10**6)), min_size=2, max_size=400))
def test_the_highest_reading_of_each_interval_is_kept(drawn: list[tuple[float, int]]) -> None:
    readings = [Reading(at(seconds), count, "source") for seconds, count in drawn]
    sampled = list(sampled_connections(readings))
    if len({one.time for one in readings}) == 1:
        assert sampled == []
        return
    (one,) = sampled
    assert len(one.values) <= MOST
    assert one.step in STEPS
    assert one.values[0] is not None
    assert one.values[-1] is not None
    highest: dict[int, int] = {}
    for reading in readings:
        place = int(reading.time.timestamp()) // one.step - one.first
        highest[place] = max(highest.get(place, 0), reading.open)
    assert {place: value for place, value in enumerate(one.values) if value is not None} == highest


def test_sources_are_apart() -> None:
    readings = [Reading(at(place), 10 * place, source) for place in (1, 2, 4) for source in ("b", "a")]
    first, second = sampled_connections(readings)
    assert (first.source, second.source) == ("a", "b")
    assert first.values == (10, 20, None, 40)
