"""The laws of Segments: any cut, any bracketing, any order of streams gives the same answer (DESIGN 4)."""

from __future__ import annotations

import pickle
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
from ldapdiag.evidence.log.dialects import named, scan_chunk
from ldapdiag.evidence.log.merge import combine, finish, merge, start
from ldapdiag.evidence.log.selection import Selection
from ldapdiag.evidence.log.tables import CAPS, Caps
from log.comparable import plain
from log.servers import drawn_logs

if TYPE_CHECKING:
    from ldapdiag.evidence.log.segment import Segment

TEXT = named("389-text")
TINY = Caps(shapes=2, clients=1, accounts=1, attribution=2, targets=1, codes=1, notes=1, connections=2)
TOTALS = ("lines", "misread", "passed_over", "operations", "results", "opened", "internal", "first_time", "last_time")


def piece(lines: list[bytes], caps: Caps = CAPS) -> Segment:
    """Return the Segment of some lines."""
    return scan_chunk(TEXT, b"".join(lines), caps=caps)


def cut(lines: list[bytes], places: list[int]) -> list[list[bytes]]:
    """Return the lines in pieces."""
    return [
        lines[left:right]
        for left, right in pairwise(sorted({0, *(place % (len(lines) + 1) for place in places), len(lines)}))
    ]


def bracketed(pieces: list[Segment], choices: list[int]) -> Segment:
    """Return the pieces merged in the order that the choices say."""
    pieces = list(pieces)
    for choice in choices:
        if len(pieces) > 1:
            place = choice % (len(pieces) - 1)
            pieces[place : place + 2] = [merge(pieces[place], pieces[place + 1])]
    return reduce(merge, pieces)


@given(drawn_logs(), st.lists(st.integers(0, 10_000), max_size=12), st.lists(st.integers(0, 10_000), max_size=12))
def test_any_cut_merged_in_any_bracketing_is_the_whole(
    lines: list[bytes], places: list[int], choices: list[int]
) -> None:
    whole = finish(piece(lines))

    pieces = [piece(part) for part in cut(lines, places)]
    parts = finish(bracketed(pieces, choices)) if pieces else finish(start())

    assert plain(parts) == plain(whole)


@given(drawn_logs(), st.lists(st.integers(0, 10_000), max_size=12))
def test_what_another_process_hands_back_merges_alike(lines: list[bytes], places: list[int]) -> None:
    whole = finish(piece(lines))

    pieces = [pickle.loads(pickle.dumps(piece(part))) for part in cut(lines, places)]  # noqa: S301  our own

    assert plain(finish(reduce(merge, pieces, start()))) == plain(whole)


@given(drawn_logs(), st.lists(st.integers(0, 10_000), max_size=12), st.lists(st.integers(0, 10_000), max_size=12))
def test_with_caps_hit_the_totals_hold(lines: list[bytes], places: list[int], choices: list[int]) -> None:
    whole = finish(piece(lines))

    pieces = [piece(part, TINY) for part in cut(lines, places)]
    capped = finish(bracketed(pieces, choices)) if pieces else finish(start(TINY))

    for name in TOTALS:
        if name != "operations" or not repeats_numbers(lines):
            assert plain(getattr(capped, name)) == plain(getattr(whole, name)), name
    assert sum(capped.closed.values()) == sum(whole.closed.values())
    assert sum(capped.noted.values()) == sum(whole.noted.values())
    assert sum(row.requests for row in capped.shapes.values()) == sum(row.requests for row in whole.shapes.values())
    assert sum(row.opened for row in capped.clients.values()) == sum(row.opened for row in whole.clients.values())


def repeats_numbers(lines: list[bytes]) -> bool:
    """Return whether a client repeats the number of an operation.

    Of requests that were dropped at a cap, the next results without request are taken as theirs; where one number has
    several, a result that comes too late for the last may be taken so.
    """
    requests = [tuple(line.split()[2:4]) for line in lines if not {b"RESULT", b"fd=64"} & set(line.split())]
    return len(requests) != len(set(requests))


@given(st.lists(drawn_logs(), min_size=2, max_size=4), st.randoms(use_true_random=False))
@examples.every(5)
def test_streams_combine_in_any_order(logs: list[list[bytes]], random: Any) -> None:
    shuffled = list(logs)
    random.shuffle(shuffled)

    one, other = (reduce(combine, (finish(piece(lines)) for lines in order)) for order in (logs, shuffled))

    assert plain(one) == plain(other)


@given(st.lists(drawn_logs(), min_size=2, max_size=2))
@examples.every(5)
def test_a_copy_is_combined_without_a_change_of_the_original(logs: list[list[bytes]]) -> None:
    one, other = (finish(piece(lines)) for lines in logs)
    one.selection = Selection(client=lambda client: client == b"10.0.0.1")
    before = plain(one), plain(other)

    copies = one.copied(), other.copied()
    assert (plain(copies[0]), plain(copies[1])) == before
    assert copies[0].selection is one.selection
    combine(*copies)

    assert (plain(one), plain(other)) == before


def test_merging_is_told_apart_from_adding() -> None:
    """A law that everything obeys would prove nothing: two halves of a connection are not two connections."""
    lines = [
        b"[20/Nov/2026:08:45:20.000000000 +0000] conn=1 fd=64 slot=64 connection from 10.0.0.1 to 10.0.0.2\n",
        b'[20/Nov/2026:08:45:21.000000000 +0000] conn=1 op=0 SRCH base="dc=x" scope=2 filter="(a=b)" attrs=ALL\n',
        b"[20/Nov/2026:08:45:22.000000000 +0000] conn=1 op=0 RESULT err=0 tag=101 nentries=1 etime=1.000000000\n",
    ]
    merged = finish(merge(piece(lines[:2]), piece(lines[2:])))
    combined = combine(finish(piece(lines[:2])), finish(piece(lines[2:])))

    assert (sum(merged.operations), sum(combined.operations)) == (1, 2)


if __name__ == "__main__":
    pytest.main([__file__])
