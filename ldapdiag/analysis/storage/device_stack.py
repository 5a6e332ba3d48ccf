"""HostDevices: the block devices of a host, and the stack from a mounted device down to the disks.

/dev/mapper/vg-ldap  dm-0 (lvm)  ─>  md0 (raid1)  ─>  sda2, sdb2 (part)  ─>  sda, sdb (disk)
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ldapdiag.evidence.storage import BlockDevice, BlockDevices, Mount

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
        return tuple(one for one in self.devices if not one.parents)


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
