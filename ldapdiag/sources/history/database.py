"""The database of a history: opened, checked, migrated. The only importer of sqlite3.

A rollback journal, no write-ahead log: that needs shared memory, which network file systems lack. A process that is
killed leaves a journal behind; the next one that opens the file rolls back what was not committed.

The tables of a history, by version (PRAGMA user_version).

A new version adds its statements to MIGRATIONS; what is listed there is never changed, because files contain it. Times
are microseconds since 1970, UTC.

Times of a history: microseconds since 1970, UTC.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ldapdiag.errors import LdapdiagError
from ldapdiag.sources.files.unreadable import legible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

APPLICATION_ID = 0x6C646469
"""PRAGMA application_id of every history: "lddi"."""

FIRST = (
    """
CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  taken INTEGER NOT NULL,
  evidence TEXT NOT NULL UNIQUE,
  recorded INTEGER NOT NULL,
  version TEXT NOT NULL,
  exit_code INTEGER NOT NULL,
  crashed INTEGER NOT NULL,
  critical INTEGER NOT NULL,
  high INTEGER NOT NULL,
  medium INTEGER NOT NULL,
  low INTEGER NOT NULL,
  info INTEGER NOT NULL
)""",
    "CREATE INDEX run_by_time ON run (taken, id)",
    """
CREATE TABLE server (
  run INTEGER NOT NULL,
  name TEXT NOT NULL,
  product TEXT NOT NULL,
  taken INTEGER NOT NULL,
  connections INTEGER,
  connections_source TEXT NOT NULL,
  joined INTEGER,
  descriptors_used INTEGER,
  used_source TEXT NOT NULL,
  descriptor_limit INTEGER,
  limit_source TEXT NOT NULL,
  ghosts INTEGER,
  stranded INTEGER,
  severed INTEGER,
  growth_per_hour REAL,
  growth_source TEXT NOT NULL,
  log_seconds REAL,
  opened INTEGER,
  binds INTEGER,
  searches INTEGER,
  search_seconds REAL,
  PRIMARY KEY (run, name)
) WITHOUT ROWID""",
    """
CREATE TABLE finding (
  id INTEGER PRIMARY KEY,
  server TEXT NOT NULL,
  check_id TEXT NOT NULL,
  digest TEXT NOT NULL,
  UNIQUE (server, check_id, digest)
)""",
    """
CREATE TABLE found (
  run INTEGER NOT NULL,
  finding INTEGER NOT NULL,
  severity TEXT NOT NULL,
  PRIMARY KEY (run, finding)
) WITHOUT ROWID""",
)

SECOND = ("ALTER TABLE server ADD COLUMN exhausted INTEGER",)

THIRD = (
    """
CREATE TABLE volume (
  run INTEGER NOT NULL,
  server TEXT NOT NULL,
  mount_point TEXT NOT NULL,
  taken INTEGER NOT NULL,
  total_bytes INTEGER NOT NULL,
  free_bytes INTEGER NOT NULL,
  PRIMARY KEY (run, server, mount_point)
) WITHOUT ROWID""",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (FIRST, SECOND, THIRD)
"""What leads from each version to the next; version 0 is an empty file."""

VERSION = len(MIGRATIONS)


BUSY_SECONDS = 10.0
"""How long to wait for another process that writes; a run takes it milliseconds."""
LONGEST_VALUE = 1 << 16
"""Bytes of one value; ours are far shorter."""
MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
PAGE_SIZE_AT, VERSIONS_AT, USER_VERSION_AT, ID_AT = slice(16, 18), slice(18, 20), slice(60, 64), slice(68, 72)
"""Where the header has the size of a page, the versions of its format, user_version and application_id.

