"""The kernel's messages about the devices of a volume."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.storage import Mounted

if TYPE_CHECKING:
    from ldapdiag.analysis.storage.volume import Volume
    from ldapdiag.evidence.storage import DeviceError, KernelErrors

PARTITION = re.compile(r"((?:sd|vd|xvd|hd)[a-z]{1,3})\d{1,3}|((?:nvme\d+n|mmcblk|md|loop|nbd)\d+)p\d{1,3}", re.ASCII)
"""A partition, with the disk that its name begins with (Documentation/admin-guide/devices.txt of Linux)."""

NAMESPACE = re.compile(r"(nvme\d+)n\d+", re.ASCII)
"""A disk of an NVMe controller, which messages name, too."""


REUSED = re.compile(r"(?:loop|nbd|zram|ram)\d", re.ASCII)
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
