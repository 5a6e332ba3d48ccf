"""Vectors: small logs, each of one theme, with the answer that a person has read (tests/vectors/README.md)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.scan import Hints
from log.said import rendered

if TYPE_CHECKING:
    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.segment import Segment

VECTORS = Path(__file__).parent.parent / "vectors"
LOGS = sorted(VECTORS.glob("*/*.log"))

HINTS = Hints(year_end=datetime(2026, 11, 20, 12, tzinfo=UTC))
"""When each of these logs ended, for those whose stamps have no year."""

OF_THE_READING = (
    "schema", "scanner", "streams", "files_not_logs", "gaps", "remarks", "stopped", "since", "until",
)  # fmt: skip
"""What the report says of the reading, and not of the log."""


def told(path: Path) -> str:
    """Return what a vector is called: `389-text/quotes`."""
    return f"{path.parent.name}/{path.stem}"


def dialect_of(path: Path) -> Dialect:
    """Return the dialect that a vector lies under."""
    return named(path.parent.name)


@cache
def text(path: Path) -> bytes:
    """Return the log of a vector."""
    return path.read_bytes()


def answer(segment: Segment, dialect: Dialect) -> str:
    """Return what the JSON of a finished Segment says of the log."""
    report = json.loads(rendered(segment, dialect.family))
    return json.dumps({name: report[name] for name in report if name not in OF_THE_READING}, indent=1, sort_keys=True)
