"""The storage of a report object as rows of text, for pages: volumes, settings, what is not known, and probes.

Words about a volume, for every format: its options in force, its disks, sizes, and what a setting risks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.storage.power_cut import Loss, weaknesses
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.storage.settings import Role
from ldapdiag.report.log.quantities import duration
from ldapdiag.servers.volumes.storage_rules import Window
from ldapdiag.wording import counted, number, rounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ldapdiag.analysis.storage.options import Options
    from ldapdiag.analysis.storage.server_storage import ServerStorage
    from ldapdiag.evidence.storage import BlockDevice
    from ldapdiag.servers.volumes.storage_rules import Durability

Plain = dict[str, Any]
DATA = frozenset({"database", "transaction log"})

VOLUME = ("Volume", "File system", "Used for", "Options in force", "Disks", "Write cache", "Free")
SETTING = ("Setting", "Value", "Database", "What it means for a change")
UNKNOWN = ("Not known", "What shows it")
PROBE = ("Measured", "Count", "Median", "p99", "Longest", "Per second")
NUMBERS = frozenset({"Count", "Median", "p99", "Longest", "Per second"})
"""Columns that are aligned to the right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRows:
    """A table as text."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]


def tables(document: Mapping[str, Any], *, beside_charts: bool = False) -> list[StorageRows]:
    """Return the tables of a report object, without empty ones; beside charts without the numbers that these have."""
    return [one for one in _tables(document, beside_charts=beside_charts) if one.rows]


def _tables(document: Mapping[str, Any], *, beside_charts: bool) -> Iterator[StorageRows]:
    for one in document.get("storage") or ():
        server = one["server"]
        yield _table(f"Volumes of {server}", VOLUME, map(_volume, one["volumes"]))
        reaches_disk = not any(DATA & {*row["roles"]} and _loses_flushes(row) for row in one["volumes"])
        settings = (_setting(row, reaches_disk=reaches_disk) for row in one["settings"])
        yield _table(f"Settings of {server}", SETTING, settings)
        yield _table(f"Not known of {server}", UNKNOWN, ([row["what"], row["how"] or ""] for row in one["unknown"]))
    for one in document.get("probes") or ():
        yield _table(f"Measured in {one['directory']}{_place(one)}", PROBE, _measured(one, beside_charts=beside_charts))


def _table(title: str, columns: tuple[str, ...], rows: Iterable[Sequence[str]]) -> StorageRows:
    return StorageRows(title=title, columns=columns, rows=list(rows))


def _volume(row: Plain) -> list[str]:
    hidden = set(row["hidden_options"])
    options = " ".join(f"{word}{MARK}" if word in hidden else word for word in row["options"])
    about = f" ({MARK} not shown by mount)" if hidden else ""
    free = f"{size(row['free_bytes'])} of {size(row['total_bytes'])}" if _has_space(row) else ""
    kind = f"{row['fs_type']} on {row['source']}"
    disks = f"in memory ({row['in_memory']})" if row["in_memory"] else ", ".join(row["disks"]) or "unknown"
    cache = row["write_cache"] or ("" if row["in_memory"] else "unknown")
    return [row["mount_point"], kind, ", ".join(row["roles"]), f"{options}{about}", disks, cache, free]


def _has_space(row: Plain) -> bool:
    return row["free_bytes"] is not None and bool(row["total_bytes"])


def _loses_flushes(row: Plain) -> bool:
    """Return whether a sync of a volume leaves the changes in memory."""
    return row["durable"] is False or "nobarrier" in row["options"]


def _setting(row: Plain, *, reaches_disk: bool) -> list[str]:
    value = f"{row['value'] or ''}{' (default)' if row['is_default'] else ''}".strip()
    effect = row["why"] if not row["effective"] else row["loss"] or _waits(row, reaches_disk=reaches_disk)
    return [row["setting"], value, row["backend"] or "all", effect or ""]


def _waits(row: Plain, *, reaches_disk: bool) -> str:
    if row["window"] != "none":
        return "not known"
    return (
        f"it waits for the disk{'' if reaches_disk else ', but the options of the volume make the flush ineffective'}"
    )


def _place(probe: Plain) -> str:
    return f" ({probe['fs_type']} at {probe['mount_point']})" if probe["mount_point"] else ""


def _measured(probe: Plain, *, beside_charts: bool) -> Iterator[list[str]]:
    for row in () if beside_charts else probe["syncs"]:
        name = f"{row['write']} {size(row['block_bytes'])}, {row['call']}"
        yield [name, number(row["count"]), *_latency(row["sync"]), ""]
    for row in () if beside_charts else probe["commits"]:
        name = f"commits of {number(row['committers'])} at once"
        yield [name, number(row["commits"]), *_latency(row["commit"]), _rate(row["commits"], row["seconds"])]
    for row in probe["files"]:
        name = f"{row['operation']} small files"
        yield [name, number(row["count"]), "", "", "", _rate(row["count"], row["seconds"])]
    if access := probe["access_times"]:
        files, updated = access["files"], number(access["again_updated"])
        name = f"read them again ({updated} access times changed)"
        yield [name, number(files), "", "", "", _rate(files, access["again_seconds"])]
        if access["without_seconds"]:
            name = "read them without access times"
            yield [name, number(files), "", "", "", _rate(files, access["without_seconds"])]


def _latency(row: Plain) -> list[str]:
    return [duration(round(row[f"{name}_seconds"] * SECOND)) for name in ("p50", "p99", "worst")]


def _rate(count: int, seconds: float) -> str:
    return rounded(count / seconds) if seconds else ""


UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
MARK = "*"
"""Behind an option that is in force and that mount does not show."""


def size(value: float) -> str:
    """Return a number of bytes in a suitable unit, with three digits: 512 bytes, 1.46 MiB, 290 GiB."""
    place = 0
    while value >= 999.5 and place < len(UNITS) - 1:
        value, place = value / 1024, place + 1
    return f"{value:.0f} {UNITS[place]}" if place == 0 or value >= 99.95 else f"{value:.3g} {UNITS[place]}"


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


def stack_words(stack: Sequence[BlockDevice], disks: Sequence[BlockDevice]) -> str:
    """Return the devices from the file system down to the disks in one line: `db (lvm) on md0 (raid1) on sda, sdb`."""
    below = {disk.name for disk in disks}
    upper = [_device(one) for one in stack if one.name not in below]
    return " on ".join([*upper, *([", ".join(map(_device, disks))] if disks else [])])


def _device(device: BlockDevice) -> str:
    about = f"{device.type} of {device.backing_file}" if device.backing_file else device.type
    shown = f" ({about})" if about not in {"", "disk", "part"} else ""
    return f"{device.mapper_name or device.name}{shown}"


def durability_words(one: Durability) -> str:
    """Return what a setting means for acknowledged changes, as a sentence without its full stop."""
    if not one.effective:
        return one.why.removesuffix(".") or "it has no effect"
    if one.loss:
        return one.loss.removesuffix(".")
    if one.window is Window.NONE:
        flushes = "" if one.flushes_per_write is None else f" ({counted(one.flushes_per_write, 'flush', 'flushes')})"
        return f"each change waits for the disk{flushes}"
    return "what a power cut loses is not known"


def words_of_lost_flushes(storage: ServerStorage) -> str:
    """Return the options because of which a flush of the database does not reach the disk; empty: it does."""
    volumes = (one for one in storage.volumes if {Role.DATABASE, Role.TRANSACTION_LOG} & {*one.roles})
    found = (weakness for volume in volumes for weakness in weaknesses(volume))
    return " and ".join(dict.fromkeys(one.words for one in found if one.loss in {Loss.EVERYTHING, Loss.UNFLUSHED}))
