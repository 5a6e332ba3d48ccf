"""A command and all its processes, measured: seconds on the clock, seconds of processors, and memory."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PR_SET_CHILD_SUBREAPER = 36
"""linux/prctl.h: orphans of our children become our children, so that their processor time is reported to us."""

MOMENT = 0.1
"""Seconds between two samples of the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a command took."""

    seconds: float
    cpu: float
    """Seconds of processors, of all its processes."""
    memory: int
    """Bytes at the peak, of all its processes; what they share is counted once."""
    out: bytes


def run(command: Sequence[str], given: Iterable[bytes] | None = None, also: Mapping[str, str] | None = None) -> Run:
    """Run a command, with what is `given` as its standard input; CalledProcessError if it fails.

    `also`: variables added to its environment. It is a process group of its own, so that other children do not count.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    over, peak = Event(), [0]
    started, cpu = perf_counter(), 0.0
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment() | dict(also or {}),
        process_group=0,
    )
    watching = Thread(target=_watch, args=(child.pid, over, peak))
    feeding = Thread(target=_feed, args=(child, given))
    watching.start()
    feeding.start()
    try:
        out = child.stdout.read()
    except BaseException:
        os.killpg(child.pid, signal.SIGTERM)  # Ctrl-C reaches our group alone
        raise
    feeding.join()
    over.set()
    watching.join()
    code = 0
    with suppress(ChildProcessError):
        while True:
            pid, status, usage = os.wait4(-child.pid, 0)
            cpu += usage.ru_utime + usage.ru_stime
            if pid == child.pid:
                code = child.returncode = os.waitstatus_to_exitcode(status)
                seconds = perf_counter() - started
    if code:
        raise subprocess.CalledProcessError(code, command)
    return Run(seconds=seconds, cpu=cpu, memory=peak[0], out=out)


def environment() -> dict[str, str]:
    """Return our environment for a command that may keep its compiled modules, as an installed one does.

    With PYTHONDONTWRITEBYTECODE and an editable installation each start compiles all of them: twice the time.
    """
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _feed(child: subprocess.Popen[bytes], given: Iterable[bytes] | None) -> None:
    if child.stdin is not None:
        with suppress(BrokenPipeError), child.stdin:
            for data in given or ():
                child.stdin.write(data)


def _watch(pid: int, over: Event, peak: list[int]) -> None:
    while not over.wait(MOMENT):
        peak[0] = max(peak[0], sum(map(_memory, _with_children(pid))))


def _with_children(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        with suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (task / "children").read_text(encoding="ascii").split())
    return found


def _memory(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
