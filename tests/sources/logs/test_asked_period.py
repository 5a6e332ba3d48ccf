"""A period that counts from the end of the logs: the end of the one that is written last, however it is stored."""

from __future__ import annotations

import bz2
import gzip
import os
from pathlib import Path
from threading import Thread

import pytest

import log_lines
from ldapdiag.cli.times import asked_period
from ldapdiag.sources.logs.access_log import ScannedLogs, read
from ldapdiag.sources.logs.period import Period

pytestmark = pytest.mark.usefixtures("scanner")

LAST_MINUTE = Period(log_lines.at(119.3) - 60 * 10**9)
"""The last connection of 120 is opened after 119 s, and closed 0.3 s later."""


def opened(reading: ScannedLogs) -> int:
    return sum(stream.counts.finished(goes_on=True).opened for stream in reading.streams)


@pytest.mark.parametrize(
    ("name", "packed"), [("access", bytes), ("access.gz", gzip.compress), ("access.bz2", bz2.compress)]
)
def test_it_ends_with_the_last_record(tmp_path: Path, name: str, packed: type[bytes]) -> None:
    (tmp_path / "access.20261120").write_bytes(log_lines.run(1, 60))
    (tmp_path / name).write_bytes(packed(log_lines.run(61, 120, shift=0)))

    reading = read([str(tmp_path)], period=asked_period("-1m"))

    assert (reading.period, opened(reading)) == (LAST_MINUTE, 60)


def test_the_log_that_was_written_last_decides(tmp_path: Path) -> None:
    for server, last in (("a", 60), ("b", 120)):
        (tmp_path / server).mkdir()
        (tmp_path / server / "access").write_bytes(log_lines.run(1, last, client=f"10.0.0.{last}"))

    reading = read([str(tmp_path)], period=asked_period("-1m"))

    assert (reading.period, opened(reading)) == (LAST_MINUTE, 60)


def test_a_pipe_is_read_to_its_end_first(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(log_lines.run(1, 120),))
    writer.start()

    reading = read([str(pipe)], period=asked_period("-1m"))
    writer.join()

    assert (reading.period, opened(reading)) == (LAST_MINUTE, 60)
