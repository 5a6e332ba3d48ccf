"""The remedies for the weaknesses of a volume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.storage.options import EXT
from ldapdiag.servers.volume_remedies import (
    add_journal,
    move_data,
    on_its_host,
    send_flushes,
    sync_dataset,
    use_barriers,
    use_btrfs_barriers,
    use_ordered_journal,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.storage.power_cut import Weakness
    from ldapdiag.analysis.storage.volume import Volume
    from ldapdiag.remedy import Remedy


def make_volume_safe(volume: Volume, found: tuple[Weakness, ...], host: str) -> Iterator[Remedy]:
    """Yield what to do about each weakness of a volume, the most urgent first; of one below it, about that one."""
    names = {one.name: one for one in found}
    if "in-memory" in names or "overlay-volatile" in names:
        yield move_data(host, ", ".join(dict.fromkeys(role for role, _ in volume.paths)), volume.mount_point)
        return
    for one in (volume, *_all_beneath(volume)):
        for cure in _of_file_system(one, host):
            yield on_its_host(cure, one.source) if one.in_container else cure
    if "flushes-stopped" in names:
        yield send_flushes(host, names["flushes-stopped"].words.partition(":")[0])


def _all_beneath(volume: Volume) -> Iterator[Volume]:
    for one in volume.beneath:
        yield one
        yield from _all_beneath(one)


def _of_file_system(volume: Volume, host: str) -> Iterator[Remedy]:
    options, point, source = volume.options, volume.mount_point, volume.source
    if options.barrier is False and volume.fs_type in EXT:
        yield use_barriers(host, point, source, in_superblock="nobarrier" in options.hidden)
    elif options.barrier is False:
        yield use_btrfs_barriers(host, point)
    if options.volatile and volume.fs_type == "zfs":
        yield sync_dataset(host, source)
    if options.journal == "none" and volume.fs_type in EXT:
        yield add_journal(host, point)
    if options.journal == "writeback" or options.async_commit:
        yield use_ordered_journal(host, point, source, in_superblock="data=writeback" in options.hidden)
