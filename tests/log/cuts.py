"""A log in pieces: the positions where its dialect allows a cut, and what it counts fed in pieces."""

from __future__ import annotations

import gzip
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.dialects import recognise, scan_stream
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.evidence.log.stream_scan import StreamScan
from log.comparable import plain
from log.reports import rendered

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.segment import Segment


@cache
def text(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


@cache
def dialect_of(path: Path) -> Dialect:
    dialect = recognise(text(path)[:65_536])
    assert dialect
    return dialect


@cache
def boundaries(path: Path) -> list[int]:
    """Return the ends of records as the dialect determines them: the positions where a log may be cut."""
    data, dialect = text(path), dialect_of(path)
    ends = set()
    at = 0
    while at := data.find(b"\n", at) + 1:
        ends.add(dialect.cut(data, min(at + 1, len(data))))
    return sorted(ends - {0, len(data)})


def content_of(segment: Segment) -> tuple[str, Any]:
    """Return the JSON of a finished Segment, and the rows that are not in it."""
    return rendered(segment), plain([segment.shapes, segment.lookups, segment.modified, segment.writes])


@cache
def whole(path: Path) -> tuple[str, Any]:
    return content_of(scan_stream(dialect_of(path), text(path)))


def pieces(path: Path, places: list[int]) -> list[bytes]:
    """Return a log cut at some of its boundaries."""
    data, ends = text(path), boundaries(path)
    cuts = sorted({ends[place % len(ends)] for place in places}) if ends else []
    return [data[left:right] for left, right in pairwise([0, *cuts, len(data)])]


def fed(dialect: Dialect, parts: Iterable[bytes]) -> Segment:
    """Return the counts of a log that is read piece by piece."""
    scan = StreamScan()
    for part in parts:
        scan.feed(dialect, part, Hints())
    return scan.finish()
