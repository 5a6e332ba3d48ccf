"""What a power cut does to what a server has written and synced, as far as its volumes decide."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

from ldapdiag.analysis.storage.options import EXT
from ldapdiag.analysis.storage.volume import WRITE_BACK, WRITE_THROUGH
from ldapdiag.evidence.storage import BlockDevices, EffectiveOptions, MountTable
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.analysis.storage.volume import Volume
    from ldapdiag.evidence.storage import BlockDevice


class Loss(Enum):
    """What is lost, from the worst on."""

    EVERYTHING = 1
    """All data, at each restart of the host."""
    UNFLUSHED = 2
    """The acknowledged changes that are in a cache; nothing bounds their age."""
    SECONDS = 3
    """The acknowledged changes of the last seconds."""
    STRUCTURE = 4
    """No acknowledged change as such; the file system itself may be damaged."""
    NONE_SYNCED = 5
    """Nothing that was synced."""
    NONE_WITHOUT_CACHE = 6
    """Nothing if no disk has a volatile cache, as they state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weakness:
    """A property of a volume because of which a power cut loses or damages something."""

    name: str
    """For programs: `no-barriers`."""
    words: str
    """The option or device, as in a title: `nobarrier`."""
    loss: Loss
    sentence: str
    source: str = ""
    """What shows it; empty: the sentence states it."""
    certain: bool = True
    place: str = ""
    """The name of the volume that has it: the one of the server, or one below that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Why a volume without a known weakness is not proven safe."""

    reason: str
    lacks: tuple[str, ...] = ()
    how: str


def weaknesses(volume: Volume) -> tuple[Weakness, ...]:
    """Return the weaknesses of a volume and of those below it, the worst first."""
    own = [replace(weakness, place=_place(volume, weakness)) for weakness in _weaknesses(volume)]
    own += [weakness for below in volume.beneath for weakness in weaknesses(below) if not volume.in_memory]
    return tuple(sorted({one.name: one for one in reversed(own)}.values(), key=lambda one: (one.loss.value, one.name)))


def _place(volume: Volume, weakness: Weakness) -> str:
    """Return the name of the volume that has a weakness: of memory below another volume, that of the lowest."""
    below = next((one for one in volume.beneath if one.in_memory and weakness.words == volume.in_memory), None)
    return volume.name if below is None else _place(below, weakness)


def in_place(volume: Volume, found: Iterable[Weakness]) -> str:
    """Return the options or devices of weaknesses, each with the volume that has it, the server's own volume first."""
    by_place: dict[str, list[str]] = {volume.name: []}
    for one in found:
        by_place.setdefault(one.place, []).append(one.words)
    own, *others = (
        f"{', '.join(words)} on {place}" for place, words in by_place.items() if words or place == volume.name
    )
    if by_place[volume.name]:
        return ", above ".join([own, *others])
    return ", ".join([*others, f"below {volume.name}"])


def _weaknesses(volume: Volume) -> Iterator[Weakness]:
    """Yield the weaknesses of one file system and its devices."""
    if volume.in_memory:
        yield Weakness(
            name="in-memory",
            words=volume.in_memory,
            loss=Loss.EVERYTHING,
            sentence=f"{volume.in_memory} is memory: everything on {volume.mount_point} is lost when the host stops.",
        )
        return
    if volume.options.volatile:
        yield _ignored_sync(volume)
    if volume.options.barrier is False:
        yield _no_barriers(volume)
    yield from _of_journal(volume)
    yield from _stopped_flushes(volume)


def _ignored_sync(volume: Volume) -> Weakness:
    if volume.fs_type == "zfs":
        return Weakness(
            name="sync-disabled",
            words="sync=disabled",
            loss=Loss.SECONDS,
            sentence=(
                "With sync=disabled ZFS acknowledges a sync at once; the changes of the last transaction group, 5 s by "
                "default and more under load, are lost."
            ),
            source=volume.options.sources.get("volatile", ""),
        )
    return Weakness(
        name="overlay-volatile",
        words="volatile",
        loss=Loss.EVERYTHING,
        sentence=(
            "The overlay is mounted with volatile: it omits every sync, and after a crash of the host its upper folder "
            "must be thrown away (overlayfs documentation of Linux)."
        ),
        source=volume.options.sources.get("volatile", ""),
    )


def _no_barriers(volume: Volume) -> Weakness:
    harmless = volume.write_cache == "none"
    what = (
        "All its disks state that they have no volatile cache. Then nobarrier loses nothing, and it gains nothing; "
        "with a cache that is not stated, acknowledged changes are lost."
        if harmless
        else "A sync leaves the changes in the cache of the disk: a power cut loses the acknowledged changes that are "
        "still there, and as the disk writes in any order, it may damage the file system and the database."
    )
    return Weakness(
        name="no-barriers",
        words="nobarrier",
        loss=Loss.NONE_WITHOUT_CACHE if harmless else Loss.UNFLUSHED,
        sentence=f"{volume.mount_point} is mounted without write barriers. {what}",
        source=volume.options.sources.get("barrier", ""),
        certain="barrier" not in volume.options.contradicted,
    )


