"""The servers that write into one file are read as if each had a file of its own."""

from __future__ import annotations

import gzip
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import envelopes
import examples
import log_lines
from command import ldapdiag
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.log import envelope
from ldapdiag.evidence.log.line_envelopes import TAGGED
from ldapdiag.sources.gathering import gather
from ldapdiag.sources.logs.access_log import ScannedLogs, read
from ldapdiag.sources.logs.separating import LineRoutes, ServerLines
from log.reports import document_of
from several_servers import BY_PROCESS, FORMS, Line, Slapd, interleaved, slapds

pytestmark = pytest.mark.usefixtures("scanner")

HOSTS = ["ldap1", "ldap2"]
ONE = Slapd(host="ldap1", pid=3989, client="10.0.0.1")
TWO = Slapd(host="ldap2", pid=4100, client="10.0.0.2", first=1003, begin=350_000)
BESIDE = replace(TWO, host="ldap1")
"""A second process on the host of the first."""


def written(path: Path, form: str, lines: list[Line]) -> Path:
    path.write_bytes(b"".join(map(FORMS[form], lines)))
    return path


def numbers(reading: ScannedLogs) -> list[dict[str, Any]]:
    """Return the report on each stream alone, without its name."""
    reports = [document_of(replace(reading, streams=(stream,))) for stream in reading.streams]
    for report in reports:
        del report["streams"], report["files_not_logs"]
    return reports


def alone(folder: Path, form: str, *servers: list[Line]) -> list[dict[str, Any]]:
    return [numbers(read([str(written(folder / "alone", form, lines))]))[0] for lines in servers]


