from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.document import Document
from ldapdiag.evidence.formats import formats, head_of, recognise
from ldapdiag.evidence.host_formats import capture_times, descriptors, nstat, proc_limits, sysctl
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.evidence.format import Format

ALL = [reader.FORMAT for reader in (capture_times, descriptors, nstat, proc_limits, sysctl)]

NO_EVIDENCE = {"backendstat-list-indexes.offline.txt", "verify-index.txt"}
"""Captures of a tool that failed: no format knows them."""


class TestSysctl:
    def test_reads_the_firewall_of_the_ghost_case(self, captures: Path) -> None:
        path = captures / "389ds" / "ghosts-behind-a-firewall" / "sysctl-nf_conntrack.txt"
        (settings,) = facts_of(path.read_bytes())
        assert settings.number("net.netfilter.nf_conntrack_tcp_timeout_established") == 30
        assert (len(settings.values), settings.origin.not_understood) == (17, 0)

    def test_reads_bsd_and_passes_over_noise(self) -> None:
        (settings,) = facts_of(
            "sysctl: permission denied on key 'fs.protected_fifos'\nnet.inet.tcp.keepidle: 7200000\n"
            "net.ipv4.tcp_rmem = 4096\t131072\t6291456\nnet.ipv4.conf.eth0/1.forwarding = 1\n"
            "kernel.domainname = \nwhat\n"
        )
        assert settings.values == {
            "net.inet.tcp.keepidle": "7200000",
            "net.ipv4.tcp_rmem": "4096\t131072\t6291456",
            "net.ipv4.conf.eth0/1.forwarding": "1",
            "kernel.domainname": "",
        }
        assert (settings.number("net.ipv4.tcp_rmem"), settings.origin.not_understood) == (None, 1)

    def test_a_number_beyond_belief_is_none(self) -> None:
        (settings,) = facts_of(f"net.a.b = {'9' * 5000}\n")
        assert settings.number("net.a.b") is None


class TestNstat:
    TEXT = (
        "#kernel\n"
        "TcpActiveOpens                  24                 0.0\n"
        "TcpExtListenOverflows           5                  0.0\n"
    )

    def test_reads_counters(self) -> None:
        (counters,) = facts_of(self.TEXT + "?\n")
        assert counters.values == {"TcpActiveOpens": 24, "TcpExtListenOverflows": 5}
        assert (counters.origin.lines, counters.origin.not_understood) == (4, 1)


class TestProcessLimits:
    def test_reads_the_capture(self, captures: Path) -> None:
        (limits,) = facts_of((captures / "389ds" / "held-43" / "proc-limits.txt").read_bytes())
        assert (limits.open_files_soft, limits.open_files_hard, limits.origin.not_understood) == (20000, 20000, 0)
        (limits,) = facts_of((captures / "openldap" / "fd-exhaustion" / "proc-limits.txt").read_bytes())
        assert limits.open_files_soft == 128

    def test_says_when_it_holds_more_than_one_process(self) -> None:
        row = "Max open files            {0}                 {0}                files     \n"
        (limits,) = facts_of(row.format(1024) + row.format(4096) + "?\n")
        assert (limits.open_files_soft, limits.origin.not_understood) == (4096, 1)
        assert "more than one process" in limits.origin.notes[0]

    def test_unlimited_is_none(self) -> None:
        (limits,) = facts_of("Max open files            unlimited            unlimited            files     \n")
        assert (limits.open_files_soft, limits.open_files_hard) == (None, None)


