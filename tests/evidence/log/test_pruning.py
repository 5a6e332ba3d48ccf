"""Pruning: the costliest rows stay wherever they are in the log, totals are exact, and the error has a bound."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log.combine import combine
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.evidence.log.stream_scan import StreamScan
from ldapdiag.evidence.log.tables import Caps

if TYPE_CHECKING:
    from ldapdiag.evidence.log.scan import Scan

SECOND = 1_000_000_000
BEGAN = 1_760_000_000 * SECOND
CAPS = Caps(shapes=5, attribution=8, clients=4)


def searches(numbers: list[tuple[int, int]], first: int, scan: Scan) -> None:
    """Add searches to a scan: (attribute, nanoseconds) each, of a client of its own."""
    for offset, (attribute, etime) in enumerate(numbers):
        number, time = first + offset, BEGAN + (first + offset) * SECOND
        scan.opened(number, time, b"10.0.0.%d" % attribute)
        scan.search(number, 1, time, b"dc=x", 2, b"(a%d=x)" % attribute)
        scan.result(number, OperationResult(1, time, 2, 0, etime))


def read(chunks: list[list[tuple[int, int]]]) -> Segment:
    """Return what a stream counts that is fed these searches in pieces."""
    scan, first = StreamScan(caps=CAPS), 0
    for chunk in chunks:
        told = partial(searches, chunk, first)
        scan.feed(replace(named("389-text"), scan=lambda _, log, told=told: told(log)), b"these", Hints())
        first += len(chunk)
    return scan.finish()


SEARCHES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, SECOND)), min_size=1, max_size=40)


@given(st.lists(SEARCHES, min_size=1, max_size=8), st.integers(0, 7))
def test_the_one_costly_search_is_seen_wherever_it_is(chunks: list[list[tuple[int, int]]], place: int) -> None:
    chunks.insert(place % (len(chunks) + 1), [(99, 10_000 * SECOND)])

    total = read(chunks)

    row = total.shapes[b"(a99=?)", b"dc=x", 2]
    assert (row.answered, row.etime) == (1, 10_000 * SECOND)
    assert any(client == b"10.0.0.99" for _, _, client, _, _ in total.attribution)
    assert sum(one.answered for one in total.shapes.values()) == sum(map(len, chunks))
    assert len(total.shapes) <= CAPS.shapes + 1


@given(st.lists(SEARCHES, min_size=1, max_size=8))
def test_what_a_row_lacks_is_within_the_bound(chunks: list[list[tuple[int, int]]]) -> None:
    true: Counter[bytes] = Counter()
    for attribute, etime in (one for chunk in chunks for one in chunk):
        true[b"(a%d=?)" % attribute] += etime

    total = read(chunks)

    for shape, etime in true.items():
        row = total.shapes.get((shape, b"dc=x", 2))
        assert etime - (0 if row is None else row.etime) <= total.shapes.omitted


@given(st.lists(SEARCHES, min_size=1, max_size=8), st.integers(0, 7))
def test_of_many_servers_the_one_costly_search_is_seen_and_what_a_row_lacks_is_within_the_bound(
    servers: list[list[tuple[int, int]]], place: int
) -> None:
    servers.insert(place % (len(servers) + 1), [(99, 10_000 * SECOND)])
    true: Counter[bytes] = Counter()
    for attribute, etime in (one for server in servers for one in server):
        true[b"(a%d=?)" % attribute] += etime

    total = combine(Segment(CAPS), *(read([server]) for server in servers))

    assert total.shapes[b"(a99=?)", b"dc=x", 2].etime == 10_000 * SECOND
    assert len(total.shapes) <= CAPS.shapes + 1
    assert sum(one.answered for one in total.shapes.values()) == sum(map(len, servers))
    for shape, etime in true.items():
        row = total.shapes.get((shape, b"dc=x", 2))
        assert etime - (0 if row is None else row.etime) <= total.shapes.omitted
