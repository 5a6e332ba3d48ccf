"""Caveats: limits of the evidence that affect how far the numbers can be trusted.

Limits of a report object on access logs: what its numbers leave out, as the caveats of the text.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.log.omissions import omissions
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.report.log.quantities import duration
from ldapdiag.report.log.selected import no_match_sentence
from ldapdiag.report.log.times import far_records
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


def limits(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on each limit, to be read before the numbers."""
    if document["stopped"]:
        yield "Interrupted: this is what was read until then."
    if document["no_match"]:
        yield f"Nothing matches: {no_match_sentence(document['no_match'])}."
    if document["selection"] is not None:
        yield "Only selected operations are counted; counts of connections are those of the whole log."
    if document["lost_lines"]:
        yield f"The log reports {counted(document['lost_lines'], 'lost line')}; their operations are not counted."
    if document["caps_hit"]:
        names = ", ".join(CAPS.get(name, name) for name in document["caps_hit"])
        yield f"Too many different {names}: the cheapest are counted as 'other'; totals are exact."
    if document["lines_not_understood"]:
        yield f"{counted(document['lines_not_understood'], 'line')} not understood."
    for far in (document["timeline"] or {}).get("left_out", ()):
        (are, they) = ("is", "it is") if far["records"] == 1 else ("are", "they are")
        yield (
            f"{counted(far['records'], 'record')} from {far['from']} to {far['to']} {are} far from all others: "
            f"{they} counted, but not on the time axis."
        )


def left_out(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the files that are not counted, as copies of others are, each with the reason."""
    for stream in document["streams"]:
        for one in stream["copies_left_out"]:
            yield one["target"], one["reason"]
