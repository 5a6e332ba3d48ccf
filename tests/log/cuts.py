"""A log in pieces: where its dialect says that it may be cut, and what the pieces add up to."""

from __future__ import annotations

import gzip
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.dialects import recognise, scan_chunk
from ldapdiag.evidence.log.merge import finish, merge
from log.laid_open import plain
from log.said import rendered

if TYPE_CHECKING:
    import random
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
    """Return where records end, by the dialect's own word: the places where a log may be cut."""
    data, dialect = text(path), dialect_of(path)
    ends = set()
    at = 0
    while at := data.find(b"\n", at) + 1:
        ends.add(dialect.cut(data, min(at + 1, len(data))))
    return sorted(ends - {0, len(data)})


def told(segment: Segment) -> tuple[str, Any]:
    """Return the JSON of a finished Segment, and what that does not say of its rows."""
    return rendered(segment), plain([segment.shapes, segment.lookups, segment.modified])


@cache
def whole(path: Path) -> tuple[str, Any]:
    return told(finish(scan_chunk(dialect_of(path), text(path))))


def pieces(path: Path, places: list[int]) -> list[Segment]:
    data, ends = text(path), boundaries(path)
    cuts = sorted({ends[place % len(ends)] for place in places}) if ends else []
    return [scan_chunk(dialect_of(path), data[left:right]) for left, right in pairwise([0, *cuts, len(data)])]


def bracketed(segments: list[Segment], choose: random.Random) -> Segment:
    while len(segments) > 1:
        place = choose.randrange(len(segments) - 1)
        segments[place : place + 2] = [merge(segments[place], segments[place + 1])]
    return segments[0]
