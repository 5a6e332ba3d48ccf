"""A dump of inet_diag gives the columns that ss gives; what is cut proves nothing; no bytes make the reader raise."""

from __future__ import annotations

from dataclasses import replace
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

import diag_writer as diag
import drawn
import examples
from ldapdiag.evidence.document import Document
from ldapdiag.evidence.socket_formats import inet_diag
from ldapdiag.evidence.sockets import TcpState, Timer
from reading import facts_of
from writers import Socket, as_ss

IDLE = Socket(
    local_address="10.77.1.2", local_port=389, remote_address="10.77.2.2", remote_port=58862, state=TcpState.ESTABLISHED
)
MAPPED = replace(IDLE, mapped=True, remote_port=58863)
SIX = replace(IDLE, local_address="2001:db8::1", remote_address="2001:db8::2")
COLUMNS = ("receive_queue", "send_queue", "timer", "retransmits", "probes", "inode")
BOTH = pytest.mark.parametrize("order", ["<", ">"])


def read(content):
    (table,) = facts_of(content)
    return table


def dumped(*messages, order="<", owners="", ends=2):
    return diag.start(order, owners) + b"".join(messages) + diag.done(order) * ends


def tally(content, chunk=1 << 20):
    chunks = (content[at : at + chunk] for at in range(0, len(content), chunk))
    document = Document(path="host/file", source=(), raw=chunks)
    tables = list(inet_diag.FORMAT.read(document))
    return tables, document


def rows_of(table):
    columns = [getattr(table, name) or [0] * len(table) for name in COLUMNS]
    return sorted(zip(table.keys(), table.state, *columns, strict=True), key=repr)


@BOTH
@examples.every(5)
@given(sockets=st.lists(drawn.sockets(), min_size=1, max_size=12))
def test_a_dump_shows_what_ss_tells(order, sockets):
    sockets = [replace(one, inode=one.inode & 0xFFFFFFFF) for one in sockets]
    table = read(diag.as_inet_diag(sockets, order=order))
    assert rows_of(table) == rows_of(read(as_ss(sockets)))
    assert sorted(table.cookie) == list(range(0x1_0000_0001, 0x1_0000_0001 + len(sockets)))
    assert (table.origin.not_understood, table.families, table.has_header) == (0, {4, 6}, True)


@BOTH
def test_ages_are_milliseconds_and_mapped_addresses_are_plain(order):
    table = read(diag.as_inet_diag([IDLE, MAPPED, SIX], order=order))
    assert list(table.keys()) == [
        ("10.77.1.2", 389, "10.77.2.2", 58862),
        ("10.77.1.2", 389, "10.77.2.2", 58863),
        ("2001:db8::1", 389, "2001:db8::2", 58862),
    ]
    for name, value in (
        *(("last_received", 7000), ("last_acknowledged", 5000), ("busy", 2)),
        *(("bytes_sent", 146), ("bytes_received", 96)),
    ):
        assert getattr(table, name) == [value] * 3


@pytest.mark.parametrize(
    ("size", "ages", "received", "busy", "sent"),
    [(104, 7000, None, None, None), (136, 7000, 96, None, 147), (192, 7000, 96, 2, 147), (60, 7000, None, None, None)],
)
def test_an_old_kernel_has_fewer_columns(size, ages, received, busy, sent):
    info = diag.attribute("<", 2, diag.tcp_info("<", size=size))
    table = read(dumped(diag.row(IDLE, cookie=1, attributes=[info])))
    result = (table.last_received, table.bytes_received, table.busy, table.bytes_sent)
    assert result == ([ages], [received], [busy], [sent])


@BOTH
def test_of_a_socket_that_retransmits_busy_is_no_longer_than_it_has_retransmitted(order):
    """As in the test of ss: busy_time adds up since the connection began."""
    info = diag.tcp_info(order, busy=34_136_000, backoff=4, timeout=3_264_000)
    row = diag.row(IDLE, cookie=1, attributes=[diag.attribute(order, 2, info)], order=order)
    assert read(dumped(row, order=order)).busy == [3264 - 204 + 800]


def test_without_tcp_info_these_columns_are_not_there():
    table = read(dumped(diag.row(IDLE, cookie=1, attributes=[])))
    assert table.last_received is table.last_acknowledged is table.busy is table.bytes_sent is None


def test_a_socket_that_had_no_peer_yet_has_no_ages():
    rows = [replace(IDLE, state=state) for state in (TcpState.SYN_SENT, TcpState.LISTEN, TcpState.ESTABLISHED)]
    assert read(diag.as_inet_diag(rows)).last_received == [None, None, 7000]


def test_tcp_info_is_found_wherever_it_is():
    """One length, two orders of attributes: the layout of the first row is not the second's."""
    shut, info = diag.attribute("<", 8, b"\0"), diag.attribute("<", 2, diag.tcp_info("<"))
    late = diag.attribute("<", 2, diag.tcp_info("<", last_received=9000))
    rows = [diag.row(IDLE, cookie=1, attributes=[shut, info]), diag.row(IDLE, cookie=2, attributes=[late, shut])]
    table = read(dumped(*rows))
    assert sorted(table.last_received) == [7000, 9000]
    assert table.bytes_received == [96, 96]


@pytest.mark.parametrize(
    ("number", "state"),
    [(12, TcpState.SYN_RECEIVED), (13, TcpState.CLOSED), (14, TcpState.UNKNOWN), (255, TcpState.UNKNOWN)],
)
def test_states_of_the_kernel_only(number, state):
    assert read(dumped(diag.row(replace(IDLE, state=number), cookie=1))).state == [state]


