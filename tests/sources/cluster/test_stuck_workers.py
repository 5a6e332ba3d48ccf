"""The client's clock: which workers are given up, by looks at a scheduler that a test makes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from ldapdiag.sources.cluster.stuck_workers import AT_LEAST, LOOKS_EVERY, SILENT_WITHIN, UNKNOWN, TaskClock, WorkerState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GIB = 1 << 30


def looks(
    seconds: float, of: Callable[[float], dict[str, WorkerState]], clock: TaskClock
) -> Iterator[tuple[float, str]]:
    """Yield when which worker is given up, as a client looks for so many seconds."""
    for look in range(1, int(seconds / LOOKS_EVERY) + 1):
        at = look * LOOKS_EVERY
        for name in clock.stuck(of(at), at):
            yield at, name


def alive(at: float, running: float = 0.0, lost: int = 0, *, is_shared: bool = False) -> WorkerState:
    return WorkerState(at, is_shared, {"slow": (running, lost)} if running else {})


def test_a_worker_that_is_silent_is_given_up_while_others_are_heard_from() -> None:
    found = list(looks(60, lambda at: {"one": alive(at), "frozen": alive(5.0)}, TaskClock()))
    first, name = found[0]
    assert name == "frozen"
    assert SILENT_WITHIN < first < SILENT_WITHIN + 3 * LOOKS_EVERY
    assert {name for _, name in found} == {"frozen"}


def test_where_all_are_silent_none_is_given_up_for_two_minutes() -> None:
    assert not list(looks(4 * SILENT_WITHIN, lambda _: {"one": alive(1.0), "two": alive(2.0)}, TaskClock()))
    assert list(looks(5 * SILENT_WITHIN, lambda _: {"one": alive(1.0), "two": alive(2.0)}, TaskClock()))


def test_a_client_that_stood_still_does_not_take_others_for_silent() -> None:
    clock = TaskClock()
    for at in (2.0, 4.0, 3_600.0, 3_602.0):
        assert clock.stuck({"one": alive(at), "two": alive(1.0 + (at > 3_600) * at)}, at) == []


def test_slow_looks_find_a_silent_worker_too() -> None:
    clock, found = TaskClock(), []
    for look in range(1, 12):
        at = 5.0 * look
        found += [at] * bool(clock.stuck({"one": alive(at), "frozen": alive(1.0)}, at))
    assert found[0] <= SILENT_WITHIN + 10.0


def test_what_works_for_others_is_left_to_the_scheduler() -> None:
    def shared(at: float) -> dict[str, WorkerState]:
        return {"one": alive(at), "silent": alive(1.0, is_shared=True), "slow": alive(at, at, is_shared=True)}

    assert not list(looks(2 * UNKNOWN, shared, TaskClock()))


CLOSELY = 1.02
"""A limit is found within so much of it."""


def hung(clock: TaskClock, lost: int = 0) -> float:
    """Return after how many seconds a task of a GiB is taken for hung, whose worker is heard from."""
    at = LOOKS_EVERY
    clock.begin("slow", "scan", GIB, 0.0)
    while not clock.stuck({"one": alive(at, at, lost)}, at):
        at *= CLOSELY
    return at


def test_the_first_task_has_ten_minutes() -> None:
    assert UNKNOWN < hung(TaskClock()) <= UNKNOWN * CLOSELY


@pytest.mark.parametrize("seed", range(20))
def test_a_task_has_ten_times_what_others_have_taken_and_never_less(seed: int) -> None:
    draw, clock = random.Random(seed), TaskClock()  # noqa: S311  nothing secret
    speed = draw.choice([1e4, 1e6, 1e7, 1e8, 1e9])
    sizes = [draw.randrange(GIB) for _ in range(draw.randrange(1, 9))]
    at = 0.0
    for number, size in enumerate(sizes):
        clock.begin(f"{number}", "scan", size, at)
        taken = size / speed
        clock.stuck({"one": WorkerState(at + taken, False, {f"{number}": (taken, 0)})}, at + taken)
        at += taken + draw.random() * LOOKS_EVERY
        clock.end(f"{number}", at)
    true = GIB / speed
    besides = len(sizes) * 2 * LOOKS_EVERY * GIB / (sum(sizes) + 1)
    assert max(AT_LEAST, 5 * true) <= hung(clock) <= CLOSELY * max(AT_LEAST, 10 * (true + besides) * 1.1)


def test_a_task_that_workers_have_lost_has_longer() -> None:
    def limits() -> Iterator[float]:
        for lost in (0, 1, 2):
            clock = TaskClock()
            clock.begin("done", "scan", GIB, 0.0)
            clock.end("done", 1.0)
            yield hung(clock, lost)

    one, two, three = limits()
    assert AT_LEAST < one < two < three


def test_another_kind_of_task_has_another_speed() -> None:
    clock = TaskClock()
    clock.begin("done", "fold", 0, 0.0)
    clock.end("done", 0.1)
    assert hung(clock) > UNKNOWN
