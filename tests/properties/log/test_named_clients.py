"""Clients and accounts that lines name: any cut and bracketing gives the whole, whatever other lines contradict."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.merge import finish, merge, start
from ldapdiag.evidence.log.operation_kinds import BIND, DELETE, SEARCH
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.stamps import SECOND
from log.comparable import plain

if TYPE_CHECKING:
    from random import Random

    from ldapdiag.evidence.log.segment import Segment

    Record = tuple[str, list[int], list[Any]]
    """The call, the numbers of the connection and the operation, and what comes after the time."""

T = 1_795_000_000 * SECOND
REQUESTS = {"search", "request", "bind"}
numbers = st.integers(1, 3)
clients = st.sampled_from([b"10.0.0.1", b"10.0.0.2"])
accounts = st.sampled_from([b"uid=app,dc=x", b"uid=web,dc=x", b""])


def record(name: str, *fields: Any, op: int | None = None) -> st.SearchStrategy[Record]:
    """Draw a call of a scan for one of three connections."""
    numbered = [] if op is None else [op]
    drawn = (value if isinstance(value, st.SearchStrategy) else st.just(value) for value in fields)
    return st.tuples(numbers, *drawn).map(lambda values: (name, [values[0], *numbered], [*values[1:]]))


named = record("identified", st.one_of(st.just(b""), clients), st.one_of(st.none(), accounts))
records = st.one_of(
    named,
    named,
    record("search", b"dc=x", 2, b"(a=b)", op=1),
    record("result", SEARCH, 0, 5, op=1),
    record("request", DELETE, b"uid=a,dc=x", op=2),
    record("result", DELETE, 50, 7, op=2),
    record("bind", accounts, op=3),
    record("result", BIND, st.sampled_from([0, 14, 49]), 9, op=3),
    record("result", BIND, 0, 9, None, None, 0, b"", accounts, op=3),
    record("closed", b"U1"),
)


def beginnings(opened: set[int], proxied: dict[int, bytes]) -> list[Record]:
    """Return openings, and PROXY headers, which come before all requests."""
    openings: list[Record] = [("opened", [number], [b"10.9.9.9"]) for number in sorted(opened)]
    return [*openings, *(("proxied_client", [number], [client]) for number, client in proxied.items())]


def in_order(drawn: list[Record]) -> list[Record]:
    """Return the records as a server writes them: one request, its result after it, no request after the close."""
    kept, seen = [], set()
    for name, numbered, fields in drawn:
        before = {(name, *numbered)} if name != "identified" else set()
        if name in REQUESTS:
            before |= {("closed", numbered[0]), ("result", *numbered)}
        if before.isdisjoint(seen):
            kept.append((name, numbered, fields))
        seen.add((name, *numbered))
    return kept


def segment_of(lines: list[tuple[int, Record]]) -> Segment:
    scan = Scan()
    for place, (name, numbered, fields) in lines:
        time = T + place * 10 * SECOND
        if name == "result":
            number, op = numbered
            scan.result(number, OperationResult(op, time, *fields))
        else:
            getattr(scan, name)(*numbered, time, *fields)
    return scan.finish()


@given(
    st.lists(records, max_size=25),
    st.sets(numbers),
    st.dictionaries(numbers, clients),
    st.lists(st.integers(0, 30), max_size=6),
    st.randoms(use_true_random=False),
)
def test_any_cut_in_any_bracketing_is_the_whole(
    drawn: list[Record], opened: set[int], proxied: dict[int, bytes], places: list[int], random: Random
) -> None:
    lines = [*enumerate([*beginnings(opened, proxied), *in_order(drawn)])]
    cuts = sorted({0, *(place % (len(lines) + 1) for place in places), len(lines)})

    pieces = [segment_of(lines[left:right]) for left, right in pairwise(cuts)]
    for _ in range(random.randrange(len(pieces)) if pieces else 0):
        place = random.randrange(len(pieces) - 1)
        pieces[place : place + 2] = [merge(pieces[place], pieces[place + 1])]

    assert plain(finish(reduce(merge, pieces, start()))) == plain(finish(segment_of(lines)))


def counted(*calls: tuple[str, Any]) -> Segment:
    scan = Scan()
    for place, (name, *values) in enumerate(calls):
        at = (T + place if value is T else value for value in values)
        timed = (value._replace(time=T + place) if isinstance(value, OperationResult) else value for value in at)
        getattr(scan, name)(*timed)
    return finish(scan.finish())


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
