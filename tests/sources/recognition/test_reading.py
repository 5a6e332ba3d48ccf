"""What the reading of one input records: the checksum of its content."""

from __future__ import annotations

import gzip
import zipfile
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from ldapdiag.sources.gathering import gather

if TYPE_CHECKING:
    from pathlib import Path

HEADING = b"State Recv-Q Send-Q Local Address:Port Peer Address:Port\r\n"
ROW = b"ESTAB 0 0 10.77.1.2:389 10.77.2.2:40106\r\n"
TABLE = HEADING + ROW


@pytest.mark.parametrize(
    ("name", "content"),
    [("ss.txt", TABLE), ("ss.txt.gz", gzip.compress(TABLE)), ("ss.txt", HEADING + 60_000 * ROW)],
    ids=["plain", "compressed", "of several chunks"],
)
def test_a_source_has_the_checksum_of_its_content_decompressed(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    (fact,) = gather([str(tmp_path)]).facts
    expected = gzip.decompress(content) if name.endswith(".gz") else content
    assert fact.origin.sha256 == sha256(expected).hexdigest()


def test_what_is_read_again_has_the_checksum_of_the_file(captures: Path) -> None:
    tables = captures / "incidents"
    every = [fact.origin for fact in gather([str(tables)]).facts if fact.origin.sha256]
    assert len(every) > 10
    files = {sha256(path.read_bytes()).hexdigest() for path in tables.rglob("*") if path.is_file()}
    assert {one.sha256 for one in every} <= files


def test_a_zip_is_named_although_its_tables_are_stored_as_they_were(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "capture.zip", "w") as capture:
        capture.writestr("ss.txt", HEADING + 100 * ROW)
    bundle = gather([str(tmp_path)])
    assert bundle.facts == ()
    (passed,) = bundle.passed_over
    assert passed.reason == "is a zip archive, which is not opened; unpack it first"
