"""Sums: what neighbouring records of one stream add up to, as they come by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.evidence.log.dialects import scan_chunk
from ldapdiag.evidence.log.merge import merge
from ldapdiag.sources.logs import native

if TYPE_CHECKING:
    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.line_scan import Hints
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.sources.logs.border import Period


class Sum(Protocol):
    """Adds up records."""

    scanner: Scanner

    def add(self, data: bytes) -> None:
        """Count whole records."""

    def total(self) -> tuple[Segment | None, Segment | None]:
        """Return what came before the period, and what from its beginning on."""


def sum_of(dialect: Dialect, hints: Hints, period: Period | None) -> Sum:
    """Return who adds up records of a dialect."""
    fast = native.chosen() is Scanner.NATIVE and native.reads(dialect.name)
    return _Native(dialect, hints, period) if fast else _Reference(dialect, hints, period)


class _Reference:
    scanner = Scanner.PYTHON

    def __init__(self, dialect: Dialect, hints: Hints, period: Period | None) -> None:
        self._dialect = dialect
        self._hints = hints
        self._period = period
        self._before: Segment | None = None
        self._within: Segment | None = None

    def add(self, data: bytes) -> None:
        before, within = b"", data
        if self._period is not None:
            before, within, _ = self._period.divide(self._dialect, data, self._hints)
        self._before = self._and(self._before, before)
        self._within = self._and(self._within, within)

    def total(self) -> tuple[Segment | None, Segment | None]:
        return self._before, self._within

    def _and(self, total: Segment | None, data: bytes) -> Segment | None:
        return _merged(total, scan_chunk(self._dialect, data, self._hints)) if data else total


class _Native:
    scanner = Scanner.NATIVE

    def __init__(self, dialect: Dialect, hints: Hints, period: Period | None) -> None:
        self._scan = native.scan(dialect, hints, period)
        self._before: Segment | None = None
        self._within: Segment | None = None

    def add(self, data: bytes) -> None:
        if self._scan.is_over:
            return
        with native.guarded():
            self._scan.feed(data)
            if self._scan.is_heavy:
                self._take()

    def total(self) -> tuple[Segment | None, Segment | None]:
        with native.guarded():
            self._take()
        return self._before, self._within

    def _take(self) -> None:
        before, within = native.taken(self._scan)
        self._before = self._before if before is None else _merged(self._before, before)
        self._within = self._within if within is None else _merged(self._within, within)


def _merged(total: Segment | None, segment: Segment) -> Segment:
    return segment if total is None else merge(total, segment)
