"""The kernel's own table is read in both byte orders, one family or two to a file."""

from __future__ import annotations

import pytest

import writers
from ldapdiag.evidence.addresses import ANY, ANY_PORT
from ldapdiag.evidence.format import Head
from ldapdiag.evidence.socket_formats import proc_net
from ldapdiag.evidence.sockets import TcpState, Timer
from reading import facts_of

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode          \n"


def read(text):
    (table,) = facts_of(text)
    return table


def row_of(fields):
    table = read(f"{HEADER}   0: {fields}\n")
    assert (len(table), table.origin.not_understood) == (1, 0)
    return table


def test_two_families_in_one_file_are_a_sum(captures):
    table = read((captures / "sockets" / "proc-net-tcp-and-tcp6.txt").read_bytes())
    assert table.families == {4, 6}
    assert len(table) == 16
    assert next(table.keys()) == ("127.0.0.1", 636, ANY, ANY_PORT)
    assert "2001:db8:1234:5678:9abc:def0:1234:5678" in table.local_address
    assert table.receive_queue.count(80357) == 1
    assert table.tool == "proc"
    assert table.shows_time_wait is True


def test_one_family_is_marked(captures):
    four, six = (captures / "sockets" / "proc-net-tcp-and-tcp6.txt").read_text().split("  sl  ")[1:]
    assert read("  sl  " + four).families == {4}
    assert read("  sl  " + six).families == {6}
    assert len(read("  sl  " + four)) + len(read("  sl  " + six)) == 16


def test_a_header_without_rows_is_an_empty_table_of_its_family(captures):
    lines = (captures / "sockets" / "proc-net-tcp-and-tcp6.txt").read_text().splitlines(keepends=True)
    for line, families in ((lines[0], {4}), (lines[8], {6})):
        table = read(line)
        assert len(table) == 0
        assert table.families == families
        assert table.shows_time_wait is True


@pytest.mark.parametrize(
    ("fields", "timer", "retransmits", "probes"),
    [
        ("01 00000000:00000000 00:00000000 00000000   105        0 552251 2 ff 20 4 31 15 -1", Timer.OFF, 0, 0),
        ("01 00000001:00000000 01:0000002E 0000000A   105        0 552251 2 ff 20 4 31 15 -1", Timer.RETRANSMIT, 10, 0),
        ("01 00000000:00000000 02:00000C6A 00000000   105        3 552251 2 ff 20 4 31 15 -1", Timer.KEEPALIVE, 0, 3),
        ("06 00000000:00000000 03:000007C5 00000000     0        0 0 3 ff", Timer.TIME_WAIT, 0, 0),
        ("01 00000052:00000000 04:00000A6F 00000000   105        2 552251 2 ff 20 4 31 15 -1", Timer.PERSIST, 0, 2),
    ],
)
def test_the_timer_shows_retransmissions_and_probes(fields, timer, retransmits, probes):
    table = row_of(f"C864C90A:9C41 6364C90A:0185 {fields}")
    assert (table.timer, table.retransmits, table.probes) == ([timer], [retransmits], [probes])
    assert list(table.keys()) == [("10.201.100.200", 40001, "10.201.100.99", 389)]


def test_queues_and_inode_are_where_the_kernel_puts_them():
    table = row_of("C864C90A:9C41 6364C90A:0185 01 00000052:000139E5 00:00000000 00000000   105        0 552251 2 ff")
    assert (table.send_queue, table.receive_queue, table.inode) == ([0x52], [80357], [552251])


def test_every_state_has_its_code():
    for state in TcpState:
        if state:
            assert row_of(f"C864C90A:9C41 6364C90A:0185 {state:02X} 0:0 00:0 0 0 0 0 1").state == [state]
    assert row_of("C864C90A:9C41 6364C90A:0185 0C 0:0 00:0 0 0 0 0 1").state == [TcpState.SYN_RECEIVED]


