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
    from ldapdiag.baseline.reported import KeptNumber
    from ldapdiag.finding import Finding


def changes_as_data(changes: Changes | None) -> dict[str, Any] | None:
    """Return what has changed, without the findings that are there now; None without a baseline."""
    if changes is None:
        return None
    return {
        "origin": changes.origin,
        "taken_at": _moment(changes.taken_at),
        "version": changes.version,
        "covers_baseline": changes.covers_baseline,
        "counts": {str(change): count for change, count in changes.counts.items()},
        "gone": [_former(one) for one in changes.gone],
        "not_seen": [_former(one) for one in changes.not_seen],
        "notes": list(changes.notes),
    }


def change_of(changes: Changes | None, check: str, finding: Finding) -> dict[str, Any]:
    """Return what became of a finding, and what it was before; both null without a baseline."""
    changed = changes.findings.get(finding_id(check, finding)) if changes is not None else None
    if changes is None or changed is None:
        return {"change": None, "before": None}
    before = None if changed.change is FindingChange.NEW else _before(changed, changes.taken_at)
    return {"change": str(changed.change), "before": before}


def _before(changed: ChangedFinding, taken_at: datetime | None) -> dict[str, Any]:
    before, now = changed.before, changed.now
    since = None if before is None or before.taken_at == taken_at else before.taken_at
    return {
        "severity": None if changed.severity is None else str(changed.severity),
        "confidence": None if changed.confidence is None else str(changed.confidence),
        "key": now.key if now else None,
        "name": changed.name or None,
        "unit": now.unit or None if now else None,
        "number": before.number.measures[0].value if before else None,
        "now": now.measures[0].value if now else None,
        "since": _moment(since),
        "reason": changed.reason or None,
        "reference": None if changed.reference is None else _reference(changed.reference),
    }


def _reference(reference: KeptNumber) -> dict[str, Any]:
    measures = [{"value": one.value, "events": one.events, "scatter": one.scatter} for one in reference.number.measures]
    return {"key": reference.number.key, "taken_at": _moment(reference.taken_at), "measures": measures}


def _moment(at: datetime | None) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None


def _former(former: FormerFinding) -> dict[str, Any]:
    finding = former.finding
    return {
        "id": finding.id,
        "check": finding.check,
        "severity": str(finding.severity),
        "title": finding.title,
        "reason": former.reason,
    }


WORDS = {"same": "unchanged", "not seen as well": "not seen as well as before"}
"""What a change is called, where it is not by its name in JSON."""
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
    """Return what became of a finding, as in `worse: ghosts (268 before, 402 now, +50 %)`; empty: no baseline."""
    change, before = finding["change"], finding["before"]
    word = WORDS.get(change, change) or ""
    if before is None:
        return word
    parts = [part for part in (_of_severity(finding), _of_number(finding), _reason(finding)) if part]
    return f"{word}: {', '.join(parts)}" if parts else word


def _of_severity(finding: Mapping[str, Any]) -> str:
    before, change = finding["before"]["severity"], finding["change"]
    if finding["severity"] == before:
        return ""
    limits = " at the same rate" if change == "same" and not finding["before"]["reason"] else ""
    return f"severity ({before} before, {finding['severity']} now{limits})"


def _of_number(finding: Mapping[str, Any]) -> str:
    """Return a number that has changed, with its name and unit."""
    before = finding["before"]
    is_mixed = finding["change"] == "same" and before["reason"]
    if (
        not (is_mixed or finding["change"] in {"worse", "better"})
        or before["number"] is None
        or before["number"] == before["now"]
    ):
        return ""
    unit = f" {before['unit']}" if before["unit"] else ""
    then = f"on {before['since'][:10]}" if before["since"] else "before"
    grown = f", {before['now'] / before['number'] - 1:+,.0%}".replace("%", " %") if before["number"] else ""
    return f"{before['name']} ({_plain(before['number'])}{unit} {then}, {_plain(before['now'])}{unit} now{grown})"


def _reason(finding: Mapping[str, Any]) -> str:
    has_reason = finding["change"] == "not seen as well" or (finding["change"] == "same" and finding["before"]["key"])
    return finding["before"]["reason"] or "" if has_reason else ""


EXACT = 1_000
"""Numbers from which no decimals are shown."""


def grown_lines(document: Mapping[str, Any], change: str) -> Iterator[str]:
    """Yield a line on each finding that is new, or worse, the most severe first, without those that are accepted."""
    for finding in document["findings"]:
        standing = finding["acceptance"] and finding["acceptance"]["standing"]
        if finding["change"] == change and standing != "accepted":
            by = change_word(finding).partition(": ")[2]
            what = f"{finding['subject']}: {by}" if by else finding["title"]
            yield f"{finding['severity']}: {what} ({finding['check']})"


def former_lines(baseline: Mapping[str, Any], became: str) -> Sequence[str]:
    """Return a line on each earlier finding that is gone, or not seen, with the reason."""
    return [f"{one['severity']}: {one['title']} ({one['check']}; {one['reason']})" for one in baseline[FORMER[became]]]


def _plain(value: float) -> str:
    return number(round(value)) if value == int(value) or value >= EXACT else f"{value:,.3g}"
