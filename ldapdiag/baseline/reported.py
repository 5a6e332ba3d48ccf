"""What a report contains, as far as it is compared: of an earlier one and of the present one the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ldapdiag.finding import Confidence
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ldapdiag.baseline.chance import Measured
    from ldapdiag.baseline.log_extent import LogExtent
    from ldapdiag.evidence.report_kind import ReportKind
    from ldapdiag.finding import Severity

Source = tuple[str, str]
"""The kind of a fact, and the server or host that it is about."""

MORE = "more_findings"
"""The key of a finding that stands for those which a report does not list."""
ACCESS_LOG = "access-log"
"""The kind of fact."""
NEVER_MISSED = frozenset({"ldap-probe", "capture-times", "index-task", "history"})
"""Kinds of facts that no finding needs again: a probe that failed is evidence, one that succeeded leaves none; an entry
below cn=tasks vanishes when the task is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptNumber:
    """The number that a finding is compared with: of the report that was last accepted, or in which it last changed.

    It stays while later ones differ by less: else growth of 1 % a night would never be a change.
    """

    number: Measured
    taken_at: datetime | None


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
    confidence: Confidence = Confidence.CERTAIN
    reference: KeptNumber | None = None
    """What it was compared with, and has not left since."""

    @property
    def is_remainder(self) -> bool:
        """Return whether it stands for the findings of its check that the report does not list."""
        return MORE in self.observed


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