Source: https://www.sqlite.org/fileformat.html, section 1.3.
"""
ROLLBACK_JOURNAL = b"\1\1"
NO_LINK = getattr(os, "O_NOFOLLOW", 0)

REASONS = (
    ("SQLITE_FULL", "no space is left on its file system", "free some space"),
    ("SQLITE_BUSY", f"another process has been writing to it for {BUSY_SECONDS:.0f} s", "record again later"),
    ("SQLITE_READONLY_ROLLBACK", "a run that was killed has to be rolled back first", "run as its owner"),
    ("SQLITE_READONLY", "it cannot be written", "run as its owner, or choose another file"),
    ("SQLITE_PERM", "permission denied", "run as its owner, or choose another file"),
    ("SQLITE_CANTOPEN", "it or its folder cannot be opened", "check the permissions of both"),
    ("SQLITE_NOTADB", "it is not a history of ldapdiag", "choose another file"),
    ("SQLITE_CORRUPT", "it is damaged", "move it away and begin a new one; sqlite3 FILE .recover reads what is left"),
    ("SQLITE_IOERR", "its file system reports an error", "check the disk (dmesg, quota)"),
)
"""What SQLite reports, the reason in words, and the next step."""


class HistoryError(LdapdiagError):
    """A history that cannot be read or written."""


class HistoryFile:
    """One open history."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401  values of SQL
        """Return the rows of a statement."""
        return self._connection.execute(statement, values).fetchall()

    def number(self, statement: str, *values: Any) -> int:  # noqa: ANN401  values of SQL
        """Return the only value of a statement, a number; 0 for none."""
        found = self.rows(statement, *values)
        return int(found[0][0] or 0) if found else 0

    def execute(self, statement: str, *values: Any) -> int:  # noqa: ANN401  values of SQL
        """Execute a statement to its end, and return the id of the row that it inserted."""
        cursor = self._connection.execute(statement, values)
        cursor.fetchall()
        return cursor.lastrowid or 0

    def insert(self, table: str, rows: Iterable[dict[str, Any]]) -> None:
        """Insert rows with equal columns."""
        for row in rows:
            names = ", ".join(row)
            places = ", ".join("?" * len(row))
            self._connection.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", tuple(row.values()))  # noqa: S608  our own names


def is_database(path: Path) -> bool:
    """Return whether a file is a database of SQLite, as a history is."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def check(path: Path) -> None:
    """Raise HistoryError, before anything is collected, if no run can be recorded in a file."""
    attempt, folder = "record in", path.absolute().parent
    with _explained(attempt, path):
        _check_file(attempt, path)
        if not folder.is_dir():
            raise _refused(attempt, path, f"{legible(folder)} is not a folder", "choose another file")
        for needed in (folder, *([path] if path.exists() else [])):  # SQLite writes a journal into the folder
            if not os.access(needed, os.W_OK):
                reason = f"{legible(needed)} cannot be written"
                raise _refused(attempt, path, reason, "run as its owner, or choose another file")
        if path.exists():
            with closing(_connected(path)) as connection:
                _version(path, connection)


@contextmanager
def writing(path: Path) -> Iterator[HistoryFile]:
    """Yield the database in a transaction that is committed at the end; create or migrate it first.

    Raises HistoryError; the file is then as it was before.
    """
    with _explained("record in", path):
        _check_file("record in", path)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_LINK, 0o600))
        with closing(_connected(path)) as connection:
            if not path.stat().st_size:  # the pragma writes to any file
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("BEGIN IMMEDIATE")
            try:
                _migrate(connection, _version(path, connection))
                yield HistoryFile(connection)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has rolled it back already
                    connection.execute("ROLLBACK")
                raise


@contextmanager
def reading(path: Path) -> Iterator[HistoryFile]:
    """Yield the database in the state of one moment; one of an older version is migrated in memory only."""
    with _explained("read", path):
        if not _is_there(path):
            raise _refused("read", path, "there is no such file", "record runs: ldapdiag diagnose … --record FILE")
        _check_file("read", path, links=True)
        with closing(_connected(path)) as connection, closing(sqlite3.connect(":memory:")) as copy:
            connection.execute("BEGIN")
            version = _version(path, connection)
            if version == VERSION:
                yield HistoryFile(connection)
                return
            connection.execute("COMMIT")
            connection.backup(copy)
            _prepare(copy)
            _migrate(copy, version)
            yield HistoryFile(copy)


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
    _prepare(connection)
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    """Protect this process from a file that was written to attack it."""
    connection.text_factory = lambda text: text.decode("utf-8", "backslashreplace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA temp_store = MEMORY")


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _check_file(attempt: str, path: Path, *, links: bool = False) -> None:
    """Raise HistoryError for what is no history: nothing of another program is opened by SQLite, or changed."""
    if not _is_there(path):
        return
    if path.is_symlink() and not links:
        target = legible(path.readlink())
        raise _refused(attempt, path, f"it is a symbolic link to {target}", "name the file itself")
    if not stat.S_ISREG(path.stat().st_mode):
        raise _refused(attempt, path, "it is not a file", "name a file")
    if path.with_name(f"{path.name}-journal").exists():
        return  # interrupted: the header may be incomplete, and SQLite restores it
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
    if header and not (header.startswith(MAGIC) and (_is_own(header) or _is_blank(header, path))):
        raise _foreign(attempt, path)


def _is_own(header: bytes) -> bool:
    return int.from_bytes(header[ID_AT]) == APPLICATION_ID


def _is_blank(header: bytes, path: Path) -> bool:
    """Return whether a database has no table: its creation was interrupted, and rolled back to its first page."""
    unmarked = not any(header[USER_VERSION_AT] + header[ID_AT]) and header[VERSIONS_AT] == ROLLBACK_JOURNAL
    return unmarked and path.stat().st_size == int.from_bytes(header[PAGE_SIZE_AT])


def _version(path: Path, connection: sqlite3.Connection) -> int:
    """Return the version of the tables; 0: there are none. Raises HistoryError for any others than ours."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    own = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    tables = _tables(connection)
    if not own and (tables or version):
        raise _foreign("use", path)
    if version > VERSION:
        reason = f"its format is version {version}, and this ldapdiag knows versions up to {VERSION}"
        raise _refused("use", path, reason, "use the newer ldapdiag that wrote it, or choose another file")
    with closing(sqlite3.connect(":memory:")) as fresh:
        _migrate(fresh, 0, version)
        if version < 0 or tables != _tables(fresh):
            raise _refused("use", path, "its tables were changed by another program", "choose another file")
    return version


