"""HostStorage: everything that the evidence shows of the file systems and disks of one host.

HostDevices: the block devices of a host, and the stack from a mounted device down to the disks.

/dev/mapper/vg-ldap  dm-0 (lvm)  ─>  md0 (raid1)  ─>  sda2, sdb2 (part)  ─>  sda, sdb (disk)

The mount that a path is on, and the mount below an overlay or a loop device.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ldapdiag.analysis.storage.options import EXT
from ldapdiag.evidence.storage import Mount
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ldapdiag.evidence.storage import (
        BlockDevice,
        BlockDevices,
        DirectorySize,
        EffectiveOptions,
        FileExtents,
        FileSystemSpace,
        KernelErrors,
        MountTable,
        Space,
        Superblock,
        ZfsProperties,
    )

Described = TypeVar("Described", "EffectiveOptions", "Superblock")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStorage:
    """The storage facts of one host."""

    host: str
    tables: tuple[MountTable, ...]
    """All of the host, those of its servers' processes included."""
    devices: HostDevices
    effective: tuple[EffectiveOptions, ...] = ()
    superblocks: tuple[Superblock, ...] = ()
    zfs: tuple[ZfsProperties, ...] = ()
    spaces: tuple[FileSystemSpace, ...] = ()
    extents: tuple[FileExtents, ...] = ()
    directories: tuple[DirectorySize, ...] = ()
    kernel: tuple[KernelErrors, ...] = ()

    @property
    def table(self) -> MountTable | None:
        """Return the host's own mount table; without one in the evidence, that of a server."""
        return best_table(table for table in self.tables if not table.origin.server) or best_table(self.tables)

    def effective_of(self, mount: Mount, device: BlockDevice | None) -> EffectiveOptions | None:
        """Return the options in force of a mount's file system."""
        return self._described(self.effective, mount, device)

    def superblock_of(self, mount: Mount, device: BlockDevice | None) -> Superblock | None:
        """Return the superblock of a mount's file system."""
        return self._described(self.superblocks, mount, device)

    def space_of(self, mount: Mount) -> Space | None:
        """Return the latest space of a mounted file system, with its latest inodes.

        Of folders with different quotas of projects, df has different rows: of one listing the row with the least free
        counts.
        """
        facts = sorted(self.spaces, key=lambda one: one.origin.order)
        rows = [
            replace(row, taken=fact.origin.taken.end if fact.origin.taken else None, folders=len(amounts) or 1)
            for fact in facts
            for own in [[row for row in fact.rows if row.mount_point == mount.mount_point]]
            for amounts in [{(row.total_bytes, row.free_bytes) for row in own if row.total_bytes is not None}]
            for row in sorted(own, key=_free, reverse=True)
        ]
        if not rows:
            return None
        of_inodes_alone = [row.total_inodes is not None and row.total_bytes is None for row in rows]
        space = next((row for row, alone in zip(rows[::-1], of_inodes_alone[::-1], strict=True) if not alone), rows[-1])
        inodes = next((row for row in reversed(rows) if row.total_inodes is not None), rows[-1])
        return replace(space, total_inodes=inodes.total_inodes, free_inodes=inodes.free_inodes)

    def properties_of(self, mount: Mount) -> Mapping[str, str]:
        """Return the properties of a ZFS dataset."""
        known = [fact.datasets[mount.source] for fact in self.zfs if mount.source in fact.datasets]
        return known[-1] if known and mount.fs_type == "zfs" else {}

    def _described(self, facts: Sequence[Described], mount: Mount, device: BlockDevice | None) -> Described | None:
        """Return the latest fact about a file system, by the names of its device.

        One without a device is about the only ext file system of the host, if there is one, or about none.
        """
        if mount.fs_type not in EXT:
            return None
        named = _names(mount, device)
        own = [fact for fact in facts if fact.device.removeprefix("/dev/").removeprefix("mapper/") in named]
        if not own and all(not fact.device for fact in facts) and self._is_only_ext(mount):
            own = list(facts)
        return max(own, key=lambda fact: fact.origin.order, default=None)

    def _is_only_ext(self, mount: Mount) -> bool:
        """Return whether every ext file system in the tables of the host is this one; df alone shows too little."""
        return bool(self.tables) and all(
            row.source == mount.source or (row.device != "" and row.device == mount.device)
            for table in self.tables
            for row in table.mounts
            if row.fs_type in EXT
        )


def best_table(tables: Iterable[MountTable]) -> MountTable | None:
    """Return the table that shows most: the whole one, with device numbers, the latest of equals."""
    return max(
        tables,
        key=lambda one: (one.complete, any(row.device for row in one.mounts), one.shows_atime, one.origin.order),
        default=None,
    )


