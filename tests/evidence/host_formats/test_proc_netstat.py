"""The counters of /proc/net are those that nstat prints, by the same names."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.host_formats import proc_netstat
from reading import facts_of

TEXT = """TcpExt: SyncookiesSent ListenOverflows TCPBacklogDrop
TcpExt: 0 5 7
IpExt: InNoRoutes InOctets
IpExt: 0 123456789012
IcmpMsg:
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn EstabResets
Tcp: 1 200 120000 -1 42
"""


def test_names_are_joined_as_nstat_joins_them() -> None:
    (counters,) = facts_of(TEXT)
    assert counters.values["TcpExtListenOverflows"] == 5
    assert counters.values["TcpEstabResets"] == 42
    assert counters.values["TcpMaxConn"] == -1
    assert (len(counters.values), counters.origin.not_understood) == (10, 0)


@pytest.mark.parametrize(
    ("text", "missed"),
    [
        ("Tcp: A B\nTcp: 1 2 3\nTcp: C\nTcp: 4\n", 1),
        ("Tcp: A\nUdp: 1\nTcp: B\nTcp: 4\n", 1),
        ("Tcp: 1\nTcp: A\nTcp: 4\nTcp: 5\nwhat\n", 3),
    ],
)
def test_numbers_without_their_names_are_counted_and_not_read(text: str, missed: int) -> None:
    (counters,) = facts_of(text)
    assert len(counters.values) == 1
    assert set(counters.values.values()) == {4}
    assert counters.origin.not_understood == missed


@pytest.mark.skipif(
    not shutil.which("nstat") or not Path("/proc/net/netstat").exists(), reason="nstat is not installed"
)
def test_they_equal_those_of_nstat_on_this_host() -> None:
    text = Path("/proc/net/netstat").read_text() + Path("/proc/net/snmp").read_text()
    found = subprocess.run(["nstat", "-asz"], capture_output=True, text=True, check=True).stdout
    (ours,), (theirs,) = facts_of(text), facts_of(found)
    assert len(ours.values) > 100
    common = ours.values.keys() & theirs.values.keys()
    assert {"TcpExtListenOverflows", "TcpExtListenDrops", "TcpCurrEstab", "TcpEstabResets"} - common <= {"TcpCurrEstab"}
    assert ours.values["TcpExtListenOverflows"] <= theirs.values["TcpExtListenOverflows"]


@given(st.lists(st.sampled_from(TEXT.splitlines()) | st.text(max_size=60)))
def test_no_text_crashes_it(lines) -> None:
    facts_of("\n".join(lines), form=proc_netstat.FORMAT)