def by_first_time(reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(reports, key=repr)


@pytest.mark.parametrize("form", examples.some([*FORMS], 4))
@examples.every(3)
@given(one=slapds("ldap1", 3989, "10.0.0.1"), two=slapds("ldap2", 4100, "10.0.0.2"))
def test_two_hosts_in_one_file_are_two_logs(form: str, one: Slapd, two: Slapd) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        both = read([str(written(folder / "both", form, interleaved(one.lines(), two.lines())))])

        assert by_first_time(numbers(both)) == by_first_time(alone(folder, form, one.lines(), two.lines()))
        assert sorted(one.stream.server.removeprefix("host ").partition("/")[0] for one in both.streams) == HOSTS


@pytest.mark.parametrize("form", examples.some([*BY_PROCESS], 3))
@examples.every(3)
@given(one=slapds("ldap1", 3989, "10.0.0.1"), two=slapds("ldap1", 4100, "10.0.0.2"))
def test_two_processes_of_one_host_are_two_logs(form: str, one: Slapd, two: Slapd) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        both = read([str(written(folder / "both", form, interleaved(one.lines(), two.lines())))])

        assert by_first_time(numbers(both)) == by_first_time(alone(folder, form, one.lines(), two.lines()))


@pytest.mark.parametrize("form", examples.some([*BY_PROCESS], 3))
def test_a_process_that_begins_when_another_has_ended_is_a_restart(form: str, tmp_path: Path) -> None:
    first = ONE.lines()
    second = replace(ONE, pid=5000, begin=first[-1].micros + 1_000_000).lines()
    (only,) = read([str(written(tmp_path / "log", form, [*first, *second]))]).streams

    assert only.counted().stream.server_processes == 2
    assert only.stream.files[0].server is None

    beside = replace(BESIDE, connections=40).lines()
    both = read([str(written(tmp_path / "log", form, interleaved(first, second, beside)))])
    assert sorted(one.counted().stream.server_processes for one in both.streams) == [1, 2]
    assert by_first_time(numbers(both)) == by_first_time(alone(tmp_path, form, [*first, *second], beside))


@pytest.mark.parametrize(("other", "form"), [(TWO, "iso"), (BESIDE, "iso"), (TWO, "compose"), (TWO, "rfc3164")])
def test_each_server_goes_on_in_the_next_file(other: Slapd, form: str, tmp_path: Path) -> None:
    one, two = ONE.lines(), other.lines()
    every = interleaved(one, two)
    middle = len(every) // 2
    written(tmp_path / "syslog.1", form, every[:middle])
    written(tmp_path / "syslog", form, every[middle:])

    both = read([str(tmp_path)])

    assert [len(one.stream.files) for one in both.streams] == [2, 2]
    separate = tmp_path / "separate"
    separate.mkdir()
    assert by_first_time(numbers(both)) == by_first_time(alone(separate, form, one, two))


def test_a_host_that_is_alone_in_the_next_file_goes_on_there(tmp_path: Path) -> None:
    two = TWO.lines()
    late = replace(TWO, first=1100, begin=two[-1].micros + 60_000_000).lines()
    written(tmp_path / "syslog.1", "iso", interleaved(ONE.lines(), two))
    written(tmp_path / "syslog", "iso", late)

    both = read([str(tmp_path)])

    separate = tmp_path / "separate"
    separate.mkdir()
    assert by_first_time(numbers(both)) == by_first_time(alone(separate, "iso", ONE.lines(), [*two, *late]))


@pytest.mark.parametrize("opened", ["connections that are alike", "a compressed file"])
def test_two_servers_are_no_duplicates_of_each_other(opened: str, tmp_path: Path) -> None:
    """A load balancer connects to both in the same seconds."""
    one = ONE.lines()
    two = [replace(line, host="ldap2") for line in one]
    path = written(tmp_path / "log", "iso", interleaved(one, two))
    if opened == "a compressed file":
        path.write_bytes(gzip.compress(path.read_bytes()))

    both = read([str(path)])

    assert [len(stream.stream.duplicates) for stream in both.streams] == [0, 0]
    assert numbers(both) == 2 * alone(tmp_path, "iso", one)


@pytest.mark.parametrize("outer", ["compose", "kubectl_prefix", "syslog_iso", "syslog", "journal_json", "shipped_json"])
def test_389_in_an_envelope(outer: str, tmp_path: Path) -> None:
    names = {b"ldap-1": b"ldap-2", b"ds-0/ds": b"ds-1/ds", b"vm": b"wm", b"ds-0": b"ds-1"}
    one = log_lines.run(1, 12, every=0.5)
    two = log_lines.run(4, 15, every=0.5, client="10.0.0.2")
    wrapped = [envelopes.ENVELOPES[outer](log).splitlines(keepends=True) for log in (one, two)]
    name = next(name for name in names if name in wrapped[0][0])
    wrapped[1] = [line.replace(name, names[name], 1) for line in wrapped[1]]
    (tmp_path / "both").write_bytes(b"".join(line for pair in zip(*wrapped, strict=True) for line in pair))
    (tmp_path / "one").write_bytes(one)
    (tmp_path / "two").write_bytes(two)

    expected = [numbers(read([str(tmp_path / name)]))[0] for name in ("one", "two")]

    assert by_first_time(numbers(read([str(tmp_path / "both")]))) == by_first_time(expected)


def test_lines_of_other_programs_go_with_their_host(tmp_path: Path) -> None:
    banner = "@(#) $OpenLDAP: slapd 2.5.13 (Feb  8 2023) $"
    lost = replace(TWO, pid=1).lines()[0]
    extra = [
        replace(lost, micros=900_000, text="imuxsock lost 7 messages from pid 4100 due to rate-limiting"),
        replace(lost, micros=1_000_000, pid=9, host="ldap1", text="a cron job"),
    ]
    both = read([str(written(tmp_path / "log", "iso", interleaved(ONE.lines(), TWO.lines(), extra)))])
    assert {one.stream.server: one.counted().segment.lost for one in both.streams} == {"host ldap1": 0, "host ldap2": 7}

    parent = replace(lost, micros=BESIDE.begin - 1, host="ldap1", pid=4099, text=banner)
    both = read([str(written(tmp_path / "log", "iso", interleaved(ONE.lines(), BESIDE.lines(), [parent])))])
    versions = {one.stream.server: len(one.counted().segment.instances) for one in both.streams}
    assert versions == {"slapd[3989]": 0, "slapd[4100]": 1}


def test_a_file_of_many_servers_is_read_as_one_and_says_so_first(tmp_path: Path) -> None:
    servers = [replace(ONE, host=f"ldap{number}", begin=number) for number in range(17)]
    written(tmp_path / "log", "iso", interleaved(*(server.lines() for server in servers)))

    ran = ldapdiag("log", tmp_path / "log")

    first = " ".join(ran.out.decode().partition("\n\n")[0].split())
    assert first.startswith("17 servers write into ")
    assert "at most 16 are read separately; split it, for example by grep -Fw 'ldap0'" in first


@pytest.mark.parametrize("form", examples.some(["rfc3164", "journal_json", "kubectl", "rfc5424"], 4))
def test_a_server_that_no_sample_shows_is_noticed(form: str, tmp_path: Path) -> None:
    long = replace(ONE, connections=2500).lines()
    middle = len(long) * 3 // 16
    begin = long[middle].micros
    short = replace(TWO, connections=20, begin=begin).lines()
    again = replace(ONE, pid=5000, connections=100, begin=begin).lines()

    written(tmp_path / "log", form, interleaved(long, short))
    (stream,) = read([str(tmp_path / "log")]).streams
    (sentence,) = stream.counted().stream.unreliable
    assert re.match(r"2 servers write into \S+ \(ldap1\S* and ldap2\S*\), and the samples of it did not show", sentence)

    end = [replace(line, micros=line.micros + 10**10) for line in long[middle:]]
    written(tmp_path / "log", form, [*long[:middle], *again, *(replace(line, pid=5001) for line in end)])
    (stream,) = read([str(tmp_path / "log")]).streams
    assert stream.counted().stream.server_processes > 1
    assert stream.counted().stream.unreliable == ()


def test_the_command_counts_both_and_compares_them(tmp_path: Path) -> None:
    written(tmp_path / "log", "rfc3164", interleaved(ONE.lines(), TWO.lines()))

    report = ldapdiag("log", tmp_path / "log", "--by", "server", "--format", "json").report

    assert [one["server_processes"] for one in report["streams"]] == [1, 1]
    assert {one["name"] for one in report["fleet"]["servers"]} == {one["name"] for one in report["streams"]}
    assert report["unreliable"] == report["remarks"] == []


def test_diagnose_has_a_fact_for_each(tmp_path: Path) -> None:
    written(tmp_path / "log", "iso", interleaved(ONE.lines(), TWO.lines()))

    logs = [fact for fact in gather([str(tmp_path)]).facts if isinstance(fact, AccessLog)]

    assert sorted(log.streams[0].server for log in logs) == ["host ldap1", "host ldap2"]


@given(st.data())
def test_reads_of_any_size_give_the_same_lines(data: st.DataObject) -> None:
    lines = [FORMS["iso"](line) for line in interleaved(ONE.lines(), TWO.lines())]
    share = ServerLines(LineRoutes(by_writer={}, by_host={b"ldap1": 0, b"ldap2": 1}), 1)
    decoder = TAGGED["openldap-syslog-iso"].decoder(share())
    whole = b"".join(lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    parts = [whole[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    assert b"".join(map(decoder.feed, parts)) + decoder.finish() == b"".join(map(FORMS["iso"], TWO.lines()))


def test_a_line_without_an_end_goes_with_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelope, "LONGEST", 100)
    lines = [FORMS["iso"](line) for line in interleaved(ONE.lines(), TWO.lines())]
    lines[7] = lines[7].rstrip() + b"x" * 1000 + b"\n"
    whole = b"".join(lines)
    routes = LineRoutes(by_writer={}, by_host={b"ldap1": 0, b"ldap2": 1})
    shares = []
    for number in (0, 1):
        decoder = TAGGED["openldap-syslog-iso"].decoder(ServerLines(routes, number)())
        parts = (whole[at : at + 300] for at in range(0, len(whole), 300))
        shares.append(b"".join(map(decoder.feed, parts)) + decoder.finish())

    assert [share.splitlines(keepends=True) for share in shares] == [
        [line for line in lines if host in line] for host in (b" ldap1 ", b" ldap2 ")
    ]
