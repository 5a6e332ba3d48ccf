"""StorageProbe: what `ldapdiag storage --probe` measured in one directory, on the file system that contains it.

The sync alone is what a commit waits for; writing into the page cache takes microseconds and is kept apart. An append
makes the file system write its journal too, which an overwrite with fdatasync does not: servers that preallocate their
transaction log (389-ds with bdb) are to be compared with the overwrite.
"""

from __future__ import annotations

from enum import StrEnum
from math import ceil
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

FASTEST_DISK = 0.0001
"""Seconds. A sync below it is one of memory, of a cache that answers first, or one that reaches no disk at all."""
MOST_MEASURED = 5_000
"""Commits per second above which the program that measures (one interpreter, many threads) limits them."""
MOST_COMMITTERS = 40
"""With 80, it commits 0.73 to 0.89 times as much as a program in C."""


def is_lower_bound(committers: int, commits: float, seconds: float) -> bool:
    """Return whether the program that measures limits such a rate, more than the disk does."""
    return committers > MOST_COMMITTERS or commits > MOST_MEASURED * seconds


class WriteKind(StrEnum):
    """Where a block is written."""

    APPEND = "append"
    """At the end of the file, which grows."""
    OVERWRITE = "overwrite"
    """Within a file that was written and synced before."""


class SyncCall(StrEnum):
    """What makes it durable."""

    FSYNC = "fsync"
    FDATASYNC = "fdatasync"


class FileOperation(StrEnum):
    """What was done with many small files."""

    CREATE = "create"
    READ = "read"
    UNLINK = "unlink"


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Percentiles of durations, in seconds; each is one of the durations (nearest rank)."""

    p10_seconds: float
    p50_seconds: float
    p90_seconds: float
    p99_seconds: float
    worst_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncLatency:
    """Blocks that were written and synced one after the other."""

    write: WriteKind
    call: SyncCall
    block_bytes: int
    count: int
    sync: Latency
    """Of the sync alone."""
    written: Latency
    """Of the write before it."""

    @property
    def name(self) -> str:
        """Return what was measured, as in `append 4 KiB, fdatasync`."""
        return f"{self.write} {self.block_bytes // 1024} KiB, {self.call}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCommit:
    """Committers that append records to one log, where one sync covers all records that are waiting."""

    committers: int
    commits: int
    syncs: int
    seconds: float
    commit: Latency
    """From the append of a record until a sync covered it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRate:
    """Small files of one folder, one after the other; nothing of it is synced."""

    operation: FileOperation
    count: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessTimes:
    """Reads of new files in the page cache, and the access times that they changed."""

    files: int
    first_updated: int
    """Access times that the first pass over the files changed."""
    again_updated: int
    """Those that the second pass changed."""
    again_seconds: float
    """The median of the passes after the first."""
    without_seconds: float | None
    """The same with O_NOATIME, which changes none; None: the system refused it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageProbe:
    """What was measured in a directory; what was not reached, or is not possible there, is absent."""

    kind: ClassVar[str] = "storage-probe"
    how: ClassVar[str] = "ldapdiag storage --probe DIRECTORY, a directory on the volume of the database"

    origin: Origin
    """Taken from the first measurement to the last."""
    directory: str
    """Absolute."""
    mount_point: str
    """Of the file system that contains it; empty: unknown."""
    fs_type: str
    """As the mount table prints it; empty: unknown."""
    device: str
    """The device number of the directory, `8:1`."""
    written_bytes: int
    syncs: tuple[SyncLatency, ...]
    commits: tuple[GroupCommit, ...]
    files: tuple[FileRate, ...]
    access_times: AccessTimes | None
    stopped_because: str
    """Why it ended before its last measurement; empty: it did not."""

    def latency(self, write: WriteKind, call: SyncCall, block_bytes: int = 4096) -> SyncLatency | None:
        """Return one measurement; None if it was not made."""
        wanted = (write, call, block_bytes)
        return next((sync for sync in self.syncs if (sync.write, sync.call, sync.block_bytes) == wanted), None)


def latency_of(seconds: Sequence[float]) -> Latency:
    """Return the percentiles of at least one duration, in whole nanoseconds."""
    ordered = sorted(round(second, 9) for second in seconds)
    p10, p50, p90, p99 = (ordered[ceil(share * len(ordered) / 100) - 1] for share in (10, 50, 90, 99))
    return Latency(p10_seconds=p10, p50_seconds=p50, p90_seconds=p90, p99_seconds=p99, worst_seconds=ordered[-1])
