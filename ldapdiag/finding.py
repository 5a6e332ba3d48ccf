"""Verdicts: what a check yields for one subject. No subject is left without one."""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from ldapdiag.evidence.bundle import Missing
    from ldapdiag.evidence.origin import Fact
    from ldapdiag.remedy import Remedy


class Severity(IntEnum):
    """How severe a finding is; each check defines its severities by numbers in its manual page."""

    INFO = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4

    def __str__(self) -> str:
        return self.name.lower()


NO_COMMAND = "There is no command for this: "
"""Begins the sentence of a finding without remedies: why there is none, and what to do or to ask instead."""

NEXT = "Next: "
"""Begins the sentence of a finding without remedies: the command that finds or shows them."""

LONG, HOPELESS, ENOUGH = 0.96, 30.0, 0.1
"""Seconds. LONG is 1 s, less the 4 % within which quantiles are right."""
FEWEST = 10


def severity_of_times(
    *, half: float, tenth: float, hundredth: float, worst: float, total: float, count: int, least: tuple[float, ...]
) -> Severity | None:
    """Return the severity of operations that wait, by their times in seconds; None for quick ones.

    `least` are the totals for high, medium and low. high: half took 1 s or more; medium: 1 in 10 did, or one took 30 s;
    low: 1 in 100 did, or 10 or more took 100 ms on average.
    """
    high, medium, low = least
    if half >= LONG and total >= high:
        return Severity.HIGH
    if worst >= HOPELESS or (tenth >= LONG and total >= medium):
        return Severity.MEDIUM
    long = hundredth >= LONG or (count >= FEWEST and total >= ENOUGH * count)
    return Severity.LOW if long and total >= low else None


class Confidence(StrEnum):
    """How certain a finding is."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Standing(StrEnum):
    """Whether an acceptance is in force; if not, the finding counts."""

    IN_FORCE = "accepted"
    EXCEEDED = "exceeded"
    """The finding is more severe than it allows."""
    OVER = "over"
    """Its last day is past."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """What a site has decided about a finding."""

    reason: str
    until: date
    """The last day."""
    up_to: Severity
    standing: Standing

    def __str__(self) -> str:
        match self.standing:
            case Standing.IN_FORCE:
                return f"accepted until {self.until}: {self.reason}"
            case Standing.EXCEEDED:
                return f"accepted up to {self.up_to} only, so it counts: {self.reason}"
            case Standing.OVER:
                return f"accepted until {self.until}, over, so it counts: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something is wrong with the subject (or, at severity info, worth knowing)."""

    subject: str
    severity: Severity
    confidence: Confidence
    title: str
    """One line, with its numbers."""
    detail: str
    """What it means and how it is known; whole sentences, one line of text each."""
    observed: Mapping[str, Any]
    """The numbers, by the keys of the contract."""
    key: str = ""
    """What follows the check's name in the id; the subject when empty."""
    server: str | None = None
    hosts: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    origins: tuple[str, ...] = ()
    acceptance: Acceptance | None = None
    """Set by the diagnosis, never by a check."""

    @property
    def is_accepted(self) -> bool:
        """Return whether it counts for no gate."""
        return self.acceptance is not None and self.acceptance.standing is Standing.IN_FORCE


def finding_id(check: str, finding: Finding) -> str:
    """Return the id of a finding, which is stable over runs."""
    return f"{check}|{finding.key or finding.subject}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clear:
    """The evidence shows that the subject is not affected. A claim, never a default."""

    subject: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotJudged:
    """The evidence does not suffice: `missing` names what is missing, `how` the way to collect it."""

    subject: str | None
    reason: str
    missing: tuple[str, ...] = ()
    how: str | None = None

    @classmethod
    def lacking(cls, missing: Missing, *, subject: str | None, about: str = "") -> NotJudged:
        """Return the verdict on a subject for which a fact is missing; `about` is put before the reason."""
        reason = f"{about}: {missing.reason}" if about else missing.reason
        return cls(subject=subject, reason=reason, missing=missing.lacks, how=missing.how)

    @classmethod
    def without(cls, fact: type[Fact], subject: str | None, reason: str, *, how: str | None = None) -> NotJudged:
        """Return the verdict on a subject for which facts of one kind are missing; `how`: in place of its own."""
        return cls(subject=subject, reason=reason, missing=(fact.kind,), how=how or fact.how)


def clear_unless(unlisted: str, subject: str, reason: str) -> Clear | NotJudged:
    """Return Clear; or NotJudged where the log does not show a finding that there may be, for the reason `unlisted`."""
    if not unlisted:
        return Clear(subject=subject, reason=reason)
    how = "an access log with searches and their results, or of a shorter period (--since, --until)"
    return NotJudged(subject=subject, reason=unlisted, missing=("access-log",), how=how)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashed:
    """The check (or a fact it needs) has a bug. Reported, never hidden."""

    subject: str | None
    reason: str
    where: str = ""


Verdict = Finding | Clear | NotJudged | Crashed


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict with the id of the check that yielded it."""

    check: str
    verdict: Verdict = field()
    about: str = ""
    """The server or host of which the facts were judged; empty: all of them."""
