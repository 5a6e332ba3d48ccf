"""Restarts with and without a line about them, and lines out of order that are no restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ldapdiag.evidence.log import ds389_text
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.operation_kinds import BIND, EXTENDED, SEARCH
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.sources.logs.native import installed
from log.comparable import plain
from log.scanners import merged

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
    segment = opened(*range(1, 14), 1, 2).finish()

    assert found(segment) == (2, 13, 2, 13)


def write(scan: Scan, what: str, number: int, at: int) -> None:
    """Have a scan see one thing that happened to a connection."""
    match what:
        case "open":
            scan.opened(number, at, b"10.0.0.1")
        case "close":
            scan.closed(number, at, b"connection lost")
        case "bind":
            scan.bind(number, 0, at, b"")
            scan.result(number, OperationResult(0, at, 0, 0, 1000))
        case "unbind":
            scan.unbind(number, 1, at)


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
def test_a_burst_of_connections_is_no_restart(lines: list[tuple[str, int]]) -> None:
    """As slapd 2.5 with 8 to 32 threads wrote it."""
    scan = Scan()
    for place, (what, number) in enumerate([("open", 1000), *lines]):
        write(scan, what, number, T + place * 10_000)  # 10 us apart
    segment = scan.finish()
    said = [what for what, _ in lines]
    opened = 1 + said.count("open")

    assert (segment.server_processes, segment.ended_by_restart, segment.open_before) == (1, 0, 0)
    assert (segment.opened, segment.open_at_end) == (opened, opened - said.count("close"))


@pytest.mark.parametrize("numbers", [(5, 4, 6), (10, 12, 11), (1, 2, 3, 6, 5, 4)])
def test_openings_a_little_out_of_order_are_no_restart(numbers: tuple[int, ...]) -> None:
    segment = opened(*numbers).finish()

    assert found(segment) == (1, 0, len(numbers), len(numbers))


def test_a_restart_shows_in_a_log_that_begins_in_mid_life() -> None:
    scan = opened()
    scan.search(900, 12, T, b"dc=x", 2, b"(a=b)")
    scan.opened(1, T + 5 * SECOND, b"10.0.0.1")
    segment = scan.finish()

    assert (*found(segment), segment.open_before) == (2, 1, 1, 1, 1)


def test_the_opening_that_slapd_writes_late_belongs_to_the_connection() -> None:
    scan = Scan()
    scan.bind(1001, 0, T, b"uid=app,dc=x")
    scan.opened(1001, T + 1000, b"10.0.0.1")
    scan.result(1001, OperationResult(0, T + 2000, 0, 0))
    segment = scan.finish()

    assert (*found(segment), segment.open_before) == (1, 0, 1, 1, 0)
    assert dict(segment.accounts) == {b"uid=app,dc=x": 1}
    assert segment.clients[b"10.0.0.1"].operations == 1


def test_another_startup_id_is_a_restart() -> None:
    scan = Scan()
    scan.startup(b"A")
    scan.opened(1, T, b"10.0.0.1")
    scan.startup(b"B")
    scan.opened(2, T + SECOND, b"10.0.0.1")

    assert found(scan.finish()) == (2, 1, 1, 1)


def test_a_banner_is_a_restart_though_the_numbers_go_on() -> None:
    scan = opened(1000, 1001)
    scan.server_started(T + 9 * SECOND, b"2.5.13")
    scan.opened(1002, T + 10 * SECOND, b"10.0.0.1")

    assert found(scan.finish()) == (2, 2, 1, 2)


def test_slapd_confirms_a_bind_before_its_result() -> None:
    scan = opened(1)
    scan.bind(1, 0, T, b"")
    scan.bind_confirmed(1, 0, T, b"uid=sasl,dc=x", b"GSSAPI")
    scan.result(1, OperationResult(0, T, 0, 0))

    assert dict(scan.finish().accounts) == {b"uid=sasl,dc=x": 1}


def test_a_java_server_and_a_proxy_header_name_one_client() -> None:
    scan = Scan()
    scan.opened(1, T, b"0:0:0:0:0:0:0:1")
    scan.opened(2, T, b"10.9.9.9")
    scan.proxied_client(2, T, b"::ffff:192.0.2.7")
    segment = scan.finish()

    assert {client: row.opened for client, row in segment.clients.items()} == {
        b"::1": 1,
        b"192.0.2.7": 1,
        b"10.9.9.9": 0,
    }


def test_records_of_389_ds_after_a_close_belong_to_no_client() -> None:
    """An abandoned search is written by a worker that was late: [...] conn=14 op=3 fd=75 Disconnect, then op=1 SRCH."""
    scan = Scan()
    scan.opened(14, T, b"10.0.0.1")
    scan.bind(14, 0, T + 1, b"uid=app,dc=x")
    scan.result(14, OperationResult(0, T + 2, 0, 0, 1))
    scan.closed(14, T + 3, b"U1")
    scan.search(14, 1, T + 4, b"dc=x", 2, b"(a=b)")
    scan.result(14, OperationResult(1, T + 5, 2, 0, 1))
    segment = scan.finish()

    assert (segment.operations[BIND], segment.operations[SEARCH]) == (1, 1)
    assert segment.attribution == {
        (BIND, b"simple", b"10.0.0.1", b"uid=app,dc=x", 0): [1, 1, 0],
        (SEARCH, b"(a=?)", b"?", b"?", 0): [1, 1, 0],
    }
    assert [row.operations for row in segment.clients.values()] == [1]


def every_cut(lines: list[bytes], dialect: str = "openldap-stderr") -> list[Segment]:
    """Return the counts of a log, fed at once, line by line, and by the native scanner cut in two at each line."""
    stamp = b"6b000aac.1b749727 0x7f6ced7fe6c0 " if dialect == "openldap-stderr" else b""
    log = [stamp + line + b"\n" for line in lines]
    read = [merged("python", named(dialect), pieces) for pieces in ([b"".join(log)], log)]
    if installed().module is not None:
        cuts = ([b"".join(log[:at]), b"".join(log[at:])] for at in range(1, len(log)))
        read += (merged("native", named(dialect), pieces) for pieces in cuts)
    for one in read:
        assert plain(one) == plain(read[0])
    return read


ACCEPTED = b"conn=7 fd=16 ACCEPT from IP=10.1.1.1:47236 (IP=0.0.0.0:389)"


def test_slapd_names_the_mechanism_of_a_bind_once_it_succeeds() -> None:
    lines = [
        ACCEPTED,
        b'conn=7 op=0 BIND dn="" method=163',
        b"conn=7 op=0 RESULT tag=97 err=14 qtime=0.000001 etime=0.000002 text=SASL(0): successful result",
        b'conn=7 op=1 BIND dn="" method=163',
        b'conn=7 op=1 BIND authcid="joe@X" authzid="joe@X"',
        b'conn=7 op=1 BIND dn="uid=joe,dc=x" mech=GSSAPI bind_ssf=56 ssf=56',
        b"conn=7 op=1 RESULT tag=97 err=0 qtime=0.000001 etime=0.000003 text=",
        b"conn=7 fd=16 closed",
    ]
    for segment in every_cut(lines):
        rows = {key: (row.requests, row.answered) for key, row in segment.targets.items()}
        assert rows == {(BIND, b"SASL"): (1, 1), (BIND, b"GSSAPI"): (1, 1)}
        assert (BIND, b"GSSAPI", b"10.1.1.1", b"uid=joe,dc=x", 0) in segment.attribution
        assert dict(segment.clear_binds) == {}


BOUND = [
    b'conn=7 op=%d BIND dn="uid=joe,dc=x" method=128',
    b"conn=7 op=%d RESULT tag=97 err=0 qtime=0.000001 etime=0.000003 text=",
]


@pytest.mark.parametrize(("err", "in_the_clear"), [(0, 1), (52, 2)])
def test_after_starttls_no_bind_is_in_the_clear_unless_it_failed(err: int, in_the_clear: int) -> None:
    lines = [
        ACCEPTED,
        *(line % 0 for line in BOUND),
        b"conn=7 op=1 EXT oid=1.3.6.1.4.1.1466.20037",
        b"conn=7 op=1 STARTTLS",
        b"conn=7 op=1 RESULT oid= err=%d qtime=0.000001 etime=0.000003 text=" % err,
        *(line % 2 for line in BOUND),
        b"conn=7 fd=16 closed",
    ]
    for segment in every_cut(lines):
        assert dict(segment.clear_binds) == {(b"10.1.1.1", b"uid=joe,dc=x"): in_the_clear}
        assert segment.targets[EXTENDED, b"1.3.6.1.4.1.1466.20037"].answered == 1


def test_plain_sends_a_password_and_the_same_host_is_counted_apart() -> None:
    """Of PLAIN slapd names DN and mechanism after the BIND succeeded; the LDAPS connection is secured."""
    plain_bind = [
        b'conn=%d op=0 BIND dn="" method=163',
        b'conn=%d op=0 BIND authcid="joe" authzid="joe"',
        b'conn=%d op=0 BIND dn="uid=joe,dc=x" mech=PLAIN bind_ssf=0 ssf=0',
        b"conn=%d op=0 RESULT tag=97 err=0 qtime=0.000001 etime=0.000003 text=",
        b"conn=%d fd=16 closed",
    ]
    lines = [
        ACCEPTED,
        *(line % 7 for line in plain_bind),
        b"conn=8 fd=16 ACCEPT from IP=10.1.1.2:47236 (IP=0.0.0.0:636)",
        b"conn=8 fd=16 TLS established tls_ssf=256 ssf=256 tls_proto=TLSv1.3 tls_cipher=X",
        *(line % 8 for line in plain_bind),
        b"conn=9 fd=16 ACCEPT from PATH=/run/ldapi (PATH=/run/ldapi)",
        *(line % 9 for line in plain_bind),
    ]
    for segment in every_cut(lines):
        assert dict(segment.clear_binds) == {(b"10.1.1.1", b"uid=joe,dc=x"): 1, (b"local", b"uid=joe,dc=x"): 1}
        assert segment.maybe_clear == 0


def test_a_connection_that_began_before_the_log_is_counted_apart_unless_tls_shows() -> None:
    lines = [
        *(line % 3 for line in BOUND),
        *(line % 4 for line in BOUND),
        b"conn=7 fd=16 closed",
        b"conn=8 fd=17 TLS established tls_ssf=256 ssf=256 tls_proto=TLSv1.3 tls_cipher=X",
        *(line.replace(b"conn=7", b"conn=8") % 1 for line in BOUND),
        b"conn=8 fd=17 closed",
    ]
    for segment in every_cut(lines):
        assert (dict(segment.clear_binds), segment.maybe_clear) == ({}, 1)


def test_a_result_without_its_request_is_of_its_connection() -> None:
    """The log lost the requests of op 1 and 3, and what follows the close is of no client."""
    times = iter(range(60))

    def at(text: bytes) -> bytes:
        return b"[20/Nov/2026:09:00:%02d.000000000 +0000] conn=1 %b" % (next(times), text)

    answered = b"RESULT err=0 tag=101 nentries=0 etime=5.001100000 notes=A"
    lines = [
        at(b"fd=64 slot=64 connection from 10.0.0.5 to 10.0.0.9"),
        at(b"op=1 " + answered),
        at(b'op=2 BIND dn="uid=app,dc=x" method=128 version=3'),
        at(b"op=2 RESULT err=0 tag=97 nentries=0 etime=0.001100000"),
        at(b"op=3 " + answered),
        at(b'op=4 SRCH base="dc=x" scope=2 filter="(a=b)" attrs=ALL'),
        at(b"op=5 fd=64 Disconnect - Cleanly Closed Connection - U1"),
        at(b"op=6 " + answered),
        at(b"op=4 " + answered),
    ]
    for segment in every_cut(lines, "389-text"):
        searches = {key[1:4]: cell for key, cell in segment.attribution.items() if key[0] == SEARCH}
        assert searches == {
            (b"?", b"10.0.0.5", b""): [1, 5_001_100_000, 1],
            (b"?", b"10.0.0.5", b"uid=app,dc=x"): [1, 5_001_100_000, 1],
            (b"?", b"?", b"?"): [1, 5_001_100_000, 1],
            (b"(a=?)", b"10.0.0.5", b"uid=app,dc=x"): [1, 5_001_100_000, 1],
        }


def test_a_number_that_is_opened_anew_and_closed_has_the_client_of_neither() -> None:
    """Lower numbers within a second of it hide the restart; cut between both openings, only the client is known."""
    texts = [
        (0, b"conn=900 fd=64 slot=64 connection from 10.0.0.7 to 10.0.0.9"),
        (0, b"conn=1 fd=64 slot=64 connection from 10.0.0.1 to 10.0.0.9"),
        (9, b"conn=900 fd=65 slot=65 connection from 10.0.0.1 to 10.0.0.9"),
        (9, b"conn=900 op=0 fd=65 Disconnect - Cleanly Closed Connection - U1"),
        (20, b'conn=900 op=1 SRCH base="dc=x" scope=2 filter="(a=b)" attrs=ALL'),
        (20, b"conn=900 op=1 RESULT err=0 tag=101 nentries=0 etime=0.001100000"),
    ]
    log = [b"[20/Nov/2026:09:00:%02d.000000000 +0000] %b\n" % each for each in texts]
    reference = merged("python", named("389-text"), log)
    assert set(reference.attribution) == {(SEARCH, b"(a=?)", b"?", b"?", 0)}
    if installed().module is not None:
        assert plain(merged("native", named("389-text"), [b"".join(log)])) == plain(reference)
        for at in range(1, len(log)):
            found = merged("native", named("389-text"), [b"".join(log[:at]), b"".join(log[at:])])
            assert found.attribution == reference.attribution


@pytest.mark.parametrize("day", [b"01/Jan/1970", b"20/Nov/2026", b"31/Dec/2199"])
def test_a_clock_may_be_wrong_by_many_years(day: bytes) -> None:
    log = b"".join(
        b'[%b:10:00:0%d +0000] conn=1 op=%d SRCH base="" scope=0 filter="(a=b)" attrs=ALL\n' % (day, n, n)
        for n in (3, 5)
    )
    scan = Scan()
    ds389_text.scan(log, scan)
    segment = scan.finish()

    assert segment.first_time is not None
    assert segment.last_time is not None
    assert segment.last_time - segment.first_time == 2 * SECOND


@pytest.mark.parametrize("day", [b"31/Dec/1969", b"01/Jan/0001", b"01/Jan/2200", b"31/Dec/9999"])
def test_a_year_that_no_clock_shows_is_no_time(day: bytes) -> None:
    scan = Scan()
    ds389_text.scan(b'[%b:10:00:00 +0000] conn=1 op=0 SRCH base="" scope=0 filter="(a=b)" attrs=ALL\n' % day, scan)

    assert scan.finish().misread == 1
