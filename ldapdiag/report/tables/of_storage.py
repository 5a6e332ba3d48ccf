"""The tables of `ldapdiag storage`; on a page they are those of one server, or of one probe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.storage.probe import is_lower_bound
from ldapdiag.report.storage.rows import MARK, probe_remarks, setting_words
from ldapdiag.report.table import COUNT, NAMES, PAGES, SECONDS, Column, Table, Unit, only_csv, rows_at, words
from ldapdiag.report.tables.of_diagnosis import COMMON
from ldapdiag.wording import number, rounded, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.report.table import Plain


def _has_space(row: Plain) -> bool:
    return row["free_bytes"] is not None and bool(row["total_bytes"])


def _options(row: Plain) -> str:
    hidden = set(row["hidden_options"])
    options = " ".join(f"{word}{MARK}" if word in hidden else word for word in row["options"])
    return f"{options}{f' ({MARK} not shown by mount)' if hidden else ''}"


def _disks(row: Plain) -> str:
    return f"in memory ({row['in_memory']})" if row["in_memory"] else ", ".join(row["disks"]) or "unknown"


def _cache(row: Plain) -> str:
    return str(row["write_cache"] or ("" if row["in_memory"] else "unknown"))


def _free(row: Plain) -> str:
    return f"{size(row['free_bytes'])} of {size(row['total_bytes'])}" if _has_space(row) else ""


def _settings(server: Plain) -> Iterator[Plain]:
    """Yield the settings of a server, each with what it means."""
    for row in server["settings"]:
        yield {**row, "effect": setting_words(row, server["flush_lost_by"])}


def _value(row: Plain) -> str:
    return f"{row['value'] or ''}{' (default)' if row['is_default'] else ''}".strip()


def _files(server: Plain) -> Iterator[Plain]:
    """Yield the files of each volume."""
    for volume in server["volumes"]:
        for row in volume["files"]:
            yield {"mount_point": volume["mount_point"]} | row


def _measured(probe: Plain) -> Iterator[dict[str, Any]]:
    """Yield what a probe measured: latencies of a sync, commits of several committers, small files."""
    for row in probe["syncs"]:
        words = f"{row['write']} {size(row['block_bytes'])}, {row['call']}"
        yield {"measured": f"{row['write']}, {row['call']}", "words": words} | row | row["sync"]
    for row in probe["commits"]:
        words, rate = f"commits of {number(row['committers'])} at once", _rate(row["commits"], row["seconds"])
        words += ", at least" * is_lower_bound(row["committers"], row["commits"], row["seconds"])
        found = {"measured": "group commit", "words": words, "per_second": rate, "count": row["commits"]}
        yield found | row | row["commit"]
    for row in probe["files"]:
        words = f"{row['operation']} small files"
        yield {"measured": words, "words": words, "per_second": _rate(row["count"], row["seconds"])} | row


def _beside_charts(probe: Plain) -> Iterator[Plain]:
    """Yield what the charts of a page do not show."""
    yield from _measured({**probe, "syncs": (), "commits": ()})
    yield from _reads(probe)


def _reads(probe: Plain) -> Iterator[Plain]:
    """Yield how fast the files were read again, with access times and without."""
    if not (access := probe["access_times"]):
        return
    files, updated = access["files"], number(access["again_updated"])
    words = f"read them again ({updated} access times changed)"
    yield {"words": words, "count": files, "per_second": _rate(files, access["again_seconds"])}
    if access["without_seconds"]:
        rate = _rate(files, access["without_seconds"])
        yield {"words": "read them without access times", "count": files, "per_second": rate}


def _rate(count: int, seconds: float) -> float | None:
    return count / seconds if seconds else None


VOLUMES = Table(
    (
        *only_csv("server host"),
        Column("mount_point", "Volume"),
        *only_csv("source fs_type"),
        Column("", "File system", words(lambda row: f"{row['fs_type']} on {row['source']}"), PAGES),
        Column("roles", "Used for", NAMES),
        *only_csv("options hidden_options disks write_cache in_memory durable local total_bytes used_bytes free_bytes"),
        Column("", "Options in force", words(_options), PAGES),
        Column("", "Disks", words(_disks), PAGES),
        Column("", "Write cache", words(_cache), PAGES),
        Column("", "Free", words(_free), PAGES),
    ),
    rows_at("volumes"),
    within="storage",
    title="Volumes of {server}",
    most=60,
)
SETTINGS = Table(
    (
        *only_csv("server backend"),
        Column("setting", "Setting"),
        *only_csv("value is_default window window_seconds loss corrupts survives_kill effective why"),
        *only_csv("flushes_per_write tested"),
        Column("", "Value", words(_value), PAGES),
        Column("", "Database", words(lambda row: str(row["backend"] or "all")), PAGES),
        Column("effect", "What it means for a change", on=PAGES),
    ),
    _settings,
    within="storage",
    title="Settings of {server}",
    most=60,
)
UNKNOWN = Table(
    (Column("what", "Not known"), Column("how", "What shows it")),
    rows_at("unknown"),
    title="Not known of {server}",
    most=60,
)
FILES = Table(
    tuple(only_csv("server mount_point path bytes allocated_bytes extents compressed reason")), _files, within="storage"
)
MEASURED = Table(
    (
        *only_csv("host directory mount_point fs_type begun measured block_bytes committers"),
        Column("words", "Measured", on=PAGES),
        Column("count", "Count", COUNT),
        Column("per_second", "Per second", Unit(rounded)),
        *only_csv("p10_seconds"),
        Column("p50_seconds", "Median", SECONDS),
        *only_csv("p90_seconds"),
        Column("p99_seconds", "p99", SECONDS),
        Column("worst_seconds", "Longest", SECONDS),
    ),
    _measured,
    within="probes",
    title="Measured in {directory}{place}",
    most=60,
)

TABLES = {
    "volumes": VOLUMES,
    "settings": SETTINGS,
    "files": FILES,
    "probes": MEASURED,
    **COMMON,
}


def of_pages(document: Plain, *, beside_charts: bool = False) -> Iterator[tuple[Plain, tuple[Table, ...]]]:
    """Yield each server and each probe of a document with its tables; beside charts without what these show."""
    for server in document.get("storage") or ():
        yield server, (VOLUMES, SETTINGS, UNKNOWN)
    rows = _beside_charts if beside_charts else _all_measured
    for probe in document.get("probes") or ():
        place = f" ({probe['fs_type']} at {probe['mount_point']})" if probe["mount_point"] else ""
        place += "".join(f"; {remark}" for remark in probe_remarks(probe))
        yield {**probe, "place": place}, (MEASURED._replace(rows=rows),)


def _all_measured(probe: Plain) -> Iterator[Plain]:
    yield from _measured(probe)
    yield from _reads(probe)
