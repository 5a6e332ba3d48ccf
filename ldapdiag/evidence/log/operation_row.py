"""The rows of operations in a Segment: their counts, their durations, and when they came. Times in nanoseconds."""

from __future__ import annotations

from ldapdiag.evidence.log.durations import Durations
from ldapdiag.evidence.log.series import Series
from ldapdiag.evidence.log.tables import OTHER_RESULT

TargetKey = tuple[int, bytes]
"""Kind of operation; and the class of the entry's DN, of a BIND the mechanism, of an extended operation its OID."""
ShapeKey = tuple[bytes, bytes, int]
"""Filter shape, class of the base, scope."""

Worst = tuple[int, int, int, int, bytes]
"""Nanoseconds, -time, -connection, -op, filter or DN as logged: of two equal durations the earlier compares greater."""

NOTHING: Worst = (-1, 0, 0, 0, b"")
NEVER = 1 << 63
"""Later than any time of a log (stamps.py)."""
MOST_ERRORS = 100
"""Different result codes in one row."""


class OperationRow:
    """The operations of one kind and target, or the searches of one shape."""

    __slots__ = (
        "abandoned",
        "answered",
        "entries",
        "errors",
        "etime",
        "etimes",
        "first",
        "key",
        "last",
        "optimes",
        "requests",
        "series",
        "unanswered",
        "wait",
        "waits",
        "worst",
    )

    key: TargetKey | ShapeKey

    def __init__(self, key: TargetKey | ShapeKey) -> None:
        self.key = key
        self.requests = 0
        self.answered = 0
        self.abandoned = 0
        """Requests that an ABANDON ended before their result."""
        self.unanswered = 0
        """Requests whose connection ended, or the log, before their result."""
        self.etime = 0
        self.wait = 0
        self.entries = 0
        self.errors: dict[int, int] = {}
        """Results by code, without success."""
        self.etimes = Durations()
        self.waits = Durations()
        """Waits for a worker thread, where the log has them."""
        self.optimes = Durations()
        """Times without the wait, where the log has them."""
        self.worst = NOTHING
        self.first = NEVER
        self.last = -NEVER
        """Times of the first and the last result."""
        self.series = Series()

    def failed(self, err: int, count: int = 1) -> None:
        """Count results with a code other than success."""
        if err not in self.errors and len(self.errors) >= MOST_ERRORS:
            err = OTHER_RESULT
        self.errors[err] = self.errors.get(err, 0) + count

    def merge(self, other: OperationRow) -> None:
        """Add the counts of another row."""
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for err, count in other.errors.items():
            self.failed(err, count)
        for name in HISTOGRAMS:
            getattr(self, name).merge(getattr(other, name))
        self.worst = max(self.worst, other.worst)
        self.first = min(self.first, other.first)
        self.last = max(self.last, other.last)
        self.series.merge(other.series)


COUNTED = ("requests", "answered", "abandoned", "unanswered", "etime", "wait", "entries")
"""Fields of an OperationRow that are added up; the order of the plain form."""
HISTOGRAMS = ("etimes", "waits", "optimes")
