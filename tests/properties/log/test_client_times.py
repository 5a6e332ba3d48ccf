"""First and last use of each client: the same wherever the log is cut, with stamps in any order."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hypothesis import example, given
from hypothesis import strategies as st

from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.merge import combine, finish, merge
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.stamps import SECOND

if TYPE_CHECKING:
    from ldapdiag.evidence.log.segment import Segment

    Record = tuple[str, int, int, tuple[Any, ...]]
    """The call, the connection, seconds, and what else the call takes."""

T = 1_795_000_000
A, B = b"10.0.0.1", b"10.0.0.2"

numbers = st.integers(1, 3)
seconds = st.integers(0, 90)
records = st.one_of(
    st.tuples(st.just("search"), numbers, seconds, st.integers(0, 2).map(lambda op: (op,))),
    st.tuples(st.just("result"), numbers, seconds, st.integers(0, 2).map(lambda op: (op,))),
    st.tuples(st.just("abandon"), numbers, seconds, st.integers(0, 2).map(lambda op: (op,))),
    st.tuples(st.just("closed"), numbers, seconds, st.just(())),
    st.tuples(st.just("identified"), numbers, seconds, st.sampled_from([(A,), (B,)])),
    st.tuples(st.just("proxied_client"), numbers, seconds, st.sampled_from([(A,), (B,)])),
)


def in_order(drawn: list[Record]) -> list[Record]:
    """Return the records as a server writes them: one request, its result after it, no request after the close."""
    kept: list[Record] = []
    seen: set[tuple[Any, ...]] = set()
    for name, number, second, rest in drawn:
        of = (number, *rest) if name in {"search", "result"} else (number,)
        before = set() if name == "identified" else {(name, *of)}
        if name in {"search", "abandon"}:
            before |= {("closed", number), ("result", *of)}
        if name == "proxied_client":
            before |= {("closed", number)}
        if before.isdisjoint(seen):
            kept.append((name, number, second, rest))
        seen.add((name, *of))
    return kept


def scanned(log: list[Record]) -> Segment:
    scan = Scan()
    for name, number, second, rest in log:
        time = (T + second) * SECOND
        if name == "search":
            scan.search(number, rest[0], time, b"dc=x", 2, b"(a=b)")
        elif name == "result":
            scan.result(number, OperationResult(rest[0], time, SEARCH, 0, 5))
        elif name == "abandon":
            scan.abandon(number, rest[0] + 3, time, rest[0])
        elif name == "closed":
            scan.closed(number, time, b"U1")
        else:
            getattr(scan, name)(number, time, *rest)
    return scan.finish()


def times_of(segment: Segment) -> dict[bytes, tuple[int, int]]:
    return {address: (row.first // SECOND - T, row.last // SECOND - T) for address, row in segment.clients.items()}


def opened(number: int, second: int, client: bytes) -> Record:
    return ("opened", number, second, (client,))


OPENED = [opened(1, 0, A), opened(2, 1, B), opened(3, 2, A)]


@example(before=[], log=[("search", 1, 5, (0,)), ("result", 1, 4, (0,))], cuts=[1])
@given(
    before=st.sampled_from([[], OPENED]),
    log=st.lists(records, max_size=12),
    cuts=st.lists(st.integers(0, 14), max_size=4),
)
def test_the_times_are_the_same_wherever_the_log_is_cut(
    before: list[Record], log: list[Record], cuts: list[int]
) -> None:
    log = [*before, *in_order(log)]
    places = sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})
    parts = [scanned(log[left:right]) for left, right in pairwise(places)] or [scanned([])]
    assert times_of(finish(reduce(merge, parts))) == times_of(finish(scanned(log)))


def test_use_ends_with_the_last_result_and_no_close_prolongs_it() -> None:
    """An idle timeout closes a connection long after its client is gone; the other is open with an operation."""
    log: list[Record] = [
        opened(1, 0, A),
        opened(2, 3, B),
        ("search", 1, 10, (0,)),
        ("result", 1, 12, (0,)),
        ("search", 2, 13, (0,)),
        ("closed", 1, 80, ()),
        opened(3, 90, b"10.0.0.3"),
    ]
    assert times_of(finish(scanned(log))) == {A: (0, 12), B: (3, 90), b"10.0.0.3": (90, 90)}


def test_several_logs_have_the_earliest_and_the_latest_use() -> None:
    one, other = (finish(scanned([opened(1, at, A), ("closed", 1, at + 9, ())])) for at in (50, 20))
    assert times_of(combine(one, other)) == {A: (20, 50)}
