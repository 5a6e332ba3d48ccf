"""The laws of Segments: a log in any pieces, and streams in any order, give the same answer."""

from __future__ import annotations

import pickle
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
from ldapdiag.evidence.log.combine import combine
from ldapdiag.evidence.log.dialects import named, scan_stream
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.evidence.log.selection import Selection
from ldapdiag.evidence.log.stream_scan import StreamScan
from ldapdiag.evidence.log.tables import CAPS, Caps
from log.comparable import plain
from log.scanners import merged
from log.servers import confuses_dropped_requests, drawn_logs

if TYPE_CHECKING:
    from ldapdiag.evidence.log.segment import Segment

TEXT = named("389-text")
TINY = Caps(shapes=2, clients=1, accounts=1, attribution=2, targets=1, codes=1, notes=1, connections=2)
TOTALS = ("lines", "misread", "passed_over", "operations", "results", "opened", "internal", "first_time", "last_time")


def piece(lines: list[bytes], caps: Caps = CAPS) -> Segment:
    """Return what a whole log counts."""
    return scan_stream(TEXT, b"".join(lines), caps=caps)


def fed(lines: list[bytes], places: list[int], caps: Caps = CAPS) -> Segment:
    """Return what a log counts that is read in pieces, as each scanner does it."""
    cuts = pairwise(sorted({0, *(place % (len(lines) + 1) for place in places), len(lines)}))
    return merged("python", TEXT, [b"".join(lines[left:right]) for left, right in cuts], caps=caps)


@given(drawn_logs(), st.lists(st.integers(0, 10_000), max_size=12))
def test_a_log_in_any_pieces_is_the_whole(lines: list[bytes], places: list[int]) -> None:
    assert plain(fed(lines, places)) == plain(piece(lines))


@given(drawn_logs(), st.integers(0, 10_000))
def test_a_scan_goes_on_in_another_process_and_after_a_look(lines: list[bytes], place: int) -> None:
    place %= len(lines) + 1
    before, after = b"".join(lines[:place]), b"".join(lines[place:])
    scan = StreamScan()
    scan.feed(TEXT, before, Hints())
    scan = pickle.loads(pickle.dumps(scan))  # noqa: S301  our own

    assert plain(scan.finished(goes_on=True)) == plain(scan_stream(TEXT, before))
    scan.feed(TEXT, after, Hints())
    assert plain(scan.finish()) == plain(piece(lines))


@given(drawn_logs(), st.lists(st.integers(0, 10_000), max_size=12))
def test_with_caps_hit_the_totals_hold(lines: list[bytes], places: list[int]) -> None:
    whole, capped = piece(lines), fed(lines, places, TINY)

    is_exact = not confuses_dropped_requests(lines)
    for name in TOTALS:
        if name != "operations" or is_exact:
            assert plain(getattr(capped, name)) == plain(getattr(whole, name)), name
    assert sum(capped.closed.values()) == sum(whole.closed.values())
    assert sum(capped.noted.values()) == sum(whole.noted.values())
    requests, all_requests = (sum(row.requests for row in one.shapes.values()) for one in (capped, whole))
    assert requests == all_requests or not is_exact
    assert sum(row.opened for row in capped.clients.values()) == sum(row.opened for row in whole.clients.values())


@given(st.lists(drawn_logs(), min_size=2, max_size=4), st.randoms(use_true_random=False))
@examples.every(5)
def test_streams_combine_in_any_order(logs: list[list[bytes]], random: Any) -> None:
    shuffled = list(logs)
    random.shuffle(shuffled)

    one, other = (reduce(combine, (piece(lines) for lines in order)) for order in (logs, shuffled))

    assert plain(one) == plain(other)


@given(st.lists(drawn_logs(), min_size=2, max_size=2))
@examples.every(5)
def test_a_copy_is_combined_without_a_change_of_the_original(logs: list[list[bytes]]) -> None:
    one, other = (piece(lines) for lines in logs)
    one.selection = Selection(client=lambda client: client == b"10.0.0.1")
    before = plain(one), plain(other)

    copies = one.copied(), other.copied()
    assert (plain(copies[0]), plain(copies[1])) == before
    assert copies[0].selection is one.selection
    combine(*copies)

    assert (plain(one), plain(other)) == before


def test_reading_on_is_told_apart_from_adding() -> None:
    """A law that everything obeys would prove nothing: two halves of a connection are not two connections."""
    lines = [
        b"[20/Nov/2026:08:45:20.000000000 +0000] conn=1 fd=64 slot=64 connection from 10.0.0.1 to 10.0.0.2\n",
        b'[20/Nov/2026:08:45:21.000000000 +0000] conn=1 op=0 SRCH base="dc=x" scope=2 filter="(a=b)" attrs=ALL\n',
        b"[20/Nov/2026:08:45:22.000000000 +0000] conn=1 op=0 RESULT err=0 tag=101 nentries=1 etime=1.000000000\n",
    ]
    combined = combine(piece(lines[:2]), piece(lines[2:]))

    assert (sum(fed(lines, [2]).operations), sum(combined.operations)) == (1, 2)


if __name__ == "__main__":
    pytest.main([__file__])
