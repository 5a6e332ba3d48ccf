"""Facts about the storage of the server `ldap`, built in memory: a database of 389-ds on ext4, LVM and two disks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import facts
from ldapdiag.analysis.storage.server_storage import ServerStorage, server_storage
from ldapdiag.evidence.storage import (
    BlockDevice,
    BlockDevices,
    DirectorySize,
    EffectiveOptions,
    FileExtents,
    FileSystemSpace,
    KernelErrors,
    Mount,
    MountTable,
    Space,
    Superblock,
    ZfsProperties,
)
from ldapdiag.evidence.storage.settings import Role, StoragePlace, StorageSettings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.servers.volumes.storage_rules import Durability

DATABASE, LOGS = "/var/lib/dirsrv/slapd-ds/db", "/var/log/dirsrv/slapd-ds"
ROOT = Mount(
    mount_point="/", source="/dev/sda1", fs_type="xfs", options=("rw", "relatime"), super_options=("rw",), device="8:1"
)
SDA, SDB = (
    BlockDevice(name=name, number=number, type="disk", write_cache="write back")
    for name, number in (("sda", "8:0"), ("sdb", "8:16"))
)
DISKS = (
    SDA,
    BlockDevice(name="sda1", number="8:1", type="part", parents=("sda",)),
    SDB,
    BlockDevice(
        name="dm-0",
        number="254:0",
        type="lvm",
        parents=("sda1", "sdb"),
        write_cache="write back",
        mapper_name="vg-ldap",
    ),
)
IN_FORCE = ("rw", "delalloc", "barrier", "commit=5", "data=ordered")
"""What /proc/fs/ext4 lists of an ext4 with its defaults, shortened."""


def mount(fs_type: str = "ext4", *super_options: str, options: str = "rw,relatime", **traits: Any) -> Mount:
    """Return the mount of the database: an LVM volume unless said otherwise."""
    known = {"mount_point": "/var/lib/dirsrv", "source": "/dev/mapper/vg-ldap", "device": "254:0", "root": "/"}
    return Mount(
        fs_type=fs_type, options=tuple(options.split(",")), super_options=("rw", *super_options), **known | traits
    )


def table(*mounts: Mount, name: str = "mountinfo.txt", **traits: Any) -> MountTable:
    """Return the mounts of the host, its root the first."""
    known = {"complete": True, "shows_atime": True} | traits
    return MountTable(origin=facts.origin(name=name), mounts=(ROOT, *mounts), **known)


def devices(*others: BlockDevice, among: Iterable[BlockDevice] = DISKS) -> BlockDevices:
    """Return the block devices of the host; one of the same name takes the place of another."""
    by_name = {one.name: one for one in (*among, *others)}
    return BlockDevices(origin=facts.origin(name="block-devices.txt"), devices=tuple(by_name.values()))


def in_force(*changed: str, device: str = "dm-0") -> EffectiveOptions:
    """Return all options in force of the ext4; `nobarrier` and `data=writeback` take the place of the defaults."""
    names = {word.removeprefix("no").partition("=")[0] for word in changed}
    kept = [word for word in IN_FORCE if word.partition("=")[0] not in names]
    return EffectiveOptions(
        origin=facts.origin(name="ext4-options.txt"), device=device, options=(*kept, *(one for one in changed if one))
    )


def superblock(
    *default_options: str, features: Iterable[str] = ("has_journal", "dir_index"), **traits: Any
) -> Superblock:
    """Return the superblock of the ext4."""
    return Superblock(
        origin=facts.origin(name="tune2fs.txt"),
        device="/dev/mapper/vg-ldap",
        uuid="u-1",
        features=frozenset(features),
        default_options=default_options,
    )


def zfs(dataset: str = "tank/ldap", **properties: str) -> ZfsProperties:
    """Return the properties of a dataset."""
    return ZfsProperties(origin=facts.origin(name="zfs-get.txt"), datasets={dataset: properties})


def settings(*places: tuple[Role, str], **traits: Any) -> StorageSettings:
    """Return the settings of the server, with its database and its log in their usual folders."""
    where = places or ((Role.DATABASE, DATABASE), (Role.ACCESS_LOG, LOGS))
    known = {"origin": facts.origin(name="dse.ldif"), "identity": facts.DS389, "settings": (), "complete": True}
    return StorageSettings(places=tuple(StoragePlace(role=role, path=path) for role, path in where), **known | traits)


def space(mount_point: str = "/var/lib/dirsrv", fs_type: str = "ext4", **numbers: int | None) -> FileSystemSpace:
    """Return what df lists of a mounted file system of 10 GiB; the numbers are fields of Space."""
    known = {"total_bytes": 10 << 30} | numbers
    row = Space(mount_point=mount_point, source="/dev/mapper/vg-ldap", fs_type=fs_type, **known)
    return FileSystemSpace(origin=facts.origin(name="df.txt"), rows=(row,))


def extents(path: str = f"{DATABASE}/userroot/id2entry.db", *, mib: float = 100, **traits: Any) -> FileExtents:
    """Return in how many pieces a file of the database lies."""
    size = int(mib * (1 << 20))
    return FileExtents(
        origin=facts.origin(name="filefrag.txt"), path=path, bytes=size, **{"allocated_bytes": size} | traits
    )


def names(count: int, path: str = DATABASE, **traits: Any) -> DirectorySize:
    """Return how many names a directory contains."""
    return DirectorySize(origin=facts.origin(name="directory-sizes.txt"), path=path, names=count, **traits)


def joined(*given: Any, durability: tuple[Durability, ...] = (), server: Any = None) -> ServerStorage:
    """Return the storage of the server by these facts; its settings are usual ones unless given."""
    if not any(isinstance(one, StorageSettings) for one in given):
        given = (*given, settings())
    found = server_storage(
        server or facts.server(),
        *(
            tuple(one for one in given if isinstance(one, kind))
            for kind in (StorageSettings, MountTable, BlockDevices, EffectiveOptions, Superblock, ZfsProperties)
        ),
        *(
            tuple(one for one in given if isinstance(one, kind))
            for kind in (FileSystemSpace, FileExtents, DirectorySize, KernelErrors)
        ),
    )
    assert isinstance(found, ServerStorage)
    return replace(found, durability=durability) if durability else found


SAFE = (table(mount()), devices(), in_force())
"""A host whose database volume is proven safe."""
