"""Caveats: limits of the evidence that affect how far the numbers can be trusted."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.omissions import omissions
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.report.log.quantities import duration
from ldapdiag.report.log.times import far_records
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.log.workload import Workload
    from ldapdiag.report.log.reading import ReadLog

ALIKE = 2
"""Caveats of one kind that are printed; the others are counted."""

CAPS = {
    "shapes": "filters",
    "clients": "clients",
    "accounts": "accounts",
    "attribution": "combinations of filter, client and account",
    "targets": "targets of other operations",
    "refused": "refused clients",
    "clear_binds": "clients and DNs with BINDs in the clear",
    "ciphers": "ciphers",
    "results": "result codes",
    "servers": "addresses of the server",
    "instances": "servers",
    "stopped": "codes with notes",
    "pending": "operations at once",
    "pages": "paged searches of a connection",
    "codes": "close codes",
    "notes": "notes",
    "not_indexed": "attributes without an index",
    "pieces": "substring lengths",
    "sorts": "sort keys",
    "lookups": "indexed attributes",
    "modified": "modified attributes",
    "noticed": "filters in the errors log",
    "connections": "connections open at once",
}
"""Names of the caps."""


def caveats(read: ReadLog) -> Iterator[tuple[str, str]]:
    """Yield pairs of label and sentence."""
    work = read.workload
    segment = work.segment
    if work.time_axis is not None:
        for sentence in far_records(work.time_axis):
            yield "times", sentence
    if segment.misread:
        sample = f"; first: {segment.samples[0].decode('utf-8', 'backslashreplace')}" if segment.samples else ""
        yield "not read", f"{number(segment.misread)} of {number(segment.lines)} lines not understood{sample}"
    if segment.lost:
        lines = counted(segment.lost, "lost line")
        yield "lost", f"the log reports {lines}; their operations are not counted"
    if segment.caps_hit:
        names = ", ".join(CAPS.get(name, name) for name in segment.caps_hit)
        yield "full", f"too many different {names}: the cheapest are counted as 'other'; totals are exact"
        for one in islice(omissions(segment), ALIKE):
            most = counted(one.most, one.unit, one.units) if one.unit else duration(one.most)
            yield "", f"{one.what} that is not listed has at most {most}"
    if _in_whole_seconds(work):
        yield "clock", "durations in this log are whole seconds; shorter ones show as 0 s"
    if read.stopped:
        yield "stopped", "reading was interrupted; the report covers what was read until then"
    yield from _of_streams(read)


def _in_whole_seconds(work: Workload) -> bool:
    """Return whether all durations are whole seconds, as old servers log them."""
    segment = work.segment
    rows = (*segment.shapes.values(), *segment.targets.values())
    return segment.resolution >= SECOND and bool(rows) and all(row.etime % SECOND == 0 for row in rows)


def _of_streams(read: ReadLog) -> Iterator[tuple[str, str]]:
    left_out = [f"{one.target} {one.reason}" for stream in read.streams for one in stream.left_out]
    gaps = [f"{gap.target}: {gap.reason}" for gap in read.gaps]
    for label, sentences in (("left out", left_out), ("gaps", gaps), ("remarks", list(read.remarks))):
        for place, sentence in enumerate(sentences[:ALIKE]):
            yield "" if place else label, sentence
        if len(sentences) > ALIKE:
            yield "", f"and {number(len(sentences) - ALIKE)} more"
