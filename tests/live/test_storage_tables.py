"""`make storage-tables` in small: the shapes that docs/storage.md states are those that are measured."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from lab.host import Host
from lab.volumes import FileSystem

HOUSE = Path(__file__).parents[2]


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch):
    """Return the script, which measures each cell once."""
    monkeypatch.syspath_prepend(str(HOUSE / "bench"))
    import storage_tables  # noqa: PLC0415  bench is on the path from here on

    monkeypatch.setattr(storage_tables, "RUNS", 1)
    monkeypatch.setattr(storage_tables, "COMMITTERS", (1, 10))
    monkeypatch.setattr(storage_tables, "NAMES", 6_000)
    monkeypatch.setattr(storage_tables, "READS", 1_000)
    yield storage_tables
    sys.modules.pop("storage_tables")


@pytest.fixture
def rows(laboratory, tables):
    """Return what makes one table: its rows by their first cells, as numbers."""
    with Host("tables") as host:
        place = tables.Place(host, laboratory.slow_disk)
        yield lambda table: [[number(cell) for cell in row] for row in list(table(place))[1:]]


def number(cell: str) -> float | str:
    return float(cell.replace(",", "")) if re.fullmatch(r"[\d.,]+", cell) else cell


def test_only_a_cache_without_barriers_is_fast(rows, tables) -> None:
    *safe, unsafe = rows(tables.barriers)
    alone = [row[2] for row in safe]
    assert max(alone) < 3 * min(alone)
    assert unsafe[2] > 5 * max(alone)
    assert all(row[3] > 3 * row[2] for row in safe), "committers share a sync"


def test_a_journal_mode_costs_by_its_flushes(rows, tables) -> None:
    found = dict(zip(tables.JOURNALS, rows(tables.journal_modes), strict=True))
    appends = {name: row[1] for name, row in found.items()}
    ordered = appends["ext4, data=ordered (default)"]
    assert appends["ext4 without journal"] > 1.4 * ordered
    assert 0.7 < appends["ext4, data=writeback"] / ordered < 1.4
    assert found["ext4, data=journal"][4] > 1.7 * found["ext4, data=ordered (default)"][4], "contents twice"


def test_names_without_an_index_are_slow(rows, tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "FOLDERS", {name: tables.FOLDERS[name] for name in ("ext4", "ext4, ^dir_index")})
    indexed, plain = rows(tables.many_files)
    assert plain[1] > 2 * indexed[1]


def test_btrfs_has_an_extent_per_sync(rows, tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "WRITERS", {"ext4": FileSystem("ext4"), "btrfs": FileSystem("btrfs")})
    ext4, btrfs = rows(tables.fragmentation)
    assert btrfs[1] > 10 * ext4[1]
    assert max(ext4[2:] + btrfs[2:]) < 10


def test_relatime_writes_once(rows, tables) -> None:
    for name, option, _, first, *later in rows(tables.access_times):
        writes = {"`relatime`": (True, False), "`noatime`": (False, False)}.get(option, (True, True))
        assert (first > 0, min(later) > 0) == writes, (name, option)


def test_a_delay_beyond_the_sync_loses(rows, tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "DELAYS", (0, 20))
    without, delayed = rows(tables.commit_delay)
    assert delayed[1] < 0.8 * without[1]


def test_every_table_has_its_place_in_the_page(tables) -> None:
    page = tables.PAGE.read_text()
    for name in (*tables.TABLES, "conditions"):
        assert tables.put(page, name, "| measured |") != page
        assert tables.put(tables.put(page, name, "| x |"), name, "| y |") == tables.put(page, name, "| y |")
    assert tables.cell([44, 32, 1046]) == "44 (32-1,046)"
    assert tables.cell([14, 14, 14]) == "14"
