"""First and last use of each client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.combine import combine
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.stamps import SECOND

if TYPE_CHECKING:
    from ldapdiag.evidence.log.segment import Segment

    Record = tuple[str, int, int, tuple[Any, ...]]
    """The call, the connection, seconds, and what else the call takes."""

T = 1_795_000_000
A, B = b"10.0.0.1", b"10.0.0.2"


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
    assert times_of(scanned(log)) == {A: (0, 12), B: (3, 90), b"10.0.0.3": (90, 90)}


def test_several_logs_have_the_earliest_and_the_latest_use() -> None:
    one, other = (scanned([opened(1, at, A), ("closed", 1, at + 9, ())]) for at in (50, 20))
    assert times_of(combine(one, other)) == {A: (20, 50)}
