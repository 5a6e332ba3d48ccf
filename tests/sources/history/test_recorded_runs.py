"""Reading a history: whatever its values are, malformed rows are counted and the others are facts."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import every
from histories import found, minutes, run, server, whole_run
from ldapdiag.sources.history import recorded_runs
from ldapdiag.sources.history.recorded_runs import read
from ldapdiag.sources.history.recording import Bounds, record

VALUES = st.one_of(
    st.none(), st.integers(-(1 << 63), (1 << 63) - 1), st.floats(), st.text(max_size=20), st.binary(max_size=20)
)
COLUMNS = st.sampled_from(
    [
        *(("run", name) for name in ("taken", "recorded", "version", "exit_code", "crashed", "high")),
        *(("server", name) for name in ("name", "taken", "connections", "growth_per_hour", "limit_source", "run")),
        *(("found", name) for name in ("severity", "run", "finding")),
        *(("finding", name) for name in ("server", "check_id", "digest", "id")),
    ]
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a history of three runs."""
    for number in range(3):
        record(tmp_path / "history", whole_run(number), Bounds())
    return tmp_path / "history"


@every(2)
@given(st.lists(st.tuples(COLUMNS, VALUES), min_size=1, max_size=4))
def test_no_value_breaks_the_reading(changes: list[tuple[tuple[str, str], Any]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "history"
        record(path, run(0, server(0, findings=[found(1)])), Bounds())
        record(path, run(1, server(1, findings=[found(2)])), Bounds())
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for (table, column), value in changes:
                with suppress(sqlite3.IntegrityError):  # an id must be an integer
                    connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))  # noqa: S608  our own names
        history = read(path)
    assert history.origin.lines == history.origin.understood + history.origin.not_understood
    assert len(history.runs) <= 2


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("run", "taken", -1),
        ("run", "taken", 1 << 62),
        ("run", "exit_code", "'one'"),
        ("server", "connections", -5),
        ("server", "connections", "'many'"),
        ("server", "growth_per_hour", "9e999"),
        ("server", "product", "x'00ff'"),
        ("found", "severity", "'fatal'"),
    ],
)
def test_a_malformed_row_is_counted_and_left_out(path: Path, table: str, column: str, value: object) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        changed = connection.execute(f"UPDATE {table} SET {column} = {value}").rowcount  # noqa: S608  our own names
    history = read(path)
    assert history.origin.not_understood == changed
    assert len(history.runs) == (0 if table == "run" else 3)
    if table == "server":
        assert history.servers == ()


def test_only_the_newest_rows_of_a_huge_file_are_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_runs, "MOST_RUNS", 2)
    history = read(path)
    assert history.runs == (whole_run(1), whole_run(2))
    assert history.origin.notes == ("Only its newest 2 rows of one table were read.",)


def test_runs_from_a_time_on(path: Path) -> None:
    assert read(path, minutes(1)).runs == (whole_run(1), whole_run(2))
    assert read(path, minutes(3)).runs == ()


def test_findings_can_be_left_unread(path: Path) -> None:
    history = read(path, with_findings=False)
    assert not any(one.findings for run in history.runs for one in run.servers)
    assert [run.taken for run in history.runs] == [minutes(0), minutes(1), minutes(2)]