def _of_journal(volume: Volume) -> Iterator[Weakness]:
    journal, sources = volume.options.journal, volume.options.sources
    if journal == "none":
        yield Weakness(
            name="no-journal",
            words="no journal",
            loss=Loss.STRUCTURE,
            sentence=(
                f"{volume.mount_point} has no journal: after a power cut fsck has to repair its structure and may cut "
                "or lose files; a server that starts before that works on a damaged volume."
            ),
            source=sources.get("journal", ""),
        )
    if journal == "writeback":
        yield Weakness(
            name="writeback-journal",
            words="data=writeback",
            loss=Loss.NONE_SYNCED,
            sentence=(
                f"With data=writeback, files on {volume.mount_point} that grew without a sync may contain old blocks "
                "of the disk after a power cut, deleted data of others included (ext4(5)). What was synced is not "
                "affected, and a database that syncs gains nothing."
            ),
            source=sources.get("journal", ""),
            certain="journal" not in volume.options.contradicted,
        )
    if volume.options.async_commit:
        yield Weakness(
            name="async-commit",
            words="journal_async_commit",
            loss=Loss.STRUCTURE,
            sentence=(
                "With journal_async_commit the commit record may reach the disk before the blocks that it commits; "
                "after a power cut, checksums alone show where the journal is incomplete (ext4(5))."
            ),
            source=sources.get("async_commit", ""),
            certain="async_commit" not in volume.options.contradicted,
        )


def _stopped_flushes(volume: Volume) -> Iterator[Weakness]:
    """Yield a weakness where a device above a volatile cache passes no flush on, or a loop device passes none."""
    if volume.options.barrier is False:
        return
    below = {one.name for under in volume.beneath for one in under.stack}
    own = [device for device in volume.stack if device.name not in below and device.write_cache == WRITE_THROUGH]
    cached = [disk.name for disk in volume.devices if disk.write_cache == WRITE_BACK]
    for device in own:
        over = device.parents and cached
        if over or _is_loop(device):
            what = f"{', '.join(cached)} below it has a volatile cache" if over else "its file is in the host's cache"
            yield Weakness(
                name="flushes-stopped",
                words=f"{device.name}: write through",
                loss=Loss.UNFLUSHED,
                sentence=(
                    f"write_cache of {device.name} is write through, so the kernel sends no flush to it, while {what}: "
                    "a power cut loses the acknowledged changes in that cache, and may damage the database."
                ),
                source=f"/sys/block/{device.name}/queue/write_cache",
                certain=bool(over),
            )
            return


def _is_loop(device: BlockDevice) -> bool:
    return device.type == "loop" or bool(device.backing_file)


def doubts(volume: Volume) -> Iterator[Doubt]:
    """Yield why a volume without a weakness is not proven to keep what was synced, the most important first."""
    options = volume.options
    if not volume.local:
        yield Doubt(
            reason=f"the exports of the file server of {volume.source} are not in the evidence: sync or async there "
            "decides whether it writes to its disks before it answers",
            how="on the file server: exportfs -v",
        )
        return
    if options.barrier is None and volume.fs_type in EXT:
        yield Doubt(
            reason=(
                f"the mount table does not show whether {volume.mount_point} uses write barriers: tune2fs -o may have "
                f"turned them off as a default, and {volume.fs_type} does not print its defaults"
            ),
            lacks=(EffectiveOptions.kind,),
            how=EffectiveOptions.how,
        )
    elif options.barrier is None and volume.fs_type not in {"overlay", "zfs"}:
        yield Doubt(
            reason=f"the options of {volume.mount_point} ({volume.fs_type}) that decide it are not in the evidence",
            lacks=() if options.words else (MountTable.kind,),
            how=MountTable.how,
        )
    if volume.fs_type == "zfs" and options.volatile is None:
        yield Doubt(
            reason=f"the property sync of {volume.source} is not in the evidence",
            lacks=("zfs-properties",),
            how=f"zfs get sync {volume.source} > zfs-get.txt",
        )
    yield from (doubt for below in volume.beneath for doubt in doubts(below))
    if volume.disk_unknown and volume.fs_type != "zfs":
        yield Doubt(
            reason=f"the disks of {volume.mount_point} are unknown: {volume.disk_unknown}",
            lacks=(BlockDevices.kind,),
            how=BlockDevices.how,
        )
        return
    unflushed = [disk.name for disk in volume.devices if disk.write_cache != WRITE_BACK]
    if unflushed:
        yield _unflushed(volume, unflushed)
    for limit in volume.limits:
        yield Doubt(
            reason=f"{volume.mount_point}: {limit}; whether the kernel flushes the cache of all its disks is unknown",
            how="as root on the server: btrfs filesystem show, and cat /sys/block/*/queue/write_cache for its disks",
        )


def _unflushed(volume: Volume, disks: list[str]) -> Doubt:
    names = ", ".join(disks)
    stated = {disk.write_cache for disk in volume.devices if disk.name in disks}
    if stated == {WRITE_THROUGH}:
        return Doubt(
            reason=(
                f"the kernel sends no flush to {names} (write_cache: write through): either the disk stated that it "
                "has no volatile cache, or the setting was written by hand; only the disk shows which"
            ),
            how="on the server, as root: sdparm --get WCE /dev/DISK (SCSI, SATA), nvme id-ctrl /dev/DISK | grep vwc",
        )
    return Doubt(
        reason=f"the evidence does not show whether the kernel flushes the cache of {names}",
        lacks=(BlockDevices.kind,),
        how=BlockDevices.how,
    )
