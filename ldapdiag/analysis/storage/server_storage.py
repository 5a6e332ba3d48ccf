"""ServerStorage: the volumes of one directory server, and what its settings mean for a power cut.

The places of a server's data, each on its volume.

A mount as a Volume: its options in force, and what lies below it down to the disks.
"""

from __future__ import annotations

import re
from dataclasses import replace
from posixpath import normpath
from typing import TYPE_CHECKING, Any, ClassVar

from ldapdiag.analysis.hosts.instances import Instance, facts_of
from ldapdiag.analysis.providers import provides
from ldapdiag.analysis.storage.host_storage import (
    HostDevices,
    HostStorage,
    best_table,
    is_below,
    mount_of,
    mounts_of_space,
    upper_folder,
)
from ldapdiag.analysis.storage.options import EXT, NETWORK, options_of
from ldapdiag.analysis.storage.volume import Volume, memory_name, with_errors
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.storage import (
    BlockDevices,
    DeviceError,
    DirectorySize,
    EffectiveOptions,
    FileExtents,
    FileSystemSpace,
    KernelErrors,
    MountTable,
    Superblock,
    ZfsProperties,
)
from ldapdiag.evidence.storage.settings import LASTING, Role, StorageSettings, merged_settings
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.analysis.storage.host_storage import DeviceStack
    from ldapdiag.evidence.storage import BlockDevice, Mount
    from ldapdiag.evidence.storage.settings import StoragePlace
    from ldapdiag.servers.volumes.storage_rules import Durability


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStorage:
    """The disks under one directory server, as far as the evidence shows them."""

    kind: ClassVar[str] = "server-storage"
    how: ClassVar[str] = (
        "ldapdiag collect on the server; or its configuration (dse.ldif, cn=config, config.ldif), "
        "/proc/PID/mountinfo, /proc/fs/ext4/*/options and lsblk -O -J"
    )

    server: str
    host: str
    volumes: tuple[Volume, ...] = ()
    """In the order of their first use: database, transaction log, changelog, access log."""
    durability: tuple[Durability, ...] = ()
    """What the settings of each database mean."""
    unplaced: tuple[Unplaced, ...] = ()
    settings: StorageSettings | None = None
    other_errors: tuple[DeviceError, ...] = ()
    """What the kernel of its host reported about other devices."""
    kernel_messages: KernelErrors | None = None
    missing: tuple[str, ...] = ()
    """The kinds of evidence that its volumes or its settings lack."""
    origins: tuple[str, ...] = ()

    def volume_of(self, role: Role) -> Volume | None:
        """Return the first volume with a role."""
        return next((volume for volume in self.volumes if role in volume.roles), None)


@provides(ServerStorage)
def server_storage(  # noqa: PLR0913, PLR0917  the kinds of evidence about storage
    server: Instance,
    settings: tuple[StorageSettings, ...],
    tables: tuple[MountTable, ...],
    devices: tuple[BlockDevices, ...],
    effective: tuple[EffectiveOptions, ...],
    superblocks: tuple[Superblock, ...],
    zfs: tuple[ZfsProperties, ...],
    spaces: tuple[FileSystemSpace, ...],
    extents: tuple[FileExtents, ...],
    directories: tuple[DirectorySize, ...],
    kernel: tuple[KernelErrors, ...],
) -> ServerStorage | Missing:
    """Join the places of a server's data with mounts, options, devices and files."""
    if (inapplicable := server.not_a_directory) is not None:
        return inapplicable
    host = HostStorage(
        host=server.host,
        tables=_of_host(tables, server),
        devices=HostDevices(_of_host(devices, server)),
        effective=_of_host(effective, server),
        superblocks=_of_host(superblocks, server),
        zfs=_of_host(zfs, server),
        spaces=_of_host(spaces, server),
        extents=_of_host(extents, server),
        directories=_of_host(directories, server),
        kernel=_of_host(kernel, server),
    )
    configured = merged_settings(facts_of(settings, server.name))
    if configured is None and not host.tables:
        return Missing(
            host=server.name,
            reason=f"neither the storage settings of {server.name} nor the mounts of {server.host} are in the evidence",
            lacks=(StorageSettings.kind, MountTable.kind),
            how=ServerStorage.how,
        )
    return _joined(server, configured, host)


