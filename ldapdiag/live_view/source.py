"""A source of a live view: something that is asked again and again in a thread of its own, with the latest answer.

The screen never waits for a source: it reads the state, which has the time of the answer, and why a later one failed.
An answer that takes over a tenth of the interval doubles it, and a quick one takes that back.
"""

from __future__ import annotations

import time
from dataclasses import replace
from threading import Event, Thread
from typing import TYPE_CHECKING, Generic, TypeVar

from ldapdiag.errors import LdapdiagError
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

SHARE = 0.1
"""Of the interval, that an answer may take."""
MOST_DOUBLINGS = 5
TICK_SECONDS = 0.2
BY_KEY_SECONDS = 60.0
"""The interval by which the age of an answer is judged that is asked for by a key alone."""
GRACE = 1.5
"""Seconds beyond two intervals after which an answer is old."""


def running_seconds() -> float:
    """Return a time that only grows, also while the machine sleeps: what was read before it slept is old."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(frozen=True, slots=True)
class State(Generic[T]):
    """What a source has said. Times are those of `running_seconds`."""

    value: T | None = None
    at: float = 0.0
    """When the value came."""
    error: str = ""
    """Why there is no newer value; empty: the last attempt succeeded, or is under way."""
    asked: float = 0.0
    """When it was asked for."""
    doublings: int = 0
    """Of the interval, because the answers take long."""


class TimedSource(Generic[T]):
    """Something that is asked by a timer."""

    def __init__(
        self,
        name: str,
        ask: Callable[[], T],
        interval: Callable[[], float | None],
        *,
        took: Callable[[T], float] | None = None,
        share: float = SHARE,
        clock: Callable[[], float] = running_seconds,
    ) -> None:
        """`interval` returns None to wait until the source is woken; `took` how long the answer took, if it knows."""
        self.name = name
        self.state: State[T] = State()
        """Replaced as a whole, so that no lock is needed."""
        self.wake = Event()
        self._ask = ask
        self._interval = interval
        self._took = took
        self._share = share
        self._clock = clock

    @property
    def interval(self) -> float | None:
        """Return the seconds between two questions; None: it is asked by a key alone."""
        seconds = self._interval()
        return None if seconds is None else seconds * 2**self.state.doublings

    def age(self) -> float | None:
        """Return the age of the answer in seconds; None: there is none."""
        return None if self.state.value is None else self._clock() - self.state.at

    @property
    def is_old(self) -> bool:
        """Return whether the answer may no longer be true: it is overdue (by a key: two minutes), or failed."""
        age, interval = self.age(), self.interval
        if age is None or self.state.error:
            return True
        return age > 2 * (BY_KEY_SECONDS if interval is None else interval) + GRACE

    def ask_once(self) -> None:
        """Ask, and keep the answer; a failure keeps the last one, which grows old."""
        began = self._clock()
        try:
            value = self._ask()
        except LdapdiagError as error:
            self.state = replace(self.state, error=str(error))
        except Exception as error:  # noqa: BLE001  whatever it is, the screen stays, and the next attempt may succeed
            self.state = replace(self.state, error=f"bug in ldapdiag ({type(error).__name__}: {error})")
        else:
            now = self._clock()
            self.state = State(value, now, "", began, self._doublings(value, now - began))

    def _doublings(self, value: T, seconds: float) -> int:
        took = seconds if self._took is None else self._took(value)
        base, before = self._interval(), self.state.doublings
        if base is None:
            return before
        if took > self._share * base * 2**before:
            return min(before + 1, MOST_DOUBLINGS)
        return before - 1 if before and took < self._share * base * 2**before / 4 else before

    def run(self, stop: Event) -> None:
        """Ask until `stop` is set."""
        while not stop.is_set():
            self.wake.clear()
            self.ask_once()
            began = self._clock()
            while not stop.is_set() and not self.wake.wait(TICK_SECONDS):
                if (interval := self.interval) is not None and self._clock() - began >= interval:
                    break

    def start(self, stop: Event) -> Thread:
        """Return the thread that asks."""
        thread = Thread(target=self.run, args=(stop,), name=self.name, daemon=True)
        thread.start()
        return thread
