"""Recording: every run once, by the time of its evidence, bounded; whole or not at all, whatever happens meanwhile."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import choices, every, rounds
from histories import found, minutes, run, server, whole_run
from ldapdiag.evidence.history import RecordedRun, readings
from ldapdiag.sources.history import database, recording
from ldapdiag.sources.history.database import HistoryError
from ldapdiag.sources.history.recorded_runs import read
from ldapdiag.sources.history.recording import Bounds, record

TESTS = Path(__file__).parents[2]
KEEPS = Bounds()
NUMBERS = st.integers(0, 60 * 24 * 300)


def recorded(path: Path, *runs: RecordedRun, bounds: Bounds = KEEPS) -> tuple[RecordedRun, ...]:
    """Record runs, and return what the file contains then."""
    for one in runs:
        record(path, one, bounds)
    return read(path).runs


def is_sound(path: Path) -> bool:
    """Return whether SQLite finds nothing wrong with a file."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


class TestOrder:
    @every(2)
    @given(st.lists(NUMBERS, min_size=1, max_size=12))
    def test_any_runs_in_any_order_are_listed_once_by_the_time_of_their_evidence(self, numbers: list[int]) -> None:
        with TemporaryDirectory() as folder:
            listed = recorded(Path(folder) / "history", *(run(number) for number in numbers))
        assert [one.taken for one in listed] == [minutes(number) for number in sorted(set(numbers))]
        assert listed == tuple(run(number) for number in sorted(set(numbers)))

    def test_a_run_returns_as_it_was_recorded(self, tmp_path: Path) -> None:
        assert recorded(tmp_path / "history", whole_run(7)) == (whole_run(7),)

    def test_the_same_evidence_is_one_run_with_the_later_result(self, tmp_path: Path) -> None:
        first, later = run(0), run(0, server(0, findings=[found(1)]), recorded=minutes(99), version="0.2.0")
        assert recorded(tmp_path / "history", first, later) == (later,)

    def test_servers_of_one_time_are_other_evidence_than_each_alone(self, tmp_path: Path) -> None:
        both, alone = run(0, server(0, "ds1"), server(0, "ds2")), run(0, server(0, "ds1"))
        assert len(recorded(tmp_path / "history", both, alone)) == 2
        assert len(readings(read(tmp_path / "history"), "ds1")) == 1

    def test_an_old_capture_is_before_the_runs_recorded_earlier(self, tmp_path: Path) -> None:
        assert [one.taken for one in recorded(tmp_path / "history", run(500), run(3))] == [minutes(3), minutes(500)]


class TestBounds:
    @every(2)
    @given(st.lists(NUMBERS, min_size=1, max_size=12), st.integers(1, 200))
    def test_runs_older_than_the_newest_by_so_many_days_are_removed(self, numbers: list[int], days: int) -> None:
        ordered = sorted(set(numbers))
        kept = [number for number in ordered if ordered[-1] - number <= days * 1440]
        with TemporaryDirectory() as folder:
            listed = recorded(Path(folder) / "history", *map(run, ordered), bounds=Bounds(days=days))
        assert [one.taken for one in listed] == list(map(minutes, kept))

    def test_a_file_never_grows_beyond_its_size(self, tmp_path: Path) -> None:
        path, newest = tmp_path / "history", 400
        sizes = []
        for number in range(0, newest + 1, 10):
            findings = [found(1000 * number + n, "costly-search") for n in range(500)]
            record(path, run(number, server(number, findings=findings)), Bounds(megabytes=1))
            sizes.append(path.stat().st_size)
        assert max(sizes) <= 1 << 20
        assert min(sizes[-5:]) > (1 << 20) * 3 // 4  # no more is removed than necessary
        kept = read(path).runs
        assert 1 < len(kept) < len(sizes)
        assert kept[-1].taken == minutes(newest)
        assert is_sound(path)
        with closing(sqlite3.connect(path)) as connection:
            texts, used = connection.execute(
                "SELECT (SELECT count(*) FROM finding), (SELECT count(DISTINCT finding) FROM found)"
            ).fetchone()
        assert texts == used

    def test_a_run_that_would_be_removed_at_once_is_refused(self, tmp_path: Path) -> None:
        record(tmp_path / "history", run(1440 * 401), KEEPS)
        with pytest.raises(HistoryError, match=r"older than the 400 days.* raise --record-days"):
            record(tmp_path / "history", run(0), KEEPS)
        assert len(read(tmp_path / "history").runs) == 1

    def test_a_run_from_the_future_would_remove_all_others_and_is_refused(self, tmp_path: Path) -> None:
        record(tmp_path / "history", run(0), KEEPS)
        wrong = run(0, server(0, taken=datetime.now(UTC) + timedelta(days=500)))
        with pytest.raises(HistoryError, match="correct the clock"):
            record(tmp_path / "history", wrong, KEEPS)
        assert read(tmp_path / "history").runs == (run(0),)