def _tables(connection: sqlite3.Connection) -> dict[tuple[str, str, bool], tuple[str, ...]]:
    """Return the columns of all tables and indexes, and anything else, by type and name."""
    names = connection.execute(
        "SELECT type, name, coalesce(sql, '') LIKE '% VIRTUAL %' FROM sqlite_master WHERE name NOT LIKE 'sqlite_stat_'"
    ).fetchall()
    return {
        (kind, name, bool(virtual)): tuple(
            column[0] for column in connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
        )
        if kind == "table" and not virtual
        else ()
        for kind, name, virtual in names
    }


def _migrate(connection: sqlite3.Connection, version: int, wanted: int = VERSION) -> None:
    """Bring the tables from a version to a later one, within the transaction of the caller."""
    for number in range(version, wanted):
        for statement in MIGRATIONS[number]:
            connection.execute(statement)
    if version < wanted:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {wanted}")


@contextmanager
def _explained(attempt: str, path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")  # none where Python itself refuses a value
        known = ((reason, how) for code, reason, how in REASONS if name.startswith(code))
        reason, how = next(known, (str(error), "choose another file"))
        raise _refused(attempt, path, reason, how) from error
    except OSError as error:
        raise _refused(attempt, path, (error.strerror or str(error)).lower(), "choose another file") from error


def _foreign(attempt: str, path: Path) -> HistoryError:
    return _refused(attempt, path, "it is not a history of ldapdiag", "choose another file")


def _refused(attempt: str, path: Path, reason: str, how: str) -> HistoryError:
    return HistoryError(f"cannot {attempt} {legible(path)}: {reason}; {how}")


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = (datetime(2200, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


def microseconds(at: datetime) -> int:
    """Return a time as a number."""
    return (at - EPOCH) // timedelta(microseconds=1)


def moment(number: int) -> datetime:
    """Return the time of a number. Raises ValueError for one that no run can have."""
    if not 0 <= number < LATEST:
        raise ValueError(number)
    return EPOCH + timedelta(microseconds=number)
