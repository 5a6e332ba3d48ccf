"""What the evidence does not show of a server's storage, and the command that shows it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

from ldapdiag.analysis.storage.options import EXT
from ldapdiag.evidence.storage import BlockDevices, EffectiveOptions, KernelErrors, MountTable
from ldapdiag.evidence.storage.settings import StorageSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.storage.server_storage import ServerStorage
    from ldapdiag.analysis.storage.volume import Volume

OF_SERVER = {
    MountTable.kind: ("which volumes it uses", MountTable.how),
    StorageSettings.kind: ("where its data is, and whether its changes wait for the disk", StorageSettings.how),
    KernelErrors.kind: ("I/O errors that the kernel reported", KernelErrors.how),
}
"""By the kind of evidence that is missing: what is not known, and how to collect it."""
PATH = re.compile(r"/[\w.,:@%+=/ {}-]*", re.ASCII)
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
    if volume.space is None:
        yield UnknownPart(f"the free space of {place}", f"df -PkT {folder} > df.txt")
    if not volume.extents and volume.local and not volume.in_memory:
        yield UnknownPart(f"the extents of the files on {place}", f"filefrag {folder}/* > filefrag.txt")
    if not is_probed and not volume.in_memory:
        yield UnknownPart(
            f"the sync time of {place}", f"ldapdiag storage --probe {folder}, which slows the server meanwhile"
        )


def folder_of(volume: Volume) -> str:
    """Return a folder of the volume as a command contains it: that of the database, of the log, else DIRECTORY."""
    paths = [path for _, path in volume.lasting_paths]
    found = next((path for path in (*paths, volume.mount_point) if PATH.fullmatch(path)), None)
    return PLACEHOLDER if found is None else quote(found)
