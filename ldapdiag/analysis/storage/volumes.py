"""A mount as a Volume: its options in force, and what lies below it down to the disks."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.storage.mount_lookup import mount_of, upper_folder
from ldapdiag.analysis.storage.options import NETWORK, options_of
from ldapdiag.analysis.storage.volume import Volume, memory_name
from ldapdiag.evidence.storage import BlockDevices, MountTable

if TYPE_CHECKING:
    from ldapdiag.analysis.storage.device_stack import DeviceStack
    from ldapdiag.analysis.storage.host_storage import HostStorage
    from ldapdiag.evidence.storage import BlockDevice, Mount

UPPER = frozenset({"part", "lvm", "crypt", "dm", "mpath"})
UPPER_NAME = re.compile(r"dm-\d|md\d|md_|bcache\d", re.ASCII)
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