def _of_host(facts: Iterable[Any], server: Instance) -> tuple[Any, ...]:
    """Return the facts of a server's host, without those of its other servers."""
    return tuple(fact for fact in facts if fact.origin.host == server.host and fact.origin.server in {"", server.name})


def _joined(server: Instance, settings: StorageSettings | None, host: HostStorage) -> ServerStorage:
    rules = server.product.storage if server.product else None
    version = server.version or (settings.identity.version if settings else ())
    places: tuple[StoragePlace, ...] = settings.places if settings else ()
    durability: tuple[Durability, ...] = ()
    if settings is not None and rules is not None:
        places = rules.places(settings, version, server.instance)
        durability = rules.durability(settings, version)
    kernel = max(host.kernel, key=lambda one: (one.origin.order, one.lines_read), default=None)
    found, unplaced = placed(places, host, server.name)
    volumes = tuple(with_errors(volume, kernel) for volume in found)
    own = {id(error) for volume in volumes for error in (*volume.errors, *volume.earlier_errors)}
    missing = [
        *([StorageSettings.kind] if settings is None else []),
        *([MountTable.kind] if not host.tables else []),
        *(kind for volume in volumes for kind in lacking(volume)),
        *([KernelErrors.kind] if kernel is None else []),
    ]
    sources = (settings, kernel, *host.tables)
    return ServerStorage(
        server=server.name,
        host=server.host,
        volumes=volumes,
        durability=durability,
        unplaced=unplaced,
        settings=settings,
        other_errors=tuple(error for error in kernel.errors if id(error) not in own) if kernel else (),
        kernel_messages=kernel,
        missing=tuple(dict.fromkeys(missing)),
        origins=tuple(sorted({*server.origins_of(*sources), *(path for volume in volumes for path in volume.origins)})),
    )


def lacking(volume: Volume) -> tuple[str, ...]:
    """Return the kinds of evidence without which options or disks of a volume are unknown."""
    options = EffectiveOptions.kind if volume.fs_type in EXT and volume.options.barrier is None else ""
    disks = BlockDevices.kind if volume.local and not volume.in_memory and not volume.stack else ""
    return tuple(kind for kind in (options, disks) if kind)


ORDER = tuple(Role)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unplaced:
    """A folder or file of a server whose volume is unknown."""

    role: Role
    path: str
    why: str

    @property
    def lasting(self) -> bool:
        """Return whether it is a part of the server's data; an access log is none."""
        return self.role in LASTING


def placed(
    places: Iterable[StoragePlace], host: HostStorage, server: str
) -> tuple[tuple[Volume, ...], tuple[Unplaced, ...]]:
    """Return the volumes of a server, in the order of their first use, and the places without one.

    The mounts are those of the server's own process where they are known: in a container they are not the host's.
    """
    table = best_table(one for one in host.tables if one.origin.server == server) or host.table
    mounts = table.mounts if table is not None else mounts_of_space(host.spaces)
    on: dict[Mount, list[tuple[Role, str]]] = {}
    unplaced: list[Unplaced] = []
    for place in sorted(set(places), key=lambda one: (ORDER.index(one.role), one.path)):
        path = real_path(place.path, host)
        mount = mount_of(path, mounts)
        if mount is None:
            unplaced.append(Unplaced(role=place.role, path=place.path, why=_why(path, host, known=bool(mounts))))
        elif (place.role, path) not in on.setdefault(mount, []):
            on[mount].append((place.role, path))
    shows_atime = table is not None and table.shows_atime
    root = mount_of("/", mounts)
    in_container = root is not None and root.fs_type == "overlay"
    volumes = (_volume(mount, own, host, shows_atime=shows_atime) for mount, own in on.items())
    return tuple(replace(volume, in_container=in_container) for volume in volumes), tuple(unplaced)


