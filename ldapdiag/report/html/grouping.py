"""Verdicts without a finding: what is clear by check, and what was not judged by the evidence that is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ldapdiag.finding import Judged, NotJudged
from ldapdiag.report.not_judged import lacks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ldapdiag.report.not_judged import Lack


@dataclass(slots=True)
class ClearCheck:
    """The subjects that a check found in order."""

    check: str
    subject: str
    reason: str
    """Of the first subject."""
    subjects: int = 1


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


def lacks(verdicts: Iterable[Mapping[str, Any]]) -> Sequence[Lack]:
    """Return what was not judged, by the evidence that is lacking, as the text of a report groups it."""
    return lacks_of(_judged(one) for one in verdicts if one["outcome"] == "not-judged")


def _judged(one: Mapping[str, Any]) -> Judged:
    missing = tuple(one["missing"])
    verdict = NotJudged(subject=one["subject"], reason=one["reason"], missing=missing, how=one["how"])
    return Judged(check=one["check"], verdict=verdict)
