"""This host's sockets: what the kernel says is what ss and pyroute2 say, and no failure looks like an empty table."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from struct import pack
from threading import Event
from threading import Timer as After
from time import monotonic

import pytest

from holding import sockets_held
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.sockets import TcpState, Timer
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.local import namespaces, netlink, processes, sockets
from reading import facts_of

pyroute2 = pytest.importorskip("pyroute2", reason="pyroute2 is for Linux")

SAME = (
    *("local_address", "local_port", "remote_address", "remote_port", "state", "receive_queue", "send_queue"),
    *("timer", "bytes_sent", "bytes_received", "inode", "owner", "pid"),
)
GROWING = ("last_received", "last_acknowledged", "busy", "retransmits", "probes")
TICK = 10
"""Milliseconds (CONFIG_HZ 100)."""
TIED = "owners sockets"


@pytest.fixture(scope="module")
def holder(laboratory):
    """Return a process with sockets in every state, in a namespace of its own."""
    with sockets_held(TIED) as pid:
        patience = monotonic() + 10
        while Timer.PERSIST not in read(netlink.dump(path_of(pid))).timer:  # what was sent is still on its way
            assert monotonic() < patience
        yield pid


def path_of(pid):
    return f"/proc/{pid}/ns/net"


def read(content, suffix="inet_diag"):
    (table,) = facts_of(content, path=f"here/sockets-1.{suffix}")
    assert table.origin.not_understood == 0
    return table


def by_cookie(table, names):
    columns = [getattr(table, name) for name in names]
    return dict(zip(table.cookie, zip(*columns, strict=True), strict=True))


def test_netlink_and_ss_list_the_same_sockets(holder):
    owners = processes.socket_owners()
    command = ["nsenter", "-t", str(holder), "-n", "ss", "-tanoiep"]
    began = monotonic()
    before = read(netlink.dump(path_of(holder), owners=owners))
    told = read(subprocess.run(command, check=True, capture_output=True).stdout, "ss")
    after = read(netlink.dump(path_of(holder), owners=owners))
    elapsed = (monotonic() - began) * 1000
    assert by_cookie(before, SAME) == by_cookie(told, SAME) == by_cookie(after, SAME)
    low, middle, high = (by_cookie(table, GROWING) for table in (before, told, after))
    assert low.keys() == middle.keys() == high.keys()
    for cookie, row in middle.items():
        for three in zip(low[cookie], row, high[cookie], strict=True):
            if three != (None, None, None):  # an age may begin again meanwhile, or move by a tick of the kernel
                assert min(three) <= elapsed or max(three) - min(three) <= elapsed + TICK, (three, elapsed)


def test_there_is_something_of_everything(holder):
    table = read(netlink.dump(path_of(holder), owners=processes.socket_owners()))
    assert {
        *(TcpState.ESTABLISHED, TcpState.LISTEN, TcpState.FIN_WAIT_2, TcpState.CLOSE_WAIT, TcpState.TIME_WAIT),
        TcpState.SYN_SENT,
    } <= set(table.state)
    assert set(Timer) <= {*table.timer}
    assert {TIED, ""} == set(table.owner)
    assert {holder, None} == set(table.pid)
    assert 4000 in table.receive_queue
    assert {"*", "127.0.0.1", "::1"} == {*table.local_address}
    assert (table.families, table.has_header, table.shows_time_wait) == ({4, 6}, True, True)


def test_the_messages_equal_those_that_pyroute2_decodes(holder):
    table = read(netlink.dump(path_of(holder)))
    mine = by_cookie(table, ("state", "local_port", "remote_port", "inode", "receive_queue", "send_queue"))
    received = dict(zip(table.cookie, table.bytes_received, strict=True))
    theirs = namespaces.run_inside(path_of(holder), decoded_by_pyroute2)
    assert mine.keys() == {message["idiag_cookie"] for message in theirs}
    for message in theirs:
        assert mine[message["idiag_cookie"]] == tuple(
            message[f"idiag_{name}"] for name in ("state", "sport", "dport", "inode", "rqueue", "wqueue")
        )
        info = message.get_attr("INET_DIAG_INFO")
        if received[message["idiag_cookie"]] is not None:
            assert received[message["idiag_cookie"]] == info["tcpi_bytes_received"]


def decoded_by_pyroute2():
    with pyroute2.DiagSocket() as kernel:
        kernel.bind()
        return [
            message
            for family in (socket.AF_INET, socket.AF_INET6)
            for message in kernel.get_sock_stats(family=family, extensions=2)
        ]


def test_without_tcp_info_there_are_no_ages(holder):
    table = read(netlink.dump(path_of(holder), tcp_info=False))
    assert table.last_received is table.busy is table.bytes_sent is None
    assert table.keys
    assert sorted(table.keys()) == sorted(read(netlink.dump(path_of(holder))).keys())


def space_of(pid):
    (space,) = [one for one in namespaces.find_namespaces().found if one.identity == namespaces.identity(pid)]
    return space


@pytest.mark.parametrize("telling", sockets.METHODS)
def test_every_method_lists_the_same_sockets(holder, telling):
    content = sockets.METHODS[telling](space_of(holder), None, netlink.ListingLimit())
    assert sorted(read(content, telling).keys()) == sorted(read(netlink.dump(path_of(holder))).keys())


def test_a_snapshot_is_an_input_with_its_time_and_origin(holder):
    space = space_of(holder)
    (piece,) = sockets.list_sockets(space, folder="app1", snapshot=2)
    assert (piece.path, piece.folder) == ("app1/sockets-2.inet_diag", "app1")
    assert piece.taken.start < piece.taken.end
    with piece.open() as stream:
        assert len(read(stream.read())) > 10


def refused(*_):
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def test_where_netlink_fails_proc_is_used_and_a_gap_reports_it(holder, monkeypatch):
    monkeypatch.setitem(sockets.METHODS, "inet_diag", refused)
    piece, gap = sockets.list_sockets(space_of(holder), folder="app1", snapshot=1)
    assert isinstance(piece, Input)
    assert piece.path == "app1/sockets-1.proc"
    assert gap.reason == "inet_diag failed: operation not permitted; used proc, which has fewer columns"
    assert gap.how


def test_what_every_way_refuses_is_a_gap_and_no_table(holder, monkeypatch):
    for telling in sockets.METHODS:
        monkeypatch.setitem(sockets.METHODS, telling, refused)
    (gap,) = sockets.list_sockets(space_of(holder), folder="app1", snapshot=1)
    assert isinstance(gap, Gap)
    assert gap.reason.count("not permitted") == len(sockets.METHODS)


def test_what_was_asked_names_the_namespace_as_a_person_would(holder):
    (piece, *_) = sockets.list_sockets(namespaces.find_namespaces().found[0], folder="here", snapshot=1)
    assert piece.asked == "inet_diag in its own network namespace"
    (piece, *_) = sockets.list_sockets(space_of(holder), folder="app1", snapshot=1)
    assert piece.asked == f"inet_diag in the network namespace /proc/{holder}/ns/net"


def test_without_pyroute2_proc_is_used_and_a_gap_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyroute2.netlink.nlsocket", None)
    piece, gap = sockets.list_sockets(space_of(os.getpid()), folder="app1", snapshot=1)
    assert piece.path.endswith(".proc")
    assert "install pyroute2" in gap.how


def test_many_listings_at_once_leave_nothing_open(holder):
    netlink.dump(path_of(holder))
    before = len(list(Path("/proc/self/fd").iterdir()))
    with ThreadPoolExecutor(8) as threads:
        told = list(threads.map(lambda _: read(netlink.dump(path_of(holder))), range(32)))
    assert len({tuple(sorted(table.cookie)) for table in told}) == 1
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_any_user_may_list_the_sockets_of_their_namespace(holder):
    """As nobody: the table without owners; whoever may not snapshot at others' namespaces is told how many."""
    program = (
        "import os\n"
        "from ldapdiag.sources.live.local import namespaces, netlink\n"
        "netlink.dump()\n"  # whoever is nobody may not read this Python's library
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "print(len(netlink.dump()) > 100, namespaces.find_namespaces().unreadable > 0)"
    )
    command = ["nsenter", "-t", str(holder), "-n", sys.executable, "-c", program]
    assert subprocess.run(command, check=True, capture_output=True).stdout == b"True True\n"


