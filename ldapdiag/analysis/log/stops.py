"""Stops: results of searches that a limit or a refusal stopped, by result code and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.analysis.log.spellings import text

if TYPE_CHECKING:
    from collections.abc import Mapping


class StopCount(NamedTuple):
    """Stopped results. Times in nanoseconds."""

    results: int
    etime: int
    wait: int
    entries: int
    most_entries: int
    """In one result: at least so many match."""


def stop_counts(stopped: Mapping[tuple[int, bytes], list[int]]) -> dict[tuple[int, str], StopCount]:
    """Return the stopped results of a row by code and notes."""
    return {(err, text(notes)): StopCount(*cell) for (err, notes), cell in sorted(stopped.items())}
