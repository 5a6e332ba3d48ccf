"""The storage of each server and the probes, in the report of `ldapdiag storage`."""

from __future__ import annotations

from typing import Literal, TypedDict

Role = Literal["database", "transaction log", "changelog", "access log", "errors log", "audit log"]


class AccessTimesRow(TypedDict):
    """Whether a read writes an access time."""

    again_seconds: float
    again_updated: int
    files: int
    first_updated: int
    without_seconds: float | None


class Latency(TypedDict):
    """Quantiles of a duration."""

    p10_seconds: float
    p50_seconds: float
    p90_seconds: float
    p99_seconds: float
    worst_seconds: float


class CommitTimes(TypedDict):
    """Records of one log; one sync covers all that wait."""

    commit: Latency
    """Records of one log; one sync covers all that wait."""
    commits: int
    committers: int
    seconds: float
    syncs: int


class FileTimes(TypedDict):
    """Small files."""

    count: int
    operation: Literal["create", "read", "unlink"]
    seconds: float


class SyncTimes(TypedDict):
    """The times of a sync and of the write before it."""

    block_bytes: int
    call: Literal["fsync", "fdatasync"]
    count: int
    sync: Latency
    """Of the sync alone."""
    write: Literal["append", "overwrite"]
    written: Latency
    """Of the write before it."""


class ProbeRow(TypedDict):
    """A measurement of a file system."""

    access_times: AccessTimesRow | None
    begun: str | None
    commits: list[CommitTimes]
    device: str
    directory: str
    ended: str | None
    files: list[FileTimes]
    fs_type: str
    host: str | None
    mount_point: str
    origin: str
    stopped_because: str
    """Empty: it was completed."""
    syncs: list[SyncTimes]
    written_bytes: int


class StorageSetting(TypedDict):
    """What a setting means for acknowledged changes."""

    backend: str | None
    """Null: all."""
    corrupts: bool
    """It may leave a damaged database."""
    effective: bool
    """False: without effect, because of `why`."""
    flushes_per_write: int | None
    is_default: bool
    loss: str | None
    setting: str
    survives_kill: bool
    tested: bool
    """Measured; false: by manual or source."""
    value: str | None
    why: str | None
    window: Literal["none", "the last ones", "seconds", "unbounded", "unknown"]
    """The changes that a power cut loses."""
    window_seconds: int | None


class UnknownFact(TypedDict):
    """What the evidence does not show, and the command that shows it."""

    how: str | None
    what: str


class UnplacedData(TypedDict):
    """Data whose volume is unknown."""

    path: str
    reason: str
    role: Role


class BeneathRow(TypedDict):
    """The file system of an image, or of the folder into which an overlay writes."""

    fs_type: str
    hidden_options: list[str]
    """Those of them that mount does not show: defaults in the superblock."""
    mount_point: str
    options: list[str]
    """In force, as far as known, in the words of mount."""
    source: str


class DataFile(TypedDict):
    """A file of the database."""

    allocated_bytes: int | None
    bytes: int | None
    compressed: bool
    extents: int | None
    """Null: unknown, because of `reason`."""
    path: str
    reason: str | None


class DataPath(TypedDict):
    """A place of the data of the server."""

    path: str
    role: Role


class Device(TypedDict):
    """A block device, from the file system down; null where it was not read."""

    backing_file: str | None
    bytes: int | None
    fua: bool | None
    mapper_name: str | None
    model: str | None
    name: str
    number: str | None
    """`8:1`."""
    rotational: bool | None
    scheduler: str | None
    type: str | None
    """As lsblk names it."""
    write_cache: str | None
    """`volatile assumed`: the kernel flushes the cache of a disk, `none`, or null: unknown."""


class VolumeRow(TypedDict):
    """A mounted file system that the server uses."""

    beneath: list[BeneathRow]
    disks: list[str]
    """The bottom."""
    disks_unknown: str | None
    """Why not all disks are known, or null."""
    durable: bool | None
    """False: a restart loses it or a sync writes nothing; null: unknown."""
    files: list[DataFile]
    """The 1,000 with the most extents."""
    files_known: int
    """Those of `files_read` whose extents are known."""
    files_read: int
    free_bytes: int | None
    fs_type: str
    hidden_options: list[str]
    """Those of them that mount does not show: defaults in the superblock."""
    in_memory: str | None
    """What of it is in memory, or null."""
    local: bool | None
    """False: mounted over a network."""
    mount_options: list[str]
    """As the mount table prints them."""
    mount_point: str
    options: list[str]
    """In force, as far as known, in the words of mount."""
    paths: list[DataPath]
    probe: str | None
    """The `origin` of the latest in `probes` of this host, or null."""
    roles: list[Role]
    source: str
    stack: list[Device]
    """From the file system down."""
    total_bytes: int | None
    used_bytes: int | None
    write_cache: str | None
    """`volatile assumed`: the kernel flushes the cache of a disk, `none`, or null: unknown."""


class StorageReport(TypedDict):
    """The storage of one server, in the report of ldapdiag storage."""

    flush_lost_by: str | None
    """The options because of which a flush of the database does not reach the disk; null: none is known."""
    host: str
    server: str
    settings: list[StorageSetting]
    unknown: list[UnknownFact]
    unplaced: list[UnplacedData]
    volumes: list[VolumeRow]
