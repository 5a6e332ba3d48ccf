"""Which parts of a server's data are on one volume, or on volumes of the same disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.analysis.storage.volume import LASTING

if TYPE_CHECKING:
    from ldapdiag.analysis.storage.server_storage import ServerStorage
    from ldapdiag.analysis.storage.volume import Volume
    from ldapdiag.evidence.storage.settings import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDisks:
    """Volumes with parts of a server's data that lie on common disks; one volume is common to all on it."""

    volumes: tuple[Volume, ...]
    roles: tuple[Role, ...]
    """Those of the data, two or more."""
    devices: tuple[str, ...]
    """The common disks; empty: unknown."""


def shared_disks(storage: ServerStorage) -> tuple[SharedDisks, ...]:
    """Return the groups of volumes that share a disk and have two parts of the data or more."""
    groups: list[list[Volume]] = []
    for volume in (one for one in storage.volumes if one.lasting_paths):
        near = [group for group in groups if any(_share(volume, other) for other in group)]
        groups = [group for group in groups if group not in near]
        groups.append([*(one for group in near for one in group), volume])
    found = (_shared(group) for group in groups)
    return tuple(one for one in found if len(one.roles) > 1)


def _share(one: Volume, other: Volume) -> bool:
    """Return whether two volumes have a disk, or a file system, in common."""
    if one.device and one.device == other.device:
        return True
    return not {disk.name for disk in one.devices}.isdisjoint(disk.name for disk in other.devices)


def _shared(group: list[Volume]) -> SharedDisks:
    disks = [{disk.name for disk in one.devices} for one in group]
    common = (
        set.union(*disks)
        if len(group) == 1
        else {name for names in disks for name in names if sum(name in others for others in disks) > 1}
    )
    roles = dict.fromkeys(role for one in group for role in one.roles if role in LASTING)
    return SharedDisks(volumes=tuple(group), roles=tuple(roles), devices=tuple(sorted(common)))
