"""What changed since an earlier run: as data, and in words.

The changes since a baseline in the report object (docs/contract.md, `baseline`).

The changes since a baseline in words, from the report object (`baseline`; `change` and `before` of a finding).
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from ldapdiag.baseline.changes import FindingChange
from ldapdiag.finding import finding_id
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.baseline.changes import ChangedFinding, Changes, FormerFinding
    from ldapdiag.finding import Finding


def changes_as_data(changes: Changes | None) -> dict[str, Any] | None:
    """Return what has changed, without the findings that are there now; None without a baseline."""
    if changes is None:
        return None
    return {
        "origin": changes.origin,
        "taken_at": changes.taken_at.isoformat().replace("+00:00", "Z") if changes.taken_at else None,
        "version": changes.version,
        "counts": {str(change): count for change, count in changes.counts.items()},
        "gone": [_former(one) for one in changes.gone],
        "not_seen": [_former(one) for one in changes.not_seen],
        "notes": list(changes.notes),
    }


def change_of(changes: Changes | None, check: str, finding: Finding) -> dict[str, Any]:
    """Return what became of a finding, and what it was before; both null without a baseline."""
    changed = changes.findings.get(finding_id(check, finding)) if changes is not None else None
    if changed is None:
        return {"change": None, "before": None}
    return {"change": str(changed.change), "before": None if changed.change is FindingChange.NEW else _before(changed)}


def _before(changed: ChangedFinding) -> dict[str, Any]:
    return {
        "severity": None if changed.severity is None else str(changed.severity),
        "key": changed.key or None,
        "number": changed.number,
        "now": changed.now,
    }


def _former(former: FormerFinding) -> dict[str, Any]:
    finding = former.finding
    return {
        "id": finding.id,
        "check": finding.check,
        "severity": str(finding.severity),
        "title": finding.title,
        "reason": former.reason,
    }


WORDS = {"same": "unchanged"}
"""What a change is called, where it is not by its name in JSON."""
NAMED = {
    "etime_seconds": "search time",
    "names": "names in the largest folder",
    "open": "connections that are open for longer",
    "queued": "operations that wait for a thread",
    "missing": "entries that the index lacks",
    "used": "in use",
    "waiting": "requests that wait",
    "times_even": "times its even share",
    "unclean": "closes without UNBIND",
}
"""The thing that a main number counts, where its key does not name it."""
FORMER = {"gone": "gone", "not seen": "not_seen"}
"""Lists of the earlier findings that are none now, by what became of them."""


def count_parts(baseline: Mapping[str, Any]) -> Iterator[str]:
    """Yield the time of the baseline, and how many findings have changed in each way."""
    taken = baseline["taken_at"]
    time = f"{datetime.fromisoformat(taken):%Y-%m-%d %H:%M %Z}" if taken else "a baseline without a time"
    found = [f"{number(count)} {WORDS.get(change, change)}" for change, count in baseline["counts"].items() if count]
    first, *others = found or ["no finding then, none now"]
    yield f"compared with {time}: {first}"
    yield from others


def change_word(finding: Mapping[str, Any]) -> str:
    """Return what became of a finding, as in `worse: ghosts (268 before, 402 now)`; empty without a baseline."""
    change, before = finding["change"], finding["before"]
    if change not in {"worse", "better"}:
        return WORDS.get(change, change) or ""
    if finding["severity"] != before["severity"]:
        return f"{change}: severity ({before['severity']} before, {finding['severity']} now)"
    key = before["key"]
    unit = " s" if key.endswith("_seconds") else ""
    name = NAMED.get(key) or key.removesuffix("_seconds").replace("_", " ")
    return f"{change}: {name} ({_plain(before['number'])}{unit} before, {_plain(before['now'])}{unit} now)"


def former_lines(baseline: Mapping[str, Any], became: str) -> Sequence[str]:
    """Return a line on each earlier finding that is gone, or not seen, with the reason."""
    return [f"{one['severity']}: {one['title']} ({one['check']}; {one['reason']})" for one in baseline[FORMER[became]]]


def _plain(value: float) -> str:
    return number(int(value)) if value == int(value) else f"{value:,.4g}"
