"""A source keeps its last answer, says when that is old and why, and asks less often where answers are slow."""

from __future__ import annotations

import time
from threading import Event

import pytest

from ldapdiag.errors import LdapdiagError
from ldapdiag.live_view.source import MOST_DOUBLINGS, TimedSource


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("error", [LdapdiagError("no answer in 10 s"), ValueError("anything at all")])
def test_a_failure_keeps_the_answer_and_makes_it_old(error: Exception) -> None:
    clock, answers = Clock(), [error, 7]
    source = TimedSource("counters", lambda: _said(answers.pop()), lambda: 2.0, clock=clock)
    assert (source.age(), source.is_old) == (None, True)
    source.ask_once()
    clock.now += 1
    assert (source.state.value, source.age(), source.is_old) == (7, 1.0, False)
    source.ask_once()
    assert (source.state.value, source.age(), source.is_old) == (7, 1.0, True)
    assert str(error) in source.state.error


def _said(answer: object) -> object:
    if isinstance(answer, Exception):
        raise answer
    return answer


@pytest.mark.parametrize(("interval", "seconds"), [(2.0, 5.5), (None, 121.5)])  # None: asked by a key
def test_an_answer_that_does_not_come_grows_old_without_an_error(interval: float | None, seconds: float) -> None:
    clock = Clock()
    source = TimedSource("counters", lambda: 1, lambda: interval, clock=clock)
    source.ask_once()
    clock.now += seconds
    assert not source.is_old
    clock.now += 1
    assert (source.is_old, source.state.error) == (True, "")


def test_slow_answers_double_the_interval_and_quick_ones_take_that_back() -> None:
    clock, took = Clock(), 0.0

    def ask() -> int:
        clock.now += took
        return 1

    source = TimedSource("list", ask, lambda: 10.0, clock=clock)
    took = 1.5
    source.ask_once()
    assert source.interval == 20.0
    source.ask_once()
    assert source.interval == 20.0  # 1.5 s is no tenth of 20 s
    took = 1e6
    for _ in range(10):
        source.ask_once()
    assert source.interval == 10.0 * 2**MOST_DOUBLINGS
    took = 0.0
    for _ in range(10):
        source.ask_once()
    assert source.interval == 10.0


def test_the_thread_ends_when_told_and_asks_at_once_when_woken() -> None:
    stop, asked = Event(), []
    source = TimedSource("list", lambda: asked.append(1), lambda: None)
    thread = source.start(stop)
    deadline = time.monotonic() + 10
    while len(asked) < 1 and time.monotonic() < deadline:
        time.sleep(0.005)
    source.wake.set()
    while len(asked) < 2 and time.monotonic() < deadline:
        time.sleep(0.005)
    stop.set()
    thread.join(5)
    assert (len(asked), thread.is_alive()) == (2, False)


def test_an_answer_grows_old_while_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A laptop is opened again: time.monotonic() has stood still, the counters of yesterday have not."""
    asleep, clock_gettime = 0.0, time.clock_gettime
    monkeypatch.setattr(
        time, "clock_gettime", lambda clock: clock_gettime(clock) + asleep * (clock == time.CLOCK_BOOTTIME)
    )
    source = TimedSource("counters", lambda: 7, lambda: 2.0)
    source.ask_once()
    assert not source.is_old
    asleep = 8 * 3600.0
    assert source.is_old
