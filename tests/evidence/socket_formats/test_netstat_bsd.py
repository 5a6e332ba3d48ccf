"""BSD's netstat is read as FreeBSD, macOS, AIX and HP-UX print it, and what it cut is marked."""

from __future__ import annotations

from collections import Counter

import pytest

from ldapdiag.evidence.addresses import ANY, ANY_PORT, CUT, UNKNOWN_PORT
from ldapdiag.evidence.socket_formats import netstat_bsd
from ldapdiag.evidence.sockets import TcpState
from reading import facts_of

HEADING = "Active Internet connections (including servers)\n"
COLUMNS = "Proto Recv-Q Send-Q  Local Address          Foreign Address        (state)\n"
PCB = "PCB/ADDR         Proto Recv-Q Send-Q  Local Address      Foreign Address    (state)\n"
HEADING_6 = "Active Internet6 connections (including servers)\n"
ADDRESS = "f1000e0004c3e222 "
ROW = "tcp4       0      0  10.77.1.2.389          10.77.2.2.40001        ESTABLISHED\n"


def read(text):
    (table,) = facts_of(text)
    return table


def rows_of(*lines, columns=COLUMNS):
    table = read(HEADING + columns + "".join(f"{line}\n" for line in lines))
    assert table.origin.not_understood == 0
    assert len(table) == len(lines)
    return table


@pytest.fixture(params=["freebsd-netstat-an", "aix-netstat-Aan", "macos-netstat-anvb", "hpux-netstat-an"])
def sample(request, captures):
    return read((captures / "sockets" / f"{request.param}.txt").read_bytes())


def test_netstat_of_each_system_is_understood(sample):
    assert sample.tool == "netstat"
    assert sample.has_header
    assert sample.shows_time_wait is True
    assert sample.origin.not_understood == 0
    assert 389 in sample.local_port


def test_freebsd_cuts_an_ipv6_address_and_keeps_its_port(captures):
    table = read((captures / "sockets" / "freebsd-netstat-an.txt").read_bytes())
    assert list(zip(table.keys(), table.state, strict=True)) == [
        (("10.77.1.2", 389, "10.77.2.2", 40001), TcpState.ESTABLISHED),
        (("2001:db8:1234:56" + CUT, 389, "2001:db8:1234:56" + CUT, 40002), TcpState.CLOSE_WAIT),
        (("2001:db8::2", 389, "2001:db8::3", 40003), TcpState.TIME_WAIT),
        (("10.77.1.2", 40004, "10.77.9.9", 636), TcpState.FIN_WAIT_2),
        ((ANY, 389, ANY, ANY_PORT), TcpState.LISTEN),
    ]
    assert table.send_queue == [0, 51, 0, 0, 0]


def test_a_cut_address_may_look_whole():
    whole = "tcp6       0      0  2620:1ec:42::132.389   2620:1ec:42::13.40001  ESTABLISHED"
    assert rows_of(whole).local_address == ["2620:1ec:42::132" + CUT]
    assert rows_of(whole).remote_address == ["2620:1ec:42::13"]
    longer = "tcp6       0      0  2001:db8:1234:5678:9abc:def0:1:2.389          *.*          ESTABLISHED"
    assert rows_of(whole, longer).local_address == ["2620:1ec:42::132", "2001:db8:1234:5678:9abc:def0:1:2"]


def test_aix_with_pcb_cuts_digits_of_ports(captures):
    table = read((captures / "sockets" / "aix-netstat-Aan.txt").read_bytes())
    assert list(zip(table.keys(), table.state, strict=True)) == [
        ((ANY, 389, ANY, ANY_PORT), TcpState.LISTEN),
        (("10.77.1.2", 389, "10.77.2.2", 40001), TcpState.ESTABLISHED),
        (("10.77.1.2", 389, "10.77.200.201", UNKNOWN_PORT), TcpState.ESTABLISHED),
        (("2001:db8:1234:56" + CUT, UNKNOWN_PORT, "2001:db8::3", 40003), TcpState.ESTABLISHED),
        ((ANY, ANY_PORT, ANY, ANY_PORT), TcpState.CLOSED),
    ]
    assert table.ports_truncated


