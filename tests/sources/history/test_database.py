"""The database: only histories are opened, new ones are private, old ones are migrated, newer ones refused."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from histories import run
from ldapdiag.sources.history.database import VERSION, HistoryError, check
from ldapdiag.sources.history.recorded_runs import read
from ldapdiag.sources.history.recording import Bounds, record

OLD = Path(__file__).parents[2] / "captures" / "history" / "version-1.db"


def add(path: Path) -> None:
    """Record a run."""
    record(path, run(0), Bounds(days=9999))


def change(path: Path, *statements: str) -> None:
    """Change a file as another program would."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def version_of(path: Path) -> int:
    """Return the version that a file has."""
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


class TestNewFile:
    @pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
    def test_is_its_owners_alone(self, tmp_path: Path, mask: int) -> None:
        before = os.umask(mask)
        try:
            add(tmp_path / "history")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "history").stat().st_mode) == 0o600
        assert [one.name for one in tmp_path.iterdir()] == ["history"]  # no journal is left

    def test_permissions_that_the_operator_has_set_stay(self, tmp_path: Path) -> None:
        add(tmp_path / "history")
        (tmp_path / "history").chmod(0o640)
        record(tmp_path / "history", run(1), Bounds())
        assert stat.S_IMODE((tmp_path / "history").stat().st_mode) == 0o640

    def test_an_empty_file_becomes_one(self, tmp_path: Path) -> None:
        (tmp_path / "history").touch()
        add(tmp_path / "history")
        assert read(tmp_path / "history").runs == (run(0),)

    @pytest.mark.parametrize("name", ["a b%20c?x=1#f", "histoire é", "-"])
    def test_any_name_will_do(self, tmp_path: Path, name: str) -> None:
        add(tmp_path / name)
        assert os.listdir(tmp_path) == [name]  # noqa: PTH208  names as they are

    def test_nothing_is_created_by_a_check(self, tmp_path: Path) -> None:
        check(tmp_path / "history")
        assert list(tmp_path.iterdir()) == []


FOREIGN = {
    "text": b"the accounts of the year\n",
    "long text": b"x" * 10_000,
    "a truncated database": b"SQLite format 3\0",
    "one byte": b"S",
}