def real_path(path: str, host: HostStorage) -> str:
    """Return a path without `..` and double slashes, and without symbolic links where the evidence shows them."""
    known = [directory for directory in host.directories if directory.real_path and is_below(path, directory.path)]
    if known:
        nearest = max(known, key=lambda one: len(one.path))
        path = nearest.real_path.rstrip("/") + path[len(nearest.path.rstrip("/")) :]
    return "/" + normpath(path).lstrip("/") if path.startswith("/") else path


def _why(path: str, host: HostStorage, *, known: bool) -> str:
    if not path.startswith("/"):
        return "the path is relative, and the evidence does not show to which folder"
    if not known:
        return f"the mounts of {host.host} are not in the evidence"
    return f"the mount table of {host.host} is an excerpt without it"


def _volume(mount: Mount, paths: Sequence[tuple[Role, str]], host: HostStorage, *, shows_atime: bool) -> Volume:
    """Return the volume of a mount with the server's files and folders on it."""
    volume = volume_of(mount, host, shows_atime=shows_atime)
    folders = [path for _, path in paths]
    extents = [extent for extent in host.extents if _is_in(extent.path, folders)]
    directories = [
        directory for directory in host.directories if _is_in(directory.real_path or directory.path, folders)
    ]
    read = {*(extent.origin.path for extent in extents), *(directory.origin.path for directory in directories)}
    return replace(
        volume,
        paths=tuple(paths),
        extents=tuple(sorted({extent.path: extent for extent in extents}.values(), key=lambda one: one.path)),
        directories=tuple(
            sorted({directory.path: directory for directory in directories}.values(), key=lambda one: one.path)
        ),
        origins=tuple(sorted({*volume.origins, *read})),
    )


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(is_below(path, folder) for folder in folders)


UPPER = frozenset({"part", "lvm", "crypt", "dm", "mpath"})
UPPER_NAME = pattern(r"dm-\d|md\d|md_|bcache\d", re.ASCII)
"""Devices that lie on others, by their types and names: where those are not in the evidence, the disks are unknown."""
DEEPEST = 8
"""File systems in files of file systems; deeper ones are unknown."""


def volume_of(mount: Mount, host: HostStorage, *, shows_atime: bool, depth: int = 0) -> Volume:
    """Return a mount with everything below it. What it cannot resolve is named in `disk_unknown`."""
    device = host.devices.device_of(mount)
    effective, superblock = host.effective_of(mount, device), host.superblock_of(mount, device)
    facts = [fact for fact in (effective, superblock) if fact is not None]
    volume = Volume(
        host=host.host,
        mount_point=mount.mount_point,
        source=mount.source,
        fs_type=mount.fs_type,
        device=mount.device,
        paths=(),
        options=options_of(
            mount,
            shows_atime=shows_atime,
            effective=effective,
            superblock=superblock,
            zfs=host.properties_of(mount),
        ),
        space=host.space_of(mount),
        superblock=superblock,
        in_memory=memory_name(mount.fs_type),
        origins=tuple(fact.origin.path for fact in facts),
    )
    if volume.in_memory:
        return volume
    if mount.fs_type in NETWORK:
        return replace(volume, disk_unknown="its disks are those of the file server")
    if mount.fs_type == "overlay":
        return _on_overlay(volume, mount, host, depth)
    if device is None:
        return replace(volume, disk_unknown=_unlisted(mount, host))
    return _on_devices(volume, mount, host.devices.stack_of(device), host, depth)


def _unlisted(mount: Mount, host: HostStorage) -> str:
    if mount.fs_type == "zfs":
        return "the disks of a ZFS pool are not read (zpool status shows them)"
    if not host.devices:
        return f"no {BlockDevices.kind} of {host.host} are in the evidence"
    return f"the block devices in the evidence do not contain {mount.source or mount.device or mount.mount_point}"


