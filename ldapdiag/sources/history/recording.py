"""One run added to a history, and the oldest ones removed."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.history import SEVERITIES
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.files.unreadable import legible
from ldapdiag.sources.history.database import HistoryError, microseconds, writing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ldapdiag.evidence.history import RecordedRun, ServerSummary
    from ldapdiag.sources.history.database import HistoryFile

DAYS = 400
MEGABYTES = 64
SKEW = timedelta(days=1)
"""A clock of a host may be ahead of ours by so much."""
LONGEST_NAME = 400
LARGEST = (1 << 63) - 1
AT_ONCE = 20
"""One of so many runs is removed at a time until the file is small enough."""
OLDEST = "SELECT id FROM run ORDER BY taken, id LIMIT ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much a history keeps; the oldest runs are removed first."""

    days: int = DAYS
    """Runs whose evidence is so much older than that of the newest run are removed."""
    megabytes: int = MEGABYTES
    """The size of the file, in MiB."""


def record(path: Path, run: RecordedRun, bounds: Bounds) -> None:
    """Add a run; one with the same servers at the same times is replaced.

    Raises HistoryError if it is not in the file afterwards.
    """
    if run.taken > datetime.now(UTC) + SKEW:
        at = f"{run.taken.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        how = "correct the clock of the host, or captured-at.txt"
        raise HistoryError(f"cannot record in {legible(path)}: the time of the evidence is to come ({at}); {how}")
    with writing(path) as database:
        number = _add(database, run)
        _trim(database, bounds)
        if not database.number("SELECT count(*) FROM run WHERE id = ?", number):
            raise HistoryError(
                f"cannot record in {legible(path)}: the evidence is older than the {bounds.days} days, or the runs "
                f"larger than the {bounds.megabytes} MiB, that it keeps; raise --record-days or --record-size"
            )


def _add(database: HistoryFile, run: RecordedRun) -> int:
    evidence = _evidence_of(run)
    for (number,) in database.rows("SELECT id FROM run WHERE evidence = ?", evidence):
        _remove(database, "?", number)
    counts = {severity: run.counts.get(severity, 0) for severity in SEVERITIES}
    number = database.number("SELECT max(id) FROM run") + 1
    row = {
        "id": number,
        "taken": microseconds(run.taken),
        "evidence": evidence,
        "recorded": microseconds(run.recorded),
        "version": run.version,
        "exit_code": run.exit_code,
        "crashed": run.crashed,
    }
    database.insert("run", [row | counts])
    database.insert("server", (_row(number, server) for server in run.servers))
    database.insert("volume", (row for server in run.servers for row in _volumes(number, server)))
    found = [(server.name[:LONGEST_NAME], finding) for server in run.servers for finding in server.findings]
    ids: dict[int, str] = {}
    for name, one in (*found, *(("", finding) for finding in run.findings)):
        ids.setdefault(_finding(database, name, one.check, one.digest), one.severity)
    rows = ({"run": number, "finding": finding, "severity": severity} for finding, severity in ids.items())
    database.insert("found", rows)
    return number


def _evidence_of(run: RecordedRun) -> str:
    """Return what identifies the evidence of a run: its servers, and when each was looked at."""
    servers = sorted((server.name[:LONGEST_NAME], microseconds(server.taken)) for server in run.servers)
    return sha256(repr(servers).encode("utf-8", "backslashreplace")).hexdigest()


def _row(number: int, server: ServerSummary) -> dict[str, Any]:
    values = asdict(server)
    del values["findings"], values["volumes"]
    storable = {name: _storable(value) for name, value in values.items()}
    return {"run": number} | storable | {"taken": microseconds(server.taken)}


def _volumes(number: int, server: ServerSummary) -> Iterator[dict[str, Any]]:
    """Yield a row for each volume of a server, the same mount point once."""
    for mount_point, one in {_storable(one.mount_point): one for one in server.volumes}.items():
        yield {
            "run": number,
            "server": _storable(server.name),
            "mount_point": mount_point,
            "taken": microseconds(one.taken),
            "total_bytes": _storable(one.total_bytes),
            "free_bytes": _storable(one.free_bytes),
        }


def _storable(value: Any) -> Any:  # noqa: ANN401  values of SQL
    """Return a value that SQLite takes: text without lone surrogates, an integer of 64 bits."""
    if isinstance(value, str):
        return value[:LONGEST_NAME].encode("utf-8", "backslashreplace").decode()
    return min(value, LARGEST) if isinstance(value, int) else value


def _finding(database: HistoryFile, *key: str) -> int:
    columns = [_storable(value) for value in key]
    known = "SELECT id FROM finding WHERE server = ? AND check_id = ? AND digest = ?"
    return database.number(known, *columns) or database.execute(
        "INSERT INTO finding (server, check_id, digest) VALUES (?, ?, ?)", *columns
    )


def _trim(database: HistoryFile, bounds: Bounds) -> None:
    """Remove the runs that are too old, then the oldest ones until the file is small enough."""
    newest = database.number("SELECT max(taken) FROM run")
    oldest = newest - timedelta(days=bounds.days) // timedelta(microseconds=1)
    old = database.number("SELECT count(*) FROM run WHERE taken < ?", oldest)
    while old := old or _too_many(database, bounds):
        _remove(database, OLDEST, old)
        database.execute("DELETE FROM finding WHERE id NOT IN (SELECT finding FROM found)")
        old = 0
    for _ in range(database.number("PRAGMA freelist_count")):
        database.execute("PRAGMA incremental_vacuum")  # as Python steps through it, it frees one page


def _too_many(database: HistoryFile, bounds: Bounds) -> int:
    """Return how many runs to remove next, because those in the file take too much space."""
    pages = database.number("PRAGMA page_count") - database.number("PRAGMA freelist_count")
    if pages * database.number("PRAGMA page_size") <= bounds.megabytes << 20:
        return 0
    return -(-database.number("SELECT count(*) FROM run") // AT_ONCE)


def _remove(database: HistoryFile, chosen: str, value: int) -> None:
    """Remove the runs that a statement chooses: last from the table by which they are chosen."""
    for table, column in (("found", "run"), ("volume", "run"), ("server", "run"), ("run", "id")):
        database.execute(f"DELETE FROM {table} WHERE {column} IN ({chosen})", value)  # noqa: S608  our own names
