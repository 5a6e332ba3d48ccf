"""HostStorage: everything that the evidence shows of the file systems and disks of one host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ldapdiag.analysis.storage.options import EXT
from ldapdiag.evidence.storage import Mount

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ldapdiag.analysis.storage.device_stack import HostDevices
    from ldapdiag.evidence.storage import (
        BlockDevice,
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
        return best_table(one for one in self.tables if not one.origin.server) or best_table(self.tables)

    def effective_of(self, mount: Mount, device: BlockDevice | None) -> EffectiveOptions | None:
        """Return the options in force of a mount's file system."""
        return self._described(self.effective, mount, device)

    def superblock_of(self, mount: Mount, device: BlockDevice | None) -> Superblock | None:
        """Return the superblock of a mount's file system."""
        return self._described(self.superblocks, mount, device)

    def space_of(self, mount: Mount) -> Space | None:
        """Return the latest space of a mounted file system."""
        rows = [row for fact in sorted(self.spaces, key=lambda one: one.origin.order) for row in fact.rows]
        return next((row for row in reversed(rows) if row.mount_point == mount.mount_point), None)

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
