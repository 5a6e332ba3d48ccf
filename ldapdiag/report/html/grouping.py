"""Verdicts without a finding: what is clear by check, and what was not judged by the evidence that is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(slots=True)
class ClearCheck:
    """The subjects that a check found in order."""

    check: str
    subject: str
    reason: str
    """Of the first subject."""
    subjects: int = 1


@dataclass(slots=True)
class MissingEvidence:
    """What was not judged for one lack of evidence."""

    how: str
    """How to collect it; empty where the report does not say."""
    reasons: dict[str, None] = field(default_factory=dict)
    """In order."""
    checks: dict[str, None] = field(default_factory=dict)
    subjects: int = 0


def clear_checks(verdicts: Iterable[Mapping[str, Any]]) -> Sequence[ClearCheck]:
    """Return the checks with subjects that are clear."""
    found: dict[str, ClearCheck] = {}
    for one in verdicts:
        if one["outcome"] != "clear":
            continue
        if known := found.get(one["check"]):
            known.subjects += 1
        else:
            found[one["check"]] = ClearCheck(one["check"], one["subject"] or "", one["reason"] or "")
    return list(found.values())


def missing_evidence(verdicts: Iterable[Mapping[str, Any]]) -> Sequence[MissingEvidence]:
    """Return what was not judged: the evidence that the most checks lack first."""
    found: dict[str, MissingEvidence] = {}
    for one in verdicts:
        if one["outcome"] == "not-judged":
            key = one["how"] or one["reason"]
            group = found.setdefault(key, MissingEvidence(one["how"] or ""))
            group.reasons[one["reason"]] = None
            group.checks[one["check"]] = None
            group.subjects += 1
    return sorted(found.values(), key=lambda one: -len(one.checks))
