"""Vectors: small logs, each of one theme, with an answer that a person has checked (tests/vectors/README.md)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.scan import Hints
from log.reports import rendered

if TYPE_CHECKING:
    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.segment import Segment

VECTORS = Path(__file__).parent.parent / "vectors"
LOGS = sorted(VECTORS.glob("*/*.log"))

HINTS = Hints(year_end=datetime(2026, 11, 20, 12, tzinfo=UTC))
"""The end of each of these logs, for stamps without a year."""

OF_THE_READING = (
    "schema", "cluster", "scanner", "streams", "files_not_logs", "gaps", "remarks", "stopped", "since", "until",
    "no_match",
)  # fmt: skip
"""Fields of the report about reading, not about the log."""


def label(path: Path) -> str:
    """Return the label of a vector: `389-text/quotes`."""
    return f"{path.parent.name}/{path.stem}"


def dialect_of(path: Path) -> Dialect:
    """Return the dialect of a vector, which is the name of its folder."""
    return named(path.parent.name)


@cache
def text(path: Path) -> bytes:
    """Return the log of a vector."""
    return path.read_bytes()


def answer(segment: Segment, dialect: Dialect) -> str:
    """Return the JSON of a finished Segment without the fields about reading, with its counts for other reports."""
    report = json.loads(rendered(segment, dialect.family))
    of_log = {name: report[name] for name in report if name not in OF_THE_READING}
    return json.dumps(of_log | _of_others(segment), indent=1, sort_keys=True)


def _of_others(segment: Segment) -> dict[str, Any]:
    """Return the counts of a Segment for indexes and storage that the report of the log does not have, if any."""
    lengths = {
        _written(*key): {_written(lengths): cell for lengths, cell in row.substring_lengths.items()}
        for key, row in segment.shapes.items()
        if row.substring_lengths
    }
    limited = {
        _written(*key): [row.most_entries, row.most_limited]
        for key, row in segment.shapes.items()
        if row.most_limited >= 0
    }
    sorts = {
        _written(*key): {_written(*sorting): cell for sorting, cell in row.sorts.items()}
        for key, row in segment.shapes.items()
        if row.sorts
    }
    counts = {
        "of_indexes_sorts": sorts,
        "of_indexes_stopped": {
            _written(*key): {_written(*stop): cell for stop, cell in row.stopped.items()}
            for key, row in segment.shapes.items()
            if row.stopped
        },
        "of_indexes_by_substring_lengths": lengths,
        "of_indexes_largest_complete_and_limited_result": limited,
        "of_indexes_lookups_most_and_least_ids": {_written(*key): cell for key, cell in segment.lookups.items()},
        "of_indexes_modified": {_written(key): count for key, count in segment.modified.items()},
        "of_storage_write_times": {str(bucket): count for bucket, count in sorted(segment.writes.own.items())},
        "of_storage_writing": {str(at): one.writing for at, one in segment.timeline.intervals.items() if one.writing},
    }
    return {name: one for name, one in counts.items() if one}


def _written(*parts: bytes | int) -> str:
    return " ".join(part.decode(errors="backslashreplace") if isinstance(part, bytes) else str(part) for part in parts)
