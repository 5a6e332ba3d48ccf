"""Selections: each operation belongs to one value of each option, and cuts change nothing."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

import examples
from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.evidence.log.selection import Selection
from ldapdiag.evidence.log.stream_scan import StreamScan
from log.comparable import plain
from log.servers import drawn_logs

if TYPE_CHECKING:
    from ldapdiag.evidence.log.segment import Segment

TEXT = named("389-text")


def read(lines: list[bytes], selection: Selection | None = None, places: tuple[int, ...] = ()) -> Segment:
    """Return the Segment of a log that is read in order, cut at some places."""
    scan = StreamScan(selection=selection)
    cuts = sorted({0, *(place % (len(lines) + 1) for place in places), len(lines)})
    for left, right in pairwise(cuts):
        scan.feed(TEXT, b"".join(lines[left:right]), Hints())
    return scan.finish()


def answered(segment: Segment) -> int:
    return sum(row.answered for table in (segment.shapes, segment.targets) for row in table.values())


PLACES = st.lists(st.integers(0, 10_000), max_size=8).map(tuple)


@given(drawn_logs(), PLACES)
@examples.every(2)
def test_the_clients_and_accounts_and_codes_make_up_the_whole(lines: list[bytes], places: tuple[int, ...]) -> None:
    whole = read(lines)

    for name, field in (("client", 2), ("account", 3)):
        parts = 0
        for value in {key[field] for key in whole.attribution}:
            part = read(lines, Selection(**{name: value.__eq__}), places)  # type: ignore[arg-type]
            of_value = {key: cell for key, cell in whole.attribution.items() if key[field] == value}
            assert plain(dict(part.attribution)) == plain(of_value)
            parts += answered(part)
        assert parts == answered(whole)
    parts = sum(answered(read(lines, Selection(codes=frozenset({err})), places)) for err in whole.results)
    assert parts == answered(whole)


@given(drawn_logs(), PLACES)
@examples.every(2)
def test_what_selects_everything_counts_every_result(lines: list[bytes], places: tuple[int, ...]) -> None:
    whole, every = read(lines), read(lines, Selection(most_shown=3), places)

    assert plain(dict(every.attribution)) == plain(dict(whole.attribution))
    assert sum(every.operations) == sum(every.results.values()) == answered(whole)
    assert every.took == whole.took
    assert sum(interval.answered for interval in every.timeline.intervals.values()) == answered(whole)
    assert every.slowest == read(lines, Selection(most_shown=9**9)).slowest[-3:]


@given(drawn_logs(), PLACES, PLACES)
@examples.every(2)
def test_cuts_change_nothing(lines: list[bytes], some: tuple[int, ...], others: tuple[int, ...]) -> None:
    selection = Selection(client=b"10.0.0.1".__eq__, least_etime=1_000_000, most_shown=5)  # type: ignore[arg-type]

    assert plain(read(lines, selection, some)) == plain(read(lines, selection, others))
