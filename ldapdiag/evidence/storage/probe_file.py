"""The file of a storage probe, written by ldapdiag itself: one JSON object, whose first key gives its version.

{"ldapdiag-storage-probe": 1,
"directory": "/var/lib/dirsrv", "mount_point": "/var/lib", "fs_type": "ext4", "device": "8:1",
"begun": "2026-11-23T06:00:00+00:00", "ended": "2026-11-23T06:00:21+00:00", "written_bytes": 41943040,
"syncs": [{"write": "append", "call": "fsync", "block_bytes": 4096, "count": 120,
"sync": {"p10_seconds": 0.0204, …, "worst_seconds": 0.0311}, "written": {…}}, …],
"commits": [{"committers": 10, "commits": 640, "syncs": 88, "seconds": 1.5, "commit": {…}}, …],
"files": [{"operation": "create", "count": 2000, "seconds": 0.11}, …],
"access_times": {"files": 2000, "first_updated": 2000, "again_updated": 0, …} or null,
"stopped_because": ""}
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.origin import Span
from ldapdiag.evidence.storage.probe import (
    AccessTimes,
    FileOperation,
    FileRate,
    GroupCommit,
    Latency,
    StorageProbe,
    SyncCall,
    SyncLatency,
    WriteKind,
)
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.origin import Origin

FIRST = "ldapdiag-storage-probe"
BEGINNING = pattern(rf'\s*\{{\s*"{FIRST}":\s*1\b')
MOST_CHARACTERS = 1 << 18
MOST_ROWS = 100
LONGEST_TEXT = 4096
GREATEST = 1e15
Row = TypeVar("Row")


def recognises(head: Head) -> bool:
    """Recognise the file by its first key."""
    return BEGINNING.match("".join(head.lines)) is not None


def read(document: Document) -> Iterator[StorageProbe]:
    """Read the probe; there is none in a text that is truncated or has another shape."""
    text, room = [], MOST_CHARACTERS
    for line in document.lines:
        room -= len(line)
        text += [line] if room >= 0 else []
    try:
        yield _probe(json.loads("\n".join(text)), document.origin())
    except (ValueError, KeyError, TypeError, RecursionError):
        document.misread("(a storage probe that is truncated, too long or has another shape)")


def content(probe: StorageProbe) -> dict[str, Any]:
    """Return the object of a probe, as it is in its file and in reports."""
    values = asdict(probe)
    del values["origin"]
    taken = probe.origin.taken
    times = {"begun": taken.start.isoformat(), "ended": taken.end.isoformat()} if taken else {}
    return {FIRST: 1, **times, **values}


def as_text(probe: StorageProbe) -> str:
    """Return the file of a probe."""
    return f"{json.dumps(content(probe), indent=1)}\n"


def _probe(values: dict[str, Any], origin: Origin) -> StorageProbe:
    begun, ended = (datetime.fromisoformat(_text(values[key])) for key in ("begun", "ended"))
    if begun.tzinfo is None or ended.tzinfo is None:
        raise ValueError
    access = values["access_times"]
    return StorageProbe(
        origin=replace(origin, taken=Span(start=begun, end=ended)),
        directory=_text(values["directory"]),
        mount_point=_text(values["mount_point"]),
        fs_type=_text(values["fs_type"]),
        device=_text(values["device"]),
        written_bytes=_count(values["written_bytes"]),
        syncs=_rows(values["syncs"], _sync),
        commits=_rows(values["commits"], _commits),
        files=_rows(values["files"], _files),
        access_times=None if access is None else _access_times(access),
        stopped_because=_text(values["stopped_because"]),
    )


def _sync(row: dict[str, Any]) -> SyncLatency:
    return SyncLatency(
        write=WriteKind(row["write"]),
        call=SyncCall(row["call"]),
        block_bytes=_count(row["block_bytes"]),
        count=_count(row["count"]),
        sync=_latency(row["sync"]),
        written=_latency(row["written"]),
    )


def _commits(row: dict[str, Any]) -> GroupCommit:
    committers, commits, syncs = (_count(row[key]) for key in ("committers", "commits", "syncs"))
    seconds, commit = _duration(row["seconds"]), _latency(row["commit"])
    return GroupCommit(committers=committers, commits=commits, syncs=syncs, seconds=seconds, commit=commit)


def _files(row: dict[str, Any]) -> FileRate:
    operation, count, seconds = FileOperation(row["operation"]), _count(row["count"]), _duration(row["seconds"])
    return FileRate(operation=operation, count=count, seconds=seconds)


def _access_times(row: dict[str, Any]) -> AccessTimes:
    without = row["without_seconds"]
    return AccessTimes(
        files=_count(row["files"]),
        first_updated=_count(row["first_updated"]),
        again_updated=_count(row["again_updated"]),
        again_seconds=_duration(row["again_seconds"]),
        without_seconds=None if without is None else _duration(without),
    )


def _latency(row: dict[str, Any]) -> Latency:
    p10, p50, p90, p99, worst = (_duration(row[f"{name}_seconds"]) for name in ("p10", "p50", "p90", "p99", "worst"))
    if not p10 <= p50 <= p90 <= p99 <= worst:
        raise ValueError
    return Latency(p10_seconds=p10, p50_seconds=p50, p90_seconds=p90, p99_seconds=p99, worst_seconds=worst)


def _rows(values: object, read_row: Callable[[dict[str, Any]], Row]) -> tuple[Row, ...]:
    if not isinstance(values, list) or len(values) > MOST_ROWS:
        raise TypeError
    return tuple(map(read_row, values))


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise TypeError
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= GREATEST:
        raise TypeError
    return value


def _duration(value: object) -> float:
    if (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or not (isfinite(value) and 0 <= value <= GREATEST)
    ):
        raise TypeError
    return float(value)


FORMAT = Format(name="storage-probe", title="a storage probe of ldapdiag", recognises=recognises, read=read)
