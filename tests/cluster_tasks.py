"""Functions that tests send to the workers of a cluster."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Worker


def total(*numbers: int) -> int:
    return sum(numbers)


def fails() -> int:
    raise ValueError("broken")


class UnpicklableError(Exception):
    """An error as libraries have them: it cannot be made again from its arguments."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


def fails_oddly() -> int:
    raise UnpicklableError("one", "another")


def kills_its_worker() -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def after_a_while(number: int, seconds: float = 0.3) -> int:
    time.sleep(seconds)
    return number


def hangs_once(mark: str) -> int:
    """Return the process, but hang in the one that is given this first; its worker is heard from meanwhile."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return os.getpid()
    time.sleep(3_600)
    return 0


def pretends_to_draw() -> None:
    """Let a scheduler seem to have what draws its dashboard."""
    for name in ("bokeh", "distributed.dashboard.scheduler"):
        sys.modules[name] = ModuleType(name)


def process() -> int:
    return os.getpid()


def begun(dask_worker: Worker) -> bool:
    """Return whether the worker in which this is called works on a task, or has done one; Dask gives the worker."""
    return bool(dask_worker.state.executing or dask_worker.data)
