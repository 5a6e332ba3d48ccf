"""The storage of a report object as rows of text, for pages: volumes, settings, what is not known, and probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.report.log.quantities import duration
from ldapdiag.report.storage.words import MARK, size
from ldapdiag.wording import number, rounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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
