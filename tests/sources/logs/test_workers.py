"""The reference's workers: one that dies, or a bug in a grammar, is told with the place, and nobody is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import log_lines
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.sources.logs import chunks, scanners
from ldapdiag.sources.logs.access_log import read
from ldapdiag.sources.logs.period_counts import PeriodCounts

TEXT = log_lines.header() + log_lines.run(1, 3000, every=0.1)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make parts so small that a small log has many, and no log too small for workers."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 40_000)
    monkeypatch.setattr(chunks, "WINDOW", 1024)
    monkeypatch.setattr(scanners, "SMALL", 0)


@pytest.mark.usefixtures("small")
def test_a_worker_that_dies_is_told_with_the_place_and_the_rest_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the kernel kills it for want of memory. The next stream is read by new workers."""
    (tmp_path / "access").write_bytes(TEXT)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "access").write_bytes(log_lines.run(1, 100, shift=5000))
    monkeypatch.setattr(PeriodCounts, "add", killing(PeriodCounts.add, 5))

    reading = read([str(tmp_path)], workers=2, scanner=Scanner.PYTHON)

    killed, unharmed = reading.streams
    (gap,) = killed.gaps
    assert "a worker process died at byte" in gap.reason
    assert str(tmp_path / "access") in gap.reason
    assert 0 < killed.counts.finished().lines < TEXT.count(b"\n")
    assert unharmed.gaps == []
    assert unharmed.counts.finished().lines == 100 * log_lines.LINES_OF_CONNECTION


def killing(add: Any, after: int) -> Any:
    """Return an `add` that kills all workers at one of its calls."""
    calls: Iterator[int] = iter(range(1, 1 << 30))

    def adding(*arguments: Any) -> None:
        if next(calls) == after:
            for child in below(os.getpid()):
                os.kill(child, signal.SIGKILL)
        add(*arguments)

    return adding


def below(process: int) -> list[int]:
    """Return the workers of a process: its fork server's children."""
    return [grandchild for child in children(process) for grandchild in children(child)]


def children(process: int) -> list[int]:
    lists = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for one in lists for child in one.read_text().split()]


def test_a_bug_in_a_grammar_is_told_with_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "access").write_bytes(TEXT)

    def search(*_: object) -> None:
        raise KeyError("nobody thought of this")

    monkeypatch.setattr(Scan, "search", search)

    (stream,) = read([str(tmp_path)], scanner=Scanner.PYTHON).streams

    (gap,) = stream.gaps
    assert gap.reason.startswith(f"the scanner crashed on {tmp_path}/access after byte 0 (KeyError")


PROGRAM = """
import signal, sys
from threading import Event, Timer
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.logs.access_log import read
if __name__ == "__main__":
    stop = Event()
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    reading = read(sys.argv[1:], workers=2, stop=stop, scanner=Scanner.PYTHON)
    print(reading.stopped, reading.streams[0].gaps)
"""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Return a program that reads a log with two workers, once these have begun."""
    (tmp_path / "access").write_bytes(TEXT * 60)
    (tmp_path / "program.py").write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, tmp_path / "program.py", tmp_path / "access"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as program:
        assert wait_for(lambda: len(below(program.pid)) == 2)
        yield program
        program.kill()


def wait_for(condition: Callable[[], object]) -> bool:
    """Tell whether a condition comes true within ten seconds."""
    end = time.monotonic() + 10
    while not (true := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return bool(true)


def test_workers_end_with_a_parent_that_was_killed(running: subprocess.Popen[str]) -> None:
    left = below(running.pid)

    running.kill()

    assert wait_for(lambda: not any(Path(f"/proc/{process}").exists() for process in left))


def test_ctrl_c_is_heard_by_the_parent_alone(running: subprocess.Popen[str]) -> None:
    """A terminal sends it to every process of the group; the workers would all complain."""
    os.killpg(running.pid, signal.SIGINT)

    told, complaint = running.communicate(timeout=30)

    assert (told, complaint) == ("True []\n", "")
