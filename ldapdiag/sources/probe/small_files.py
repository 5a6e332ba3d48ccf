"""Small files in one folder: created, read, unlinked; and which reads change access times here, at which price."""

from __future__ import annotations

import os
from contextlib import suppress
from statistics import median
from time import perf_counter, sleep
from typing import TYPE_CHECKING

from ldapdiag.evidence.storage.probe import AccessTimes, FileOperation, FileRate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.sources.probe.limits import Allowance
    from ldapdiag.sources.probe.scratch import Scratch

CONTENT = b"s" * 1024
PASSES = 3
"""With and without access times, in turns."""
CLOCK_TICK = 0.02
"""Seconds. The clock of the file system advances at most every 10 ms: passes that are closer change nothing."""
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def small_files(scratch: Scratch, allowance: Allowance) -> tuple[FileRate | AccessTimes, ...]:
    """Return the rates and the access times: what was complete before the probe had to end."""
    names: list[str] = []
    begun = perf_counter()
    _create(scratch, allowance, names)
    created = perf_counter() - begun
    if not names:
        return ()
    results: list[FileRate | AccessTimes] = [_rate(FileOperation.CREATE, names, created)]
    results += _access_times(scratch.folder, names, allowance)
    begun = perf_counter()
    for name in names:
        if not allowance.permits():
            return tuple(results)  # the others are removed with the folder
        os.unlink(name, dir_fd=scratch.folder)
    return *results, _rate(FileOperation.UNLINK, names, perf_counter() - begun)


def _rate(operation: FileOperation, names: Sequence[str], seconds: float) -> FileRate:
    return FileRate(operation=operation, count=len(names), seconds=seconds)


def _create(scratch: Scratch, allowance: Allowance, names: list[str]) -> None:
    """Create files, and add each name before its file exists."""
    until = perf_counter() + 2 * allowance.limits.step_seconds
    for place in range(allowance.limits.small_files):
        if not allowance.permits(len(CONTENT)) or (names and perf_counter() >= until):
            return
        name = f"file-{place:05}"
        descriptor = os.open(name, scratch.creating | os.O_WRONLY, 0o600, dir_fd=scratch.folder)
        names.append(name)
        try:
            os.write(descriptor, CONTENT)
        finally:
            os.close(descriptor)


def _access_times(folder: int, names: Sequence[str], allowance: Allowance) -> Iterator[FileRate | AccessTimes]:
    """Yield the rate of the first pass, and the access times after the last."""
    first, first_updated = _updates(folder, names, allowance)
    if not allowance.permits():
        return
    yield _rate(FileOperation.READ, names, first)
    seconds, again_updated = _updates(folder, names, allowance)
    again, without = [seconds], list[float]()
    for _ in range(PASSES):
        again.append(_pass(folder, names, READ, allowance))
        with suppress(PermissionError):  # files of another owner, by a mapping of accounts as in NFS
            without.append(_pass(folder, names, READ | os.O_NOATIME, allowance))
    if not allowance.permits():
        return
    yield AccessTimes(
        files=len(names),
        first_updated=first_updated,
        again_updated=again_updated,
        again_seconds=median(again),
        without_seconds=median(without) if without else None,
    )


def _updates(folder: int, names: Sequence[str], allowance: Allowance) -> tuple[float, int]:
    """Return the seconds of a pass, and how many access times it changed."""
    before = _times(folder, names)
    sleep(CLOCK_TICK)
    seconds = _pass(folder, names, READ, allowance)
    return seconds, sum(old != new for old, new in zip(before, _times(folder, names), strict=True))


def _times(folder: int, names: Sequence[str]) -> list[int]:
    return [os.stat(name, dir_fd=folder, follow_symlinks=False).st_atime_ns for name in names]


def _pass(folder: int, names: Sequence[str], flags: int, allowance: Allowance) -> float:
    """Read every file; return the seconds, of a part of them if the probe has to end."""
    begun = perf_counter()
    for name in names:
        if not allowance.permits():
            break
        descriptor = os.open(name, flags, dir_fd=folder)
        try:
            os.read(descriptor, len(CONTENT))
        finally:
            os.close(descriptor)
    return perf_counter() - begun
