"""Silences: found within an interval and at every scale, none where load pauses by itself."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import pytest

import examples
from ldapdiag.analysis.log.silences import shortest_of, silences_of
from ldapdiag.analysis.log.time_axis import TimeAxis
from ldapdiag.analysis.log.workload import Workload
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    from ldapdiag.analysis.log.silences import Silence
    from ldapdiag.evidence.log.segment import Segment

SECOND = 10**9
START = 1_795_132_800
"""2026-11-20 00:00:00 UTC."""
HOUR, DAY = 3600, 86_400
PAUSE = range(2 * HOUR + 100, 2 * HOUR + 280)


def silences(times: Iterable[float]) -> tuple[Silence, ...]:
    return Workload(scanned(times)).silences


def scanned(times: Iterable[float]) -> Segment:
    scan = Scan()
    for op, time in enumerate(times):
        now = START * SECOND + int(time * SECOND)
        scan.search(1, op, now, b"dc=x", 2, b"(uid=a)")
        scan.result(1, OperationResult(op, now, SEARCH, 0, 1000))
    return scan.finish()


def drawn(rate: float, begin: float, end: float) -> list[float]:
    """Return times that come by chance."""
    choose = examples.choices(f"{rate} {begin}")
    steps = (choose.expovariate(rate) for _ in range(int((end - begin) * rate * 2) + 100))
    return [time for time in accumulate(steps, initial=begin) if time < end]


def bursts(seed: int, mean: float, hours: int) -> list[float]:
    """Return the seconds of bursts of 20 s, after pauses that come by chance."""
    choose = examples.choices(f"bursts {seed} {mean}")
    begins = accumulate((20 + choose.expovariate(1 / mean) for _ in range(hours * HOUR // 20)), initial=0.0)
    return [begin + second for begin in begins for second in range(20) if begin + second < hours * HOUR]


def without(times: Iterable[float], *pauses: range) -> list[float]:
    return [time for time in times if not any(pause.start <= time < pause.stop for pause in pauses)]


@pytest.mark.parametrize(("hours", "slot"), examples.some([(3, 1), (12, 1), (36, 3)], 3))
def test_a_pause_of_three_minutes_is_found_within_an_interval(hours: int, slot: int) -> None:
    (found,) = silences(without(drawn(1, 0, hours * HOUR), PAUSE))

    begin, end = (time // SECOND - START for time in (found.begin, found.end))
    assert PAUSE.start - 5 - slot <= begin <= PAUSE.start + slot
    assert PAUSE.stop - slot <= end <= PAUSE.stop + 5 + slot
    assert begin % slot == end % slot == 0
    assert found.usual == pytest.approx(1, rel=0.1)


def test_several_are_found_the_longest_first() -> None:
    pauses = [range(HOUR, HOUR + 60), range(HOUR + 600, HOUR + 720), range(2 * HOUR, 2 * HOUR + 90)]
    found = silences(without(drawn(2, 0, 3 * HOUR), *pauses))
    assert [round(one.length / SECOND, -1) for one in found] == [120, 90, 60]


@pytest.mark.parametrize(
    "times",
    [
        drawn(3, 0, 4 * HOUR),
        drawn(0.01, 0, DAY),
        drawn(0.0005, 0, 30 * DAY),
        [minute * 60 + second for minute in range(600) for second in range(5)],
        [quarter * 900 + second for quarter in range(96) for second in range(120)],
        [day * DAY + 8 * HOUR + second for day in range(5) for second in range(0, 10 * HOUR, 20)],
        [0, 1, 2, 500],
        [0],
        [],
    ],
    ids=["busy", "quiet", "very quiet", "polled", "jobs", "office", "few", "one", "none"],
)
def test_what_pauses_by_itself_has_none(times: list[float]) -> None:
    assert silences(times) == ()


@pytest.mark.parametrize("mean", [20, 60])
def test_bursts_with_pauses_by_chance_have_none_but_one_far_beyond_them(mean: int) -> None:
    """An outage of 60 times the mean is named in four of five logs at least."""
    missed, seeds = [], examples.rounds(30)
    for seed in seeds:
        times = bursts(seed, mean, 4)
        assert silences(times) == (), seed
        found = silences(without(times, range(2 * HOUR, 2 * HOUR + 60 * mean)))
        missed += [] if [one for one in found if one.length // SECOND >= 60 * mean] else [seed]
    assert len(missed) <= len(seeds) / 5, missed


@pytest.mark.parametrize(
    "pause",
    [
        lambda draw: draw.lognormvariate(1, 1.5),
        lambda draw: draw.paretovariate(1.5),
        lambda draw: 20 * draw.paretovariate(2),
    ],
    ids=["lognormal", "Pareto", "long"],
)
@pytest.mark.parametrize("burst", examples.some([1, 20], 2))
def test_pauses_whose_tail_is_heavy_have_none(pause: Callable[[Random], float], burst: int) -> None:
    """Of 10 logs of four hours, one by chance at most; an exponential law finds them in every third."""
    found = 0
    for seed in range(10):
        draw = examples.choices(f"heavy {seed} {burst}")
        begins = accumulate((burst + pause(draw) for _ in range(4 * HOUR)), initial=0.0)
        seconds = (int(begin) + second for begin in begins for second in range(burst))
        found += bool(of_slots({START + second for second in seconds if second < 4 * HOUR}, 4))
    assert found <= 1


def of_slots(answered: set[int], hours: int) -> tuple[Silence, ...]:
    """Return the silences of a log with answers in these seconds."""
    timeline = Timeline()
    for second in sorted(answered):
        timeline.result(0, second)
    begin, end = (time * SECOND for time in (START, START + hours * HOUR))
    return silences_of(timeline, TimeAxis(step=1, first=0, intervals=(), open=(), begin=begin, end=end))


@pytest.mark.parametrize("rate", examples.some([0.5, 2], 2))
def test_several_within_an_hour_do_not_hide_each_other(rate: float) -> None:
    pauses = [range(2 * HOUR + 450 * place, 2 * HOUR + 450 * place + 180 + 10 * place) for place in range(8)]
    assert len(silences(without(drawn(rate, 0, 6 * HOUR), *pauses))) == 8


def test_several_of_different_lengths_do_not_hide_the_longest() -> None:
    """Outages of 20 to 320 s at 3 operations a second: none is of a length similar to all others."""
    pauses = [range(2 * HOUR + 900 * place, 2 * HOUR + 900 * place + (20 << place)) for place in range(5)]
    found = silences(without(drawn(3, 0, 5 * HOUR), *pauses))
    assert [round(one.length / SECOND, -1) for one in found][:3] == [320, 160, 80]


@pytest.mark.parametrize(("rate", "least"), [(0.02, 1000), (1, 20)])
def test_the_shortest_silence_that_is_noticed_follows_the_rate(rate: float, least: int) -> None:
    """One that is half as long is not found, one that is three times as long is."""
    times = drawn(rate, 0, 8 * HOUR)
    segment = scanned(times)
    axis = Workload(segment).time_axis
    assert axis is not None
    shortest = shortest_of(segment.timeline, axis) or 0
    assert least <= shortest <= 2 * least
    begin = 3 * HOUR
    for length in (shortest / 2, 3 * shortest):
        found = silences(without(times, range(begin, begin + int(length))))
        assert bool(found) == (length > shortest)


def test_a_quiet_night_does_not_hide_a_pause_by_day() -> None:
    day = [*drawn(0.05, 0, 8 * HOUR), *without(drawn(3, 8 * HOUR, 18 * HOUR), range(12 * HOUR, 12 * HOUR + 120))]
    (found,) = silences([*day, *drawn(0.05, 18 * HOUR, DAY)])
    assert found.begin // SECOND - START == pytest.approx(12 * HOUR, abs=6)
