"""Every input is opened once: what was looked at to recognise it is not opened again to be read."""

from __future__ import annotations

import gzip
import sys
from collections import Counter
from pathlib import Path

import pytest

import log_lines
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.sources.files.open_files import FileRange, OpenFiles
from ldapdiag.sources.gathering import gather

TABLE = "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n" + "".join(
    f"ESTAB 0 0 10.77.2.2:{port} 10.77.1.2:389\n" for port in range(20_000, 25_000)
)
opened: Counter[str] = Counter()


def _count(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str):
        opened[arguments[0]] += 1


sys.addaudithook(_count)


@pytest.fixture
def incident(tmp_path: Path) -> Path:
    """Make a folder of tables and logs, all longer than a head."""
    for name in ("app1/ss.txt", "app1/again.txt.gz", "ldap/access", "ldap/access.1.gz", "ldap/slapd.log", "ldap/notes"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / "app1/ss.txt").write_text(TABLE)
    (tmp_path / "app1/small.txt").write_text(TABLE[:200])
    (tmp_path / "app1/again.txt.gz").write_bytes(gzip.compress(TABLE.encode()))
    (tmp_path / "ldap/access").write_bytes(log_lines.header() + log_lines.run(301, 600))
    (tmp_path / "ldap/access.1.gz").write_bytes(gzip.compress(log_lines.header() + log_lines.run(1, 300)))
    (tmp_path / "ldap/notes").write_text("nothing of use\n" * 9_000)
    return tmp_path


@pytest.mark.usefixtures("scanner")
def test_each_table_and_each_log_is_opened_once(incident: Path) -> None:
    """Threads of the native scanner open a plain log once more each: they read at positions of their own."""
    opened.clear()
    bundle = gather([str(incident)])
    files = {str(path) for path in incident.rglob("*") if path.is_file()}
    assert {path: times for path, times in opened.items() if path in files} == dict.fromkeys(files, 1)
    assert sum(isinstance(fact, SocketTable) for fact in bundle.facts) == 3
    (log,) = (fact for fact in bundle.facts if isinstance(fact, AccessLog))
    assert log.segment.opened == 600


def open_now() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_more_files_are_open_at_once_than_a_system_allows(tmp_path: Path) -> None:
    files = OpenFiles(most=3)
    ranges = [FileRange(str(tmp_path / str(number)), files=files) for number in range(9)]
    for number, one in enumerate(ranges):
        Path(one.location).write_text(str(number))
    before = open_now()
    assert [one.read_at(0, 9) for one in ranges] == [b"%d" % number for number in range(9)]
    assert open_now() == before + 3
    files.clear()
    assert open_now() == before


def test_a_range_is_read_at_any_position_and_never_beyond(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    one = FileRange(str(tmp_path / "file"), start=2, length=5)
    assert (one.bounds(), one.read_at(4, 99)) == ((2, 7), b"456")
    stream = one.stream(1)
    assert (stream.read(2), stream.read(9), stream.read(9), stream.trouble()) == (b"34", b"56", b"", "")
    cut = FileRange(str(tmp_path / "file"), start=8, length=5).stream()
    assert (cut.read(9), cut.trouble()) == (b"89", "is truncated")