class TestDescriptors:
    LISTING = (
        "total 0\nlr-x------ 1 root root 64 Nov 20 10:38 0 -> /dev/null\n"
        "lrwx------. 1 dirsrv dirsrv 64 2026-11-20 10:38 64 -> socket:[545182]\n"
        "lrwx------ 1 dirsrv dirsrv 64 Nov 20 10:38 7 -> /a b -> c\n"
        "ls: cannot read symbolic link '/proc/1/fd/9': Permission denied\n"
    )

    def test_reads_a_count_by_the_name_of_the_file_and_says_so(self, captures: Path) -> None:
        path = captures / "openldap" / "fd-exhaustion" / "proc-fd-count.txt"
        (count,) = facts_of(path.read_bytes(), path="ldap/proc-fd-count.txt")
        assert count.open == 128
        assert "known by the file's name (proc-fd-count.txt)" in count.origin.notes[0]

    def test_a_number_in_a_file_of_another_name_is_no_count(self) -> None:
        assert recognise(head_of("answer.txt", b"42\n", whole=True)) is None

    def test_counts_a_long_listing_under_any_name(self) -> None:
        (count,) = facts_of(self.LISTING)
        assert (count.open, count.origin.not_understood, count.origin.notes) == (3, 0, ())

    @pytest.mark.parametrize("text", ["0\n1\n10\n2\n", "0  1  10  2\n"])
    def test_counts_a_plain_listing_by_the_name_of_the_file(self, text: str) -> None:
        (count,) = facts_of(text, path="ldap/ls-proc-fd.txt")
        assert count.open == 4

    def test_a_listing_of_something_else_is_none(self) -> None:
        listing = b"lrwxrwxrwx 1 root root 7 Nov 20 10:38 lib -> usr/lib\n-rw-r--r-- 1 root root 7 Nov 20 10:38 12\n"
        assert recognise(head_of("fd.txt", listing, whole=True)) is None


class TestCaptureTimes:
    def test_reads_the_span_and_says_how_it_is_known(self, captures: Path) -> None:
        path = captures / "389ds" / "ghosts-behind-a-firewall" / "captured-at.txt"
        (times,) = facts_of(path.read_bytes(), path="ldap/captured-at.txt")
        assert times.span.start <= times.span.end
        assert times.span.start.replace(microsecond=0) == datetime(2026, 11, 20, 8, 57, 41, tzinfo=UTC)
        assert "Known by its name (captured-at.txt)" in times.origin.notes[0]

    @pytest.mark.parametrize(
        "text",
        [
            "2026-11-20T08:57:42Z",
            "2026-11-20 09:57:42+01:00",
            "2026-11-20T08:57:42,000000000+0000",
            "2026-11-20T08:57:42 Z",
        ],
    )
    def test_reads_what_date_prints(self, text: str) -> None:
        (times,) = facts_of(f"{text}\n\n", path="ldap/date.txt")
        assert times.span.start == times.span.end == datetime(2026, 11, 20, 8, 57, 42, tzinfo=UTC)

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("times.txt", "2026-11-20T08:57:42Z"),
            ("taken.txt", "2026-11-20T08:57:42"),
            ("date.txt", "2026-11-20T08:57:42Z x"),
        ],
    )
    def test_nothing_else_is_one(self, name: str, text: str) -> None:
        assert recognise(head_of(name, text.encode(), whole=True)) is None

    def test_counts_a_line_that_is_no_time(self) -> None:
        (times,) = facts_of("2026-11-20T08:57:42Z\n2026-13-20T08:57:42Z\n", form=capture_times.FORMAT)
        assert times.origin.not_understood == 1


class TestAll:
    @pytest.mark.parametrize("form", ALL, ids=lambda form: form.name)
    @given(data=st.binary(max_size=300))
    def test_no_bytes_crash_any(self, form: Format, data: bytes) -> None:
        document = Document(path="x", source=data.decode("latin-1").split("\n"))
        assert form.read
        list(form.read(document))
        assert 0 <= document.missed <= document.seen
        form.recognises(head_of("captured-fd", data, whole=True))

    def test_no_capture_is_recognised_twice(self, captures: Path) -> None:
        for path in sorted(path for path in captures.rglob("*") if path.suffix in {".ldif", ".txt", ".log", ".conf"}):
            head = head_of(path.name, path.read_bytes()[: 1 << 16], whole=False)
            known = 0 if path.name in NO_EVIDENCE else 1
            assert len([form.name for form in formats() if form.recognises(head)]) == known, path
