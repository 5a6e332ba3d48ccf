"""lsof lists the sockets of programs, each of them once."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.addresses import ANY, ANY_PORT
from ldapdiag.evidence.socket_formats import lsof
from ldapdiag.evidence.sockets import TcpState
from reading import facts_of

HEADER = "COMMAND   PID   USER   FD   TYPE DEVICE SIZE/OFF NODE NAME\n"
ROW = "ns-slapd 2133 dirsrv   64u  IPv6 549674      0t0  TCP 10.77.1.2:389->10.77.3.2:41816 (ESTABLISHED)\n"


def read(text):
    (table,) = facts_of(text)
    return table


def test_a_table_has_keys_states_and_owners(captures):
    table = read((captures / "sockets" / "lsof-nP-iTCP.txt").read_bytes())
    keys = list(table.keys())
    assert keys[0] == (ANY, 389, ANY, ANY_PORT)
    assert ("10.201.100.200", 40007, "10.201.100.99", 389) in keys
    assert ("2001:db8::1:2:3", 40003, "2001:db8::1:2:3", 389) in keys
    assert len(table) == 14, "the 16 sockets of the namespace without TIME-WAIT and the one not accepted"
    assert set(table.owner) == {"python3"}
    assert (table.pid[0], table.inode[0]) == (25623, 35788)
    assert table.state.count(TcpState.ESTABLISHED) == 9
    assert table.receive_queue is table.send_queue is None
    assert table.shows_time_wait is False
    assert table.shows_all_programs is False
    assert table.origin.not_understood == 0


# Rows after lsof 4.89 (TID by itself), lsof 4.78 (no SIZE for sockets) and macOS (DEVICE is a kernel address).
def test_a_socket_of_many_threads_and_processes_is_one():
    header = "COMMAND    PID  TID    USER   FD      TYPE             DEVICE  SIZE/OFF       NODE NAME\n"
    table = read(
        header
        + "java      1112         root    7u     IPv4              30727      0t0        TCP localhost:42351 (LISTEN)\n"
        + "java      1112 1303    root    7u     IPv4              30727      0t0        TCP localhost:42351 (LISTEN)\n"
        + "sshd      4314         root    3u     IPv4              44866      0t0        TCP *:ssh (LISTEN)\n"
        + "sshd      4318      kbrazil    3u     IPv4              44866      0t0        TCP *:ssh (LISTEN)\n"
        + "sshd      4318      kbrazil    4u     IPv6              44867      0t0        TCP *:ssh (LISTEN)\n"
    )
    assert table.inode == [30727, 44866, 44867]
    assert table.owner == ["java", "sshd", "sshd"]
    assert table.pid == [1112, 4314, 4318]


def test_the_size_may_be_missing():
    table = read("sshd 1934 root 3u IPv6 5487 TCP *:22 (LISTEN)\n")
    assert (table.local_port, table.inode) == ([22], [5487])
    assert not table.has_header


def test_a_device_that_is_an_address_is_no_inode():
    table = read(HEADER + ROW.replace("549674", "0xa1b2c3d4e5f60718"))
    assert table.inode == [None]


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("10.0.0.1:389->10.0.0.2:4000 (CLOSE_WAIT)", TcpState.CLOSE_WAIT),
        ("10.0.0.1:389->10.0.0.2:4000 (FIN_WAIT2)", TcpState.FIN_WAIT_2),
        ("10.0.0.1:389->10.0.0.2:4000 (FIN_WAIT_2)", TcpState.FIN_WAIT_2),
        ("10.0.0.1:389->10.0.0.2:4000", TcpState.UNKNOWN),
        ("[fe80::1]:389->[fe80::2]:4000 (ESTABLISHED)", TcpState.ESTABLISHED),
    ],
)
def test_a_state_is_the_word_in_brackets(name, state):
    table = read(f"java 1 root 3u IPv6 7 0t0 TCP {name}\n")
    assert table.state == [state]
    assert table.remote_port == [4000]


def test_files_and_other_protocols_are_passed_over():
    table = read(
        f"lsof: WARNING: can't stat() fuse file system\n      Output information may be incomplete.\n{HEADER}{ROW}"
        "systemd      1 root  cwd   DIR    253,0      224   64 /\n"
        "chronyd    795 chrony 5u  IPv4  18535      0t0  UDP localhost:323 \n"
        "java        12 root   6u  sock   0,6      0t0 44434 can't identify protocol\n"
        "java        12 root   6u  IPv4 0xffff      0t0  TCP no PCB, CANTSENDMORE, CANTRCVMORE\n"
    )
    assert (len(table), table.origin.not_understood) == (1, 0)


def test_a_line_of_something_else_is_counted():
    table = read(HEADER + ROW + "hello\njava 1 root 3u IPv6 7 0t0 TCP nothing\njava 1 root 3u IPv6 7 0t0 TCP a:1->b\n")
    assert (len(table), table.origin.not_understood) == (1, 3)


def test_the_header_again_is_another_look():
    first, second = facts_of((HEADER + ROW + "=======\n") * 2)
    assert list(first.keys()) == list(second.keys())


def test_a_long_name_is_kept_to_64_characters():
    assert read(ROW.replace("ns-slapd", "n" * 100)).owner == ["n" * 64]


def test_no_socket_is_no_table():
    assert facts_of(HEADER, form=lsof.FORMAT) == []


PUBLIC = {  # name: sockets, ESTABLISHED, LISTEN; counted by hand: the README's rows, each DEVICE once
    "centos7.7-sudo": (5, 1, 4),
    "ubuntu18.04-sudo": (5, 1, 4),
    "i-netns-insights": (1, 0, 1),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_sample_has_the_sockets_counted_by_hand(corpus, name):
    table = read((corpus / "public" / "sockets" / f"lsof-{name}.txt").read_bytes())
    assert (len(table), table.count(TcpState.ESTABLISHED), table.count(TcpState.LISTEN)) == PUBLIC[name]
    assert table.origin.not_understood == 0


@pytest.mark.parametrize("name", ["rhel-insights", "rhel-insights-v1"])
def test_a_public_sample_without_tcp_is_no_table(corpus, name):
    assert facts_of((corpus / "public" / "sockets" / f"lsof-{name}.txt").read_bytes(), form=lsof.FORMAT) == []
