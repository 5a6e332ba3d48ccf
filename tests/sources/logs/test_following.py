"""A log that is followed loses nothing when it is rotated, and says where it may have when it is cut off."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import log_lines
from ldapdiag.sources.logs.access_log import ScannedLogs
from ldapdiag.sources.logs.followed_logs import follow

pytestmark = pytest.mark.usefixtures("scanner")

LINES = log_lines.LINES_OF_CONNECTION


class Followed:
    """A log being followed, one look after another."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stop = Event()
        self.readings = follow([str(path)], stop=self.stop, every=0)
        self.last = self.next()

    def next(self) -> ScannedLogs:
        self.last = next(self.readings)
        return self.last

    def figures(self) -> dict[str, Any]:
        (stream,) = self.last.streams
        assert stream.gaps == []
        segment = stream.counts.finished(goes_on=True)
        return {name: getattr(segment, name) for name in ("lines", "misread", "opened", "open_at_end")}


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[Callable[[bytes], Followed]]:
    """Follow a log that begins with these bytes."""
    begun: list[Followed] = []

    def begin(data: bytes) -> Followed:
        (tmp_path / "access").write_bytes(data)
        begun.append(Followed(tmp_path / "access"))
        return begun[-1]

    yield begin
    for one in begun:
        one.stop.set()
        assert list(one.readings) == []


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(data)


def counted(connections: int, lines: int = 0) -> dict[str, int]:
    return {"lines": connections * LINES + lines, "misread": 0, "opened": connections, "open_at_end": 0}


def test_what_is_there_comes_first_and_then_what_is_added(followed: Callable[[bytes], Followed]) -> None:
    log = followed(log_lines.run(1, 10))
    assert log.figures() == counted(10)

    append(log.path, log_lines.run(11, 12))
    log.next()

    assert log.figures() == counted(12)


def test_a_record_is_read_when_it_is_whole(followed: Callable[[bytes], Followed]) -> None:
    whole = log_lines.connection(2, 1)
    log = followed(log_lines.connection(1, 0) + whole[:400])
    assert log.figures()["lines"] == LINES + whole[:400].count(b"\n")

    append(log.path, whole[400:])
    log.next()

    assert log.figures() == counted(2)


def test_a_connection_goes_on_in_the_file_after_a_rotation(followed: Callable[[bytes], Followed]) -> None:
    """Renamed, written to for a while under its new name, then made anew."""
    one, other = log_lines.connection(2, 1), log_lines.connection(3, 2)
    middle = one.index(b"\n", 400) + 1
    log = followed(log_lines.connection(1, 0))
    rotated = log.path.rename(log.path.with_name("access.20261120-080001"))
    append(rotated, one[:middle])
    log.next()

    log.path.write_bytes(one[middle:] + other)
    log.next()

    assert log.figures() == counted(3)


def test_a_file_that_is_cut_off_is_read_from_its_beginning_and_this_is_said(
    followed: Callable[[bytes], Followed],
) -> None:
    log = followed(log_lines.run(1, 10))
    log.path.write_bytes(log_lines.run(11, 12))
    log.next()

    assert log.figures() == counted(12)
    (stream,) = log.last.streams
    assert [note.partition(" ")[2] for note in stream.notes] == [
        "was truncated while it was followed, or rotated twice between two looks; lines may be missing there"
    ]
    assert [gap.target for gap in stream.truncated] == [str(log.path)]


@pytest.mark.parametrize("times", [1, 2])
def test_a_log_that_is_rotated_twice_between_two_looks_says_so(
    followed: Callable[[bytes], Followed], times: int
) -> None:
    log = followed(log_lines.run(1, 10))
    for time in range(times):
        rotated = log.path.rename(log.path.with_name(f"access.20261120-08000{time}"))
        os.utime(rotated, (time + 1, time + 1))
        log.path.write_bytes(log_lines.run(11 + time, 11 + time))
    log.path.with_name("access.rotationinfo").write_bytes(b"LOG ROTATION INFO")
    log.next()

    (stream,) = log.last.streams
    assert len(stream.truncated) == times - 1
    assert log.figures()["opened"] == 11


@pytest.mark.parametrize("zeros", [0, 5_000])
def test_a_file_that_was_cut_off_and_is_longer_already_is_read_from_its_beginning(
    followed: Callable[[bytes], Followed], zeros: int
) -> None:
    """Rotated by copytruncate between two looks; with zeros where the server kept its offset."""
    log = followed(log_lines.run(1, 10))
    append(log.path, log_lines.run(11, 12))
    log.next()
    log.path.write_bytes(bytes(zeros) + log_lines.run(13, 40))
    log.next()

    assert log.figures() == counted(40)
    (stream,) = log.last.streams
    assert "was truncated while it was followed" in stream.notes[0]


def test_zeros_that_copytruncate_leaves_are_passed_over(followed: Callable[[bytes], Followed]) -> None:
    """The server wrote on where it was: not with O_APPEND."""
    log = followed(log_lines.run(1, 10))
    log.path.write_bytes(b"")
    log.next()

    append(log.path, bytes(5_000_000) + log_lines.run(11, 12))
    log.next()

    assert log.figures() == counted(12)


@pytest.mark.parametrize("begun", [b"", log_lines.header(), log_lines.header() + log_lines.run(1, 1)[:30]])
def test_a_file_without_a_record_is_waited_for(followed: Callable[[bytes], Followed], begun: bytes) -> None:
    log = followed(begun)
    assert log.last.waits
    assert [one.target for one in log.last.not_logs] == [str(log.path)]

    log.path.write_bytes(log_lines.header() + log_lines.run(1, 10))
    log.next()

    assert log.figures() == counted(10, lines=log_lines.header().count(b"\n"))
    assert not log.last.waits
    append(log.path, log_lines.run(11, 12))
    log.next()
    assert log.figures() == counted(12, lines=log_lines.header().count(b"\n"))


def test_what_cannot_become_a_log_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "access.gz").write_bytes(gzip.compress(b""))

    (reading,) = follow([str(tmp_path)], stop=Event(), every=0)

    assert (reading.streams, reading.waits) == ((), False)


def test_following_several_logs_tells_of_each(tmp_path: Path) -> None:
    for name, shift in (("a", 0.0), ("b", 0.4)):
        (tmp_path / name).write_bytes(log_lines.run(1, 10, shift=shift))
    stop = Event()
    readings = follow([str(tmp_path)], stop=stop, every=0)
    next(readings)
    append(tmp_path / "b", log_lines.run(11, 15, shift=0.4))

    reading = next(readings)
    stop.set()

    assert list(readings) == []
    assert [stream.counts.finished().opened for stream in reading.streams] == [10, 15]
