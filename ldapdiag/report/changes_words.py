"""The changes since a baseline in words, from the report object (`baseline`; `change` and `before` of a finding)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
