"""Linux netstat is read with every option that changes its columns."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.addresses import ANY, ANY_PORT, CUT
from ldapdiag.evidence.socket_formats import netstat
from ldapdiag.evidence.sockets import TcpState, Timer
from reading import facts_of

HEADING = "Active Internet connections (servers and established)\n"
COLUMNS = "Proto Recv-Q Send-Q Local Address           Foreign Address         State      "


def read(text):
    (table,) = facts_of(text)
    return table


def row_of(line):
    """Return the only row of a table, written in one line as some system printed it."""
    table = read(f"{HEADING}{COLUMNS}\n{line}\n")
    assert table.origin.not_understood == 0
    assert len(table) == 1
    return table


def test_a_plain_table_has_keys_states_and_queues(captures):
    table = read((captures / "sockets" / "netstat-an.txt").read_bytes())
    assert next(table.keys()) == ("127.0.0.1", 636, ANY, ANY_PORT)
    assert table.tool == "netstat"
    assert table.receive_queue.count(80357) == 1
    assert table.send_queue.count(1) == 1
    assert table.timer is table.owner is table.inode is None
    assert table.shows_time_wait is True
    assert table.has_header


def test_every_option_adds_its_columns(captures):
    table = read((captures / "sockets" / "netstat-tanope.txt").read_bytes())
    ports = table.local_port
    keepalive, waiting, opening = ports.index(40001), ports.index(40005), ports.index(40007)
    assert table.timer[keepalive] is Timer.KEEPALIVE
    assert table.timer[waiting] is Timer.TIME_WAIT
    assert (table.timer[opening], table.retransmits[opening]) == (Timer.RETRANSMIT, 1)
    assert (table.owner[keepalive], table.pid[keepalive], table.inode[keepalive]) == ("python3", 25623, 35790)
    assert (table.owner[waiting], table.pid[waiting], table.inode[waiting]) == ("", None, 0)
    assert table.timer.count(Timer.OFF) == 13


def test_without_wide_an_address_of_23_characters_is_only_a_port(captures):
    table = read((captures / "sockets" / "netstat-an.txt").read_bytes())
    at = table.local_port.index(40002)
    assert table.local_address[at] == "2001:db8:1234:567" + CUT
    assert table.remote_address[at] == "2001:db8:1234:5678:" + CUT
    assert table.remote_port[at] == 389
    assert table.local_address[table.local_port.index(40003)] == "2001:db8::1:2:3"


def test_with_wide_an_address_of_23_characters_is_whole():
    short = "tcp6 0 0 2001:db8:0:1::4:5:40003 2001:db8::1:389 ESTABLISHED\n"
    long = "tcp6 0 0 2001:db8:1234:5678:9abc:def0:1234:5678:389 :::* LISTEN\n"
    assert read(short).local_address[0].endswith(CUT)
    assert read(short + long).local_address[0] == "2001:db8:0:1::4:5"
    assert read(long + short).local_address[1] == "2001:db8:0:1::4:5"


def test_names_stand_for_the_ports_of_ldap(captures):
    table = read((captures / "sockets" / "netstat-ta.txt").read_bytes())
    assert table.local_port.count(389) == 7
    assert table.local_port.count(636) == 1
    assert table.local_address[0] == "127.0.0.1"


def test_a_name_can_be_joined_by_its_port_only():
    table = row_of("tcp        0      0 localhost.localdoma:ldap 192.168.71.1:58727      ESTABLISHED")
    assert table.local_address == ["localhost.localdoma" + CUT]
    assert table.local_port == [389]


# net-tools 1.60 has no tcp6 and prints the mapped prefix; busybox likewise. Rows written after their sources.
def test_old_net_tools_show_the_mapped_prefix():
    table = row_of("tcp        0      0 ::ffff:10.77.1.2:389    ::ffff:10.77.2.2:40001  ESTABLISHED")
    assert list(table.keys()) == [("10.77.1.2", 389, "10.77.2.2", 40001)]


def test_old_net_tools_cut_the_mapped_address():
    table = row_of("tcp        0      0 ::ffff:10.77.1.2:389    ::ffff:10.77.10.2:41234 ESTABLISHED")
    assert table.remote_address == ["::ffff:10.77.10.2" + CUT]
    assert table.remote_port == [41234]


@pytest.mark.parametrize(
    ("words", "state"),
    [("LISTENING", TcpState.LISTEN), ("VERBUNDEN", TcpState.ESTABLISHED), ("SYN_RECV", TcpState.SYN_RECEIVED)],
)
def test_other_words_for_states_are_known(words, state):
    assert row_of(f"tcp 0 0 10.0.0.1:389 10.0.0.2:4000 {words}").state == [state]


@pytest.mark.parametrize(
    ("rest", "pid", "owner", "inode"),
    [
        ("600/sshd: /usr/sbin", 600, "sshd: /usr/sbin", None),
        ("-                  ", None, "", None),
        ("systemd-resolve 26985      893/systemd-resolve ", 893, "systemd-resolve", 26985),
        ("0          97305      7661/(squid)", 7661, "(squid)", 97305),
        ("12387/a/b", 12387, "a/b", None),
        ("7/" + "x" * 100, 7, "x" * 62, None),
        ("7/\x1b[31mred", 7, "\x1b[31mred", None),
    ],
)
def test_the_program_is_the_rest_whatever_is_in_its_name(rest, pid, owner, inode):
    table = row_of(f"tcp        0      0 10.0.0.1:389            10.0.0.2:4000           ESTABLISHED {rest}")
    assert (table.pid, table.owner) == ([pid], [owner])
    assert table.inode == ([inode] if inode else None)


@pytest.mark.parametrize(
    ("timer", "kind", "retransmits", "probes"),
    [
        ("off (0.00/0/0)", Timer.OFF, 0, 0),
        ("on (0.47/3/0)", Timer.RETRANSMIT, 3, 0),
        ("keepalive (7198.34/0/2)", Timer.KEEPALIVE, 0, 2),
        ("timewait (58.44/0/0)", Timer.TIME_WAIT, 0, 0),
        ("probe (3.10/0/5)", Timer.PERSIST, 0, 5),
        ("unkn-4 (3.10/0/5)", Timer.PERSIST, 0, 5),
    ],
)
def test_the_timer_shows_retransmissions_and_probes(timer, kind, retransmits, probes):
    table = row_of(f"tcp        0      1 10.0.0.1:389            10.0.0.2:4000           ESTABLISHED 1/x (y)   {timer}")
    assert (table.timer, table.retransmits, table.probes) == ([kind], [retransmits], [probes])
    assert table.owner == ["x (y)"]


def test_keepalive_is_a_setting_of_the_server(captures):
    table = read((captures / "sockets" / "netstat-tano-keepalive.txt").read_bytes())
    assert table.timer == [Timer.OFF, Timer.OFF, Timer.KEEPALIVE, Timer.KEEPALIVE]
    assert table.probes == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("heading", "shows"),
    [
        ("Active Internet connections (servers and established)", True),
        ("Active Internet connections (w/o servers)", True),
        ("Active Internet connections (only servers)", False),
        ("Aktive Internetverbindungen (Nur Server)", False),
        ("Connexions Internet actives (sans serveurs)", True),
    ],
)
def test_the_heading_shows_whether_time_wait_would_be_there(heading, shows):
    table = read(f"{heading}\n{COLUMNS}\ntcp 0 0 10.0.0.1:389 0.0.0.0:* LISTEN\n")
    assert table.shows_time_wait is shows
    assert table.origin.not_understood == 0


def test_rows_without_a_heading_may_be_a_selection():
    row = "tcp 0 0 10.0.0.1:389 10.0.0.2:4000 ESTABLISHED\n"
    table = read(row)
    assert table.shows_time_wait is None
    assert not table.has_header
    assert read(row + row.replace("ESTABLISHED", "TIME_WAIT")).shows_time_wait is True


def test_listeners_alone_are_noted(captures):
    table = read((captures / "sockets" / "netstat-ltn.txt").read_bytes())
    assert table.state == [TcpState.LISTEN] * 2
    assert "listening sockets only" in table.origin.notes[0]


def test_rows_of_other_kinds_are_understood_and_passed_over():
    table = read(
        f"(Not all processes could be identified, non-owned process info\n"
        f" will not be shown, you would have to be root to see it all.)\n"
        f"{HEADING}{COLUMNS}\n"
        "tcp        0      0 0.0.0.0:389             0.0.0.0:*               LISTEN\n"
        "udp        0      0 0.0.0.0:68              192.168.71.254:67       ESTABLISHED\n"
        "raw6       0      0 :::58                   :::*                    7\n\n"
        "Active UNIX domain sockets (servers and established)\n"
        "Proto RefCnt Flags       Type       State         I-Node   Path\n"
        "unix  3      [ ]         DGRAM                    8971     /run/systemd/notify\n"
    )
    assert len(table) == 1
    assert table.origin.not_understood == 0


def test_a_line_of_something_else_is_counted():
    table = read(
        f"{HEADING}{COLUMNS}\n"
        "tcp 0 0 0.0.0.0:389 0.0.0.0:* LISTEN\nlpqtcp 0 0 a:1 b:2 LISTEN\ntcp 0 0 10.0.0.1:389 10.0\n"
    )
    assert len(table) == 1
    assert table.origin.not_understood == 2
    assert table.origin.samples[0].startswith("lpqtcp")


@pytest.mark.parametrize(
    "text",
    [
        f"{HEADING}{COLUMNS}\nudp        0      0 0.0.0.0:5353            0.0.0.0:*\n",
        f"{HEADING}{COLUMNS}\ntcp        0      0 0.0.0.0           7788  0.0.0.0           *     LISTEN\n",
    ],
    ids=["only UDP was asked for", "nothing could be read"],
)
def test_no_row_of_tcp_is_not_an_empty_table(text):
    assert facts_of(text) == []


def test_a_heading_without_rows_is_an_empty_table():
    assert len(read(HEADING + COLUMNS)) == 0


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_the_encoding_of_the_file_changes_nothing(captures, encoding):
    text = (captures / "sockets" / "netstat-tanope.txt").read_text()
    table = read(text.replace("\n", "\r\n").encode(encoding))
    assert list(table.keys()) == list(read(text).keys())
    assert table.origin.not_understood == 0


def test_a_wrong_byte_costs_no_more_than_its_line(captures):
    data = (captures / "sockets" / "netstat-an.txt").read_bytes()
    table = read(data.replace(b"SYN_SENT", b"SYN\xff\xfeSENT"))
    assert (len(table), table.origin.not_understood) == (15, 1)


PUBLIC = {  # name: TCP rows, ESTABLISHED, LISTEN, not understood; counted by hand, in the corpus's README
    "centos7.7": (3, 3, 0, 0),
    "centos7.7-p": (1, 1, 0, 0),
    "centos7.7-lnp": (4, 0, 4, 0),
    "centos7.7-aeep": (6, 2, 4, 0),
    "fedora32": (1, 1, 0, 0),
    "ubuntu18.04-aeep": (6, 2, 4, 0),
    "ubuntu18.04-lnp-space": (17, 0, 17, 0),
    "linux-old": (1, 0, 1, 0),
    "linux-checkmk-listening": (9, 4, 3, 0),
    "linux-spacewalk-an": (34, 10, 12, 1),  # the glued row is the one that is not understood
    "rhel-insights-neopa": (6, 1, 4, 0),
    "rhel-insights-mapped": (3, 0, 3, 0),
    "rhel-insights-no-pid": (4, 0, 4, 0),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_sample_has_the_rows_counted_by_hand(corpus, name):
    table = read((corpus / "public" / "sockets" / f"netstat-{name}.txt").read_bytes())
    counts = (
        len(table),
        table.count(TcpState.ESTABLISHED),
        table.count(TcpState.LISTEN),
        table.origin.not_understood,
    )
    assert counts == PUBLIC[name]


@pytest.mark.parametrize("name", ["generic-no-state", "rhel-insights-bad-addr"])
def test_a_public_sample_without_tcp_is_no_table(corpus, name):
    data = (corpus / "public" / "sockets" / f"netstat-{name}.txt").read_bytes()
    assert facts_of(data, form=netstat.FORMAT) == []
