"""The changes since a baseline in words, from the report object (`baseline`; `change` and `before` of a finding)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FORMER = {"gone": "gone", "not seen": "not_seen"}
"""Lists of the earlier findings that are none now, by what became of them."""


def count_parts(baseline: Mapping[str, Any]) -> Iterator[str]:
    """Yield the time of the baseline, and how many findings have changed in each way."""
    taken = baseline["taken_at"]
    yield f"{datetime.fromisoformat(taken):%d %b %Y %H:%M %Z}" if taken else "a baseline without a time"
    counted = [f"{number(count)} {change}" for change, count in baseline["counts"].items() if count]
    yield from counted or ["no finding then, none now"]


def change_word(finding: Mapping[str, Any]) -> str:
    """Return what became of a finding, as in `worse: 268 before, now 402`; empty without a baseline."""
    change, before = finding["change"], finding["before"]
    if change not in {"worse", "better"}:
        return change or ""
    if finding["severity"] != before["severity"]:
        return f"{change}: {before['severity']} before"
    return f"{change}: {_plain(before['number'])} before, now {_plain(before['now'])}"


def former_lines(baseline: Mapping[str, Any], became: str) -> Sequence[str]:
    """Return a line on each earlier finding that is gone, or not seen, with the reason."""
    return [f"{one['severity']}: {one['title']} ({one['check']}; {one['reason']})" for one in baseline[FORMER[became]]]


def _plain(value: float) -> str:
    return number(int(value)) if value == int(value) else f"{value:,.4g}"
