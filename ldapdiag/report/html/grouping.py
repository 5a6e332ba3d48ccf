"""What is clear, by check."""

from __future__ import annotations

from dataclasses import dataclass
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
