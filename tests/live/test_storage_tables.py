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
        place = tables.Place(host, laboratory)
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
    for name in tables.TABLES:
        assert tables.put(page, name, "| measured |") != page
        assert tables.put(tables.put(page, name, "| x |"), name, "| y |") == tables.put(page, name, "| y |")
    assert tables.cell([44, 32, 1046]) == "44 (32-1,046)"
    assert tables.cell([14, 14, 14]) == "14"


def test_the_sentences_of_the_page_are_those_of_its_tables(tables) -> None:
    """A number in them is never one of another run."""
    page = tables.PAGE.read_text()
    for name in tables.TABLES:
        head, _, *lines = re.search(rf"<!-- {name} -->\n\n((?:\|.*\n)+)", page)[1].splitlines()
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in (head, *lines)]
        block = re.search(rf"(?s)<!-- {name} -->(.*?)<!-- end -->", page)[1]
        assert re.search(r"Measured on 20\d\d-\d\d-\d\d .*load average \d", block), name
        if name in tables.SENTENCES:
            assert tables.SENTENCES[name](rows) in block, name
    assert tables.ratio([["44 (32-46)"], ["1,046"]], 0, 0, 1) == "0.04"
    head = ["server", "file system", "changes, /s"]
    overlap, differ = (
        (["a", "ext3", "10 (8-12)"], ["a", "XFS", "20 (12-30)"]),
        (["a", "ext3", "10"], ["a", "XFS", "20"]),
    )
    assert tables.apart([head, *overlap], 2).startswith("No row differs")
    assert tables.apart([head, *differ], 2).startswith("a, changes, /s: on XFS 2.00 times those on ext3.")


def test_only_the_flag_of_open_makes_writes_wait(rows, tables) -> None:
    opened, by_fcntl, with_fsync = rows(tables.synced_writes)
    assert [row[1] for row in (opened, by_fcntl, with_fsync)] == ["yes", "no", "no"]
    assert by_fcntl[2] > 50 * max(opened[2], with_fsync[2])
    assert by_fcntl[3] < 0.01
    assert min(opened[3], with_fsync[3]) > 0.9


def test_what_is_fragmented_is_read_whole(rows, tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "WRITERS", {"btrfs": FileSystem("btrfs")})
    ((_, whole, fast, pieces, slow),) = rows(tables.fragmented_reads)
    assert whole < pieces
    assert slow < fast


def test_real_servers_load_and_are_read_after_a_cold_start(rows, tables, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ENTRIES", 40), ("CHANGES", 10), ("JOURNALLED", {"ext4": FileSystem("ext4")})):
        monkeypatch.setattr(tables, name, value)
    found = rows(tables.directories)
    assert [row[:2] for row in found] == [["slapd", "ext4"], ["389-ds", "ext4"]]
    assert all(rate > 0 for row in found for rate in row[2:])