# No big-endian host was at hand: written by the layout of get_tcp4_sock, which prints the words as the host has them.
@pytest.mark.parametrize(
    ("local", "remote", "key"),
    [
        ("7F000001", "7F000001", "127.0.0.1"),
        ("00000000000000000000FFFF0A4D0102", "00000000000000000000FFFF0A4D0202", "10.77.1.2"),
        ("00000000000000000000000000000001", "00000000000000000000000000000001", "::1"),
    ],
)
def test_a_big_endian_host_is_known_by_its_addresses(local, remote, key):
    row = f"   0: {local}:0185 {remote}:9C41 01 0:0 00:0 0 0 0 0 1\n"
    other = "   1: 20010DB8000000000000000000000005:0185 20010DB8000000000000000000000006:9C41 01 0:0 00:0 0 0 0 0 1\n"
    table = read(HEADER + row + other)
    assert table.local_address == [key, "2001:db8::5"]


def test_an_address_that_ends_in_127_is_not_loopback_turned_round():
    assert not proc_net.is_big_endian(["7F00000A", "0100007F"])
    assert not proc_net.is_big_endian(["0101A8C0"])
    assert proc_net.is_big_endian(["7F000001", "C0A80101"])


def test_the_same_family_again_is_another_look():
    look = writers.as_proc_net([])
    rows = HEADER + "   0: C864C90A:9C41 6364C90A:0185 01 0:0 00:0 0 0 0 0 1\n"
    assert [len(table) for table in facts_of(rows + rows + look)] == [1, 1, 0]


def test_udp_is_passed_over():
    udp = HEADER.rstrip() + " ref pointer drops\n  77: 00000000:0044 00000000:0000 07 0:0 00:0 0 0 0 22 2 ff 0\n"
    table = read(HEADER + "   0: C864C90A:9C41 6364C90A:0185 01 0:0 00:0 0 0 0 0 1\n" + udp)
    assert (len(table), table.origin.not_understood) == (1, 0)
    assert facts_of(udp, form=proc_net.FORMAT) == []


def test_udp_is_known_by_its_rows_alone():
    udp = "  77: 0100007F:0143 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 22 2 ff 0\n"
    assert not proc_net.FORMAT.recognises(Head(name="udp", lines=(udp,)))
    table = read(HEADER + "   0: C864C90A:9C41 6364C90A:0185 01 0:0 00:0 0 0 0 0 1\n" + udp)
    assert (len(table), table.origin.not_understood) == (1, 0)


def test_a_cut_row_is_counted():
    table = read(
        HEADER
        + "   0: C864C90A:9C41 6364C90A:0185 01 0:0 00:0 0 0 0 0 1\n"
        + "   1: C864C90A:9C41 6364C90A:01\n"
        + "   2: C864C90A:9C41 6364C90:0185 01 0:0 00:0 0 0 0 0 1\n"
        + "   3: C864C90A:XXXX 6364C90A:0185 01 0:0 00:0 0 0 0 0 1\n"
        + "   4: C864C90A:9C41 6364C90A:0185 01 0:0 00:0 0 0 0 -4 1\n"
    )
    assert (len(table), table.origin.not_understood) == (1, 4)


@pytest.mark.parametrize(
    ("name", "rows", "established", "listen"), [("proc-net-tcp", 27, 1, 4), ("proc-net-tcp6", 8, 0, 1)]
)
def test_a_public_sample_has_the_rows_counted_by_hand(corpus, name, rows, established, listen):
    table = read((corpus / "public" / "sockets" / f"{name}.txt").read_bytes())
    assert (len(table), table.count(TcpState.ESTABLISHED), table.count(TcpState.LISTEN)) == (rows, established, listen)
    assert table.origin.not_understood == 0


def test_the_server_of_the_incident_has_its_connections_in_tcp6_alone(corpus):
    folder = corpus / "5a-ghost-389ds" / "ldap"
    assert len(read((folder / "proc-net-tcp.txt").read_bytes())) == 0
    table = read((folder / "proc-net-tcp6.txt").read_bytes())
    assert table.count(TcpState.ESTABLISHED) == 310
    assert "10.77.1.2" in table.local_address
    assert Timer.KEEPALIVE in table.timer