def test_a_port_is_certain_where_something_longer_was_not_cut():
    cut = f"{ADDRESS}tcp4       0      0  10.77.1.2.389      10.77.200.201.4000 ESTABLISHED"
    wide = f"{ADDRESS}tcp4       0      0  10.77.1.2.389      10.77.200.201.40001 ESTABLISHED"
    assert rows_of(cut, columns=PCB).remote_port == [UNKNOWN_PORT]
    table = rows_of(cut, wide, columns=PCB)
    assert table.remote_port == [4000, 40001]
    assert not table.ports_truncated


def test_with_pcb_and_names_an_address_may_be_the_beginning_of_another():
    row = f"{ADDRESS}tcp4       0      0  192.168.71.1.ldap  192.168.71.1.40001 ESTABLISHED"
    table = rows_of(row, columns=PCB)
    assert list(table.keys()) == [("192.168.71.1" + CUT, 389, "192.168.71.1" + CUT, UNKNOWN_PORT)]
    numbers = row.replace("ldap", "389 ")
    assert rows_of(numbers, columns=PCB).local_address == ["192.168.71.1"]


def test_without_pcb_nothing_of_ipv4_is_cut():
    table = rows_of("tcp4       0      0  192.168.100.101.389    192.168.100.12.5881    ESTABLISHED")
    assert list(table.keys()) == [("192.168.100.101", 389, "192.168.100.12", 5881)]
    assert not table.ports_truncated


def test_macos_names_the_program_and_its_bytes(captures):
    table = read((captures / "sockets" / "macos-netstat-anvb.txt").read_bytes())
    assert list(zip(table.local_port, table.owner, table.pid, strict=True)) == [
        (40001, "Address Book", 2133),
        (389, "Helper (x:1)", 601),
        (389, "slapd", 389),
        (40003, "kernel_task", 0),
    ]
    assert (table.bytes_received, table.bytes_sent) == ([6100, 250, 0, 0], [3165, 2101, 0, 0])
    assert table.state[-1] is TcpState.UNKNOWN
    assert "GONE" in table.origin.notes[0]


def test_an_older_macos_has_the_pid_in_a_column():
    table = rows_of(
        "tcp4       0      0  *.389                  *.*                    LISTEN      131072 131072  46116      0 0x",
        columns=COLUMNS.replace("(state)", "(state)     rhiwat shiwat    pid   epid  state"),
    )
    assert (table.pid, table.owner) == ([46116], None)


def test_macos_with_pcb_has_a_flowhash_too():
    table = rows_of(
        "7fb03cb95fad8165  6a3d6e4 tcp4      31      0  10.77.2.2.40001    10.77.1.2.389      CLOSE_WAIT   1424   2595",
        "7fb03cb95fad8165        0 tcp4       0      0  *.389              *.*                LISTEN          0      0",
        columns=PCB.replace("PCB/ADDR ", "Socket           Flowhash").replace("(state)", "(state)    rxbytes txbytes"),
    )
    assert next(table.keys()) == ("10.77.2.2", 40001, "10.77.1.2", 389)
    assert (table.receive_queue, table.bytes_received, table.bytes_sent) == ([31, 0], [1424, 0], [2595, 0])


def test_tabs_part_columns_and_a_scope_is_dropped():
    table = rows_of("tcp6\t0\t0  fe80::1%lo0.389\t fe80::1%vlan0.100.40001 \t\tESTABLISHED")
    assert list(table.keys()) == [("fe80::1", 389, "fe80::1", 40001)]


STATELESS = {
    "-T": (
        "Proto Rexmit OOORcv 0-win  Local Address          Foreign Address\n",
        "tcp4       3      0      0 10.77.1.2.389          10.77.2.2.40001        ",
    ),
    "-x": (
        "Proto Recv-Q Send-Q Local Address          Foreign Address        R-MBUF S-MBUF R-CLUS S-CLUS\n",
        "tcp4       0      0 10.77.1.2.389          10.77.2.2.40001             0      0      0      0",
    ),
    "-R": (
        "Proto Recv-Q Send-Q Local Address          Foreign Address          flowid ftype\n",
        "tcp4       0      0 10.77.1.2.389          10.77.2.2.40001        cedd0cbf   132",
    ),
}


