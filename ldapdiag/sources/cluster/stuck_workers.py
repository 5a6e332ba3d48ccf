"""Stuck workers: which workers of a cluster are given up, by the client's own clock; Dask has none for a task.

Its scheduler gives up a worker that it has not heard from for 5 to 10 minutes, and never one whose task does not end.
What is given up too early costs time, never a count: a task has one result, from any worker.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import NamedTuple, dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

LOOKS_EVERY = 2.0
SILENT_WITHIN = 30.0
"""Seconds without a heartbeat, which another thread of a worker sends at least every 4 s, however slow its task is."""
ALL_SILENT = 4
"""Multiple of it where no worker is heard from: it may be the network, or a machine that is too busy."""
STANDSTILL = 15.0
"""Seconds between two looks after which silence counts anew; more than a look at a busy scheduler takes."""
TIMES = 10
"""Multiple of the time that others need for as much."""
AT_LEAST = 60.0
UNKNOWN = 600.0
"""Seconds that a task may take as long as none of its kind has ended."""
LONGER = 4
"""Multiple for each worker that has lost the task: a slow task ends, and one that hangs everywhere is a gap."""
RESTARTS_WITHIN = 10.0
"""Seconds in which the nanny of a stuck worker starts it again; after that, the scheduler forgets it."""
SMALL = 8 << 20
"""Bytes that take as long as what each task does besides."""


class WorkerState(NamedTuple):
    """What a scheduler knows of a worker."""

    heard: float
    """When it was heard from, by the clock of the scheduler."""
    is_shared: bool
    """It works for others, or keeps results of theirs: it is left to the scheduler."""
    running: dict[str, tuple[float, int]]
    """Seconds that our tasks run, as it has reported, and how many workers have lost them before; by their keys."""


def states(prefix: str, dask_scheduler: Any) -> dict[str, WorkerState]:  # noqa: ANN401  runs in the scheduler, which gives it
    """Return what the scheduler, in whose process this is called, knows of each worker; `prefix` is in our keys."""
    return {
        address: WorkerState(
            worker.last_seen,
            any(prefix not in str(task.key) for tasks in (worker.processing, worker.has_what) for task in tasks),
            {str(task.key): (taken, task.suspicious) for task, taken in worker.executing.items() if prefix in task.key},
        )
        for address, worker in dask_scheduler.workers.items()
    }


async def give_up(workers: list[str], dask_scheduler: Any) -> None:  # noqa: ANN401  as above
    """Let nannies start workers again; a worker without one, or whose nanny does not, is forgotten."""
    options = {"timeout": RESTARTS_WITHIN, "wait_for_workers": False, "on_error": "return"}
    await dask_scheduler.restart_workers(workers, stimulus_id="ldapdiag-stuck-worker", **options)


@dataclass(slots=True)
class _Pace:
    """What the tasks of one kind have taken, at most."""

    seconds: float = 0.0
    bytes: int = 0


@dataclass(slots=True)
class TaskClock:
    """Times our tasks by what a scheduler says every LOOKS_EVERY seconds, and names the workers that are stuck."""

    _begun: dict[str, tuple[str, int, float]] = field(default_factory=dict)
    """Kind, size, and when it was submitted, of the tasks that have not ended; by their keys."""
    _taken: dict[str, float] = field(default_factory=dict)
    """Seconds that tasks had run at the last look."""
    _paces: defaultdict[str, _Pace] = field(default_factory=lambda: defaultdict(_Pace))
    _heard: dict[str, tuple[float, float]] = field(default_factory=dict)
    """What the scheduler said of each worker, and since when it says so, by our clock."""
    _looked: float = 0.0

    def begin(self, key: str, kind: str, size: int, now: float) -> None:
        """Count a task as submitted; `size` are bytes."""
        self._begun[key] = kind, size + SMALL, now

    def end(self, key: str, now: float) -> None:
        """Count a task as ended. It took at most what it had taken at the last look, and the time since then."""
        kind, size, submitted = self._begun.pop(key)
        pace = self._paces[kind]
        pace.seconds += min(now - submitted, self._taken.pop(key, 0.0) + max(0.0, now - self._looked) + LOOKS_EVERY)
        pace.bytes += size

    def stuck(self, workers: Mapping[str, WorkerState], now: float) -> list[str]:
        """Return the workers to give up, after a look at all of them."""
        if now - self._looked > STANDSTILL:  # this process stood still, or the scheduler did
            self._heard.clear()
        self._looked = now
        known = self._heard
        self._heard = {
            name: known[name] if known.get(name, (0.0,))[0] == one.heard else (one.heard, now)
            for name, one in workers.items()
        }
        self._taken = {key: taken for one in workers.values() for key, (taken, _) in one.running.items()}
        latest = max((since for _, since in self._heard.values()), default=now)
        silent_within = SILENT_WITHIN * (ALL_SILENT if now - latest > 3 * LOOKS_EVERY else 1)
        return [
            name
            for name, one in workers.items()
            if not one.is_shared and (now - self._heard[name][1] > silent_within or self._hangs(one))
        ]

    def _hangs(self, worker: WorkerState) -> bool:
        return any(taken > self._limit(key) * LONGER**lost for key, (taken, lost) in worker.running.items())

    def _limit(self, key: str) -> float:
        """Return the seconds that a task may run on a worker."""
        kind, size, _ = self._begun.get(key, ("", 0, 0.0))
        pace = self._paces[kind]
        return max(AT_LEAST, TIMES * size * pace.seconds / pace.bytes) if pace.bytes else UNKNOWN
