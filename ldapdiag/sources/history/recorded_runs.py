"""The runs of a history, read as facts. Malformed ones are counted and left out."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ldapdiag.evidence.history import (
    SEVERITIES,
    History,
    RecordedFinding,
    RecordedRun,
    RecordedVolume,
    ServerSummary,
    by_severity,
)
from ldapdiag.evidence.origin import Origin
from ldapdiag.sources.files.unreadable import legible
from ldapdiag.sources.history.database import microseconds, moment, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from ldapdiag.sources.history.database import HistoryFile

T = TypeVar("T")

EARLIEST = -(1 << 63)

MOST_RUNS = 200_000
MOST_SUMMARIES = 400_000
MOST_VOLUMES = 1_600_000
MOST_FINDINGS = 4_000_000
"""Rows that are read of each table: those of the newest runs. A file of the default size has fewer."""

RUNS = """
SELECT id, taken, recorded, version, exit_code, crashed, info, low, medium, high, critical
FROM run WHERE taken >= ? ORDER BY taken DESC, id DESC LIMIT ?"""

INTEGERS = (
    *("connections", "joined", "descriptors_used", "descriptor_limit", "ghosts", "stranded", "severed"),
    *("opened", "binds", "searches", "exhausted"),
)
FLOATS = ("growth_per_hour", "log_seconds", "search_seconds")
TEXTS = ("product", "connections_source", "used_source", "limit_source", "growth_source")
SUMMARIES = f"""
SELECT server.run, server.name, server.taken, {", ".join(f"server.{name}" for name in (*INTEGERS, *FLOATS, *TEXTS))}
FROM run JOIN server ON server.run = run.id
WHERE run.taken >= ? ORDER BY run.taken DESC, run.id DESC LIMIT ?"""  # noqa: S608  our own names

FINDINGS = """
SELECT found.run, finding.server, finding.check_id, finding.digest, found.severity
FROM run JOIN found ON found.run = run.id JOIN finding ON finding.id = found.finding
WHERE run.taken >= ? ORDER BY run.taken DESC, run.id DESC LIMIT ?"""

VOLUMES = """
SELECT volume.run, volume.server, volume.mount_point, volume.taken, volume.total_bytes, volume.free_bytes
FROM run JOIN volume ON volume.run = run.id
WHERE run.taken >= ? ORDER BY run.taken DESC, run.id DESC, mount_point LIMIT ?"""


class _MalformedError(ValueError):
    """A value that no version of ldapdiag writes."""


def read(path: Path, since: datetime | None = None, *, with_findings: bool = True) -> History:
    """Return the runs whose evidence was taken at a time or later, in order of that time. Raises HistoryError."""
    begin = microseconds(since) if since else EARLIEST
    with reading(path) as database:
        return _Reader(database, begin).history(legible(path), with_findings=with_findings)


class _Reader:
    """Reads all rows of one file, and counts them."""

    def __init__(self, database: HistoryFile, begin: int) -> None:
        self._database = database
        self._begin = begin
        self._lines = 0
        self._malformed = 0
        self._notes: list[str] = []
        self._known: dict[tuple[Any, ...], RecordedFinding] = {}
        """Equal ones are one object in memory: most runs find what the one before has found."""

    def history(self, path: str, *, with_findings: bool) -> History:
        """Return everything that was read."""
        findings: dict[int, dict[str, list[RecordedFinding]]] = defaultdict(lambda: defaultdict(list))
        for run, server, *values in self._rows(FINDINGS, MOST_FINDINGS) if with_findings else ():
            if (finding := self._finding(values)) is not None:
                findings[run][server].append(finding)
        volumes: dict[tuple[int, str], list[RecordedVolume]] = defaultdict(list)
        for run, server, *values in self._rows(VOLUMES, MOST_VOLUMES):
            if (volume := self._volume(values)) is not None:
                volumes[run, server].append(volume)
        servers: dict[int, list[ServerSummary]] = defaultdict(list)
        for run, name, taken, *values in self._rows(SUMMARIES, MOST_SUMMARIES):
            if (summary := self._summary(name, taken, values, findings[run].pop(name, []))) is not None:
                servers[run].append(replace(summary, volumes=tuple(volumes.pop((run, name), ()))))
        runs = [
            self._run(values, tuple(servers[number]), tuple(findings[number].pop("", ())))
            for number, *values in self._rows(RUNS, MOST_RUNS)
        ]
        origin = Origin(
            path=path,
            lines=self._lines,
            understood=self._lines - self._malformed,
            not_understood=self._malformed,
            notes=tuple(self._notes),
        )
        return History(origin=origin, runs=tuple(run for run in reversed(runs) if run is not None))

    def _rows(self, statement: str, most: int) -> Iterator[tuple[Any, ...]]:
        rows = self._database.rows(statement, self._begin, most)
        self._lines += len(rows)
        if len(rows) == most:
            self._notes.append(f"Only its newest {most:,} rows of one table were read.")
        yield from rows

    def _run(
        self, values: list[Any], servers: tuple[ServerSummary, ...], findings: tuple[RecordedFinding, ...]
    ) -> RecordedRun | None:
        try:
            taken, recorded, version, exit_code, crashed, *counts = values
            return RecordedRun(
                taken=moment(_count(taken)),
                recorded=moment(_count(recorded)),
                version=_text(version),
                exit_code=_count(exit_code),
                crashed=_count(crashed),
                counts=dict(zip(SEVERITIES, map(_count, counts), strict=True)),
                servers=servers,
                findings=tuple(sorted(findings, key=by_severity)),
            )
        except ValueError:
            self._malformed += 1
            return None

    def _summary(
        self, name: object, taken: object, values: list[Any], findings: list[RecordedFinding]
    ) -> ServerSummary | None:
        counts, rest = values[: len(INTEGERS)], values[len(INTEGERS) :]
        numbers, texts = rest[: len(FLOATS)], rest[len(FLOATS) :]
        try:
            columns: dict[str, Any] = {
                **{column: _known(_count, value) for column, value in zip(INTEGERS, counts, strict=True)},
                **{column: _known(_measured, value) for column, value in zip(FLOATS, numbers, strict=True)},
                **{column: _text(value) for column, value in zip(TEXTS, texts, strict=True)},
            }
            of_severity = tuple(sorted(findings, key=by_severity))
            return ServerSummary(name=_text(name), taken=moment(_count(taken)), findings=of_severity, **columns)
        except ValueError:
            self._malformed += 1
            return None

    def _volume(self, values: list[Any]) -> RecordedVolume | None:
        try:
            mount_point, taken, total, free = values
            return RecordedVolume(
                mount_point=_text(mount_point),
                taken=moment(_count(taken)),
                total_bytes=_count(total),
                free_bytes=_count(free),
            )
        except ValueError:
            self._malformed += 1
            return None

    def _finding(self, values: list[Any]) -> RecordedFinding | None:
        key = tuple(values)
        if key not in self._known:
            try:
                check, digest, severity = map(_text, values)
                if severity not in SEVERITIES:
                    raise _MalformedError(severity)
            except ValueError:
                self._malformed += 1
                return None
            self._known[key] = RecordedFinding(check=check, digest=digest, severity=severity)
        return self._known[key]


def _known(convert: Callable[[object], T], value: object) -> T | None:
    return None if value is None else convert(value)


def _count(value: object) -> int:
    if isinstance(value, int) and value >= 0:
        return value
    raise _MalformedError(value)


def _measured(value: object) -> float:
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    raise _MalformedError(value)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise _MalformedError(value)