@pytest.mark.parametrize("option", STATELESS)
def test_an_option_without_states_is_noted(option):
    columns, row = STATELESS[option]
    table = rows_of(row, columns=columns)
    assert list(table.keys()) == [("10.77.1.2", 389, "10.77.2.2", 40001)]
    assert table.state == [TcpState.UNKNOWN]
    assert table.shows_time_wait is None
    assert (table.receive_queue is None) == (option == "-T")
    assert table.origin.notes == ("host/file.txt has no states (netstat with -T, -x or -R).",)


# HP-UX: no captured output is public; these rows are written from the manual page netstat(1) of HP-UX 11i.
def test_hp_ux_names_no_family(captures):
    table = read((captures / "sockets" / "hpux-netstat-an.txt").read_bytes())
    assert list(zip(table.keys(), table.state, strict=True)) == [
        ((ANY, 389, ANY, ANY_PORT), TcpState.LISTEN),
        (("10.77.1.2", 389, "10.77.2.2", 40001), TcpState.ESTABLISHED),
        (("10.77.1.2", 389, "10.77.200.201", 40002), TcpState.FIN_WAIT_2),
        ((ANY, ANY_PORT, ANY, ANY_PORT), TcpState.CLOSED),
    ]


UDP = "udp        0      0  10.77.1.2.123          *.*\n"
OPENBSD = HEADING + "Proto   Recv-Q Send-Q  Local Address          Foreign Address        TCP-State\n"
OPENBSD_UDP = HEADING + "Proto   Recv-Q Send-Q  Local Address          Foreign Address\n"
NETBSD = HEADING + "Proto Recv-Q Send-Q  Local Address          Foreign Address        State\n"
SECTIONS = {"OpenBSD": (OPENBSD, OPENBSD_UDP + UDP, OPENBSD), "NetBSD": (NETBSD, UDP, HEADING_6 + COLUMNS)}
FOUR = "tcp        0      0  10.77.1.2.389          10.77.2.2.40001        ESTABLISHED\n"
SIX = "tcp6       0      0  2001:db8::2.389        2001:db8::3.40002      TIME_WAIT\n"


@pytest.mark.parametrize("system", SECTIONS)
def test_the_sections_of_netbsd_and_openbsd_are_one_table(system):
    first, between, last = SECTIONS[system]
    table = read(first + FOUR + between + last + SIX)
    assert list(zip(table.keys(), table.state, strict=True)) == [
        (("10.77.1.2", 389, "10.77.2.2", 40001), TcpState.ESTABLISHED),
        (("2001:db8::2", 389, "2001:db8::3", 40002), TcpState.TIME_WAIT),
    ]
    assert (table.has_header, table.shows_time_wait) == (True, True)
    assert (table.origin.not_understood, table.origin.notes) == (0, ())


@pytest.mark.parametrize("system", SECTIONS)
def test_a_loop_on_netbsd_and_openbsd_has_a_table_for_each_turn(system):
    first, between, last = SECTIONS[system]
    turn = first + FOUR + between + last + SIX
    assert [len(table) for table in facts_of(turn * 3)] == [2, 2, 2]
    assert [len(table) for table in facts_of((first + FOUR + between) * 2)] == [1, 1]


def test_rows_without_a_heading_may_be_a_selection():
    table = read(ROW)
    assert table.shows_time_wait is None
    assert not table.has_header
    assert read(ROW + ROW.replace("ESTABLISHED", "TIME_WAIT")).shows_time_wait is True


def test_the_heading_that_comes_again_begins_another_table():
    for heading in (HEADING + COLUMNS, HEADING, COLUMNS):
        first, second = facts_of((heading + ROW) * 2)
        assert len(first) == len(second) == 1


@pytest.mark.parametrize(
    "text",
    [
        f"{HEADING}{COLUMNS}udp4       0      0  *.514                  *.*\n",
        f"{HEADING}{COLUMNS}tcp4       0      0  10.77.1.2.389          10.77\n",
    ],
    ids=["only UDP was asked for", "nothing could be read"],
)
def test_no_row_of_tcp_is_not_an_empty_table(text):
    assert facts_of(text) == []


