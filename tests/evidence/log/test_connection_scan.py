"""Restarts with and without a line about them, and lines out of order that are no restart."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import pytest

from ldapdiag.evidence.log import ds389_text
from ldapdiag.evidence.log.merge import finish, merge, start
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.stamps import SECOND

if TYPE_CHECKING:
    from ldapdiag.evidence.log.segment import Segment

T = 1_795_000_000 * SECOND


def opened(*numbers: int, at: int = T) -> Scan:
    """Return a scan that has seen these connections opened, a second apart."""
    scan = Scan()
    for place, number in enumerate(numbers):
        scan.opened(number, at + place * SECOND, b"10.0.0.1")
    return scan


def found(segment: Segment) -> tuple[int, int, int, int]:
    """Return server processes, connections ended by a restart, connections open at the end, and the peak."""
    return segment.server_processes, segment.ended_by_restart, segment.open_at_end, segment.peak


def test_a_number_opened_again_is_a_restart_that_ends_what_was_open() -> None:
    segment = finish(opened(*range(1, 14), 1, 2).finish())

    assert found(segment) == (2, 13, 2, 13)


def write(scan: Scan, what: str, number: int, at: int) -> Scan:
    """Have a scan see one thing that happened to a connection."""
    match what:
        case "open":
            scan.opened(number, at, b"10.0.0.1")
        case "close":
            scan.closed(number, at, b"connection lost")
        case "bind":
            scan.bind(number, 0, at, b"")
            scan.result(number, 0, at, 0, 0, 1000)
        case "unbind":
            scan.unbind(number, 1, at)
    return scan


PROBE_WRITTEN_BACKWARDS = [("close", 1001), ("open", 1001)]
ALL_BEFORE_ITS_OPENING = [("open", 1002), ("bind", 1001), ("unbind", 1001), ("close", 1001), ("open", 1001)]
ONE_THREAD_OF_MANY_IS_LATE = [*(("open", number) for number in range(1002, 1040)), ("open", 1001)]
ANOTHER_LATE_ONE_BETWEEN = [
    *[("open", 1003), ("bind", 1002), ("open", 1001), ("open", 1002), ("unbind", 1002), ("close", 1002)],
    *[("close", 1001), ("open", 1004)],
]


@pytest.mark.parametrize(
    "lines",
    [PROBE_WRITTEN_BACKWARDS, ALL_BEFORE_ITS_OPENING, ONE_THREAD_OF_MANY_IS_LATE, ANOTHER_LATE_ONE_BETWEEN],
)
@pytest.mark.parametrize("cut", [False, True])
def test_a_burst_of_connections_is_no_restart(lines: list[tuple[str, int]], *, cut: bool) -> None:
    """As slapd 2.5 with 8 to 32 threads wrote it."""
    whole, pieces = Scan(), []
    for place, (what, number) in enumerate([("open", 1000), *lines]):
        at = T + place * 10_000  # 10 us apart
        write(whole, what, number, at)
        pieces.append(write(Scan(), what, number, at).finish())
    segment = finish(reduce(merge, pieces, start()) if cut else whole.finish())
    said = [what for what, _ in lines]
    opened = 1 + said.count("open")

    assert (segment.server_processes, segment.ended_by_restart, segment.open_before) == (1, 0, 0)
    assert (segment.opened, segment.open_at_end) == (opened, opened - said.count("close"))


@pytest.mark.parametrize("numbers", [(5, 4, 6), (10, 12, 11), (1, 2, 3, 6, 5, 4)])
def test_openings_a_little_out_of_order_are_no_restart(numbers: tuple[int, ...]) -> None:
    segment = finish(opened(*numbers).finish())

    assert found(segment) == (1, 0, len(numbers), len(numbers))


def test_a_restart_shows_in_a_log_that_begins_in_mid_life() -> None:
    scan = opened()
    scan.search(900, 12, T, b"dc=x", 2, b"(a=b)")
    scan.opened(1, T + 5 * SECOND, b"10.0.0.1")
    segment = finish(scan.finish())

    assert (*found(segment), segment.open_before) == (2, 1, 1, 1, 1)


def test_the_opening_that_slapd_writes_late_belongs_to_the_connection() -> None:
    scan = Scan()
    scan.bind(1001, 0, T, b"uid=app,dc=x")
    scan.opened(1001, T + 1000, b"10.0.0.1")
    scan.result(1001, 0, T + 2000, 0, 0)
    segment = finish(scan.finish())

    assert (*found(segment), segment.open_before) == (1, 0, 1, 1, 0)
    assert dict(segment.accounts) == {b"uid=app,dc=x": 1}
    assert segment.clients[b"10.0.0.1"].operations == 1


@pytest.mark.parametrize("cut", [False, True])
def test_another_startup_id_is_a_restart_even_at_a_cut(*, cut: bool) -> None:
    scan = Scan()
    scan.startup(b"A")
    scan.opened(1, T, b"10.0.0.1")
    following = Scan() if cut else scan
    following.startup(b"B")
    following.opened(2, T + SECOND, b"10.0.0.1")
    segment = finish(merge(scan.finish(), following.finish()) if cut else scan.finish())

    assert found(segment) == (2, 1, 1, 1)


def test_a_banner_is_a_restart_though_the_numbers_go_on() -> None:
    scan = opened(1000, 1001)
    scan.server_started(T + 9 * SECOND, b"2.5.13")
    scan.opened(1002, T + 10 * SECOND, b"10.0.0.1")

    assert found(finish(scan.finish())) == (2, 2, 1, 2)


def test_slapd_confirms_a_bind_before_its_result() -> None:
    scan = opened(1)
    scan.bind(1, 0, T, b"")
    scan.bind_confirmed(1, T, b"uid=sasl,dc=x")
    scan.result(1, 0, T, 0, 0)

    assert dict(finish(scan.finish()).accounts) == {b"uid=sasl,dc=x": 1}


def test_a_java_server_and_a_proxy_header_name_one_client() -> None:
    scan = Scan()
    scan.opened(1, T, b"0:0:0:0:0:0:0:1")
    scan.opened(2, T, b"10.9.9.9")
    scan.proxied_client(2, T, b"::ffff:192.0.2.7")
    segment = finish(scan.finish())

    assert {client: row.opened for client, row in segment.clients.items()} == {
        b"::1": 1,
        b"192.0.2.7": 1,
        b"10.9.9.9": 0,
    }


@pytest.mark.parametrize("cut", range(1, 5))
def test_records_of_389_ds_after_a_close_belong_to_no_client_wherever_the_log_is_cut(cut: int) -> None:
    """An abandoned search is written by a worker that was late: [...] conn=14 op=3 fd=75 Disconnect, then op=1 SRCH."""

    def lines(which: slice) -> Segment:
        scan = Scan()
        for call, *what in [
            (scan.opened, 14, T, b"10.0.0.1"),
            (scan.bind, 14, 0, T + 1, b"uid=app,dc=x"),
            (scan.result, 14, 0, T + 2, 0, 0, 1),
            (scan.closed, 14, T + 3, b"U1"),
            (scan.search, 14, 1, T + 4, b"dc=x", 2, b"(a=b)"),
            (scan.result, 14, 1, T + 5, 2, 0, 1),
        ][which]:
            call(*what)  # type: ignore[operator]  # each call with its own fields
        return scan.finish()

    whole, pieces = finish(lines(slice(None))), finish(merge(lines(slice(cut)), lines(slice(cut, None))))

    assert pieces.operations == whole.operations
    assert pieces.attribution == whole.attribution == {(b"(a=?)", b"?", b"?"): [1, 1, 0, 0]}
    assert [row.operations for row in pieces.clients.values()] == [row.operations for row in whole.clients.values()]


@pytest.mark.parametrize("day", [b"01/Jan/1970", b"20/Nov/2026", b"31/Dec/2199"])
def test_a_clock_may_be_wrong_by_many_years(day: bytes) -> None:
    log = b"".join(
        b'[%b:10:00:0%d +0000] conn=1 op=%d SRCH base="" scope=0 filter="(a=b)" attrs=ALL\n' % (day, n, n)
        for n in (3, 5)
    )
    scan = Scan()
    ds389_text.scan(log, scan)
    segment = finish(scan.finish())

    assert segment.first_time is not None
    assert segment.last_time is not None
    assert segment.last_time - segment.first_time == 2 * SECOND


@pytest.mark.parametrize("day", [b"31/Dec/1969", b"01/Jan/0001", b"01/Jan/2200", b"31/Dec/9999"])
def test_a_year_that_no_clock_shows_is_no_time(day: bytes) -> None:
    scan = Scan()
    ds389_text.scan(b'[%b:10:00:00 +0000] conn=1 op=0 SRCH base="" scope=0 filter="(a=b)" attrs=ALL\n' % day, scan)

    assert finish(scan.finish()).misread == 1
