"""Measuring: two ways to do a thing, interleaved, the best time of each."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = f"{'what':46} {'ours':>10} {'theirs':>10} {'ratio':>7} {'goal':>7}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line: our figure, the figure that it is compared with, and the goal as a ratio of both, if there is one."""

    what: str
    ours: float
    theirs: float
    goal: float | None = None
    unit: str = "s"
    digits: int = 3

    @property
    def ratio(self) -> float:
        """Return ours as a multiple of theirs."""
        return self.ours / self.theirs

    def __str__(self) -> str:
        ours, theirs = (f"{value:.{self.digits}f} {self.unit}" for value in (self.ours, self.theirs))
        line = f"{self.what:46} {ours:>10} {theirs:>10} {_times(self.ratio)}"
        if self.goal is None:
            return line
        return f"{line} {_times(self.goal)}  {'met' if self.ratio <= self.goal else 'NOT MET'}"


def _times(ratio: float) -> str:
    """Return a ratio; a small one as a fraction, as in 1/500x."""
    return f"{f'{ratio:.2f}' if ratio >= 0.1 else f'1/{1 / ratio:.0f}':>6}x"


def best(ours: Callable[[], object], theirs: Callable[[], object], *, repetitions: int) -> tuple[float, float]:
    """Return the best time of each, in seconds; they take turns, so that a busy machine is busy for both."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repetitions):
        for function, spent in zip((ours, theirs), times, strict=True):
            gc.collect()
            started = perf_counter()
            function()
            spent.append(perf_counter() - started)
    return min(times[0]), min(times[1])


def peak_memory() -> int:
    """Return the peak memory of this process, in KiB; getrusage may report that of its parent."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
