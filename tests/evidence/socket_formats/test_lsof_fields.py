"""lsof -F lists the sockets of programs, field by field, each of them once."""

from __future__ import annotations

from collections import Counter

import pytest

from ldapdiag.evidence.addresses import ANY, ANY_PORT
from ldapdiag.evidence.formats import formats, head_of
from ldapdiag.evidence.socket_formats import lsof_fields
from ldapdiag.evidence.sockets import TcpState
from reading import facts_of

NAME = "10.77.1.2:389->10.77.3.2:41816"
FILE = f"f64\ntIPv6\nd549674\nPTCP\nn{NAME}\nTST=ESTABLISHED\nTQR=7\nTQS=8\n"
PROCESS = "p2133\ncns-slapd\nu389\n"


def read(text):
    (table,) = facts_of(text)
    return table


@pytest.mark.parametrize("name", ["lsof-FpcuftPdnT", "lsof-F0pcuftPdnT", "lsof-K-FpKcftPnT"])
def test_a_capture_has_the_sockets_its_script_opened(captures, name):
    table = read((captures / "lsof-fields" / f"{name}.txt").read_bytes())
    assert Counter(table.state) == {TcpState.LISTEN: 2, TcpState.ESTABLISHED: 2, TcpState.CLOSE_WAIT: 1}
    assert list(table.keys()) == [
        (ANY, 389, ANY, ANY_PORT),
        ("127.0.0.1", 636, ANY, ANY_PORT),
        ("127.0.0.1", 40001, "127.0.0.1", 389),
        ("127.0.0.1", 389, "127.0.0.1", 40001),
        ("::1", 389, "::1", 40002),
    ]
    assert table.receive_queue == [0, 0, 0, 5000, 1]
    assert (set(table.owner), set(table.pid)) == ({"python"}, {12844})
    assert (table.inode is None) == ("-K-" in name), "only d is the inode"
    assert (table.tool, table.shows_time_wait, table.shows_all_programs) == ("lsof", False, False)
    assert (table.origin.not_understood, table.origin.notes) == (0, ())


def test_a_capture_without_protocols_says_what_it_lacks(captures):
    table = read((captures / "lsof-fields" / "lsof-Fpcn.txt").read_bytes())
    assert len(table) == 6, "one of them is of UDP, which cannot be recognised"
    assert set(table.state) == {TcpState.UNKNOWN}
    assert table.receive_queue is None
    assert [note.partition(" ")[2][:20] for note in table.origin.notes] == [
        "has no protocol (lso",
        "has no states (lsof ",
    ]


def test_the_columns_of_a_socket():
    table = read(PROCESS + FILE)
    assert list(table.keys()) == [("10.77.1.2", 389, "10.77.3.2", 41816)]
    assert (table.receive_queue, table.send_queue, table.inode) == ([7], [8], [549674])
    assert (table.owner, table.pid) == (["ns-slapd"], [2133])


def test_a_socket_of_two_processes_is_one():
    table = read(PROCESS + FILE + "p2134\ncns-slapd\n" + FILE)
    assert (len(table), table.pid) == (1, [2133])


@pytest.mark.parametrize(
    "file",
    [
        "f3\ntREG\nn/etc/hosts\n",
        "f3\ntIPv4\nPUDP\nn*:68\n",
        "f3\nta_inode\nnanon_inode:inotify\n",
        "f3\nnanon_inode:inotify\n",
        "f3\nnpipe\n",
        "f3\ntIPv4\nPTCP\nnno PCB, CANTSENDMORE\n",
        "f3\ntsock\nnprotocol: TCPv6\n",
        "f3\ntunix\nPTCP\nnx:1\n",
    ],
)
def test_other_files_are_passed_over(file):
    table = read(PROCESS + file + FILE)
    assert (len(table), table.origin.not_understood) == (1, 0)


def test_a_file_may_end_with_its_name():
    table = read("p1\ncjava\nPTCP\nn*:389\nPTCP\nn*:636\nPUDP\nn*:88\n")
    assert (table.local_port, table.owner) == ([389, 636], ["java", "java"])


def test_the_marker_begins_another_look():
    first, second = facts_of((PROCESS + FILE + "m\n") * 2)
    assert list(first.keys()) == list(second.keys())


def test_a_line_of_something_else_is_counted():
    table = read("lsof: WARNING: can't stat() fuse file system\n" + PROCESS + FILE)
    assert table.origin.not_understood == 0
    (table,) = facts_of(PROCESS + FILE + "pxyz\nhello\n=====\n", form=lsof_fields.FORMAT)
    assert (len(table), table.origin.not_understood) == (1, 3)


def test_a_long_name_is_kept_to_64_characters():
    assert read(PROCESS.replace("ns-slapd", "n" * 100) + FILE).owner == ["n" * 64]


def test_no_socket_is_no_table():
    assert facts_of(PROCESS, form=lsof_fields.FORMAT) == []


@pytest.mark.parametrize("text", ["p1\n", "f3\nn*:1\n", "p1\nhello world\nn*:1\n", "Proto\n", "p\nn*:1\n"])
def test_what_is_no_output_of_fields_is_not_recognised(text):
    assert "lsof-fields" not in [f.name for f in formats() if f.recognises(head_of("x", text.encode(), whole=True))]


def test_a_capture_is_recognised_by_its_content_alone(captures):
    for path in sorted((captures / "lsof-fields").glob("*.txt")):
        for data in (path.read_bytes(), path.read_bytes()[:100], path.read_bytes().replace(b"\n", b"\r\n")):
            assert [f.name for f in formats() if f.recognises(head_of("x", data, whole=False))] == ["lsof-fields"]


def test_a_public_sample_has_the_rows_counted_by_hand(corpus):
    table = read((corpus / "public" / "sockets" / "lsof-F-scope.txt").read_bytes())
    with_peer = [key for key in table.keys() if key[2:] != (ANY, ANY_PORT)]  # noqa: SIM118  a method, no mapping
    assert (len(table), len(with_peer), table.origin.not_understood) == (13, 7, 0)
