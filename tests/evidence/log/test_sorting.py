"""SORT and VLV lines: kept until the result of their search, whatever comes in between, wherever the log is cut."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
from ldapdiag.evidence.filters import shape
from ldapdiag.evidence.log import ds389_text
from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.shape_row import IN_MEMORY, MOST_SORTS
from ldapdiag.evidence.log.sorting import ALL, NO_SORT, NO_VLV, SORT_BYTES, UNLISTED, Sorting, sort_line, vlv_line
from log.calls import calls_of
from log.comparable import plain
from log.scanners import SCANNERS, merged, need_native, scanned
from log.vectors import HINTS, LOGS, dialect_of, label, text

if TYPE_CHECKING:
    from pathlib import Path


TEXT = named("389-text")
MILLISECOND = 1_000_000
each_scanner = pytest.mark.parametrize("scanner", SCANNERS)


@pytest.fixture(autouse=True)
def _installed(request: pytest.FixtureRequest) -> None:
    if "native" in request.node.name:
        need_native()


def line(rest: str, *, op: int = 1, conn: int = 1) -> bytes:
    return f"[20/Nov/2026:08:00:00.000000000 +0000] conn={conn} op={op} {rest}\n".encode()


def search(op: int, *between: str, notes: str = "") -> list[bytes]:
    """Return the lines of a search of one millisecond with those between its request and its result."""
    request = line('SRCH base="dc=x" scope=2 filter="(cn=a)" attrs=ALL', op=op)
    result = line(f"RESULT err=0 tag=101 nentries=1 etime=0.001000000{notes}", op=op)
    return [request, *(line(one, op=op) for one in between), result]


def sorts(scanner: str, lines: list[bytes]) -> dict[Sorting, list[int]]:
    """Return the sorts of the searches in a log."""
    return dict(scanned(scanner, TEXT, b"".join(lines), HINTS).shapes[shape(b"(cn=a)"), b"dc=x", 2].sorts)


def test_what_a_line_reports() -> None:
    assert sort_line(b"cn (1033)") == (b"cn", 1033, NO_VLV)
    assert sort_line(b"-uidNumber cn;2.5.13.3 (*)") == (b"-uidNumber cn;2.5.13.3", ALL, NO_VLV)
    assert sort_line(b"cn ") == (b"cn", UNLISTED, NO_VLV)
    assert sort_line(b"cn (5) (7)") == (b"cn (5)", 7, NO_VLV)
    assert sort_line(b"cn (9999999999999999999)").candidates == UNLISTED
    assert len(sort_line(b"x" * 900).keys) == SORT_BYTES
    assert vlv_line(b"0:9:a (3) 1:20 (11)") == (b"", NO_SORT, 11)
    assert vlv_line(b"0:9:0:0 1:20000") is None


def test_each_line_is_one_call() -> None:
    at = 1795161600_000_000_000
    found = calls_of(ds389_text.scan, line("SORT cn (1320)") + line("SORT serialno ") + line("VLV 0:2:6990:9 9:9 (0)"))
    assert found == [
        ("sorting", 1, 1, at, (b"cn", 1320, NO_VLV)),
        ("sorting", 1, 1, at, (b"serialno", UNLISTED, NO_VLV)),
        ("sorting", 1, 1, at, (b"", NO_SORT, 0)),
    ]


@each_scanner
def test_each_way_of_sorting_is_counted_apart(scanner: str) -> None:
    lines = [
        *search(1, "SORT cn (30)"),
        *search(2, "SORT cn (50)"),
        *search(3, "SORT cn (*)", notes=' notes=A details="Fully Unindexed Filter"'),
        *search(4, "SORT cn (20000)", "VLV 0:9:0:0 1:20000 (0)", notes=" notes=U"),
        *search(5, "SORT cn ", "VLV 0:9:0:0 1:20000 (0)"),
        *search(6, "VLV 0:9:0:0 0:0 (11)", notes=" notes=U"),
        *search(7),
    ]
    assert sorts(scanner, lines) == {
        (b"cn", IN_MEMORY, NO_VLV): [2, 2 * MILLISECOND, 0, 80, 50],
        (b"cn", ALL, NO_VLV): [1, MILLISECOND, 1, 0, 0],
        (b"cn", IN_MEMORY, 0): [1, MILLISECOND, 1, 20000, 20000],
        (b"cn", UNLISTED, 0): [1, MILLISECOND, 0, 0, 0],
        (b"", NO_SORT, 11): [1, MILLISECOND, 1, 0, 0],
    }


@each_scanner
def test_only_the_search_of_the_same_number_is_sorted(scanner: str) -> None:
    one, other = search(1, "SORT cn (30)"), search(2)
    for order in ([one[0], other[0], one[1], other[1], one[2]], [one[0], other[0], one[1], one[2], other[1]]):
        assert sorts(scanner, order) == {(b"cn", IN_MEMORY, NO_VLV): [1, MILLISECOND, 0, 30, 30]}
    assert sorts(scanner, [other[0], one[1], other[1]]) == {}
    assert sorts(scanner, [*one, line("SORT cn (9)", op=1), *search(3)]) == {
        (b"cn", IN_MEMORY, NO_VLV): [1, MILLISECOND, 0, 30, 30]
    }


@each_scanner
def test_keys_of_a_client_are_bounded(scanner: str) -> None:
    lines = [one for op in range(1, 3 * MOST_SORTS) for one in search(op, f"SORT attribute{op} (1)")]
    segment = scanned(scanner, TEXT, b"".join(lines), HINTS)
    (row,) = segment.shapes.values()
    assert len(row.sorts) == MOST_SORTS + 1
    assert row.sorts[Sorting(b"other")][0] == 2 * MOST_SORTS - 1
    assert segment.caps_hit == ["sorts"]


@pytest.mark.parametrize("path", [path for path in LOGS if path.stem == "sorting"], ids=label)
@each_scanner
def test_a_log_cut_anywhere_is_the_whole(path: Path, scanner: str) -> None:
    lines = text(path).splitlines(keepends=True)
    whole = scanned(scanner, dialect_of(path), b"".join(lines), HINTS)
    for cut in examples.some(range(len(lines) + 1), 3):
        for later in range(cut, len(lines) + 1):
            chunks = [b"".join(part) for part in (lines[:cut], lines[cut:later], lines[later:])]
            assert plain(merged(scanner, dialect_of(path), chunks, HINTS)) == plain(whole), (cut, later)


ONE_SEARCH = (
    line("fd=64 slot=64 connection from 10.0.0.1 to 10.0.0.9").replace(b" op=1", b""),
    *search(1, "SORT cn (30)", "VLV 0:9:0:0 1:30 (0)"),
    line("fd=64 Disconnect - Cleanly Closed Connection - U1", op=2),
)


REQUEST, AFTER = ONE_SEARCH[1], ONE_SEARCH[2:5]
ORDERS = [order for order in permutations(ONE_SEARCH) if order.index(REQUEST) < min(map(order.index, AFTER))]
"""All with the request before what the server writes of it later."""


@each_scanner
@given(order=st.sampled_from(ORDERS), cuts=st.sets(st.integers(0, 6)))
def test_in_any_order_a_cut_changes_nothing(scanner: str, order: tuple[bytes, ...], cuts: set[int]) -> None:
    bounds = [0, *sorted(cuts), len(order)]
    chunks = [b"".join(order[left:right]) for left, right in pairwise(bounds)]
    parts = merged(scanner, TEXT, chunks, HINTS)
    assert plain(parts.shapes) == plain(scanned(scanner, TEXT, b"".join(order), HINTS).shapes), order
