"""Streams can be read again as far as they are kept, and what is not kept costs no memory."""

from __future__ import annotations

import gzip
import io
import tarfile
import tracemalloc

import pytest

import log_lines
from command import diagnose, ldapdiag
from ldapdiag.sources.files import spool
from ldapdiag.sources.files.spool import Spool
from ldapdiag.sources.gathering import gather

DATA = bytes(range(256)) * 40


class Trickle(io.BytesIO):
    """A pipe that hands over little at once, and only once."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(7, size or 0))


def all_of(one: Spool) -> bytes:
    stream, parts = one.open(), []
    while part := stream.read(1000):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("kept", [100, len(DATA) * 2])
def test_what_is_kept_can_be_read_again(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    monkeypatch.setattr(spool, "KEPT_BYTES", kept)
    one = Spool(lambda: Trickle(DATA))
    one.keep()
    assert [all_of(one) for _ in range(3)] == [DATA] * 3


def test_the_beginning_can_be_looked_at_before_all_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "KEPT_BYTES", 100)
    one = Spool(lambda: Trickle(DATA))
    assert one.open().read(50) == DATA[:7]
    assert all_of(one) == DATA
    with pytest.raises(OSError, match="must be read twice, but only its first 0 MiB are kept"):
        all_of(one)


def test_a_long_stream_that_is_read_once_fills_no_memory() -> None:
    class Endless:
        left = 200 << 20

        def read(self, size: int) -> bytes:
            size = min(size, self.left)
            self.left -= size
            return bytes(size)

        def close(self) -> None:
            pass

    stream = Spool(Endless).open()
    tracemalloc.start()
    length = 0
    while part := stream.read(1 << 20):
        length += len(part)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert length == 200 << 20
    assert peak < 30 << 20


def test_without_room_to_keep_it_a_stream_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Spool(lambda: Trickle(DATA))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(one._kept, "write", full)
    one.keep()
    assert all_of(one) == DATA
    with pytest.raises(OSError, match="save it to a file"):
        all_of(one)


@pytest.mark.parametrize(("content", "kept"), [(log_lines.run(1, 300), False), (b"no log\n" * 20_000, True)])
def test_only_what_is_read_twice_is_kept(monkeypatch: pytest.MonkeyPatch, content: bytes, *, kept: bool) -> None:
    """A compressed log of any length comes through a pipe without a copy on the disk."""
    asked = []

    def keep(one: Spool) -> None:
        asked.append(one)

    monkeypatch.setattr(Spool, "keep", keep)
    monkeypatch.setattr("ldapdiag.sources.files.walk._standard_input", lambda: io.BytesIO(gzip.compress(content * 100)))
    gather(["-"])
    assert bool(asked) == kept


def packed_logs() -> bytes:
    """Return an archive of a rotated log, the newest file first."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, first in (("access", 11), ("access.1", 1)):
            data = log_lines.header() + log_lines.run(first, first + 9)
            header = tarfile.TarInfo(f"ldap/{name}")
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
    return out.getvalue()


def test_an_archive_comes_through_a_pipe_to_either_command() -> None:
    read = ldapdiag("log", "-", "--format", "json", stdin=packed_logs())
    assert (read.code, read.report["connections"]["opened"]) == (0, 20)
    (fact,) = diagnose("-", "--format", "json", stdin=packed_logs()).report["evidence"]
    assert (fact["fact"], fact["lines_not_understood"]) == ("access-log", 0)
