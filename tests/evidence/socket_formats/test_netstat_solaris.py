"""Netstat of Solaris and its descendants is read with every option that changes its rows."""

from __future__ import annotations

from collections import Counter

import pytest

from ldapdiag.evidence.addresses import ANY, ANY_PORT
from ldapdiag.evidence.socket_formats import netstat_solaris
from ldapdiag.evidence.sockets import TcpState
from reading import facts_of

HEADER = "   Local Address        Remote Address    Swind Send-Q Rwind Recv-Q    State\n"
USERS = "   Local Address        Remote Address      User    Pid       Command     Swind Send-Q Rwind Recv-Q    State\n"
VERBOSE = "Local/Remote Address Swind  Snext     Suna   Rwind  Rnext     Rack    Rto   Mss     State\n"
ROW = "10.77.1.2.389        10.77.2.2.40001      49640      0 49640      0 ESTABLISHED\n"


def read(text):
    (table,) = facts_of(text, form=netstat_solaris.FORMAT)
    return table


@pytest.fixture
def table(captures):
    return read((captures / "sockets" / "solaris-netstat-an.txt").read_bytes())


def test_every_section_of_tcp_is_read_and_the_others_are_passed_over(table):
    assert len(table) == 11
    assert table.origin.not_understood == 0
    assert table.tool == "netstat"
    assert table.has_header
    assert Counter(table.state) == {
        TcpState.LISTEN: 2,
        TcpState.CLOSED: 2,
        TcpState.ESTABLISHED: 3,
        TcpState.CLOSE_WAIT: 1,
        TcpState.TIME_WAIT: 1,
        TcpState.SYN_RECEIVED: 1,
        TcpState.FIN_WAIT_1: 1,
    }


def test_the_last_dot_joins_address_and_port(table):
    keys = list(table.keys())
    assert keys[0] == (ANY, 389, ANY, ANY_PORT)
    assert keys[1] == (ANY, ANY_PORT, ANY, ANY_PORT)
    assert ("10.77.1.2", 389, "10.77.200.201", 40002) in keys
    assert ("2001:db8:1234:5678:9abc:def0:1:2", 389, "2001:db8:1234:5678:9abc:def0:1:3", 40006) in keys
    assert keys[-1] == ("fe80::214:4fff:fe96:1", 389, "fe80::214:4fff:fe96:2", 40007)


def test_windows_are_no_queues(table):
    at = table.remote_port.index(40002)
    assert (table.send_queue[at], table.receive_queue[at]) == (51, 12)
    assert sum(table.send_queue) == 51 + 7
    assert sum(table.receive_queue) == 12


def test_a_socket_in_two_lines_has_its_queues_in_sequence_numbers(captures):
    table = read((captures / "sockets" / "solaris-netstat-anv.txt").read_bytes())
    assert table.origin.not_understood == 0
    assert list(zip(table.keys(), table.send_queue, table.receive_queue, strict=True)) == [
        ((ANY, 389, ANY, ANY_PORT), 0, 0),
        (("10.77.1.2", 389, "10.77.2.2", 40001), 0, 0),
        (("10.77.1.2", 389, "10.77.2.2", 40002), 31, 12),
        (("2001:db8::2", 389, "2001:db8::3", 40003), 0, 0),
    ]
    assert table.state[-1] is TcpState.TIME_WAIT


def test_a_socket_of_several_processes_is_one(captures):
    table = read((captures / "sockets" / "solaris-netstat-anu.txt").read_bytes())
    assert table.origin.not_understood == 0
    assert list(zip(table.remote_port, table.owner, table.pid, table.send_queue, strict=True)) == [
        (ANY_PORT, "ns-slapd", 2133, 0),
        (40001, "ns-slapd", 2133, 0),
        (40002, "sshd", 531, 51),
        (636, "my program", 601, 0),
        (40004, "ns-slapd", 2133, 0),
    ]


@pytest.mark.parametrize(
    ("rest", "owner", "pid"),
    [
        ("ldap     2133 /opt/ds/bin/ns-slapd -D /d", "ns-slapd", 2133),
        ("net0  ldap     2133 ns-slapd", "ns-slapd", 2133),
        ("", "", None),
    ],
)
def test_two_lines_with_a_process_name_its_program(rest, owner, pid):
    numbers = "49640 7a3f6c11 7a3f6c10 49640 10c5a9e2 10c5a9e2   400  1460 ESTABLISHED"
    header = VERBOSE.replace("State", "State     User    Pid     Command")
    table = read(f"TCP: IPv4\n{header}10.77.1.2.389\n10.77.2.2.40001 {numbers} {rest}\n")
    assert (table.owner, table.pid) == ([owner], [pid])


