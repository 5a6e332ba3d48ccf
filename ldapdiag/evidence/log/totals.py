"""Totals: the sum of the counts of two Segments, without their connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.segment import SAMPLES
from ldapdiag.evidence.log.tables import add

if TYPE_CHECKING:
    from ldapdiag.evidence.log.segment import Segment


def add_counts(left: Segment, right: Segment) -> None:
    """Add the counts that do not depend on the edge between the chunks."""
    for name in (
        "lines",
        "misread",
        "passed_over",
        "lost",
        "internal",
        "continued",
        "holes",
        "opened",
        "waited",
        "took",
        "server_processes",
        "open_at_end",
        "open_before",
        "ended_by_restart",
    ):
        setattr(left, name, getattr(left, name) + getattr(right, name))
    left.peak = max(left.peak, right.peak)
    left.resolution = max(left.resolution, right.resolution)
    left.longest_wait = max(left.longest_wait, right.longest_wait)
    left.first_time = min((t for t in (left.first_time, right.first_time) if t is not None), default=None)
    left.last_time = max((t for t in (left.last_time, right.last_time) if t is not None), default=None)
    left.samples = (left.samples + right.samples)[:SAMPLES]
    left.zones |= right.zones
    left.cut_short |= right.cut_short
    left.operations = [mine + theirs for mine, theirs in zip(left.operations, right.operations, strict=True)]
    left.dropped_requests = [
        mine + theirs for mine, theirs in zip(left.dropped_requests, right.dropped_requests, strict=True)
    ]
    for err, count in right.results.items():
        left.results[left.result_code(err)] += count
    add(left.waits, right.waits)
    _merge_tables(left, right)


def _merge_tables(left: Segment, right: Segment) -> None:
    for name in (
        "servers",
        "instances",
        "closed",
        "noted",
        "accounts",
        "failures",
        "not_indexed",
        "modified",
        "noticed",
    ):
        getattr(left, name).merge(getattr(right, name))
    for looked_up, counts in right.lookups.items():
        left.index_lookup(looked_up, *counts)
    left.lookups.full |= right.lookups.full
    for key, times in right.attribution.items():
        left.attribute(key, times)
    left.attribution.full |= right.attribution.full
    for shape, row in right.shapes.items():
        left.shape(shape).merge(row, left.noted)
    left.shapes.full |= right.shapes.full
    for address, client in right.clients.items():
        left.client(address).merge(client, left.closed)
    left.clients.full |= right.clients.full