def test_a_socket_met_twice_is_one():
    table = read(dumped(*[diag.row(IDLE, cookie=cookie) for cookie in (1, 2, 1, 3)]))
    assert sorted(table.cookie) == [1, 2, 3]
    assert len(table) == len(table.local_address) == len(table.last_received) == 3


def test_owners_are_whose_inode_it_is():
    rows = [diag.row(replace(IDLE, inode=inode), cookie=inode + 1) for inode in (0, 41, 42)]
    table = read(dumped(*rows, owners="owner 41 1171 java\nowner 42 12 sshd: root@pts\nowner nonsense\n"))
    assert table.owner == ["", "java", "sshd: root@pts"]
    assert table.pid == [None, 1171, 12]
    assert table.origin.samples == ("owner nonsense",)


def test_a_dump_that_nobody_owns_says_nothing_of_owners():
    table = read(dumped(diag.row(IDLE, cookie=1)))
    assert table.owner is table.pid is None


@pytest.mark.parametrize(("ends", "families"), [(0, set()), (1, {4})])
def test_a_dump_without_its_end_does_not_cover_its_family(ends, families):
    table = read(dumped(diag.row(IDLE, cookie=1), ends=ends))
    assert (len(table), table.families, table.has_header) == (1, families, False)
    assert "is truncated" in table.origin.notes[0]


def test_no_socket_at_all_is_an_empty_table_and_no_answer_is_none():
    assert len(read(dumped())) == 0
    assert facts_of(dumped(ends=0)) == []


@BOTH
def test_a_listing_that_the_kernel_calls_interrupted_is_noted(order):
    by_row = read(dumped(diag.row(IDLE, cookie=1, order=order, flags=0x12), order=order))
    by_end = read(diag.start(order) + diag.done(order, flags=0x12) + diag.done(order))
    for table in (by_row, by_end):
        assert "changed while it was listed" in table.origin.notes[0]


WHOLE = diag.start(owners="owner 41 1171 java\n") + b"".join(
    [diag.row(replace(IDLE, inode=41), cookie=1), diag.row(MAPPED, cookie=2), diag.done("<"), diag.done("<")]
)


def test_a_cut_anywhere_is_counted_and_never_taken_for_the_whole():
    for end in range(len(WHOLE)):
        tables, document = tally(WHOLE[:end])
        assert document.missed <= document.seen
        for table in tables:
            assert table.families != {4, 6}, end
            assert not table.has_header
            assert table.origin.lines == table.origin.understood + table.origin.not_understood


@pytest.mark.parametrize("chunk", [1, 7, 100, 408, 4096])
def test_chunks_may_end_anywhere(chunk):
    whole, document = tally(WHOLE)
    cut, again = tally(WHOLE, chunk)
    assert rows_of(cut[0]) == rows_of(whole[0])
    assert cut[0].families == {4, 6}
    assert (again.seen, again.missed) == (document.seen, document.missed) == (7, 0)


@given(at=st.integers(len(diag.start(owners="owner 41 1171 java\n")), len(WHOLE) - 1), damage=st.binary(max_size=24))
def test_damage_anywhere_never_raises(at, damage):
    _, document = tally(WHOLE[:at] + damage + WHOLE[at + len(damage) :])
    assert document.missed <= document.seen


@given(order=st.sampled_from("<>"), content=st.binary(max_size=400))
def test_any_bytes_never_raise(order, content):
    _, document = tally(diag.start(order) + content)
    assert document.missed <= document.seen


@given(
    lengths=st.lists(st.integers(0, 1 << 17), min_size=1, max_size=8),
    family=st.sampled_from([0, 1, 2, 10, 255]),
    content=st.binary(min_size=120, max_size=200),
)
def test_lengths_that_lie_never_raise(lengths, family, content):
    rows = [pack("<IHHII", length, 20, 2, 1, 1) + bytes([family]) + content for length in lengths]
    _, document = tally(diag.start() + b"".join(rows))
    assert document.missed <= document.seen


@pytest.mark.parametrize("attributes", [b"\x03\0\2\0", b"\0\0\2\0", b"\xff\xff\2\0", b"\4\0\2\0", b"\2"])
def test_wrong_attributes_are_ignored(attributes):
    table = read(dumped(diag.row(IDLE, cookie=1, attributes=[attributes.ljust(4, b"\0")])))
    assert len(table) == 1
    assert table.last_received is None


def test_a_timer_nobody_knows_is_none():
    assert read(dumped(diag.row(replace(IDLE, timer=200, tries=7), cookie=1))).timer == [Timer.OFF]


def test_what_is_no_socket_is_counted_and_ends_the_reading():
    content = diag.start() + diag.row(IDLE, cookie=1) + diag.message("<", 2, bytes(20)) + diag.done("<") * 2
    table = read(content)
    assert (len(table), table.origin.not_understood, table.has_header) == (1, 1, False)


def test_too_much_is_refused(monkeypatch):
    content = diag.start() + diag.row(IDLE, cookie=1) + diag.done("<") * 2
    monkeypatch.setattr(inet_diag, "MOST_BYTES", len(content) - 20)
    (table,), document = tally(content, 1)
    assert (len(table), table.has_header) == (1, False)
    assert document.missed <= document.seen
    assert "more than" in "".join(document.samples)


def test_a_real_dump_shows_what_ss_told_at_that_moment(captures):
    folder = captures / "sockets" / "inet_diag"
    mine, theirs = read((folder / "sockets-1.inet_diag").read_bytes()), read((folder / "sockets-1.ss").read_bytes())
    names = ("cookie", "state", "inode", "owner", "pid", "bytes_sent", "bytes_received", "timer", "receive_queue")
    rows = [
        sorted(zip(table.keys(), *[getattr(table, name) for name in names], strict=True)) for table in (mine, theirs)
    ]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 19
