"""Two servers that write into one syslog are noticed, and one that was started again is not taken for two."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.syslog import ISO_SYSLOG, RFC5424, TRADITIONAL
from ldapdiag.sources.logs.access_log import read
from ldapdiag.sources.logs.interleaving import concurrent_writers, remark

pytestmark = pytest.mark.usefixtures("scanner")

LINE = {
    TRADITIONAL.name: "Nov 20 08:54:{second:02} {host} slapd[{pid}]: {message}\n",
    ISO_SYSLOG.name: "2026-11-20T08:54:{second:02}.460651+00:00 {host} slapd[{pid}]: {message}\n",
    RFC5424.name: "<167>1 2026-11-20T08:54:{second:02}.460651+00:00 {host} slapd {pid} - - {message}\n",
}


def log(dialect: str, *told: tuple[str, int, str]) -> bytes:
    lines = [
        LINE[dialect].format(second=number % 60, host=host, pid=pid, message=message)
        for number, (host, pid, message) in enumerate(told)
    ]
    return "".join(lines).encode()


def beside(dialect: str, *told: tuple[str, int]) -> int:
    data = log(dialect, *((host, pid, 'conn=1 op=1 SRCH attr="cn"') for host, pid in told))
    return len(concurrent_writers(named(dialect), [data]))


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


def test_what_a_client_or_another_program_writes_is_no_server() -> None:
    lie = (
        r'conn=1 op=1 SRCH base="" scope=2 deref=0 filter="(cn=\0ANov 20 08:54:01 vm slapd[4100]: conn=2 op=1 UNBIND)"'
    )
    data = log(
        TRADITIONAL.name, ("vm", 3989, lie), ("vm", 1, "hello"), ("vm", 3989, lie), ("vm", 1, "x conn=1 op=1 UNBIND")
    )

    assert concurrent_writers(named(TRADITIONAL.name), [data]) == ()


def test_two_slapds_in_one_syslog_are_told_and_one_is_not(corpus: Path, tmp_path: Path) -> None:
    own = (corpus / "2-openldap-unindexed" / "syslog-traditional.log").read_bytes().splitlines(keepends=True)
    (tmp_path / "one").write_bytes(b"".join(own))
    (only,) = read([str(tmp_path / "one")]).streams
    assert only.notes == []

    pid = own[0].partition(b"slapd[")[2].partition(b"]")[0]
    other = [line.replace(b"slapd[" + pid, b"slapd[4100") for line in own]
    (tmp_path / "one").write_bytes(b"".join(line for pair in zip(own, other, strict=True) for line in pair))
    (both,) = read([str(tmp_path / "one")]).streams

    process = f"slapd[{pid.decode()}]"
    (note,) = both.notes
    assert note.startswith(f"2 servers write into {tmp_path.name}/one (")
    assert process in note
    assert "slapd[4100]" in note
    assert note.endswith("until then the figures of connections are wrong")


def test_a_command_is_shown_only_where_it_is_harmless_to_copy() -> None:
    pids = ((b"vm", b"slapd[39]"), (b"vm", b"slapd[41]"))
    assert r"(slapd[39] and slapd[41]); split it, for example by grep 'slapd\[39\]': " in remark("log", pids)

    hosts = ((b"a';reboot;'\x1b", b"slapd[1]"), (b"b", b"slapd[1]"))
    assert r"(a';reboot;'\x1b and b); split it: " in remark("log", hosts)
