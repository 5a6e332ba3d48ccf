"""ShownOperation: a slow operation with its records, as they are in the log."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_SHOWN = 2048
"""Bytes kept of a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalLine:
    """A record of a log."""

    file: str
    number: int
    """Of its first line in the (decompressed) file, from 1."""
    text: bytes
    """At most LONGEST_SHOWN bytes, and an ellipsis where it is longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOperation:
    """An operation with its records: of its request, as far as it is near the result, and of its result."""

    etime: int
    """Nanoseconds."""
    time: int
    """Of its result, nanoseconds since 1970."""
    connection: int
    operation: int
    lines: tuple[OriginalLine, ...]
