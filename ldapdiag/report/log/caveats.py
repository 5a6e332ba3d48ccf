"""Caveats: what a person should know before the numbers are believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.report.log.quantities import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.log.workload import Workload
    from ldapdiag.report.log.reading import ReadLog

ALIKE = 2
"""Of one kind, before the rest is counted."""

CAPS = {
    "shapes": "filters",
    "clients": "clients",
    "accounts": "accounts",
    "attribution": "pairs of filter and asker",
    "failures": "failed BINDs",
    "codes": "reasons for closes",
    "notes": "notes",
    "not_indexed": "attributes without index",
    "pieces": "lengths of substrings",
    "lookups": "attributes looked up",
    "modified": "attributes modified",
    "noticed": "filters in the errors log",
    "connections": "connections open at once",
}
"""What was bounded, in a person's words."""


def caveats(read: ReadLog) -> Iterator[tuple[str, str]]:
    """Yield labels and sentences."""
    work = read.workload
    segment = work.segment
    if segment.misread:
        sample = f"; the first: {segment.samples[0].decode('utf-8', 'backslashreplace')}" if segment.samples else ""
        yield "not read", f"{number(segment.misread)} of {number(segment.lines)} lines not understood{sample}"
    if segment.lost:
        yield "lost", f"{number(segment.lost)} lines, says the log itself: whatever they told is not counted"
    if segment.caps_hit:
        names = ", ".join(CAPS.get(name, name) for name in segment.caps_hit)
        yield "full", f"too many different {names}: the rest of them is counted as 'other'; the totals are exact"
    if _in_whole_seconds(work):
        yield "clock", "this log's times are whole seconds: what took less shows as 0 s"
    if read.stopped:
        yield "stopped", "the reading was interrupted: this is what had been read by then"
    yield from _of_streams(read)


def _in_whole_seconds(work: Workload) -> bool:
    """Tell whether durations are those of a clock of seconds: old servers log no others."""
    rows = work.segment.shapes.values()
    return work.segment.resolution >= SECOND and bool(rows) and all(row.etime % SECOND == 0 for row in rows)


def _of_streams(read: ReadLog) -> Iterator[tuple[str, str]]:
    left_out = [f"{one.target} {one.reason}" for stream in read.streams for one in stream.left_out]
    gaps = [f"{gap.target}: {gap.reason}" for gap in read.gaps]
    for label, sentences in (("left out", left_out), ("gaps", gaps), ("but", list(read.remarks))):
        for place, sentence in enumerate(sentences[:ALIKE]):
            yield "" if place else label, sentence
        if len(sentences) > ALIKE:
            yield "", f"and {number(len(sentences) - ALIKE)} more"
