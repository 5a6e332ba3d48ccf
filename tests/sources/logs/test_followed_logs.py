"""Followed folders: logs that appear are read, and each record counts once, also in files that are rotated away."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

import log_lines
from ldapdiag.sources.logs import followed_logs
from ldapdiag.sources.logs.access_log import ScannedLogs
from ldapdiag.sources.logs.followed_logs import follow
from several_servers import Slapd, interleaved, iso

pytestmark = pytest.mark.usefixtures("scanner")


class Followed:
    """A folder or glob being followed; `opened` are the connections of each stream."""

    def __init__(self, named: str) -> None:
        self.stop = Event()
        self._readings = follow([named], stop=self.stop, every=0)
        self.last: ScannedLogs = next(self._readings)

    def opened(self) -> list[int]:
        self.last = next(self._readings)
        return [stream.counts.finished(goes_on=True).opened for stream in self.last.streams]

    def files(self) -> list[list[str]]:
        return [[Path(file.path).name for file in stream.stream.files] for stream in self.last.streams]

    def end(self) -> None:
        self.stop.set()
        assert list(self._readings) == []


@pytest.fixture
def followed() -> Iterator[Callable[[object], Followed]]:
    """Follow a folder or a glob."""
    begun: list[Followed] = []

    def begin(named: object) -> Followed:
        begun.append(Followed(str(named)))
        return begun[-1]

    yield begin
    for one in begun:
        one.end()


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(data)


@pytest.mark.parametrize("named", ["", "slapd-*.log"])
def test_a_log_goes_on_under_a_new_name(tmp_path: Path, followed: Callable[[object], Followed], named: str) -> None:
    first, second = tmp_path / "slapd-20.log", tmp_path / "slapd-21.log"
    first.write_bytes(log_lines.run(1, 10))
    log = followed(tmp_path / named)

    append(first, log_lines.run(11, 12) + log_lines.connection(13, 12)[:-20])
    second.write_bytes(log_lines.connection(14, 13))
    assert log.opened() == [14]
    append(first, log_lines.connection(13, 12)[-20:])
    append(second, log_lines.connection(15, 14))
    assert log.opened() == [15]
    append(second, log_lines.connection(16, 15))

    assert log.opened() == [16]
    assert log.files() == [["slapd-20.log", "slapd-21.log"]]


def test_a_new_log_is_a_stream_of_its_own(tmp_path: Path, followed: Callable[[object], Followed]) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one/access").write_bytes(log_lines.run(1, 10))
    log = followed(tmp_path)

    (tmp_path / "two").mkdir()
    (tmp_path / "two/access").write_bytes(log_lines.run(1, 3, client="10.0.0.2"))
    assert log.opened() == [10, 3]
    append(tmp_path / "two/access", log_lines.run(4, 5, client="10.0.0.2"))

    assert log.opened() == [10, 5]


def test_a_file_that_is_renamed_copied_or_compressed_counts_once(
    tmp_path: Path, followed: Callable[[object], Followed]
) -> None:
    access = tmp_path / "access"
    access.write_bytes(log_lines.header() + log_lines.run(1, 10))
    log = followed(tmp_path)

    append(access, log_lines.run(11, 12))
    rotated = access.rename(tmp_path / "access.20261120-080012")
    access.write_bytes(log_lines.header() + log_lines.run(13, 14))
    assert log.opened() == [14]
    (tmp_path / "access.20261120-080012.gz").write_bytes(gzip.compress(rotated.read_bytes()))
    rotated.unlink()
    shutil.copy(access, tmp_path / "copy")
    append(access, log_lines.run(15, 16))

    assert log.opened() == [16]


def test_a_copy_that_is_made_before_a_truncation_counts_once(
    tmp_path: Path, followed: Callable[[object], Followed]
) -> None:
    access = tmp_path / "access"
    access.write_bytes(log_lines.run(1, 10))
    log = followed(tmp_path)
    for number in range(1, 4):
        append(access, log_lines.connection(10 * number + 1, 10 * number))
        log.opened()
        shutil.copy(access, tmp_path / f"access.{number}")
        access.write_bytes(log_lines.connection(10 * number + 2, 10 * number + 1))
        assert log.opened() == [10 + 2 * number]


def test_an_empty_file_beside_a_log_is_read_when_it_has_a_record(
    tmp_path: Path, followed: Callable[[object], Followed]
) -> None:
    (tmp_path / "access.1").write_bytes(log_lines.run(1, 10))
    (tmp_path / "access").write_bytes(b"")
    log = followed(tmp_path)

    append(tmp_path / "access", log_lines.header())
    append(tmp_path / "access", log_lines.run(11, 12))

    assert log.opened() == [12]


def test_no_more_files_are_followed_than_may_be_open(
    tmp_path: Path, followed: Callable[[object], Followed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed_logs, "MOST_FOLLOWED", 2)
    (tmp_path / "a").write_bytes(log_lines.run(1, 10))
    log = followed(tmp_path)
    for name in ("b", "c", "d"):
        (tmp_path / name).write_bytes(log_lines.run(1, 1, client=f"10.0.1.{ord(name)}"))

    assert len(log.opened()) == 2
    append(tmp_path / "a", log_lines.run(11, 11))

    assert len(log.opened()) == 2


def test_a_file_of_two_servers_is_followed_as_one_and_says_so(
    tmp_path: Path, followed: Callable[[object], Followed]
) -> None:
    one = Slapd(host="ldap1", pid=3989, client="10.0.0.1").lines()
    two = Slapd(host="ldap2", pid=4100, client="10.0.0.2", begin=350_000).lines()
    lines = [iso(line) for line in interleaved(one, two)]
    (tmp_path / "log").write_bytes(b"".join(lines[:100]))
    log = followed(tmp_path / "log")

    append(tmp_path / "log", b"".join(lines[100:]))
    log.opened()

    (stream,) = log.last.streams
    (sentence,) = stream.counted(goes_on=True).stream.unreliable
    assert sentence.startswith(f"2 servers write into {tmp_path.name}/log (ldap1 and ldap2), ")
    assert "they are not separated while it is followed; split it" in sentence
