"""Words about volumes and probes, options in force, disks, what a setting risks, what limits a rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.storage.power_cut import Loss, weaknesses
from ldapdiag.evidence.storage.probe import FASTEST_DISK
from ldapdiag.evidence.storage.settings import Role
from ldapdiag.servers.volumes.storage_rules import Window
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.analysis.storage.options import Options
    from ldapdiag.analysis.storage.server_storage import ServerStorage

MARK = "*"
"""Behind an option that is in force and that mount does not show."""


def option_words(options: Options) -> list[str]:
    """Return the options in force that matter to a database, in the words of mount(8)."""
    return list(_option_words(options))


def _option_words(options: Options) -> Iterator[str]:
    if options.read_only:
        yield "ro"
    if options.barrier is not None:
        yield "barrier" if options.barrier else "nobarrier"
    if options.journal is not None:
        yield "no journal" if options.journal == "none" else f"data={options.journal}"
    if options.async_commit:
        yield "journal_async_commit"
    if options.atime is not None:
        yield options.atime
    if options.commit_seconds is not None:
        yield f"commit={options.commit_seconds}"
    if options.soft is not None:
        yield "soft" if options.soft else "hard"
    if options.compression:
        yield f"compression {options.compression}"
    named = {"lazytime": options.lazytime, "sync": options.sync, "volatile": options.volatile}
    yield from (word for word, is_set in named.items() if is_set)
    if options.cow is False:
        yield "nodatacow"


def stack_words(volume: Mapping[str, Any]) -> str:
    """Return the devices from the file system down to the disks in one line: `db (lvm) on md0 (raid1) on sda, sdb`."""
    disks = volume["disks"]
    by_name = {one["name"]: _device(one) for one in volume["stack"]}
    upper = [words for name, words in by_name.items() if name not in disks]
    return " on ".join([*upper, *([", ".join(by_name.get(name, name) for name in disks)] if disks else [])])


def _device(device: Mapping[str, Any]) -> str:
    file = f"of {device['backing_file']}" if device["backing_file"] else None
    about = " ".join(filter(None, [device["type"], file]))
    shown = f" ({about})" if about not in {"", "disk", "part"} else ""
    return f"{device['mapper_name'] or device['name']}{shown}"


def setting_words(one: Mapping[str, Any], flush_lost_by: str | None) -> str:
    """Return what a setting means for acknowledged changes, as a sentence without its full stop.

    `flush_lost_by`: the options because of which a flush of the database does not reach the disk.
    """
    if not one["effective"]:
        return (one["why"] or "").removesuffix(".") or "it has no effect"
    if one["loss"]:
        return str(one["loss"]).removesuffix(".")
    if one["window"] != Window.NONE:
        return "what a power cut loses is not known"
    flushes = "" if one["flushes_per_write"] is None else f" ({counted(one['flushes_per_write'], 'flush', 'flushes')})"
    but = f", but {flush_lost_by} makes the flush ineffective" if flush_lost_by else ""
    return f"each change waits for the disk{flushes}{but}"


def flush_lost_by(storage: ServerStorage) -> str:
    """Return the options because of which a flush of the database does not reach the disk; empty: it does."""
    volumes = (volume for volume in storage.volumes if {Role.DATABASE, Role.TRANSACTION_LOG} & {*volume.roles})
    found = (weakness for volume in volumes for weakness in weaknesses(volume))
    return " and ".join(dict.fromkeys(one.words for one in found if one.loss in {Loss.EVERYTHING, Loss.UNFLUSHED}))


def probe_remarks(probe: Mapping[str, Any]) -> Iterator[str]:
    """Yield what limits the numbers of a probe."""
    if any(one["sync"]["p50_seconds"] < FASTEST_DISK for one in probe["syncs"]):
        yield "faster than any disk: memory, a cache, or no barrier"
    if probe["stopped_because"]:
        yield f"stopped: {probe['stopped_because']}"
