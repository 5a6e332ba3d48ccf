"""Clients and accounts that lines name, for connections without an opening."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.operation_kinds import BIND, SEARCH
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.stamps import SECOND

if TYPE_CHECKING:
    from ldapdiag.evidence.log.segment import Segment

    Record = tuple[str, list[int], list[Any]]
    """The call, the numbers of the connection and the operation, and what comes after the time."""

T = 1_795_000_000 * SECOND


def counted(*calls: tuple[str, Any]) -> Segment:
    scan = Scan()
    for place, (name, *values) in enumerate(calls):
        at = (T + place if value is T else value for value in values)
        timed = (value._replace(time=T + place) if isinstance(value, OperationResult) else value for value in at)
        getattr(scan, name)(*timed)
    return scan.finish()


NAMED = ("identified", 7, T, b"::ffff:10.0.0.1", b"uid=app,dc=x")
SEARCHED = [("search", 7, 5, T, b"dc=x", 2, b"(a=b)"), ("result", 7, OperationResult(5, T, SEARCH, 0, 5))]


def test_a_named_client_and_account_count_without_an_opening() -> None:
    segment = counted(NAMED, *SEARCHED, ("closed", 7, T, b"U1"))

    assert segment.attribution == {(SEARCH, b"(a=?)", b"10.0.0.1", b"uid=app,dc=x", 0): [1, 5, 0]}
    assert dict(segment.accounts) == {b"uid=app,dc=x": 1}
    row = segment.clients[b"10.0.0.1"]
    assert (row.opened, row.operations, row.codes, segment.opened) == (0, 1, {b"U1": 1}, 0)


def test_an_opening_and_a_bind_take_precedence() -> None:
    segment = counted(
        ("opened", 7, T, b"10.9.9.9"),
        NAMED,
        *SEARCHED,
        ("bind", 7, 6, T, b"uid=web,dc=x"),
        ("result", 7, OperationResult(6, T, BIND, 0, 3)),
        NAMED,
        *SEARCHED,
    )

    searches = {key[2:4] for key in segment.attribution if key[0] == SEARCH}
    assert searches == {(b"10.9.9.9", b""), (b"10.9.9.9", b"uid=web,dc=x")}


def test_a_proxy_header_takes_precedence() -> None:
    segment = counted(NAMED, *SEARCHED, ("proxied_client", 7, T, b"192.0.2.7"))

    assert {key[2] for key in segment.attribution} == {b"192.0.2.7"}


def test_lines_that_name_different_clients_name_none() -> None:
    """A proxy's requests on one connection: each names the client behind the proxy."""
    segment = counted(NAMED, ("identified", 7, T, b"10.0.0.2", b"uid=app,dc=x"), *SEARCHED)

    assert {key[2:4] for key in segment.attribution} == {(b"?", b"uid=app,dc=x")}
