"""What a report contains, as far as it is compared: of an earlier one and of the present one the same.

How much the access log of a server covers: what is rare in a log is not found in a much shorter one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeGuard

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from ldapdiag.evidence.report_kind import ReportKind
    from ldapdiag.finding import Severity

Source = tuple[str, str]
"""The kind of a fact, and the server or host that it is about."""

MORE = "more_findings"
"""The key of a finding that stands for those which a report does not list."""
NEVER_MISSED = frozenset({"ldap-probe", "capture-times", "index-task", "history"})
"""Kinds of facts that no finding needs again: a probe that failed is evidence, one that succeeded leaves none; an entry
below cn=tasks vanishes when the task is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFinding:
    """A finding of a report."""

    id: str
    check: str
    severity: Severity
    subject: str
    title: str
    server: str | None = None
    hosts: tuple[str, ...] = ()
    sources: frozenset[Source] = frozenset()
    """What it is based on."""
    observed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_remainder(self) -> bool:
        """Return whether it stands for the findings of its check that the report does not list."""
        return MORE in self.observed

    def number(self, key: str) -> float | None:
        """Return a number that was observed; None if it was not, or is no number."""
        value = self.observed.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        return value if abs(value) < LARGEST else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedVerdict:
    """A verdict of a report: finding, clear, not-judged or crashed."""

    check: str
    outcome: str
    subject: str | None
    """None: the check as a whole."""
    reason: str
    about: str = ""
    """The server or host that the check judged; empty: all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedHost:
    """A host, and what identifies it whatever it is called."""

    name: str
    addresses: frozenset[str] = frozenset()
    contents: frozenset[str] = frozenset()
    """The SHA-256 of the files that were read about it."""
    is_server: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """One report."""

    kind: ReportKind
    taken_at: datetime | None = None
    version: str = ""
    shortfall: str | None = None
    """Why it lacks its main evidence."""
    hosts: Sequence[ReportedHost] = ()
    findings: Sequence[ReportedFinding] = ()
    verdicts: Sequence[ReportedVerdict] = ()
    sources: frozenset[Source] = frozenset()
    """All that was read."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By check: the settings that differ from the defaults."""
    disabled: Mapping[str, str] = field(default_factory=dict)
    """By check: the reason why it did not run."""
    logs: Mapping[str, LogExtent] = field(default_factory=dict)
    """By server: what its access log covers."""


ENOUGH, LEAST_OPERATIONS = 0.5, 0.1
"""Shares of what the baseline's log covers, below which a finding that the present log lacks is not gone. Too little is
less than ENOUGH of the time and of the operations (a batch takes less time with a new index); operations
vary by day and night, so alone they count only far below.
"""
LARGEST = 1e18
"""Numbers below are compared; not those that only a file has which no report wrote, as of 400 digits."""
ACCESS_LOG = "access-log"
"""The kind of fact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogExtent:
    """The time and the operations of an access log."""

    seconds: float
    operations: float

    def lacks(self, before: LogExtent) -> str:
        """Return how much less this is than the earlier log, as part of a sentence; empty if it is enough."""
        if self.seconds < ENOUGH * before.seconds and self.operations < ENOUGH * before.operations:
            return f"covers {_time(self.seconds)}, and in the baseline {_time(before.seconds)}"
        if self.operations < LEAST_OPERATIONS * before.operations:
            return (
                f"has {number(int(self.operations))} operations, and in the baseline {number(int(before.operations))}"
            )
        return ""


def log_extents(series: object) -> dict[str, LogExtent]:
    """Return the extent of each server's access log by the series of a report; what has another form is left out."""
    return dict(_extents(series)) if isinstance(series, list) else {}


def _extents(series: list[object]) -> Iterable[tuple[str, LogExtent]]:
    for one in series:
        if not isinstance(one, Mapping) or one.get("name") != "operations":
            continue
        step, values = one.get("step_seconds"), one.get("values")
        if not _is_count(step) or not isinstance(values, list) or not all(map(_is_count, values)):
            continue
        yield str(one.get("server")), LogExtent(seconds=step * len(values), operations=sum(values))


def _is_count(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and 0 <= value < LARGEST


def _time(seconds: float) -> str:
    for size, name in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {name}"
    return f"{seconds:,.0f} s"