def test_a_listing_the_kernel_refuses_is_an_error_and_no_empty_table(monkeypatch):
    monkeypatch.setattr(netlink, "TCP", 253)
    with pytest.raises(FileNotFoundError):
        netlink.dump()


def test_a_misspelt_namespace_is_an_error_and_is_not_created():
    with pytest.raises(FileNotFoundError):
        netlink.dump("/run/netns/ldapdiag-no-such-thing")
    assert not Path("/run/netns/ldapdiag-no-such-thing").exists()


def test_what_is_no_namespace_is_an_error(tmp_path):
    (tmp_path / "plain").touch()
    with pytest.raises(OSError, match=r"Invalid argument|not permitted"):
        netlink.dump(str(tmp_path / "plain"))


def test_a_kernel_that_never_answers_is_given_up(monkeypatch):
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    monkeypatch.setattr(netlink, "_open_netlink", here.detach)
    monkeypatch.setattr(netlink, "MAX_SECONDS", 0.2)
    with there, pytest.raises(TimeoutError):
        netlink.dump()


class TestTheLimit:
    """The kernel never answers; what asks has its own time, and may be stopped."""

    @pytest.fixture(autouse=True)
    def silence(self, monkeypatch):
        pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        monkeypatch.setattr(netlink, "_open_netlink", lambda: pair[0].dup().detach())
        with pair[0], pair[1]:
            yield

    def told(self, limit):
        started = monotonic()
        (gap,) = sockets.list_sockets(namespaces.find_namespaces().found[0], folder="here", snapshot=1, limit=limit)
        assert monotonic() - started < 2
        return gap

    def test_the_deadline_ends_it_and_no_other_way_is_tried(self):
        gap = self.told(netlink.ListingLimit(deadline=monotonic() + 0.2))
        assert (gap.reason, gap.how) == ("not listed within the time limit", "raise --timeout")

    def test_ctrl_c_ends_it_at_once(self):
        stop = Event()
        after = After(0.2, stop.set)
        after.start()
        gap = self.told(netlink.ListingLimit(stop=stop))
        after.join()
        assert gap.reason == "not listed: the run was interrupted"

    def test_what_is_over_before_it_began_asks_nothing(self):
        assert self.told(netlink.ListingLimit(deadline=monotonic() - 1)).reason == "not listed within the time limit"


