"""Run a storage probe: every measurement in turn, on one volume, until a limit or Ctrl-C ends it.

The mount that an open directory is on: proc_pid_fdinfo(5), proc_pid_mountinfo(5).

The time of one sync: blocks that are appended or overwritten, one after the other, write and sync timed apart.

Group commit: committers append records to one log, and the sync of one covers all records that were appended before.

The threads of one Python program take turns, so it measures at most some 10,000 commits per second.

Small files in one folder: created, read, unlinked; and which reads change access times here, at which price.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from threading import Condition, Event, Thread
from time import perf_counter, sleep
from typing import TYPE_CHECKING

from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.origin import Origin, Span
from ldapdiag.evidence.storage.probe import (
    AccessTimes,
    FileOperation,
    FileRate,
    GroupCommit,
    StorageProbe,
    SyncCall,
    SyncLatency,
    WriteKind,
    latency_of,
)
from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.probe.limits import Allowance, ProbeLimits, free_space, low_space
from ldapdiag.sources.probe.scratch import open_directory, scratch_folder
from ldapdiag.sources.progress import NO_PROGRESS
from ldapdiag.wording import bound, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ldapdiag.sources.probe.scratch import Scratch
    from ldapdiag.sources.progress import Progress

BLOCKS = (4096, 16384)


Measurement = SyncLatency | GroupCommit | FileRate | AccessTimes


def risk(limits: ProbeLimits) -> str:
    """Return what a probe does to a server that runs on the volume, as a sentence to print before it begins."""
    return (
        f"The probe writes at most {limits.bytes >> 20:,} MiB in at most {bound(limits.seconds)} and removes all of "
        "it. Each of its syncs also flushes what other programs have written to the volume: a server that runs there "
        "answers writes more slowly meanwhile."
    )


def run_probe(
    directory: Path, limits: ProbeLimits | None = None, progress: Progress = NO_PROGRESS, stop: Event | None = None
) -> StorageProbe:
    """Return what was measured in a directory; LdapdiagError, and nothing written, where it cannot be probed.

    `stop`: set, it ends the probe after the sync in progress. What is complete then, or when a limit is reached or a
    write fails, is in the probe, with the reason.
    """
    limits = limits or ProbeLimits()
    directory = directory.absolute()
    with open_directory(directory) as parent:
        directory = directory.resolve()
        if reason := low_space(free_space(parent), limits):
            raise LdapdiagError(f"cannot probe {directory}: {reason}; a full volume stops the server that uses it")
        mount = mounted_on(parent)
        allowance, measured = Allowance(limits, stop or Event()), list[Measurement]()
        begun = datetime.now(UTC)
        with scratch_folder(parent, directory) as scratch:
            for name, step in _steps(scratch, allowance):
                progress.measuring(name)
                allowance.check_space(scratch.folder)
                if not _measure(name, step, allowance, measured):
                    break
            ended = datetime.now(UTC)
    return StorageProbe(
        origin=Origin(path=f"probe of {directory}", asked="storage --probe", taken=Span(start=begun, end=ended)),
        directory=str(directory),
        mount_point=mount.mount_point,
        fs_type=mount.fs_type,
        device=mount.device,
        written_bytes=allowance.written,
        syncs=tuple(one for one in measured if isinstance(one, SyncLatency)),
        commits=tuple(one for one in measured if isinstance(one, GroupCommit)),
        files=tuple(one for one in measured if isinstance(one, FileRate)),
        access_times=next((one for one in measured if isinstance(one, AccessTimes)), None),
        stopped_because=allowance.ended,
    )


def _steps(scratch: Scratch, allowance: Allowance) -> Iterator[tuple[str, Callable[[], Iterable[Measurement]]]]:
    """Yield the name of each measurement, and how to make it."""
    for write, block, call in product(WriteKind, BLOCKS, SyncCall):
        name = f"{write} {block // 1024} KiB, {call}"
        yield name, partial(sync_latency, scratch, allowance, write, call, block)
    for committers in allowance.limits.committers:
        yield f"commits of {counted(committers, 'committer')}", partial(group_commit, scratch, allowance, committers)
    yield "small files", partial(small_files, scratch, allowance)


def _measure(
    name: str, step: Callable[[], Iterable[Measurement]], allowance: Allowance, measured: list[Measurement]
) -> bool:
    """Add what one step measures; return whether the next one may begin. A failure is the reason why it may not."""
    if not allowance.permits():
        return False
    try:
        measured.extend(step())
    except (OSError, RuntimeError) as error:  # RuntimeError: no more threads
        allowance.end(f"{name} failed: {getattr(error, 'strerror', None) or error}")
    return allowance.permits()


MOUNT = pattern(r"(?m)^mnt_id:\s*(\d+)$")
OCTAL = pattern(r"\\([0-7]{3})")


class MountedOn(NamedTuple):
    """A mount; empty texts where the kernel gives none."""

    mount_point: str
    fs_type: str
    device: str


def mounted_on(descriptor: int) -> MountedOn:
    """Return the mount of an open directory."""
    device = os.fstat(descriptor).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    with suppress(OSError, IndexError, ValueError):
        own = MOUNT.search(Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii"))
        with Path("/proc/self/mountinfo").open(encoding="utf-8", errors="backslashreplace") as rows:
            for row in rows:
                fields = row.split(" ")
                if own and fields[0] == own[1]:
                    fs_type = fields[fields.index("-") + 1]
                    return MountedOn(OCTAL.sub(lambda found: chr(int(found[1], 8)), fields[4]), fs_type, number)
    return MountedOn("", "", number)


PREPARED = 1 << 22
"""Bytes of the file that is overwritten, written and synced before; then from its beginning again."""
SYNCS = {SyncCall.FSYNC: os.fsync, SyncCall.FDATASYNC: os.fdatasync}


def sync_latency(
    scratch: Scratch, allowance: Allowance, write: WriteKind, call: SyncCall, block_bytes: int
) -> tuple[SyncLatency, ...]:
    """Return one latency, measured within the time of one measurement; none if not one block was permitted."""
    sync, block, limits = SYNCS[call], os.urandom(block_bytes), allowance.limits
    writes: list[float] = []
    syncs: list[float] = []
    with scratch.file() as descriptor:
        room = 0
        if write is WriteKind.OVERWRITE:
            room = _prepare(descriptor, block, limits.blocks, allowance)
        place, until = 0, perf_counter() + limits.step_seconds
        while len(syncs) < limits.blocks and allowance.permits(block_bytes):
            begun = perf_counter()
            if begun >= until and syncs:
                break
            os.pwrite(descriptor, block, place)
            written = perf_counter()
            sync(descriptor)
            synced = perf_counter()
            writes.append(written - begun)
            syncs.append(synced - written)
            place = (place + block_bytes) % room if room else place + block_bytes
    if not syncs:
        return ()
    sync_times, write_times = latency_of(syncs), latency_of(writes)
    return (
        SyncLatency(
            write=write, call=call, block_bytes=block_bytes, count=len(syncs), sync=sync_times, written=write_times
        ),
    )


def _prepare(descriptor: int, block: bytes, blocks: int, allowance: Allowance) -> int:
    """Write and sync the file that is to be overwritten; return its size."""
    size = min(PREPARED // len(block), blocks) * len(block)
    for place in range(0, size, len(block)):
        if not allowance.permits(len(block)):
            return place or len(block)
        os.pwrite(descriptor, block, place)
    os.fsync(descriptor)
    return size


RECORD = b"r" * 512


class CommitLog:
    """A log of records; `commit` returns when the record is durable."""

    def __init__(self, descriptor: int, allowance: Allowance, until: float) -> None:
        self.syncs = 0
        self.seconds: list[float] = []
        """One per commit."""
        self.failure: OSError | None = None
        self._descriptor, self._allowance, self._until = descriptor, allowance, until
        self._changed = Condition()
        self._appended = self._durable = 0
        self._syncing = False

    def run(self) -> None:
        """Commit until the time is over."""
        try:
            while perf_counter() < self._until and not self.failure and self._allowance.permits(len(RECORD)):
                begun = perf_counter()
                self.commit()
                self.seconds.append(perf_counter() - begun)
        except OSError as error:
            self.failure = error

    def commit(self) -> None:
        """Append a record; wait for the sync that covers it, or make it, with all records that wait."""
        with self._changed:
            os.pwrite(self._descriptor, RECORD, self._appended * len(RECORD))
            self._appended += 1
            mine = self._appended
            while self._syncing and self._durable < mine:
                self._changed.wait()
            if self.failure:
                raise self.failure  # a sync that failed once may succeed the next time, without the data
            if self._durable >= mine:
                return
            self._syncing, covered = True, self._appended
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            self.failure = error
        with self._changed:
            self._syncing = False
            if not self.failure:
                self._durable = covered
                self.syncs += 1
            self._changed.notify_all()
        if self.failure:
            raise self.failure


def group_commit(scratch: Scratch, allowance: Allowance, committers: int) -> tuple[GroupCommit, ...]:
    """Return the rate of so many committers; none if not one record was permitted. OSError where a write fails."""
    with scratch.file() as file:
        descriptor = os.dup(file)
        begun = perf_counter()
        log = CommitLog(descriptor, allowance, begun + allowance.limits.step_seconds)
        threads = [Thread(target=log.run, daemon=True) for _ in range(committers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = perf_counter() - begun
        os.close(descriptor)  # not after an exception: threads that still run never write to another file of its number
    if log.failure:
        raise log.failure
    if not log.seconds:
        return ()
    times, commits = latency_of(log.seconds), len(log.seconds)
    return (GroupCommit(committers=committers, commits=commits, syncs=log.syncs, seconds=seconds, commit=times),)


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