def mounts_of_space(spaces: Iterable[FileSystemSpace]) -> tuple[Mount, ...]:
    """Return the mounts that df lists, without any option: they show types only."""
    rows = (row for fact in spaces for row in fact.rows if row.fs_type and row.mount_point)
    return tuple(Mount(mount_point=row.mount_point, source=row.source, fs_type=row.fs_type) for row in rows)


def _names(mount: Mount, device: BlockDevice | None) -> set[str]:
    """Return the names under which files describe a mount's device. dm-N has the minor number N (drivers/md/dm.c)."""
    named = {mount.source.removeprefix("/dev/").removeprefix("mapper/")}
    if mount.source.startswith("/dev/mapper/") and mount.device:
        named.add(f"dm-{mount.device.partition(':')[2]}")
    return named | ({device.name, device.mapper_name} if device else set()) - {""}


MOST_DEVICES = 200
"""In one stack; a longer one is cut, and its disks are unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceStack:
    """The devices below one file system, top to bottom."""

    devices: tuple[BlockDevice, ...] = ()
    missing: tuple[str, ...] = ()
    """Devices that another one lies on, and that are not in the evidence."""

    @property
    def bottom(self) -> tuple[BlockDevice, ...]:
        """Return the devices that lie on no other: disks, and what is not on a disk."""
        return tuple(device for device in self.devices if not device.parents)


class HostDevices:
    """The block devices of one host, from all listings of them."""

    def __init__(self, listings: Iterable[BlockDevices]) -> None:
        self._by_name: dict[str, BlockDevice] = {}
        self._by_number: dict[str, str] = {}
        for listing in sorted(listings, key=lambda one: one.origin.order):
            for device in listing.devices:
                name = self._by_number.get(device.number, device.name) if device.number else device.name
                former = self._by_name.get(name)
                self._by_name[name] = _merged(former, device) if former else device
                if device.number:
                    self._by_number.setdefault(device.number, name)

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def device_of(self, mount: Mount) -> BlockDevice | None:
        """Return the device of a mount: by its number, else by its source; None: not in the evidence.

        The number 0:N of btrfs, overlay, NFS and tmpfs is no device's.
        """
        if mount.device in self._by_number:
            return self._by_name[self._by_number[mount.device]]
        if not mount.source.startswith("/dev/"):
            return None
        return self.named(mount.source) or next(
            (one for one in self._by_name.values() if mount.mount_point in one.mount_points), None
        )

    def named(self, text: str) -> BlockDevice | None:
        """Return the device of a name or a path: sda1, /dev/sda1, /dev/mapper/vg-ldap; None: not in the evidence."""
        name = text.removeprefix("/dev/").removeprefix("mapper/")
        if name in self._by_name:
            return self._by_name[name]
        return next((one for one in self._by_name.values() if one.mapper_name and one.mapper_name == name), None)

    def stack_of(self, top: BlockDevice) -> DeviceStack:
        """Return the devices from one down to those that lie on no other."""
        stack: dict[str, BlockDevice] = {top.name: top}
        missing: list[str] = []
        for device in (queue := [top]):
            for name in device.parents:
                below = self.named(name)
                if below is None or len(stack) >= MOST_DEVICES:
                    missing.append(name)
                elif below.name not in stack:
                    stack[below.name] = below
                    queue.append(below)
        return DeviceStack(devices=tuple(stack.values()), missing=tuple(dict.fromkeys(missing)))


def _merged(one: BlockDevice, other: BlockDevice) -> BlockDevice:
    """Return what two listings show of one device; what both show is the later one's."""
    values: Mapping[str, Any] = {
        name.name: later if (later := getattr(other, name.name)) not in {None, "", ()} else getattr(one, name.name)
        for name in fields(one)
        if name.name != "name"
    }
    return type(one)(name=one.name, **values)


def mount_of(path: str, mounts: Iterable[Mount]) -> Mount | None:
    """Return the mount that contains an absolute path; None if no row does.

    It is the one with the longest mount point; of several on one mount point the last, which hides the others. The
    order of other rows shows nothing: the root of a booted host is often listed after /sys.
    """
    found: Mount | None = None
    for mount in mounts:
        longer = found is None or len(_point(mount)) >= len(_point(found))
        if longer and is_below(path, mount.mount_point):
            found = mount
    return found


def is_below(path: str, folder: str) -> bool:
    """Return whether an absolute path is a folder, or in it, by whole components."""
    folder = folder.rstrip("/")
    return path.startswith("/") and (path == folder or path.startswith(f"{folder}/"))


def upper_folder(mount: Mount) -> str:
    """Return the folder into which an overlay writes, as its host names it; empty if the row has none."""
    words = (*mount.super_options, *mount.options)
    return next((word.partition("=")[2] for word in words if word.startswith("upperdir=")), "")


def _point(mount: Mount) -> str:
    return mount.mount_point.rstrip("/")


def _free(row: Space) -> int:
    """Return what is free in a row, of bytes or of inodes."""
    return (row.free_bytes if row.total_bytes is not None else row.free_inodes) or 0
