"""What holds for the tables of other Unixes: what is written is read back, what was cut is marked."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
import writers
from drawn import sockets
from ldapdiag.evidence.addresses import CUT, UNKNOWN_PORT
from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.evidence.sockets import TcpState
from reading import facts_of

UNIX_WRITERS = {
    "Solaris": writers.as_solaris,
    "Solaris -v": functools.partial(writers.as_solaris, verbose=True),
    "FreeBSD -W": functools.partial(writers.as_freebsd, wide=True),
    "FreeBSD -AW": functools.partial(writers.as_freebsd, wide=True, pcb=True),
}
CUTTING_WRITERS = {
    "FreeBSD": writers.as_freebsd,
    "FreeBSD -A": functools.partial(writers.as_freebsd, pcb=True),
    "macOS": writers.as_macos,
    "macOS -A": functools.partial(writers.as_macos, pcb=True),
    "macOS -v": functools.partial(writers.as_macos, programs=True),
    "AIX": writers.as_aix,
    "AIX -A": functools.partial(writers.as_aix, pcb=True),
    "HP-UX": writers.as_hpux,
}
WIDE = tuple(
    writers.Socket(local_address=end, local_port=40000, remote_address=end, remote_port=389, state=TcpState.ESTABLISHED)
    for end in ("2001:db8:1234:5678:9abc:def0:1234:5678", "192.168.100.100")
)
"""Rows that show, with the PCB or without, that nothing of either family was cut."""


def small(rows):
    """Queues as they can be: a window bounds them, and Solaris keeps their difference in an int."""
    return [
        dataclasses.replace(row, receive_queue=row.receive_queue >> 1, send_queue=row.send_queue >> 1) for row in rows
    ]


def plainly(rows):
    return [
        (
            row.local_address,
            row.local_port,
            row.remote_address,
            row.remote_port,
            row.state,
            row.receive_queue,
            row.send_queue,
        )
        for row in rows
    ]


def plainly_told(table):
    columns = (table.state, table.receive_queue, table.send_queue)
    return [(*key, *rest) for key, *rest in zip(table.keys(), *columns, strict=True)]


@examples.every(3)
@given(
    rows=st.lists(sockets(), max_size=12),
    writer=st.sampled_from(sorted(UNIX_WRITERS)),
    ending=st.sampled_from(["\n", "\r\n"]),
)
def test_sockets_written_by_another_unix_are_read_back(rows, writer, ending):
    rows = small([*rows, *WIDE])
    (table,) = facts_of(UNIX_WRITERS[writer](rows).replace("\n", ending))
    assert Counter(plainly_told(table)) == Counter(plainly(rows))
    assert table.origin.not_understood == 0
    assert table.tool == "netstat"


@examples.every(5)
@given(rows=st.lists(sockets(), min_size=1, max_size=12))
def test_a_socket_of_two_processes_is_read_once(rows):
    rows = small(rows)
    (table,) = facts_of(writers.as_solaris(rows, users=True))
    assert {told[:5] for told in plainly_told(table)} == {row[:5] for row in plainly(rows)}
    assert len(table) == len({row[:5] for row in plainly(rows)})
    assert set(table.owner) == {"my ns-slapd"}
    assert set(table.pid) == {531}


@given(rows=st.lists(sockets(), min_size=1, max_size=12), writer=st.sampled_from(sorted(CUTTING_WRITERS)))
def test_what_another_unix_cut_is_marked(rows, writer):
    rows = small(rows)
    (table,) = facts_of(CUTTING_WRITERS[writer](rows))
    assert table.origin.not_understood == 0
    for told, row in zip(plainly_told(table), plainly(rows), strict=True):
        assert told[4:] == row[4:]
        for address, original in zip(told[0:4:2], row[0:4:2], strict=True):
            assert address == original or (address.endswith(CUT) and original.startswith(address.removesuffix(CUT)))
        for port, original in zip(told[1:4:2], row[1:4:2], strict=True):
            assert port == original or (port == UNKNOWN_PORT and table.ports_truncated and "-A" in writer)
        if ":" not in row[0] + row[2] and "-A" not in writer:
            assert told == row, "IPv4 is never cut without the PCB"


def work_of(form, text):
    """Return how many calls reading a text takes."""
    calls = 0

    def count(_frame, _event, _function):
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        facts = list(form.read(Document(path="file", source=lines_of([text.encode()]))))
    finally:
        sys.setprofile(None)
    return facts, calls


ALL_WRITERS = (
    UNIX_WRITERS
    | CUTTING_WRITERS
    | {
        "Solaris -u": functools.partial(writers.as_solaris, users=True),
        "Linux netstat": writers.as_netstat,
        "ss": writers.as_ss,
        "/proc": writers.as_proc_net,
        "Windows": writers.as_netstat_windows,
        "PowerShell": writers.as_powershell_csv,
        "lsof -F": writers.as_lsof_fields,
    }
)


@pytest.mark.parametrize("writer", sorted(ALL_WRITERS))
def test_twice_the_rows_are_twice_the_work(writer):
    rows = [
        dataclasses.replace(WIDE[1], remote_address=f"10.77.{host // 250}.{host % 250}", local_port=40000 + host)
        for host in range(1000)
    ]
    works = []
    for times in (1, 2, 4):
        text = ALL_WRITERS[writer](rows[: 250 * times])
        (table,), work = work_of(recognise(head_of("file", text.encode(), whole=True)), text)
        assert len(table) == 250 * times
        works.append(work)
    assert works[1] < 2.1 * works[0]
    assert works[2] < 2.1 * works[1]
