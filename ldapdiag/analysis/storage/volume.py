"""Volume: one mounted file system that a directory server keeps its data on, down to the disks.

The kernel's messages about the devices of a volume.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.storage.options import MEMORY, NETWORK, Options
from ldapdiag.evidence.storage import Mounted
from ldapdiag.evidence.storage.settings import LASTING
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.storage import (
        BlockDevice,
        DeviceError,
        DirectorySize,
        FileExtents,
        KernelErrors,
        Space,
        Superblock,
    )
    from ldapdiag.evidence.storage.settings import Role

WRITE_BACK, WRITE_THROUGH = "write back", "write through"
"""Values of queue/write_cache: the kernel sends flushes, or none (Documentation/block/writeback_cache_control)."""
IN_MEMORY = ("zram", "ram")
"""Names of block devices in memory begin so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """One mounted file system that a server uses, as far as the evidence shows it."""

    host: str
    mount_point: str
    source: str
    fs_type: str
    """As mounted: ext2, ext3, ext4, xfs, btrfs, zfs, tmpfs, overlay, nfs4 …"""
    paths: tuple[tuple[Role, str], ...]
    """What the server keeps there."""
    options: Options
    device: str = ""
    """Its number, as in "8:1"; empty: unknown."""
    stack: tuple[BlockDevice, ...] = ()
    """Top to bottom; below a loop device follow the devices under its file."""
    devices: tuple[BlockDevice, ...] = ()
    """The bottom: the disks."""
    disk_unknown: str = ""
    """Why not all disks below are known; empty: they are."""
    beneath: tuple[Volume, ...] = ()
    """The file systems below it: that of a loop device's file, or of an overlay's upper folder."""
    in_memory: str = ""
    """What is in memory below it, so that nothing survives a restart: `tmpfs`, `zram0`; empty: nothing known."""
    space: Space | None = None
    extents: tuple[FileExtents, ...] = ()
    """Of the server's files there."""
    directories: tuple[DirectorySize, ...] = ()
    superblock: Superblock | None = None
    errors: tuple[DeviceError, ...] = ()
    """What the kernel reported about its devices."""
    earlier_errors: tuple[DeviceError, ...] = ()
    """What it reported about a device of the same name before the last mount: of this file system or another."""
    in_container: bool = False
    """Its mount point is a path within a container, not one of the host."""
    limits: tuple[str, ...] = ()
    """What the evidence does not show of it, as sentences."""
    origins: tuple[str, ...] = ()

    @property
    def roles(self) -> tuple[Role, ...]:
        """Return what the server keeps there, without repetition."""
        return tuple(dict.fromkeys(role for role, _ in self.paths))

    @property
    def lasting_paths(self) -> tuple[tuple[Role, str], ...]:
        """Return the parts of the server's data there; its logs are none."""
        return tuple((role, path) for role, path in self.paths if role in LASTING)

    @property
    def contents(self) -> str:
        """Return what of the server's data is there, else of its files: `database and transaction log`."""
        return in_words([role for role, _ in self.lasting_paths or self.paths])

    @property
    def disk_known(self) -> bool:
        """Return whether all disks below it are known."""
        return not self.disk_unknown

    @property
    def write_cache(self) -> str | None:
        """Return `volatile assumed` if the kernel flushes the cache of a disk, `none` if of none; None: unknown."""
        caches = {device.write_cache for device in self.devices}
        if WRITE_BACK in caches:
            return "volatile assumed"
        return "none" if caches == {WRITE_THROUGH} and self.disk_known else None

    @property
    def durable(self) -> bool | None:
        """Return False where the data is in memory, or a sync writes nothing; None: the evidence does not show it."""
        if self.in_memory or self.options.volatile:
            return False
        return True if self.disk_known and self.devices else None

    @property
    def local(self) -> bool:
        """Return whether it is not mounted over a network."""
        return self.fs_type not in NETWORK

    @property
    def name(self) -> str:
        """Return what it is in a few words: `/srv (ext4 on /dev/sda1)`."""
        source = f" on {self.source}" if self.source.startswith("/") or not self.local else ""
        return f"{self.mount_point} ({self.fs_type}{source})"


def in_words(roles: Iterable[Role]) -> str:
    """Return parts of a server's data in words, each once: `database, transaction log and changelog`."""
    names = [str(role) for role in dict.fromkeys(roles)]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def memory_name(fs_type: str, device: BlockDevice | None = None) -> str:
    """Return the name of what is in memory: a file system or a block device; empty if neither is."""
    if fs_type in MEMORY:
        return fs_type
    if device is not None and (device.type in IN_MEMORY or device.name.rstrip("0123456789") in IN_MEMORY):
        return device.name
    return ""


PARTITION = pattern(r"((?:sd|vd|xvd|hd)[a-z]{1,3})\d{1,3}|((?:nvme\d+n|mmcblk|md|loop|nbd)\d+)p\d{1,3}", re.ASCII)
"""A partition, with the disk that its name begins with (Documentation/admin-guide/devices.txt of Linux)."""

NAMESPACE = pattern(r"(nvme\d+)n\d+", re.ASCII)
"""A disk of an NVMe controller, which messages name, too."""


REUSED = pattern(r"(?:loop|nbd|zram|ram)\d", re.ASCII)
"""Names of devices that are set up while the host runs: the next one gets the name of an earlier one."""
MAPPED = "dm-"


def with_errors(volume: Volume, kernel: KernelErrors | None) -> Volume:
    """Return a volume with the errors that the kernel reported about one of its devices."""
    if kernel is None:
        return volume
    names = device_names(volume)
    own = [error for error in kernel.errors if error.device in names]
    return replace(
        volume,
        errors=tuple(error for error in own if _concerns(error)),
        earlier_errors=tuple(error for error in own if not _concerns(error)),
    )


def _concerns(error: DeviceError) -> bool:
    """Return whether an error concerns what is mounted now, as far as known.

    What failed before the last mount may have been another file system. A disk is the same one all the time.
    """
    if error.mounted in {Mounted.SINCE, Mounted.SAME_BEFORE, Mounted.UNKNOWN}:
        return True
    return not (error.of_file_system or has_reused_name(error) or error.device.startswith(MAPPED))


def has_reused_name(error: DeviceError) -> bool:
    """Return whether the device may have the name of an earlier one."""
    return REUSED.match(error.device) is not None


def device_names(volume: Volume) -> frozenset[str]:
    """Return the names that messages have for the devices of a volume, its disks included as far as they are known."""
    names = {name for device in volume.stack for name in (device.name, device.mapper_name)}
    if volume.source.startswith("/dev/"):
        names.add(volume.source.removeprefix("/dev/").removeprefix("mapper/"))
    for below in volume.beneath:
        names |= device_names(below)
    names |= {found[1] or found[2] for name in names if (found := PARTITION.fullmatch(name))}
    names |= {found[1] for name in names if (found := NAMESPACE.fullmatch(name))}
    return frozenset(names) - {""}
