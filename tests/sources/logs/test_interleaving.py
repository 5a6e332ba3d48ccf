"""Two servers that write into one file are noticed, and one that was started again is not taken for two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.evidence.log.syslog import ISO_SYSLOG, RFC5424, TRADITIONAL
from ldapdiag.sources.logs.interleaving import concurrent_writers, remark

LINE = {
    TRADITIONAL.name: "Nov 20 08:54:{second:02} {host} slapd[{pid}]: {message}\n",
    ISO_SYSLOG.name: "2026-11-20T08:54:{second:02}.460651+00:00 {host} slapd[{pid}]: {message}\n",
    RFC5424.name: "<167>1 2026-11-20T08:54:{second:02}.460651+00:00 {host} slapd {pid} - - {message}\n",
}
SEARCH = 'conn=1 op=1 SRCH attr="cn"'


def log(dialect: str, *told: tuple[str, int, str]) -> bytes:
    lines = [
        LINE[dialect].format(second=number % 60, host=host, pid=pid, message=message)
        for number, (host, pid, message) in enumerate(told)
    ]
    return "".join(lines).encode()


def beside(dialect: str, *told: tuple[str, int]) -> int:
    data = log(dialect, *((host, pid, SEARCH) for host, pid in told))
    return len(concurrent_writers(named(dialect), [data]).writers)


@pytest.mark.parametrize("dialect", LINE)
def test_a_process_or_host_that_is_heard_of_again_writes_beside_another(dialect: str) -> None:
    a, b, elsewhere = ("vm", 3989), ("vm", 4100), ("other", 3989)
    assert beside(dialect, a, a, b, a) == 2
    assert beside(dialect, a, elsewhere, a) == 2
    assert beside(dialect, a, elsewhere, b, a, a) == 3
    assert beside(dialect, a, a, b, b, elsewhere) == 0
    assert beside(dialect, a, b, ("vm", 1), b, ("vm", 2)) == 2


@given(st.lists(st.sampled_from("abcd"), max_size=30))
def test_those_beside_each_other_are_those_whose_turns_are_crossed(turns: list[str]) -> None:
    """By definition: somebody else wrote between the first and the last line of a server, and so on."""
    spans = {host: (turns.index(host), len(turns) - 1 - turns[::-1].index(host)) for host in turns}
    expected = {
        host
        for host, (first, last) in spans.items()
        if set(turns[first : last + 1]) != {host}
        or any(other != host and begin < first and last < end for other, (begin, end) in spans.items())
    }
    assert beside(TRADITIONAL.name, *((host, 1) for host in turns)) == len(expected)


def test_hosts_whose_times_overlap_are_separate_though_their_lines_are_not() -> None:
    dialect = ISO_SYSLOG.name
    unbind = "conn=1 op=1 UNBIND"
    one = log(dialect, *(("one", 1, unbind) for _ in range(9)))
    two = log(dialect, *(("two", 1, unbind) for _ in range(9)))
    later = two.replace(b"T08:", b"T09:")

    def found(data: bytes) -> tuple[tuple[bytes, bytes], ...]:
        return concurrent_writers(named(dialect), [data], hints=Hints()).writers

    assert found(one + two) == ((b"one", b"slapd[1]"), (b"two", b"slapd[1]"))
    assert found(one + later) == ()
    assert found(one + two.replace(b"two slapd[1]", b"one slapd[2]")) == ()


def test_what_a_client_or_another_program_writes_is_no_server() -> None:
    lie = (
        r'conn=1 op=1 SRCH base="" scope=2 deref=0 filter="(cn=\0ANov 20 08:54:01 vm slapd[4100]: conn=2 op=1 UNBIND)"'
    )
    data = log(
        TRADITIONAL.name, ("vm", 3989, lie), ("vm", 1, "hello"), ("vm", 3989, lie), ("vm", 1, "x conn=1 op=1 UNBIND")
    )

    assert concurrent_writers(named(TRADITIONAL.name), [data]).writers == ()


def test_a_command_is_shown_only_where_it_is_harmless_to_copy() -> None:
    pids = ((b"vm", b"slapd[39]"), (b"vm", b"slapd[41]"))
    note = remark("log", pids, "it is followed")
    assert "(slapd[39] and slapd[41]), and it is followed; split it, for example by grep -Fw 'slapd[39]': " in note

    hosts = ((b"a';reboot;'\x1b", b"slapd[1]"), (b"b", b"slapd[1]"))
    assert r"(a';reboot;'\x1b and b), and so it is; split it: " in remark("log", hosts, "so it is")
