"""ss is read with every option that changes its columns."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.addresses import ANY, ANY_PORT
from ldapdiag.evidence.socket_formats import ss
from ldapdiag.evidence.sockets import TcpState, Timer
from reading import facts_of

HEADER = "State      Recv-Q Send-Q       Local Address:Port                  Peer Address:Port Process\n"
ROW = "ESTAB      0      0               10.77.1.2:389                    10.77.2.2:40001"


def read(text, **how):
    (table,) = facts_of(text, **how)
    return table


def capture(captures, name):
    return read((captures / "sockets" / f"{name}.txt").read_bytes())


def test_a_plain_table_has_keys_states_and_queues(captures):
    table = capture(captures, "ss-tan")
    assert next(table.keys()) == ("127.0.0.1", 636, ANY, ANY_PORT)
    assert table.tool == "ss"
    assert (table.receive_queue[0], table.send_queue[0]) == (0, 7)
    assert table.timer is table.owner is table.inode is table.last_received is None


def test_every_option_adds_its_columns(captures):
    table = capture(captures, "ss-tanope")
    keepalive, waiting, opening = (table.local_port.index(port) for port in (40001, 40005, 40007))
    assert table.timer[keepalive] is Timer.KEEPALIVE
    assert table.timer[waiting] is Timer.TIME_WAIT
    assert (table.timer[opening], table.retransmits[opening]) == (Timer.RETRANSMIT, 1)
    assert table.timer.count(Timer.OFF) == 13, "a row without a timer has none running, where others have one"
    assert (table.owner[keepalive], table.pid[keepalive], table.inode[keepalive]) == ("python3", 25623, 35790)
    assert (table.owner[waiting], table.pid[waiting], table.inode[waiting]) == ("", None, 0)


@pytest.mark.parametrize("name", ["ss-tinaO", "ss-tina"])
def test_details_are_the_same_on_one_line_and_on_two(captures, name):
    table = capture(captures, name)
    unread = table.receive_queue.index(80357)
    assert table.bytes_received[unread] == 80357
    assert 1000 < table.last_received[unread] < 2000
    assert table.bytes_sent[table.local_port.index(40006)] == 80357
    assert table.last_acknowledged[table.local_port.index(40006)] < table.last_received[unread]
    assert table.bytes_sent[table.local_port.index(40001)] == 50


@pytest.mark.parametrize("name", ["ss-tinaO", "ss-tina"])
def test_a_socket_that_never_had_a_peer_has_no_ages(captures, name):
    table = capture(captures, name)
    for state in (TcpState.LISTEN, TcpState.SYN_SENT, TcpState.TIME_WAIT):
        at = table.state.index(state)
        assert table.last_received[at] is table.last_acknowledged[at] is table.busy[at] is None


def test_a_key_that_is_left_out_is_zero():
    table = read(HEADER + ROW + "\n\t cubic rto:204 rtt:0.5/0.2 mss:1448 cwnd:10 lastsnd:4 lastack:4\n")
    assert (table.last_received, table.last_acknowledged, table.busy) == ([0], [4], [0])


def test_iproute2_before_4_19_shows_only_what_was_acknowledged():
    table = read(HEADER + ROW + "\n\t cubic rto:204 mss:1448 cwnd:10 bytes_acked:1126 bytes_received:7\n")
    assert (table.bytes_sent, table.bytes_received) == ([1126], [7])


def test_details_without_tcp_info_are_no_ages():
    table = read(f"{HEADER}{ROW}\n\t skmem:(r0,rb131072,t0,tb69120,f0,w0,o0,bl0,d0)\n{ROW}\n\n")
    assert table.last_received is None
    assert table.origin.not_understood == 0


def test_a_second_line_belongs_to_the_row_above_it():
    udp = "udp   UNCONN 0      0      127.0.0.1:323       0.0.0.0:*\n"
    tcp = "tcp   ESTAB  0      0      10.0.0.1:389       10.0.0.2:4000\n"
    table = read(f"Netid {HEADER}{tcp}\t rto:204 lastrcv:7\n{udp}\t rto:204 lastrcv:9\n{tcp}")
    assert table.last_received == [7, None]
    assert table.origin.not_understood == 0


def test_a_repeated_line_counts_once():
    table = read(f"{HEADER}{ROW} ino:5 timer:(on,1sec,1)\n\t ino:5 timer:(on,1sec,2) rto:204 lastrcv:7\n{ROW} ino:6\n")
    assert (table.inode, table.retransmits, table.last_received) == ([5, 6], [2, 0], [7, None])


def test_a_second_line_with_no_row_above_it_is_not_understood():
    assert read(f"\t rto:204 lastrcv:7\n{HEADER}{ROW}\n\tnonsense\n").origin.not_understood == 2


@pytest.mark.parametrize(
    ("timer", "kind", "retransmits", "probes"),
    [
        ("on,656ms,2", Timer.RETRANSMIT, 2, 0),
        ("on,3.080ms,4", Timer.RETRANSMIT, 4, 0),
        ("keepalive,119min,0", Timer.KEEPALIVE, 0, 0),
        ("keepalive,1min30sec,3", Timer.KEEPALIVE, 0, 3),
        ("timewait,59sec,0", Timer.TIME_WAIT, 0, 0),
        ("persist,14sec,6", Timer.PERSIST, 0, 6),
    ],
)
def test_the_timer_shows_retransmissions_and_probes(timer, kind, retransmits, probes):
    table = read(f"{HEADER}{ROW} timer:({timer}) ino:0 sk:3b6a2 ---\n")
    assert (table.timer, table.retransmits, table.probes) == ([kind], [retransmits], [probes])


@pytest.mark.parametrize(
    ("users", "owner", "pid"),
    [
        ('users:(("ns-slapd",pid=2133,fd=65))', "ns-slapd", 2133),
        ('users:(("dhclient",1171,6))', "dhclient", 1171),
        ('users:(("liveconfig/SRVR",pid=3279783,fd=10),("liveconfig",pid=3279782,fd=10))', "liveconfig/SRVR", 3279783),
        ('users:(("a"b (c)",pid=7,fd=1))', 'a"b (c)', 7),
        ('users:(("\x1b[31mred",pid=7,fd=1))', "\x1b[31mred", 7),
    ],
)
def test_the_first_user_is_the_owner(users, owner, pid):
    table = read(f"{HEADER}{ROW} {users}\n")
    assert (table.owner, table.pid) == ([owner], [pid])


# Rows as iproute2 3.x to 6.x print them: brackets or none, a scope behind them, dual-stack wildcards.
@pytest.mark.parametrize(
    ("ends", "key"),
    [
        (":::111 :::*", (ANY, 111, ANY, 0)),
        ("::1:25 :::*", ("::1", 25, ANY, 0)),
        ("*:22 *:*", (ANY, 22, ANY, 0)),
        ("[::]:389 [::]:*", (ANY, 389, ANY, 0)),
        ("0.0.0.0%virbr0:67 0.0.0.0:*", (ANY, 67, ANY, 0)),
        ("127.0.0.53%lo:53 0.0.0.0:*", ("127.0.0.53", 53, ANY, 0)),
        ("[fe80::1]%eth0:38752 [fe80::2]:389", ("fe80::1", 38752, "fe80::2", 389)),
        ("[::ffff:10.77.1.2]:ldap [::ffff:10.77.2.2]:40001", ("10.77.1.2", 389, "10.77.2.2", 40001)),
    ],
)
def test_ends_are_read_in_every_spelling(ends, key):
    table = read(f"ESTAB 0 0 {ends}\nLISTEN 0 5 {ends}\n", form=ss.FORMAT)
    assert list(table.keys()) == [key, key]


def test_other_kinds_of_sockets_are_passed_over(captures):
    table = read(
        "Netid  State      Recv-Q Send-Q Local Address:Port                 Peer Address:Port\n"
        "nl     UNCONN     768    0      rtnl:kernel                 *\n"
        "u_str  ESTAB      0      0       * 37342                 * 37343\n"
        "u_str  LISTEN     0      128    /run/dbus/socket 22366            * 0\n"
        "???    UNCONN     0      0      *:ipv6-icmp                *:*\n"
        "mptcp  ESTAB      0      0      10.0.0.1:389               10.0.0.2:4000\n"
        "tcp    ESTAB      0      0      10.0.0.1:389               10.0.0.2:4000\n"
    )
    assert list(table.keys()) == [("10.0.0.1", 389, "10.0.0.2", 4000)]
    assert table.origin.not_understood == 0
    assert len(capture(captures, "ss-an")) == 16


def test_what_stderr_mixes_in_is_no_damage():
    table = read(f"Failed to find cgroup2 mount\nFailed to find cgroup2 mount\n{HEADER}{ROW}\n")
    assert table.origin.not_understood == 0


def test_sockets_of_one_state_have_no_state_in_the_text(captures):
    table = capture(captures, "ss-tn-state-established")
    assert table.state == [TcpState.UNKNOWN] * 10
    assert table.receive_queue.count(80357) == 1
    assert "no state column" in table.origin.notes[0]
    assert table.origin.not_understood == 0


@pytest.mark.parametrize("name", ["ss-uan", "ss-s"])
def test_what_is_no_table_of_tcp_is_none(captures, name):
    assert facts_of((captures / "sockets" / f"{name}.txt").read_bytes(), form=ss.FORMAT) == []


def test_a_closed_socket_beside_others_is_tcp():
    closed = "UNCONN     0      0               10.77.1.2:389                      0.0.0.0:*\n"
    listener = closed.replace("UNCONN", "LISTEN")
    assert facts_of(HEADER + closed + ROW) == [], "ss -uan prints the same, with a connected socket"
    assert read(HEADER + closed + listener).state == [TcpState.CLOSED, TcpState.LISTEN]
    assert read(HEADER + closed.replace("0.0.0.0:*", "10.0.0.9:389")).state == [TcpState.CLOSED]
    assert read("tcp " + closed).state == [TcpState.CLOSED]


def test_unix_sockets_alone_are_no_empty_table_of_tcp():
    header = "Netid State  Recv-Q Send-Q Local Address:Port  Peer Address:Port Process\n"
    assert facts_of(header + "u_str LISTEN 0      128    /run/dbus/socket 22366            * 0\n") == []
    assert len(read(header)) == 0


def test_listeners_alone_do_not_show_whether_time_wait_would_be_there(captures):
    table = capture(captures, "ss-ltn")
    assert table.state == [TcpState.LISTEN] * 2
    assert table.shows_time_wait is None
    assert "listening sockets only" in table.origin.notes[0]


def test_listeners_beside_connections_do():
    listener = "LISTEN     0      128             10.77.1.2:389                      0.0.0.0:*\n"
    assert read(HEADER + listener + ROW).shows_time_wait is True
    assert read(HEADER + ROW).shows_time_wait is None
    assert read(HEADER + ROW.replace("ESTAB", "TIME-WAIT")).shows_time_wait is True


def test_a_line_of_something_else_is_counted():
    table = read(f"{HEADER}{ROW}\nESTAB 0 x 10.0.0.1:389 10.0.0.2:4\nhello\nESTAB 0 0 10.0.0.1:3\n")
    assert (len(table), table.origin.not_understood) == (1, 3)


def test_a_number_no_kernel_counts_to_is_no_number():
    table = read(f"{HEADER}{ROW}\n{ROW.replace(' 0 ', ' ' + '9' * 5000 + ' ', 1)}\n")
    assert (len(table), table.origin.not_understood) == (1, 1)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_the_encoding_of_the_file_changes_nothing(captures, encoding):
    text = (captures / "sockets" / "ss-tina.txt").read_text()
    table = read(text.replace("\n", "\r\n").encode(encoding))
    assert table.last_received == capture(captures, "ss-tina").last_received
    assert table.origin.not_understood == 0


PUBLIC = {  # name: TCP rows, ESTABLISHED, LISTEN; counted by hand, in the corpus's README
    "rhel-insights-tupna": (15, 2, 6),
    "rhel-insights-tupna-docs": (4, 2, 1),
    "rhel-insights-tulpn": (7, 0, 7),
    "rhel-insights-tupna2": (19, 7, 9),
    "rhel-insights-tulpn2": (9, 0, 9),
    "centos7.7-a": (6, 2, 4),
    "ubuntu18.04-a": (4, 0, 4),
    "ubuntu18.04-tulpen": (58, 0, 58),
    "generic-wide": (29, 0, 29),
    "telegraf-tcp_traffic": (3, 3, 0),
    "telegraf-tcp_no_sockets": (0, 0, 0),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_sample_has_the_rows_counted_by_hand(corpus, name):
    table = read((corpus / "public" / "sockets" / f"ss-{name}.txt").read_bytes())
    assert (len(table), table.count(TcpState.ESTABLISHED), table.count(TcpState.LISTEN)) == PUBLIC[name]
    assert table.origin.not_understood == 0


def test_details_may_begin_with_blanks(corpus):
    table = read((corpus / "public" / "sockets" / "ss-telegraf-tcp_traffic.txt").read_bytes())
    assert table.last_received == [5248, 443892492, 9840]
    assert table.bytes_received == [532644751, 1126, 266383]


def test_of_a_socket_that_retransmits_busy_is_no_longer_than_it_has_retransmitted():
    """Measured 4.19 s after the first loss; before, it had been busy for 30 s in all: busy_time adds that up."""
    details = " timer:(on,2.464ms,4)\n\t cubic rto:3264 backoff:4 lastsnd:800 lastrcv:7180 busy:{}ms mss:1448\n"
    for busy, expected in ((4136, 3264 - 204 + 800), (34_136, 3264 - 204 + 800), (900, 900)):
        assert read(HEADER + ROW + details.format(busy)).busy == [expected]
    quiet = " timer:(keepalive,2min,0)\n\t cubic rto:204 lastsnd:800 lastrcv:7180 busy:34136ms mss:1448\n"
    assert read(HEADER + ROW + quiet).busy == [34_136]