class TestValues:
    def test_numbers_beyond_64_bits_are_limited(self, tmp_path: Path) -> None:
        listed = recorded(tmp_path / "history", run(0, server(0, descriptor_limit=1 << 64)))
        assert listed[0].servers[0].descriptor_limit == (1 << 63) - 1

    @given(st.text(st.characters(), min_size=1, max_size=40), st.text(st.characters(), max_size=500))
    def test_any_name_can_be_recorded(self, name: str, product: str) -> None:
        with TemporaryDirectory() as folder:
            listed = recorded(Path(folder) / "history", run(0, server(0, name, product=product)))
        assert listed[0].servers[0].product == product[:400].encode("utf-8", "backslashreplace").decode()
        assert listed[0].servers[0].name == name.encode("utf-8", "backslashreplace").decode()


CHILD = """
import os, sys
from pathlib import Path
from histories import whole_run
from ldapdiag.sources.history import recording
path, first, last, dies = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "dies"
add = recording._add
def add_and_die(database, run):
    database.execute("PRAGMA cache_size = 1")  # most pages are in the file before the transaction ends
    add(database, run)
    os.kill(os.getpid(), 9)
if dies:
    recording._add = add_and_die
print("ready", flush=True)
for number in range(first, last):
    recording.record(path, whole_run(number), recording.Bounds())
    print(number, flush=True)
"""


def recorder(path: Path, first: int, last: int, *, dies: bool = False) -> subprocess.Popen[str]:
    """Return a process that records runs and prints the number of each that it has recorded."""
    command = [sys.executable, "-c", CHILD, path, str(first), str(last), "dies" if dies else "lives"]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


class TestKilled:
    def test_in_the_middle_of_a_transaction_leaves_the_file_as_it_was(self, tmp_path: Path) -> None:
        path = tmp_path / "history"
        before = recorded(path, whole_run(0), whole_run(1))
        with recorder(path, 2, 3, dies=True) as child:
            assert child.wait() == -signal.SIGKILL
        assert path.with_name("history-journal").exists()  # else nothing was in the middle
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as torn:
            assert torn.execute("SELECT count(*) FROM run").fetchone() == (3,)
        assert read(path).runs == before
        assert is_sound(path)
        assert recorded(path, whole_run(2)) == (*before, whole_run(2))

    def test_while_it_creates_the_file_leaves_one_that_can_be_used(self, tmp_path: Path) -> None:
        with recorder(tmp_path / "history", 0, 1, dies=True) as child:
            child.wait()
        assert read(tmp_path / "history").runs == ()
        assert recorded(tmp_path / "history", whole_run(1)) == (whole_run(1),)

    def test_at_random_times_leaves_whole_runs_only(self, tmp_path: Path) -> None:
        path, chosen, first = tmp_path / "history", choices("kill recorders"), 0
        for _ in rounds(20):
            with recorder(path, first, first + 1000) as child:
                assert child.stdout
                assert child.stdout.readline() == "ready\n"
                time.sleep(chosen.random() / 3)
                child.kill()
                done = child.stdout.read().splitlines()
            runs = read(path).runs
            assert first + len(done) <= len(runs) <= first + len(done) + 1  # the last may be killed before it prints
            assert runs == tuple(map(whole_run, range(len(runs))))
            assert is_sound(path)
            first = len(runs)


class TestTogether:
    def test_several_processes_lose_no_run(self, tmp_path: Path) -> None:
        path, each = tmp_path / "history", 12
        children = [recorder(path, each * one, each * (one + 1)) for one in range(3)]
        for child in children:
            child.communicate()
        assert [child.returncode for child in children] == [0, 0, 0]
        assert read(path).runs == tuple(map(whole_run, range(3 * each)))
        assert is_sound(path)

    def test_one_that_waits_too_long_says_why(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "history"
        record(path, run(0), KEEPS)
        monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(HistoryError, match=r"another process has been writing.*record again later"):
                record(path, run(1), KEEPS)
            assert read(path).runs == (run(0),)

    def test_an_interrupted_one_leaves_the_file_as_it_was(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "history"
        record(path, run(0), KEEPS)

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(recording, "_trim", interrupted)
        with pytest.raises(KeyboardInterrupt):
            record(path, run(1), KEEPS)
        assert read(path).runs == (run(0),)


def test_a_full_file_system_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, prepare = tmp_path / "history", database._prepare
    before = recorded(path, whole_run(0))
    pages = path.stat().st_size // 4096

    def prepare_full(connection: sqlite3.Connection) -> None:
        prepare(connection)
        connection.execute(f"PRAGMA max_page_count = {pages}")

    monkeypatch.setattr(database, "_prepare", prepare_full)
    findings = [found(n, "costly-search") for n in range(1000)]
    with pytest.raises(HistoryError, match="no space is left on its file system; free some space"):
        record(path, run(1, server(1, findings=findings)), KEEPS)
    assert read(path).runs == before
    assert is_sound(path)


def test_replacing_a_run_does_not_let_the_file_grow(tmp_path: Path) -> None:
    recorded(tmp_path / "history", *(whole_run(number) for number in range(20)))
    size = (tmp_path / "history").stat().st_size
    for _ in range(20):
        record(tmp_path / "history", replace(whole_run(3), version="0.2.0"), KEEPS)
    assert (tmp_path / "history").stat().st_size <= size + 2 * 4096