def test_an_indented_table_is_the_same(captures):
    for path in sorted((captures / "sockets").glob("*netstat-*.txt")):
        if path.name.startswith(("freebsd", "macos", "aix", "hpux", "solaris")):
            table, indented = read(path.read_bytes()), read(path.read_text().replace("\n", "\n    "))
            assert list(indented.keys()) == list(table.keys())
            assert indented.origin.not_understood == 0


def test_a_heading_without_rows_is_an_empty_table():
    assert len(read(HEADING + COLUMNS)) == 0


@pytest.mark.parametrize(
    "line",
    [
        "tcp4       0      0  10.77.1.2.389          10.77.2.2.40001",
        "tcp4       0      0  10.77.1.2.389          10.77.2.2.40001        established",
        "tcp4       0      x  10.77.1.2.389          10.77.2.2.40001        ESTABLISHED",
        "tcp        0      0  10.77.1.2:389          10.77.2.2:40001        ESTABLISHED",
        "lpqtcp     0      0  10.77.1.2.389          10.77.2.2.40001        ESTABLISHED",
    ],
    ids=["cut before the state", "no state", "no number", "of Linux", "glued"],
)
def test_a_line_that_is_no_row_is_counted(line):
    (table,) = facts_of(f"{HEADING}{COLUMNS}{ROW}{line}\n", form=netstat_bsd.FORMAT)
    assert (len(table), table.origin.not_understood) == (1, 1)
    assert table.origin.samples == (line,)


PUBLIC = {  # name: TCP rows, ESTABLISHED, LISTEN, CLOSE_WAIT, CLOSED; counted by hand, in the corpus's README
    "aix5-Aan": (40, 17, 23, 0, 0),
    "aix-na-fragments": (10, 0, 6, 0, 4),
    "freebsd12-an": (4, 1, 3, 0, 0),
    "freebsd12-Aa": (4, 1, 3, 0, 0),
    "freebsd12-AanP": (4, 1, 3, 0, 0),
    "macos10.14": (53, 47, 0, 5, 0),
    "macos10.14-An": (49, 43, 0, 6, 0),
    "macos10.14-Abn": (49, 43, 0, 6, 0),
    "macos-scope": (4, 3, 0, 0, 0),
    "macos-slapd-grep389": (2, 0, 2, 0, 0),
}
COUNTED = (TcpState.ESTABLISHED, TcpState.LISTEN, TcpState.CLOSE_WAIT, TcpState.CLOSED)


def public(corpus, name):
    (table,) = facts_of((corpus / "public" / "sockets" / f"netstat-{name}.txt").read_bytes())
    assert table.origin.not_understood == 0
    return table


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_sample_has_the_rows_counted_by_hand(corpus, name):
    table = public(corpus, name)
    assert (len(table), *map(table.count, COUNTED)) == PUBLIC[name]


@pytest.mark.parametrize("name", ["AaT", "Aax", "aT"])
def test_a_public_sample_without_states_has_its_rows(corpus, name):
    table = public(corpus, f"freebsd12-{name}")
    assert table.state == [TcpState.UNKNOWN] * 4


def test_the_public_sample_of_aix_has_14_uncertain_rows(corpus):
    table = public(corpus, "aix5-Aan")
    uncertain = [UNKNOWN_PORT in {key[1], key[3]} for key in table.keys()]  # noqa: SIM118  no mapping
    assert Counter(zip(uncertain, table.state, strict=True))[True, TcpState.ESTABLISHED] == 14
    assert uncertain.count(True) == 14


def test_the_public_sample_that_cuts_an_address_to_another_valid_one_is_marked(corpus):
    table = public(corpus, "freebsd12-Aa")
    assert table.local_address[0] == "192.168.71.1" + CUT
    assert public(corpus, "freebsd12-an").local_address[0] == "192.168.71.163"


def test_the_public_sample_of_macos_keeps_ports_without_pcb(corpus):
    table = public(corpus, "macos10.14")
    assert table.local_port.count(49154) == 7
    assert all(address.endswith(CUT) for address in table.local_address if address != "127.0.0.1")


def test_the_public_sample_of_slapd_listens_twice(corpus):
    assert public(corpus, "macos-slapd-grep389").local_port == [389, 389]