def _on_overlay(volume: Volume, mount: Mount, host: HostStorage, depth: int) -> Volume:
    """Return an overlay with the file system of its upper folder: that of the host, whose path it is."""
    folder, table = upper_folder(mount), host.table
    if not folder:
        return replace(volume, disk_unknown="the mount table does not show the folder into which the overlay writes")
    below = _below(folder, mount, host, depth)
    if below is None:
        lacking = f"; no {MountTable.kind} of the host are in the evidence" if table is None else ""
        return replace(volume, disk_unknown=f"the evidence does not show the file system of {folder}{lacking}")
    return _upon(volume, (below,))


def _below(path: str, mount: Mount, host: HostStorage, depth: int) -> Volume | None:
    """Return the volume of a path of the host; None if no row has it, or only the file system itself."""
    table = host.table
    if table is None or depth >= DEEPEST:
        return None
    found = mount_of(path, table.mounts)
    if found is None or found == mount:
        return None
    return volume_of(found, host, shows_atime=table.shows_atime, depth=depth + 1)


def _upon(volume: Volume, below: tuple[Volume, ...]) -> Volume:
    """Return a volume that lies on others: their disks are its own."""
    return replace(
        volume,
        beneath=below,
        stack=(*volume.stack, *(device for one in below for device in one.stack)),
        devices=tuple({device.name: device for one in (volume, *below) for device in one.devices}.values()),
        disk_unknown=next((one.disk_unknown for one in (volume, *below) if one.disk_unknown), ""),
        in_memory=next((one.in_memory for one in (volume, *below) if one.in_memory), ""),
        limits=(*volume.limits, *(limit for one in below for limit in one.limits)),
        origins=tuple(dict.fromkeys(path for one in (volume, *below) for path in one.origins)),
    )


def _on_devices(volume: Volume, mount: Mount, stack: DeviceStack, host: HostStorage, depth: int) -> Volume:
    """Return a volume on block devices: down to the disks, through the files of loop devices."""
    disks = sorted((one for one in stack.bottom if not _is_loop(one)), key=lambda one: one.name)
    own = replace(
        volume,
        stack=stack.devices,
        devices=tuple(disks),
        disk_unknown=_incomplete(stack),
        in_memory=next(filter(None, (memory_name("", device) for device in disks)), ""),
        limits=(MORE_DEVICES,) if volume.fs_type == "btrfs" else (),
    )
    below: list[Volume] = []
    for loop in (device for device in stack.bottom if _is_loop(device)):
        under = _under_loop(loop, mount, host, depth)
        if isinstance(under, str):
            own = replace(own, disk_unknown=own.disk_unknown or under)
        else:
            below.append(under)
    return _upon(own, tuple(below)) if below else own


MORE_DEVICES = "btrfs may have further devices, which no mount table shows (btrfs filesystem show)"


def _is_loop(device: BlockDevice) -> bool:
    return device.type == "loop" or bool(device.backing_file) or device.name.rstrip("0123456789") == "loop"


def _under_loop(loop: BlockDevice, mount: Mount, host: HostStorage, depth: int) -> Volume | str:
    """Return the volume of a loop device's file, or why it is unknown."""
    if not loop.backing_file:
        return f"the evidence does not show the file of {loop.name}"
    below = _below(loop.backing_file, mount, host, depth)
    return below or f"the evidence does not show on which file system the file of {loop.name} is"


def _incomplete(stack: DeviceStack) -> str:
    if stack.missing:
        return f"the block devices in the evidence do not contain {', '.join(stack.missing)}"
    upper = next((device for device in stack.bottom if device.type in UPPER or UPPER_NAME.match(device.name)), None)
    return f"the evidence does not show on which disk {upper.name} is" if upper else ""
