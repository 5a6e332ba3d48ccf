"""What the checks of storage observed."""

from __future__ import annotations

from typing import Literal, TypedDict

Weakness = Literal[
    "in-memory",
    "overlay-volatile",
    "no-barriers",
    "flushes-stopped",
    "sync-disabled",
    "no-journal",
    "async-commit",
    "writeback-journal",
]


class AccessTimeUpdates(TypedDict):
    """`access-time-updates`: volumes on which each read writes an access time.

    Per volume.
    """

    file_system: str | None
    mount_point: str | None
    roles: list[Literal["database", "transaction log", "changelog", "access log", "errors log", "audit log"]] | None
    server: str | None


class CommitBoundWrites(TypedDict):
    """`commit-bound-writes`: writes that spend their time waiting for the disk's sync.

    Per server.
    """

    busiest_share: float | None
    """Of the fullest minute, in which a write was applied."""
    busiest_time: str | None
    flushes_per_write: list[int] | None
    """By the settings; empty: not known."""
    looks: int | None
    """At the threads; null: not sampled."""
    looks_in_sync: int | None
    looks_running: int | None
    """Of these."""
    p10_seconds: float | None
    p50_seconds: float | None
    p90_seconds: float | None
    """Of one write, without its waits for a worker thread and for the writes before it."""
    searches_p95_seconds: float | None
    server: str | None
    shown_by: list[Literal["probe", "threads"]] | None
    """Empty: possible, not proven."""
    sync_seconds: float | None
    """Median of the probe: overwrite of 4 KiB with fdatasync; null: no probe of the volume."""
    writes: int | None
    """Successful ones with a time."""


class FragmentedFile(TypedDict):
    """One of the 5 files with the most extents per MiB."""

    extents: int | None
    mebibytes: float | None
    """Allocated, of files of 1 MiB or more."""
    path: str | None


class FragmentedDatabase(TypedDict):
    """`fragmented-database`: database files in many pieces.

    Per volume.
    """

    extents: int | None
    file_system: str | None
    files: list[FragmentedFile] | None
    """The 5 with the most extents per MiB."""
    mebibytes: float | None
    """Allocated, of files of 1 MiB or more."""
    mount_point: str | None
    per_mebibyte: float | None
    rotational: bool | None
    """As the disks state it; null: unknown."""
    server: str | None


class IoErrors(TypedDict):
    """`io-errors`: errors of the disks under a directory server.

    Per volume.
    """

    devices: list[str] | None
    """With errors; else the disks."""
    errors: int | None
    """Messages of the kernel."""
    host: str | None
    kinds: list[str] | None
    last: str | None
    """Null: the messages have no zone."""
    mount_point: str | None
    read_only: bool | None
    samples: list[str] | None
    """The last 5."""
    server: str | None
    superblock_errors: int | None


class SameVolume(TypedDict):
    """`same-volume`: database, transaction log and changelog on the same disk.

    Per group of volumes.
    """

    changes_per_second: float | None
    """In the access log."""
    devices: list[str] | None
    """The common disks; empty: unknown."""
    mount_points: list[str] | None
    roles: list[Literal["database", "transaction log", "changelog", "access log", "errors log", "audit log"]] | None
    server: str | None


class UnsafeWrites(TypedDict):
    """`unsafe-writes`: acknowledged changes that a power cut loses.

    Per server: of each database by its settings, of each volume with its data.
    """

    backend: str | None
    """Empty: all."""
    changes_per_second: float | None
    """In the access log; null: no log of 10 s."""
    file_system: str | None
    hidden: list[str] | None
    """Options in force that mount does not show."""
    loss: str | None
    """Of a volume `everything|unflushed|seconds|structure|none-synced|none-without-cache`, of a setting `the last
    ones|seconds|unbounded`.
    """
    may_damage: bool | None
    """The database."""
    mount_point: str | None
    server: str | None
    server_started: str | None
    setting: str | None
    value: str | None
    weaknesses: list[Weakness] | None
    """The worst first."""
    window_seconds: int | None
    """Null: nothing bounds it."""


class UnsuitedFilesystem(TypedDict):
    """`unsuited-filesystem`: databases on file systems that are not made for them.

    Per volume with the server's data.
    """

    directory: str | None
    file_system: str | None
    mount_point: str | None
    names: int | None
    """Of the most crowded; null unless that is the problem."""
    problem: Literal["network", "memory", "overlay", "no-directory-index"] | None
    roles: list[Literal["database", "transaction log", "changelog", "access log", "errors log", "audit log"]] | None
    server: str | None
    source: str | None


class VolumeFull(TypedDict):
    """`volume-full`: volumes of a server without space or inodes left, or nearly.

    Per volume.
    """

    file_system: str | None
    free_bytes: int | None
    """For accounts without privileges."""
    free_inodes: int | None
    """Null: not in the evidence."""
    free_percent: float | None
    """Of the space or of the inodes, whichever is short; of both the scarcer one."""
    hours_left: float | None
    """Until it is full, the median."""
    hours_left_earliest: float | None
    hours_left_latest: float | None
    """Null: possibly never, or not judged."""
    mount_point: str | None
    rate_per_hour: float | None
    """Bytes that are added, by recorded runs; null: not judged."""
    rate_per_hour_high: float | None
    rate_per_hour_low: float | None
    read_only: bool | None
    reserved_bytes: int | None
    """Neither used nor free: for root."""
    roles: list[Literal["database", "transaction log", "changelog", "access log", "errors log", "audit log"]] | None
    server: str | None
    total_bytes: int | None
    total_inodes: int | None
    """0: not limited."""
