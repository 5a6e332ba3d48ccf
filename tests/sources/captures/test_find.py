"""Compressed evidence is whole or a gap, however long it is, and a missing library costs what needs it alone."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from backports import zstd

from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.sources.captures import archive, find
from ldapdiag.sources.files import input as inputs
from ldapdiag.sources.gathering import gather

ROWS = 5000
TABLE = b"State Recv-Q Send-Q Local Address:Port Peer Address:Port\n" + b"".join(
    b"ESTAB 0 0 10.77.2.2:%d 10.77.1.2:389\n" % port for port in range(20_000, 20_000 + ROWS)
)


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a table be too long to be held."""
    for module in (find, inputs):
        monkeypatch.setattr(module, "HELD_BYTES", 100_000)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("piped", [False, True])
def test_a_compressed_table_that_is_too_long_to_be_held_is_read_as_it_comes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    piped: bool,  # noqa: FBT001  a parameter
) -> None:
    path = tmp_path / "ss.txt.gz"
    path.write_bytes(gzip.compress(TABLE))
    monkeypatch.setattr("ldapdiag.sources.files.walk._standard_input", lambda: path.open("rb", buffering=0))
    bundle = gather(["-" if piped else str(path)])
    assert bundle.gaps == ()
    (table,) = bundle.facts
    assert isinstance(table, SocketTable)
    assert len(table) == ROWS


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("packed", ["ss.txt.gz", "evidence.tar.gz"])
def test_where_that_is_cut_off_nothing_of_it_is_judged(tmp_path: Path, packed: str) -> None:
    content = TABLE if packed == "ss.txt.gz" else tar_of("app2/ss.txt", TABLE)
    (tmp_path / packed).write_bytes(gzip.compress(content)[:-1000])
    bundle = gather([str(tmp_path / packed)])
    assert bundle.facts == ()
    reasons = [gap.reason.partition(";")[0] for gap in bundle.gaps]
    assert reasons
    assert set(reasons) == {"is truncated"}


def tar_of(name: str, content: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


WITHOUT_ZSTD = """
import sys
sys.modules["backports.zstd"] = None
sys.modules["compression.zstd"] = None
from ldapdiag.sources.gathering import gather
bundle = gather([sys.argv[1]])
print(len(bundle.facts), *(f"{gap.target.rpartition('/')[2]} {gap.reason}; {gap.how}" for gap in bundle.gaps), sep="|")
"""


def test_a_missing_library_costs_only_the_files_that_need_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(TABLE))
    (tmp_path / "b.txt.zst").write_bytes(zstd.compress(TABLE))
    (tmp_path / "c.txt").write_bytes(TABLE)
    argv = [sys.executable, "-c", WITHOUT_ZSTD, str(tmp_path)]
    ran = subprocess.run(argv, check=True, capture_output=True, text=True)
    reason = "is compressed with zstd, and this Python lacks the package backports.zstd"
    assert ran.stdout.strip() == f"2|b.txt.zst {reason}; install it, or decompress the file elsewhere"


def test_a_missing_library_is_said_before_a_capture_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    monkeypatch.delattr("backports.zstd", raising=False)
    with pytest.raises(archive.UsageError, match=r"end the name with \.tar\.gz"):
        archive.write(tmp_path / "capture.tar.zst", [])
    assert list(tmp_path.iterdir()) == []
