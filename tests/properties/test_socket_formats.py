"""What holds for every telling of a socket table: nothing raises, each line is counted, all tell the same."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
import writers
from conftest import CAPTURES, CORPUS
from drawn import sockets
from ldapdiag.evidence.addresses import CUT
from ldapdiag.evidence.document import Document, encoding_of, lines_of
from ldapdiag.evidence.format import Head
from ldapdiag.evidence.formats import HEAD_BYTES
from ldapdiag.evidence.socket_formats import (
    conntrack,
    lsof,
    lsof_fields,
    netstat,
    netstat_bsd,
    netstat_solaris,
    netstat_windows,
    powershell,
    proc_net,
    ss,
)
from ldapdiag.evidence.sockets import TcpState, Timer
from reading import facts_of

FORMATS = [module.FORMAT for module in (ss, netstat, netstat_bsd, netstat_solaris, proc_net, lsof, conntrack)]
FORMATS += [module.FORMAT for module in (netstat_windows, powershell, lsof_fields)]
SAMPLES = sorted(path for room in ("sockets", "windows", "lsof-fields") for path in (CAPTURES / room).glob("*.[tc]*"))
each_format = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)


def columns_of(fact):
    values = (getattr(fact, field.name) for field in dataclasses.fields(fact))
    return [value for value in values if isinstance(value, list)]


def check_reading(form, data):
    """Read the bytes and hold the reader to its promises."""
    document = Document(path="host/file", source=lines_of([data]))
    text = data.decode(encoding_of(data), errors="backslashreplace").removeprefix("\ufeff")
    for fact in form.read(document):
        origin = fact.origin
        assert origin.understood + origin.not_understood == origin.lines == document.seen
        rows = len(fact.state)
        assert rows <= origin.understood
        assert {len(column) for column in columns_of(fact)} == {rows}
    assert document.seen == text.count("\n") + (not text.endswith("\n") and text != "")
    assert document.missed <= document.seen


@functools.cache
def fragments():
    lines = [line for path in SAMPLES for line in path.read_bytes().splitlines(keepends=True)]
    words = [word for line in lines for word in line.split()]
    return sorted(
        {*lines, *words, b" ", b"\t", b"\n", b"\r\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"\x1b[2J", b":", b"("}
    )


@each_format
@examples.every(5)
@given(
    data=st.one_of(st.binary(max_size=300), st.builds(b"".join, st.lists(st.sampled_from(fragments()), max_size=30)))
)
def test_any_bytes_are_counted_line_by_line(form, data):
    check_reading(form, data)


@given(data=st.data())
def test_a_damaged_file_is_counted_line_by_line(data):
    sample = bytearray(data.draw(st.sampled_from(SAMPLES), label="file").read_bytes())
    for _ in range(data.draw(st.integers(1, 8), label="damages")):
        at = data.draw(st.integers(0, len(sample)))
        sample[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=12))
    check_reading(data.draw(st.sampled_from(FORMATS)), bytes(sample))


@examples.every(5)
@given(path=st.sampled_from(SAMPLES), form=st.sampled_from(FORMATS), keep=st.floats(0, 1))
def test_a_cut_file_is_counted_line_by_line(path, form, keep):
    data = path.read_bytes()
    check_reading(form, data[: int(len(data) * keep)])


HOSTILE = [
    "tcp 0 0 " + "1:" * 500_000,
    "tcp 0 0 a:1 b:2 LISTEN " + "(" * 1_000_000,
    "tcp 0 0 a:1 b:2 LISTEN " + "1/" * 500_000,
    "tcp 0 0 a:1 b:2 LISTEN 1/x off (" + "1/" * 500_000,
    "ESTAB 0 0 a:1 b:2 " + 'users:(("' * 100_000,
    "ESTAB 0 0 a:1 b:2 " + "timer:(on,1ms," * 70_000,
    "ESTAB 0 0 a:1 b:2 " + " ino:" * 200_000 + "9" * 9_000,
    "ESTAB " + "9" * 1_000_000 + " 0 a:1 b:2",
    "tcp      6 " + "src=" * 250_000,
    "tcp      6 1 ESTABLISHED " + "src=1 dst=1 sport=1 dport=1 " * 30_000,
    "tcp      6 " + "9" * 1_000_000,
    "ipv4" + " " * 1_000_000 + "x",
    "tcp      6 5" + " " * 1_000_000 + "x",
    "[1.1]" + " " * 1_000_000,
    "   0: " + "0" * 1_000_000,
    "   0: 0100007F:0277 00000000:0000 0A 0:" + "0" * 900_000 + " 0:0 0 0 0 0 1",
    "COMMAND PID" + " " * 1_000_000,
    "java 1 root 3u IPv6 1 0t0 TCP " + "->" * 500_000,
    "Proto Recv-Q Send-Q " + " " * 1_000_000,
    "  TCP " + "1:" * 500_000,
    "  TCP    a:1    b:2    " + "X " * 500_000,
    "  TCP    a:1    b:2    LISTENING " + "9" * 1_000_000,
    " [" + "x" * 1_000_000,
    " x" + " x" * 500_000 + ":",
    "Proto" + "  a" * 300_000,
    '"LocalPort","State"' + ',"' * 400_000,
    "LocalPort,State\n" + "1," * 400_000,
    'LocalPort,State\n"' + '""' * 400_000,
    "p1\0" * 250_000,
    "p1\nn" + "1:" * 500_000,
    "p1\nn*:1->" + "[" * 900_000,
    " " * 1_000_000,
    "Netid" + " " * 1_000_000,
    "tcp4 0 0 " + "1." * 500_000 + " b.2 LISTEN",
    "tcp4 0 0 a.1 b.2 " + "A" * 1_000_000,
    "f1000e0004c3e222 " + "tcp4 " * 200_000,
    "Tcpcb" + " " * 1_000_000 + "Proto Recv-Q Send-Q",
    "Proto Recv-Q Send-Q Local Address" + " " * 1_000_000,
    "Proto Recv-Q Send-Q Local Address Foreign Address (state) " + "process:pid " * 80_000,
    "   Local Address" + " " * 1_000_000 + "Remote Address",
    "Local/Remote Address" + " " * 1_000_000,
    "a.1 b.2 0 0 0 0 LISTEN " + "x " * 500_000,
    "a.1 b.2 0 " + "9" * 1_000_000 + " 0 0 LISTEN",
    "-" * 1_000_000,
]


@each_format
def test_a_line_of_a_mebibyte_is_read_in_linear_time(form):
    for line in HOSTILE:
        began = time.thread_time()
        check_reading(form, line.encode())
        form.recognises(Head(name="file", lines=(line[:HEAD_BYTES],)))
        assert time.thread_time() - began < 2, line[:40]


ANCHORS = (
    writers.Socket(
        local_address="127.0.0.1",
        local_port=389,
        remote_address="127.0.0.1",
        remote_port=40000,
        state=TcpState.ESTABLISHED,
        timer=Timer.KEEPALIVE,
    ),
    writers.Socket(
        local_address="2001:db8:1234:5678:9abc:def0:1234:5678",
        local_port=389,
        remote_address="2001:db8:1234:5678:9abc:def0:1234:5678",
        remote_port=40000,
        state=TcpState.ESTABLISHED,
    ),
)
"""Rows that give away byte order and -W, and that a timer column is there; without one of them both are a guess."""


def expected(rows):
    return Counter(
        (
            row.local_address,
            row.local_port,
            row.remote_address,
            row.remote_port,
            row.state,
            row.receive_queue,
            row.send_queue,
            row.timer,
            row.tries if row.timer is Timer.RETRANSMIT else 0,
            row.tries if row.timer in {Timer.KEEPALIVE, Timer.PERSIST} else 0,
            row.inode,
        )
        for row in rows
    )


def told(table):
    columns = (table.receive_queue, table.send_queue, table.timer, table.retransmits, table.probes, table.inode)
    return Counter((*key, state, *rest) for key, state, *rest in zip(table.keys(), table.state, *columns, strict=True))


WRITERS = {
    "netstat -W": writers.as_netstat,
    "ss": writers.as_ss,
    "ss -H": functools.partial(writers.as_ss, header=False),
    "ss with Netid": functools.partial(writers.as_ss, netid=True),
    "/proc": writers.as_proc_net,
    "/proc, big-endian": functools.partial(writers.as_proc_net, big_endian=True),
}


@examples.every(3)
@given(
    rows=st.lists(sockets(), max_size=12),
    writer=st.sampled_from(sorted(WRITERS)),
    ending=st.sampled_from(["\n", "\r\n"]),
)
def test_sockets_written_by_any_tool_are_read_back(rows, writer, ending):
    rows = [*rows, *ANCHORS]
    (table,) = facts_of(WRITERS[writer](rows).replace("\n", ending))
    assert told(table) == expected(rows)
    assert table.origin.not_understood == 0
    assert table.families == {4, 6}


PLAIN_WRITERS = {
    "Windows": lambda rows: writers.as_netstat_windows(rows).encode(),
    "Windows, German, UTF-16": lambda rows: writers.as_netstat_windows(rows, german=True).encode("utf-16"),
    "Windows, German, UTF-8": lambda rows: writers.as_netstat_windows(rows, german=True).encode(),
    "Windows, German, CP850": lambda rows: writers.as_netstat_windows(rows, german=True).encode("cp850"),
    "PowerShell": lambda rows: writers.as_powershell_csv(rows).encode("utf-16"),
    "PowerShell, ;": lambda rows: writers.as_powershell_csv(rows, delimiter=";").encode(),
    "PowerShell, tab": lambda rows: writers.as_powershell_csv(rows, delimiter="\t").encode(),
    "lsof -F": lambda rows: writers.as_lsof_fields(rows).encode(),
    "lsof -F0": lambda rows: writers.as_lsof_fields(rows, nul=True).encode(),
}
"""Tools that show keys and states; lsof the queues, too, and nothing in TIME_WAIT."""


@given(rows=st.lists(sockets(), max_size=12), writer=st.sampled_from(sorted(PLAIN_WRITERS)))
def test_sockets_written_without_timers_are_read_back(rows, writer):
    rows = [*rows, *ANCHORS]
    (table,) = facts_of(PLAIN_WRITERS[writer](rows))
    shown = [row for row in rows if not (writer.startswith("lsof") and row.state is TcpState.TIME_WAIT)]
    ends = [((row.local_address, row.local_port, row.remote_address, row.remote_port), row.state) for row in shown]
    assert Counter(zip(table.keys(), table.state, strict=True)) == Counter(ends)
    if writer.startswith("lsof"):
        assert list(table.receive_queue) == [row.receive_queue for row in shown]
    assert table.origin.not_understood == 0


@examples.every(3)
@given(rows=st.lists(sockets(), min_size=1, max_size=12))
def test_what_netstat_cut_is_marked_and_keeps_its_port(rows):
    (table,) = facts_of(writers.as_netstat(rows, wide=False))
    for row, (local, local_port, remote, remote_port) in zip(rows, table.keys(), strict=True):
        assert (local_port, remote_port) == (row.local_port, row.remote_port)
        for address, original in ((local, row.local_address), (remote, row.remote_address)):
            assert address == original or (address.endswith(CUT) and original.startswith(address.removesuffix(CUT)))


@pytest.mark.parametrize(
    "name", ["ss-tan", "ss-tanope", "ss-tinaO", "ss-tina", "ss-an", "ss-ta", "netstat-tanopeW", "proc-net-tcp-and-tcp6"]
)
def test_all_tellings_of_one_moment_are_the_same_table(captures: Path, name):
    (table,) = facts_of((captures / "sockets" / f"{name}.txt").read_bytes())
    (first,) = facts_of((captures / "sockets" / "ss-tan.txt").read_bytes())
    assert Counter(zip(table.keys(), table.state, strict=True)) == Counter(zip(first.keys(), first.state, strict=True))
    assert len(table) == 16
    assert Counter(table.state) == {
        TcpState.ESTABLISHED: 10,
        TcpState.LISTEN: 2,
        TcpState.SYN_SENT: 1,
        TcpState.FIN_WAIT_2: 1,
        TcpState.CLOSE_WAIT: 1,
        TcpState.TIME_WAIT: 1,
    }
    assert table.origin.not_understood == 0
    assert table.shows_time_wait


def test_no_table_reaches_from_one_look_into_the_next():
    looks = writers.as_ss(ANCHORS), writers.as_netstat(ANCHORS), writers.as_proc_net(ANCHORS)
    for look in looks:
        first, second = facts_of(look * 2)
        assert told(first) == told(second) == told(facts_of(look)[0])


@pytest.mark.parametrize(
    ("folder", "established"), [("5a-ghost-389ds/ldap", 310), ("5a-ghost-389ds/app1", 2), ("5a-ghost-389ds/app2", 40)]
)
def test_every_telling_of_the_incident_counts_its_sockets(corpus: Path, folder, established):
    for path in sorted((corpus / folder).iterdir()):
        if path.name.startswith(("netstat", "ss-t", "lsof")):
            (table,) = facts_of(path.read_bytes())
            assert table.count(TcpState.ESTABLISHED) == established, path
            assert table.origin.not_understood == 0, path


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not beside this checkout (it is in CI)")
@examples.every(5)
@given(data=st.data())
def test_a_damaged_public_sample_is_counted_line_by_line(data):
    files = sorted(path for room in ("sockets", "middlebox") for path in (CORPUS / "public" / room).iterdir())
    sample = bytearray(data.draw(st.sampled_from(files)).read_bytes()[:20_000])
    for _ in range(data.draw(st.integers(0, 5))):
        at = data.draw(st.integers(0, len(sample)))
        sample[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=12))
    check_reading(data.draw(st.sampled_from(FORMATS)), bytes(sample))