def test_a_line_of_two_that_stands_alone_is_counted():
    second = "10.77.2.2.40001      49640 7a3f6c11 7a3f6c10 49640 10c5a9e2 10c5a9e2   400  1460 ESTABLISHED\n"
    table = read(f"TCP: IPv4\n{VERBOSE}10.77.1.2.389\n{second}10.77.1.2.390\n10.77.1.2.391\n{second}10.77.1.2.392\n")
    assert table.local_port == [389, 391]
    assert table.origin.not_understood == 2
    assert table.origin.samples == ("10.77.1.2.390", "10.77.1.2.392")


@pytest.mark.parametrize(
    ("state", "shows"),
    [("LISTEN", True), ("IDLE", True), ("TIME_WAIT", True), ("ESTABLISHED", None), ("CLOSE_WAIT", None)],
)
def test_only_a_table_of_all_sockets_is_known_to_show_time_wait(state, shows):
    assert read(HEADER + ROW + ROW.replace("ESTABLISHED", state)).shows_time_wait is shows


def test_names_stand_for_the_ports_of_ldap():
    table = read(HEADER + "localhost.ldap       client.example.com.40001 49640      0 49640      0 ESTABLISHED\n")
    assert list(table.keys()) == [("127.0.0.1", 389, "client.example.com…", 40001)]


def test_rows_without_a_header_may_be_a_selection():
    table = read(ROW)
    assert len(table) == 1
    assert not table.has_header


def test_the_header_of_a_family_that_was_there_begins_another_table():
    both = f"TCP: IPv4\n{HEADER}{ROW}\nTCP: IPv6\n{HEADER.replace('State', 'State      If')}{ROW}\n"
    first, second = facts_of(both * 2)
    assert len(first) == len(second) == 2


@pytest.mark.parametrize(
    "text",
    ["UDP: IPv4\n   Local Address        Remote Address      State\n*.123    Idle\n", HEADER + "10.77.1.2.389 10.77\n"],
    ids=["only UDP was asked for", "nothing could be read"],
)
def test_no_row_of_tcp_is_not_an_empty_table(text):
    assert facts_of(text) == []


def test_a_header_without_rows_is_an_empty_table():
    assert len(read("TCP: IPv4\n" + HEADER)) == 0


def test_a_line_of_something_else_is_counted():
    table = read(f"TCP: IPv4\n{HEADER}{ROW}Password: \n{ROW.replace('ESTABLISHED', 'GONE')}{ROW.replace(' 0 ', ' x ')}")
    assert len(table) == 1
    assert table.origin.not_understood == 3


PUBLIC = {  # name: TCP rows, ESTABLISHED, LISTEN, TIME_WAIT, IDLE; counted by hand, in the corpus's README
    "solaris8-spacewalk-an": (17, 1, 5, 8, 3),
    "solaris11-salt-n": (2, 2, 0, 0, 0),
    "smartos-an": (4, 0, 4, 0, 0),
    "opensolaris-zone-an": (5, 0, 3, 0, 2),
    "illumos-nuf": (1, 1, 0, 0, 0),
}
COUNTED = (TcpState.ESTABLISHED, TcpState.LISTEN, TcpState.TIME_WAIT, TcpState.CLOSED)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_sample_has_the_rows_counted_by_hand(corpus, name):
    (table,) = facts_of((corpus / "public" / "sockets" / f"netstat-{name}.txt").read_bytes())
    assert (len(table), *map(table.count, COUNTED)) == PUBLIC[name]
    assert table.origin.not_understood == 0


def test_the_public_sample_with_two_processes_names_the_first(corpus):
    (table,) = facts_of((corpus / "public" / "sockets" / "netstat-illumos-nuf.txt").read_bytes())
    assert list(table.keys()) == [("192.168.1.1", 22, "192.168.1.79", 34640)]
    assert (table.owner, table.pid, table.send_queue) == (["sshd"], [531], [51])
