"""combine: the sum of finished Segments of different servers; nothing is paired between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.pruning import prune
from ldapdiag.evidence.log.segment import SAMPLES, SUMS
from ldapdiag.evidence.log.selected_operations import keep_slowest

if TYPE_CHECKING:
    from ldapdiag.evidence.log.segment import Segment


def combine(one: Segment, *others: Segment) -> Segment:
    """Return the sum of finished streams of different servers, in any order; it consumes its arguments.

    Tables are pruned to their caps in the end only: for each stream that takes longer than adding it.
    """
    for other in others:
        _add_counts(one, other)
        prune(one)
    prune(one, final=True)
    return one


def _add_counts(left: Segment, right: Segment) -> None:
    for name in SUMS:
        setattr(left, name, getattr(left, name) + getattr(right, name))
    left.peak = max(left.peak, right.peak)
    left.resolution = max(left.resolution, right.resolution)
    left.longest_wait = max(left.longest_wait, right.longest_wait)
    left.first_time = min((t for t in (left.first_time, right.first_time) if t is not None), default=None)
    left.last_time = max((t for t in (left.last_time, right.last_time) if t is not None), default=None)
    for length, visited in right.least_visited.items():
        left.visited(length, visited)
    for endpoint, (time, account) in right.bound.items():
        left.bound_at(endpoint, time, account)
    left.samples = sorted({*left.samples, *right.samples})[:SAMPLES]
    left.zones |= right.zones
    left.cut_short |= right.cut_short
    left.operations = [mine + theirs for mine, theirs in zip(left.operations, right.operations, strict=True)]
    for err, count in right.results.items():
        left.results[left.result_code(err)] += count
    left.timeline.merge(right.timeline)
    left.writes.own.merge(right.writes.own)
    for operation in right.slowest:
        keep_slowest(left, operation)
    _add_tables(left, right)


def _add_tables(left: Segment, right: Segment) -> None:
    for name in (
        "servers",
        "instances",
        "closed",
        "noted",
        "ciphers",
        "refused",
        "clear_binds",
        "accounts",
        "not_indexed",
        "modified",
        "noticed",
    ):
        getattr(left, name).merge(getattr(right, name))
    for looked_up, counts in right.lookups.items():
        left.index_lookup(looked_up, *counts)
    _add_rows(left, right)
    for name in ("lookups", "attribution", "shapes", "targets", "clients", "idle_times"):
        table, other = getattr(left, name), getattr(right, name)
        table.full |= other.full
        table.omitted += other.omitted


def _add_rows(left: Segment, right: Segment) -> None:
    """Add the rows; one that only the right Segment has is taken over as it is, unless its keys are beyond a cap."""
    for key, cell in right.attribution.items():
        if key in left.attribution:
            left.attribute(key, cell)
        else:
            left.attribution[key] = cell
    for shape, searches in right.shapes.items():
        if shape in left.shapes or left.noted.full:
            left.shape(shape).merge_searches(searches, left.noted)
        else:
            left.shapes[shape] = searches
    for target, row in right.targets.items():
        if target in left.targets:
            left.targets[target].merge(row)
        else:
            left.targets[target] = row
    for address, client in right.clients.items():
        if address in left.clients or left.closed.full:
            left.client(address).merge(client, left.closed)
        else:
            left.clients[address] = client
    _add_idle_rows(left, right)


def _add_idle_rows(left: Segment, right: Segment) -> None:
    for of, row in right.idle_times.items():
        if of in left.idle_times or left.closed.full:
            left.idle_row(*of).merge(row, left.closed)
        else:
            left.idle_times[of] = row