class TestVerbatim:
    """What the marshal makes of a datagram."""

    ROW = pack("=IHHII", 88, 20, 2, 255, 7) + b"\2\1" + bytes(70)
    DONE = pack("=IHHIIi", 20, 3, 2, 255, 7, 0)

    def parsed(self, data):
        kept = []
        marshal = netlink.RawMarshal(kept)
        (message,) = marshal.parse(data, 255, None)
        assert kept == [data]
        return marshal.is_enough(message), message["header"]["error"]

    def test_rows_alone_are_not_the_end(self):
        assert self.parsed(self.ROW * 3) == (False, None)

    def test_the_end_stands_alone_or_after_rows(self):
        assert self.parsed(self.DONE) == (True, None)
        assert self.parsed(self.ROW + self.DONE) == (True, None)

    def test_the_end_of_another_request_within_a_row_is_none(self):
        looks_like_it = self.DONE.replace(pack("=I", 255), pack("=I", 254))
        assert self.parsed(self.ROW[:-20] + looks_like_it) == (False, None)

    @pytest.mark.parametrize("kind", [2, 3])
    def test_an_error_is_one_in_the_words_of_the_system(self, kind):
        enough, error = self.parsed(pack("=IHHIIi", 20, kind, 2, 255, 7, -errno.EPERM))
        assert enough
        assert isinstance(error, PermissionError)

    def test_an_acknowledgement_is_no_end_of_a_listing(self):
        assert isinstance(self.parsed(pack("=IHHIIi", 20, 2, 0, 255, 7, 0))[1], OSError)


def test_the_import_is_late():
    """Only a live snapshot pays for pyroute2, and systems that have none still read captures."""
    program = "import sys, ldapdiag.sources.live.local.sockets; print('pyroute2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout == b"False\n"
