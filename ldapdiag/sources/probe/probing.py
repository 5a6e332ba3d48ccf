"""Run a storage probe: every measurement in turn, on one volume, until a limit or Ctrl-C ends it."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from functools import partial
from itertools import product
from threading import Event
from typing import TYPE_CHECKING

from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.origin import Origin, Span
from ldapdiag.evidence.storage.probe import (
    AccessTimes,
    FileRate,
    GroupCommit,
    StorageProbe,
    SyncCall,
    SyncLatency,
    WriteKind,
)
from ldapdiag.sources.probe.group_commit import group_commit
from ldapdiag.sources.probe.limits import Allowance, ProbeLimits, free_space, low_space
from ldapdiag.sources.probe.mounted import mounted_on
from ldapdiag.sources.probe.scratch import open_directory, scratch_folder
from ldapdiag.sources.probe.small_files import small_files
from ldapdiag.sources.probe.sync_latency import sync_latency
from ldapdiag.sources.progress import NO_PROGRESS
from ldapdiag.wording import bound, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

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
    if sys.platform != "linux":
        raise LdapdiagError(f"cannot probe {directory}: the probe needs Linux")
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
