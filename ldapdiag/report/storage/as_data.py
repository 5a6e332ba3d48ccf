"""The storage of each server, and every probe, as plain values for JSON (docs/contract.md).

What the evidence does not show of a server's storage, and the command that shows it.
"""

from __future__ import annotations

import re
from posixpath import dirname, normpath
from shlex import quote
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.storage.commit_waits import probe_of
from ldapdiag.analysis.storage.host_storage import is_below
from ldapdiag.analysis.storage.options import EXT
from ldapdiag.analysis.storage.server_storage import ServerStorage
from ldapdiag.evidence.storage import BlockDevices, EffectiveOptions, KernelErrors, MountTable
from ldapdiag.evidence.storage.probe import StorageProbe
from ldapdiag.evidence.storage.probe_file import FIRST, content
from ldapdiag.evidence.storage.settings import StorageSettings
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.report.storage.rows import flush_lost_by, option_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.analysis.storage.volume import Volume
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.storage import BlockDevice, FileExtents
    from ldapdiag.servers.volumes.storage_rules import Durability

MOST_FILES = 1000
"""Files of a volume with their extents: those with the most."""


def storage(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return what `ldapdiag storage` adds to a report object."""
    probes = diagnosis.facts.every(StorageProbe)
    return {
        "storage": [_server(one, probes) for one in diagnosis.facts.every(ServerStorage)],
        "probes": [probe_values(probe) for probe in probes],
    }


def _server(one: ServerStorage, probes: Sequence[StorageProbe]) -> dict[str, Any]:
    probed = {volume.mount_point: probe for volume in one.volumes if (probe := probe_of(volume, probes))}
    return {
        "server": one.server,
        "host": one.host,
        "volumes": [_volume(volume, probed.get(volume.mount_point)) for volume in one.volumes],
        "settings": [_durability(setting) for setting in one.durability],
        "flush_lost_by": flush_lost_by(one) or None,
        "unplaced": [{"role": str(each.role), "path": each.path, "reason": each.why} for each in one.unplaced],
        "unknown": [{"what": each.what, "how": each.how or None} for each in unknowns(one, frozenset(probed))],
    }


def _volume(volume: Volume, probe: StorageProbe | None) -> dict[str, Any]:
    space = volume.space
    files = sorted(volume.extents, key=lambda one: (-(one.extents or 0), one.path))
    return {
        "mount_point": volume.mount_point,
        "source": volume.source,
        "fs_type": volume.fs_type,
        "roles": list(dict.fromkeys(map(str, volume.roles))),
        "paths": [{"role": str(role), "path": path} for role, path in volume.paths],
        "options": option_words(volume.options),
        "hidden_options": list(volume.options.hidden),
        "mount_options": list(volume.options.words),
        "stack": [_device(device) for device in volume.stack],
        "disks": [device.name for device in volume.devices],
        "disks_unknown": volume.disk_unknown or None,
        "in_memory": volume.in_memory or None,
        "beneath": [_beneath(one) for one in volume.beneath],
        "write_cache": volume.write_cache,
        "durable": volume.durable,
        "local": volume.local,
        "total_bytes": space.total_bytes if space else None,
        "used_bytes": space.used_bytes if space else None,
        "free_bytes": space.free_bytes if space else None,
        "files": [_extents(file) for file in files[:MOST_FILES]],
        "files_read": len(files),
        "files_known": sum(one.extents is not None for one in files),
        "probe": probe.origin.path if probe else None,
    }


def _beneath(volume: Volume) -> dict[str, Any]:
    """Return the file system of an image or of an overlay's upper folder."""
    return {
        "mount_point": volume.mount_point,
        "source": volume.source,
        "fs_type": volume.fs_type,
        "options": option_words(volume.options),
        "hidden_options": list(volume.options.hidden),
    }


def _device(device: BlockDevice) -> dict[str, Any]:
    return {
        "name": device.name,
        "mapper_name": device.mapper_name or None,
        "number": device.number or None,
        "type": device.type or None,
        "model": device.model or None,
        "bytes": device.bytes,
        "write_cache": device.write_cache or None,
        "rotational": device.rotational,
        "fua": device.fua,
        "scheduler": device.scheduler or None,
        "backing_file": device.backing_file or None,
    }


def _extents(one: FileExtents) -> dict[str, Any]:
    return {
        "path": one.path,
        "bytes": one.bytes,
        "allocated_bytes": one.allocated_bytes,
        "extents": one.extents,
        "reason": one.unsupported or None,
        "compressed": one.compressed,
    }


def _durability(one: Durability) -> dict[str, Any]:
    return {
        "backend": one.backend or None,
        "setting": one.setting,
        "value": one.value or None,
        "is_default": one.is_default,
        "window": str(one.window),
        "window_seconds": one.window_seconds,
        "loss": one.loss or None,
        "corrupts": one.corrupts,
        "survives_kill": one.survives_kill,
        "effective": one.effective,
        "why": one.why or None,
        "flushes_per_write": one.flushes_per_write,
        "tested": one.tested,
    }


def probe_values(one: StorageProbe) -> dict[str, Any]:
    """Return a probe as in the report object."""
    values = content(one)
    del values[FIRST]
    return {"host": one.origin.host or None, "origin": one.origin.path} | values


OF_SERVER = {
    MountTable.kind: ("which volumes it uses", MountTable.how),
    StorageSettings.kind: ("where its data is, and whether its changes wait for the disk", StorageSettings.how),
    KernelErrors.kind: ("I/O errors that the kernel reported", KernelErrors.how),
}
"""By the kind of evidence that is missing: what is not known, and how to collect it."""
PATH = pattern(r"/[\w.,:@%+=/ {}-]*", re.ASCII)
"""A path that commands contain; of any other one they have a placeholder."""
PLACEHOLDER = "DIRECTORY"


@dataclass(frozen=True, slots=True)
class UnknownPart:
    """What is not known, and how to learn it."""

    what: str
    how: str
    """Empty: the sentence names it, or there is no way."""


def unknowns(storage: ServerStorage, probed: frozenset[str]) -> list[UnknownPart]:
    """Return what is not known of one server, what a power cut depends on first; `probed`: mount points."""
    found = [
        UnknownPart(*OF_SERVER[kind]) for kind in storage.missing if kind in OF_SERVER and kind != KernelErrors.kind
    ]
    if MountTable.kind not in storage.missing:
        found += [UnknownPart(f"the volume of its {one.role} ({one.path}): {one.why}", "") for one in storage.unplaced]
    for volume in storage.volumes:
        found += _of_options_and_disks(volume)
    for volume in storage.volumes:
        found += _of_files(volume, is_probed=volume.mount_point in probed)
    found += [UnknownPart(*OF_SERVER[kind]) for kind in storage.missing if kind == KernelErrors.kind]
    return list(dict.fromkeys(found))


def _of_options_and_disks(volume: Volume) -> Iterator[UnknownPart]:
    place = volume.mount_point
    if not volume.lasting_paths or not volume.local:
        return
    if volume.options.barrier is None and volume.fs_type in EXT:
        yield UnknownPart(f"whether {place} uses barriers", EffectiveOptions.how)
    if volume.disk_unknown and not volume.in_memory:
        yield UnknownPart(f"the disks of {place}: {volume.disk_unknown}", "" if volume.stack else BlockDevices.how)
    yield from (UnknownPart(f"{place}: {limit}", "") for limit in volume.limits)


def _of_files(volume: Volume, *, is_probed: bool) -> Iterator[UnknownPart]:
    place, folder = volume.mount_point, folder_of(volume)
    if not volume.lasting_paths:
        return
    if volume.space is None or volume.space.free_bytes is None or not volume.space.total_bytes:
        yield UnknownPart(f"the free space of {place}", f"df -PkT {folder} > df.txt")
    if not volume.extents and volume.local and not volume.in_memory:
        yield UnknownPart(f"the extents of the files on {place}", f"filefrag {folder}/* > filefrag.txt")
    if not is_probed and not volume.in_memory:
        yield UnknownPart(
            f"the sync time of {place}",
            f"ldapdiag storage --probe {_folder_beside(volume)}, which slows the server meanwhile",
        )


def _folder_beside(volume: Volume) -> str:
    """Return a folder of the volume above those of the server, which may take a folder in its own for a database.

    DIRECTORY where they are the whole volume.
    """
    own = [normpath(path) for _, path in volume.lasting_paths]
    folder = own[0]
    while any(is_below(folder, path) for path in own) and folder != dirname(folder):
        folder = dirname(folder)
    free = is_below(folder, volume.mount_point) and not any(is_below(folder, path) for path in own)
    return quote(folder) if free and PATH.fullmatch(folder) else PLACEHOLDER


def folder_of(volume: Volume) -> str:
    """Return a folder of the volume as a command contains it: that of the database, of the log, else DIRECTORY."""
    paths = [path for _, path in volume.lasting_paths]
    found = next((path for path in (*paths, volume.mount_point) if PATH.fullmatch(path)), None)
    return PLACEHOLDER if found is None else quote(found)
