"""The calls that a dialect makes on a Scan, recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.scan import Hints

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.evidence.log.connection import OperationResult


QUIET = {"passed_over", "clock", "resolution", "startup"}
"""Calls that a dialect makes for nearly every line."""


class Calls:
    """A stand-in for a Scan that records every call as (name, *arguments), keywords as pairs at the end."""

    def __init__(self, hints: Hints) -> None:
        self.hints = hints
        self.lines = 0
        self.made: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)

        def called(*arguments: object, **keywords: object) -> None:
            self.made.append((name, *arguments, *keywords.items()))

        return called


def results_of(calls: list[tuple[Any, ...]]) -> list[OperationResult]:
    """Return the results among calls."""
    return [call[2] for call in calls if call[0] == "result"]


def calls_of(scan: Callable[..., None], data: bytes, hints: Hints | None = None) -> list[tuple[Any, ...]]:
    """Return the calls that a dialect makes for this data, without those in QUIET."""
    calls = Calls(hints or Hints())
    scan(data, calls)
    return [made for made in calls.made if made[0] not in QUIET]
