"""Hostile logs, a few thousand of everything: what is kept of them stops growing at the caps, and the totals are exact.

`make bench` reads the same logs by the million, and measures the memory of the processes (bench/log_hostile.py).
"""

from __future__ import annotations

import pickle
from functools import cache

import pytest

import examples
from hostile_logs import HOSTILE, Hostile
from lab.laboratory import required
from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.evidence.log.stream_scan import StreamScan
from ldapdiag.evidence.log.tables import Caps

CAPS = Caps(
    shapes=50,
    clients=50,
    accounts=50,
    attribution=50,
    targets=50,
    codes=20,
    notes=20,
    results=20,
    connections=100,
    pending=100,
    pages=20,
)
FEW, MANY = (2_000, 8_000) if required() else (1_000, 4_000)
"""Units of a log; of those with lines of a megabyte one for two thousand."""

PIECE = 250
"""Units of a piece: what grows from piece to piece shows after many."""

LEEWAY = 1.1
"""Numbers grow longer, and how full the tables are depends on where a piece ends."""


@cache
def read(hostile: Hostile, units: int):
    scan = StreamScan(caps=CAPS)
    for block in hostile.blocks(units, PIECE):
        scan.feed(named("389-text"), block, Hints())
    return scan


def units(hostile: Hostile, usual: int) -> int:
    return usual if hostile.size == 1 else max(1, usual // 2000)


@pytest.mark.parametrize("hostile", examples.some(HOSTILE, 6), ids=lambda one: one.what)
def test_four_times_the_log_is_no_more_to_keep(hostile):
    few, many = (len(pickle.dumps(read(hostile, units(hostile, usual)))) for usual in (FEW, MANY))
    assert many < LEEWAY * few + (10_000 if hostile.size == 1 else 100_000)


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda one: one.what)
def test_totals_are_exact_and_what_did_not_fit_is_named(hostile):
    count = units(hostile, MANY)
    total = read(hostile, count).finished(goes_on=True)
    told = hostile.counts(count)
    assert total.opened == told["connections.opened"]
    assert sum(total.operations) == told.get("operations.search", 0) + told.get("operations.bind", 0)
    assert total.misread == told.get("lines_not_understood", 0)
    if "connections.closed" in told:
        assert sum(total.closed.values()) + total.ended_by_restart == told["connections.closed"]
    assert hostile.caps <= set(total.caps_hit)