class TestForeignFile:
    @pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
    def test_is_refused_and_not_changed(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "file"
        path.write_bytes(content)
        for attempt in (check, add, read):
            with pytest.raises(HistoryError, match="it is not a history of ldapdiag; choose another file"):
                attempt(path)
        assert path.read_bytes() == content

    @pytest.mark.parametrize("mode", ["delete", "wal"])
    def test_the_database_of_another_program_is_not_even_opened(self, tmp_path: Path, mode: str) -> None:
        path = tmp_path / "file"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA journal_mode = {mode}")
            connection.execute("CREATE TABLE run (id INTEGER)")
            content = {one.name: one.read_bytes() for one in tmp_path.iterdir() if not one.name.endswith("-shm")}
            for attempt in (check, add, read):
                with pytest.raises(HistoryError, match="not a history"):
                    attempt(path)
            after = {one.name: one.read_bytes() for one in tmp_path.iterdir() if not one.name.endswith("-shm")}
        assert after == content

    def test_a_journal_beside_it_does_not_make_it_a_history(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(FOREIGN["long text"])
        (tmp_path / "file-journal").write_bytes(b"")
        with pytest.raises(HistoryError, match="not a history"):
            add(tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == FOREIGN["long text"]

    def test_a_symbolic_link_is_not_followed_to_write(self, tmp_path: Path) -> None:
        target, link = tmp_path / "target", tmp_path / "link"
        link.symlink_to(target)
        for attempt in (check, add):
            with pytest.raises(HistoryError, match=r"it is a symbolic link to .*target; name the file itself"):
                attempt(link)
        assert not target.exists()
        add(target)
        with pytest.raises(HistoryError, match="symbolic link"):
            add(link)
        assert read(link).runs == (run(0),)

    def test_what_is_no_file_is_not_opened(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")  # opening it would wait for a writer
        for path in (tmp_path, tmp_path / "pipe", Path(os.devnull)):
            for attempt in (check, add, read):
                with pytest.raises(HistoryError, match="it is not a file"):
                    attempt(path)

    def test_a_folder_that_does_not_exist_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(HistoryError, match="no is not a folder"):
            check(tmp_path / "no" / "history")
        with pytest.raises(HistoryError, match="no such file"):
            add(tmp_path / "no" / "history")
        with pytest.raises(HistoryError, match="there is no such file; record runs"):
            read(tmp_path / "no")


class TestDamagedFile:
    @pytest.mark.parametrize("place", [100, 4096, 8192, 20_000])
    def test_never_ends_in_a_traceback(self, tmp_path: Path, place: int) -> None:
        path = tmp_path / "history"
        add(path)
        content = bytearray(path.read_bytes())
        content[place : place + 2000] = b"\xa5" * 2000
        path.write_bytes(content)
        for attempt in (check, read, add):
            try:
                attempt(path)
            except HistoryError as error:
                assert "; " in str(error)  # noqa: PT017  either is right

    def test_a_truncated_one_says_what_to_do(self, tmp_path: Path) -> None:
        add(tmp_path / "history")
        content = (tmp_path / "history").read_bytes()
        (tmp_path / "history").write_bytes(content[: len(content) // 2])
        with pytest.raises(HistoryError, match="it is damaged; move it away and begin a new one"):
            read(tmp_path / "history")

    @pytest.mark.parametrize(
        "statement",
        [
            "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM server; END",
            "CREATE VIEW v AS SELECT 1",
            "CREATE TABLE t (x)",
            "DROP TABLE server",
            "ALTER TABLE run ADD COLUMN x",
            "DROP INDEX run_by_time",
        ],
    )
    def test_one_with_other_tables_is_refused(self, tmp_path: Path, statement: str) -> None:
        add(tmp_path / "history")
        change(tmp_path / "history", statement)
        for attempt in (check, read, add):
            with pytest.raises(HistoryError, match="its tables were changed by another program"):
                attempt(tmp_path / "history")

    def test_statistics_of_sqlite_are_no_change(self, tmp_path: Path) -> None:
        add(tmp_path / "history")
        change(tmp_path / "history", "ANALYZE")
        record(tmp_path / "history", run(1), Bounds())
        assert read(tmp_path / "history").runs == (run(0), run(1))


class TestVersions:
    def test_a_newer_one_is_refused_with_the_next_step(self, tmp_path: Path) -> None:
        add(tmp_path / "history")
        change(tmp_path / "history", f"PRAGMA user_version = {VERSION + 1}")
        content = (tmp_path / "history").read_bytes()
        for attempt in (check, read, add):
            with pytest.raises(HistoryError, match=f"version {VERSION + 1}, .*up to {VERSION}; use the newer ldapdiag"):
                attempt(tmp_path / "history")
        assert (tmp_path / "history").read_bytes() == content

    def test_an_older_one_is_read_and_stays_as_it_is(self, tmp_path: Path) -> None:
        path = Path(shutil.copy(OLD, tmp_path / "history"))
        check(path)
        history = read(path)
        assert (history.servers, history.origin.not_understood) == (("ds1", "ldap"), 0)
        assert [one.servers[0].exhausted for one in history.runs] == [None, None]
        assert path.read_bytes() == OLD.read_bytes()

    def test_an_older_one_is_migrated_with_the_next_run(self, tmp_path: Path) -> None:
        path = Path(shutil.copy(OLD, tmp_path / "history"))
        before = read(path).runs
        add(path)
        assert (version_of(OLD), version_of(path)) == (1, VERSION)
        assert read(path).runs == (run(0), *before)

    def test_a_migration_that_fails_changes_nothing(self, tmp_path: Path) -> None:
        path = Path(shutil.copy(OLD, tmp_path / "history"))
        with pytest.raises(HistoryError, match="to come"):
            record(path, run(10_000_000), Bounds())
        with pytest.raises(HistoryError, match="older than"):
            record(path, run(-10_000_000), Bounds())
        assert version_of(path) == 1
        assert len(read(path).runs) == 2
