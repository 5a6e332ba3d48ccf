"""Extents of files and numbers of names: what filefrag prints, and what a collection does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.storage import DirectorySize, FileExtents
from ldapdiag.evidence.storage.directory_sizes import FORMAT as DIRECTORY_SIZES
from ldapdiag.evidence.storage.file_extents import FORMAT as FILE_EXTENTS
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

COLLECTED = """/srv/ldap/data.mdb\t1048576\t524288\t4\t
/srv/my\\040disk/data.mdb\t1048576\t1048576\t8\tcompressed
/dev/shm/data.mdb\t1048576\t1048576\t-\tthe file system does not report extents
/srv/ldap/other.mdb\t-\t-\t-\tcannot open it: permission denied
/srv/ldap/large.mdb\t9\t9\t200000\tat least: counting ends at 200,000
# only the largest 200 files
"""
ENCODED = """Filesystem type is: 9123683e
File size of /srv/ldap/a b.db is 262144 (64 blocks of 4096 bytes)
 ext:     logical_offset:        physical_offset: length:   expected: flags:
   0:        0..      31:      15632..     15663:     32:             encoded
   1:       32..      63:      15632..     15663:     32:      15664: last,encoded,eof
/srv/ldap/a b.db: 2 extents found
"""
SIZES = "/var/lib/ldap\t12\n/srv/ldap/log\t100000\t/mnt/disk2/log\tat least\n/srv/db\t-\t/srv/db\tnot read\n"


@pytest.mark.parametrize("folder", ["ext4-default", "ext4-strictatime", "xfs-default", "btrfs-compress"])
def test_captures_of_filefrag(captures: Path, folder: str) -> None:
    truth = json.loads((captures / "storage" / folder / "TRUTH.json").read_text())
    found = facts_of((captures / "storage" / folder / "filefrag_v.txt").read_bytes())
    assert {one.path: one.extents for one in found} == truth["extents"]
    assert all(one.origin.not_understood == 0 for one in found)
    sparse = next(one for one in found if one.path == "sparse.mdb")
    assert (sparse.bytes, sparse.allocated_bytes) == (64 << 20, 1 << 20)


def test_a_file_system_without_extents(captures: Path) -> None:
    found = facts_of((captures / "storage" / "tmpfs" / "filefrag_v.txt").read_bytes())
    assert [(one.extents, one.unsupported) for one in found] == [(None, "FIBMAP/FIEMAP unsupported")] * 4


def test_compressed_extents() -> None:
    (found,) = facts_of(ENCODED)
    assert isinstance(found, FileExtents)
    assert (found.path, found.extents, found.compressed) == ("/srv/ldap/a b.db", 2, True)


def test_the_short_form_of_filefrag() -> None:
    first, old = facts_of(
        "/srv/ldap/a.db: 17 extents found\n/srv/b.db: 3 extents found, perfection would be 1 extent\n"
    )
    assert (first.path, first.extents, first.bytes, old.extents) == ("/srv/ldap/a.db", 17, None, 3)


def test_collected_extents() -> None:
    plain, packed, unsupported, closed, large = facts_of(COLLECTED)
    assert (plain.extents, plain.bytes, plain.allocated_bytes, plain.unsupported) == (4, 1 << 20, 1 << 19, "")
    assert (packed.path, packed.compressed, packed.complete) == ("/srv/my disk/data.mdb", True, True)
    assert (unsupported.extents, unsupported.unsupported) == (None, "the file system does not report extents")
    assert (closed.bytes, closed.unsupported) == (None, "cannot open it: permission denied")
    assert (large.extents, large.complete, large.origin.not_understood) == (200_000, False, 0)


def test_numbers_of_names() -> None:
    plain, log = facts_of(SIZES)
    assert isinstance(plain, DirectorySize)
    assert (plain.path, plain.names, plain.complete, plain.real_path) == ("/var/lib/ldap", 12, True, "")
    assert (log.names, log.complete, log.real_path) == (100_000, False, "/mnt/disk2/log")
    assert log.origin.not_understood == 0


PATHS = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=1, max_size=20)
NUMBERS = st.none() | st.integers(0, 1 << 40)


@given(st.lists(st.tuples(PATHS, NUMBERS, st.integers(0, 10**9)), min_size=1, max_size=4, unique_by=lambda row: row[0]))
def test_what_a_collection_writes_is_read_back(rows: list[tuple[str, int | None, int]]) -> None:
    def escaped(path: str) -> str:
        return path.replace("\\", "\\134").replace("\t", "\\011")

    text = "".join(f"/{escaped(p)}\t{'-' if b is None else b}\t-\t{n}\t\n" for p, b, n in rows)
    assert [(one.path, one.bytes, one.extents) for one in facts_of(text, form=FILE_EXTENTS)] == [
        (f"/{path}", size, number) for path, size, number in rows
    ]
    sizes = "".join(f"/{escaped(path)}\t{number}\n" for path, _, number in rows)
    assert [(one.path, one.names) for one in facts_of(sizes, form=DIRECTORY_SIZES)] == [
        (f"/{path}", number) for path, _, number in rows
    ]
