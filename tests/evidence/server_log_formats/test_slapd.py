from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.evidence.server_log_formats import log_summary
from ldapdiag.evidence.server_log_formats.slapd import FORMAT
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.evidence.server_log import ServerLog

PREFIXES = (
    "6b00111c.31b0d75a 0x7f9c26e20200 ",
    "6807a029 ",
    "Nov 20 09:21:35 vm slapd[25675]: ",
    "Nov  2 09:21:35 vm slapd[25675]: ",
    "<167>Sep 7 07:40:20 vma-prdadm-64 slapd[1722022]: ",
    "2026-11-20T08:54:04.346927+00:00 vm slapd[3989]: ",
    "<167>1 2026-11-20T08:54:04.346927+00:00 vm slapd 3989 - -  ",
    "<167>1 2026-11-20T08:54:04.346927Z vm slapd 3989 - [meta x] ",
    "Nov 20 09:21:35 vm slapd[25675]: [ID 848112 local4.debug] ",
    "openldap        | 5b2c666c ",
    "openldap-1      | 6430477c.296bfb2b 0x7fbd5d4a4640 ",
    "openldap-stack-ha 6430477c.296bfb2b 0x7fbd5d4a4640 ",
    "[pod/openldap-0/openldap] 6430477c.296bfb2b 0x7fbd5d4a4640 ",
    "2026-11-20T08:54:04.346927Z stderr F 6430477c.296bfb2b 0x7fbd5d4a4640 ",
    "[17-01-2019 09:04:47] slapd debug  ",
    "",
)
PREFIX = PREFIXES[0]
EMFILE = "daemon: accept(8) failed errno=24 (Too many open files)"
BEYOND = "daemon: 1024 beyond descriptor table size 1024"
DENIED = "fd=1023 DENIED from unknown (192.0.2.7)"
ACCEPT = "conn=1000 fd=13 ACCEPT from IP=127.0.0.70:59019 (IP=127.0.0.1:13390)"
HIGHER = "conn=2000 fd=2000 ACCEPT from IP=[2001:db8::1]:59019 (IP=[::]:636)"
START = "slapd starting"


def log_of(*messages: str, prefix: str = PREFIX) -> ServerLog:
    (log,) = facts_of("".join(f"{prefix}{message}\n" for message in messages), form=FORMAT)
    return log  # type: ignore[no-any-return]  # the one fact of this format


def counted(log: ServerLog) -> dict[str, int]:
    return {one.meaning: one.count for one in log.exhaustion_messages}


class TestPrefixes:
    @pytest.mark.parametrize("prefix", PREFIXES)
    def test_messages_are_read_after_each(self, prefix: str) -> None:
        banner = "@(#) $OpenLDAP: slapd 2.5.13+dfsg-5 (Feb  8 2023 01:56:12) $"
        log = log_of(banner, START, ACCEPT, EMFILE, BEYOND, DENIED, prefix=prefix)
        assert counted(log) == {log_summary.ACCEPT_FAILED: 1, log_summary.BEYOND_TABLE: 1, log_summary.DENIED: 1}
        assert log.identity.version == (2, 5, 13)
        assert (log.starts, log.listeners) == (1, (("127.0.0.1", 13390),))
        assert log.origin.not_understood == 0

    @pytest.mark.parametrize("prefix", PREFIXES)
    @pytest.mark.parametrize("message", [ACCEPT, DENIED, "conn=1 op=5 SEARCH RESULT tag=101 err=0 nentries=1 text="])
    def test_each_is_recognised(self, prefix: str, message: str) -> None:
        assert recognise(head_of("x.log", f"{prefix}{message}\n".encode(), whole=True)) is FORMAT

    @pytest.mark.parametrize(
        "line",
        [
            "Nov 20 09:21:35 vm smbd[1]: fd=1023 DENIED from unknown (192.0.2.7)",
            "Nov 20 09:21:35 vm last message repeated 2 times",
            'conn=2 op=5 SRCH base="dc=x" scope=0 filter="(objectClass=*)" attrs=ALL',
        ],
    )
    def test_other_programs_are_not_slapd(self, line: str) -> None:
        assert recognise(head_of("x.log", line.encode(), whole=True), (FORMAT,)) is None


class TestDenied:
    def test_means_exhaustion_when_no_connection_had_a_higher_descriptor(self) -> None:
        assert counted(log_of(START, ACCEPT, DENIED, DENIED)) == {log_summary.DENIED: 2}

    def test_means_a_rule_when_higher_descriptors_were_in_use(self) -> None:
        log = log_of(START, DENIED, HIGHER)
        assert log.exhaustion_messages == ()
        assert "DENIED by a rule in hosts.deny, not for lack of descriptors: 1." in log.origin.notes[0]

    @pytest.mark.parametrize(
        ("descriptor", "last"), [(127, True), (1023, True), (65534, True), (999, True), (13, False), (200, False)]
    )
    def test_means_a_rule_when_the_descriptor_is_below_no_limit(self, descriptor: int, last: bool) -> None:  # noqa: FBT001  a truth
        log = log_of(START, ACCEPT, f"fd={descriptor} DENIED from unknown (192.0.2.7)")
        assert bool(log.exhaustion_messages) == last

    def test_is_judged_by_the_life_of_the_server_it_belongs_to(self) -> None:
        log = log_of(START, ACCEPT, DENIED, START, HIGHER)
        assert counted(log) == {log_summary.DENIED: 1}
        assert (log.starts, log.recovered) == (2, True)

    def test_means_exhaustion_when_libwrap_could_not_open_its_rules(self) -> None:
        warning = "warning: cannot open /etc/hosts.allow: Too many open files"
        assert counted(log_of(HIGHER, warning, DENIED)) == {log_summary.DENIED: 1}

    def test_counts_what_rsyslog_has_folded(self) -> None:
        assert counted(log_of(DENIED, f"message repeated 14 times: [ {DENIED}]")) == {log_summary.DENIED: 15}


class TestOthers:
    def test_lines_of_no_grammar_are_counted(self) -> None:
        log = log_of("what is this", "\tDebian OpenLDAP Maintainers", "", "=> mdb_equality_candidates (uid)", prefix="")
        assert (log.origin.lines, log.origin.samples) == (4, ("what is this",))

    def test_a_listener_that_is_a_path_has_no_port(self) -> None:
        assert log_of("conn=1 fd=13 ACCEPT from PATH=/run/ldapi (PATH=/run/ldapi)").listeners == ()


class TestHostileText:
    @pytest.mark.parametrize("witness", [EMFILE, BEYOND, DENIED, START])
    @pytest.mark.parametrize(
        "carrier",
        [
            'conn=1 op=1 SRCH base="{0}" scope=2 deref=0 filter="({0})"',
            'conn=1 op=1 BIND dn="cn=x {1}{0}',
            'Entry (uid={0},dc=x), attribute "{0}" not allowed',
            "<= mdb_filter {0}",
            "connection_read(16): {0}",
            "fd=13 DENIED from {0} (x",
        ],
    )
    def test_testifies_to_nothing(self, carrier: str, witness: str) -> None:
        for prefix in PREFIXES:
            log = log_of(ACCEPT, carrier.format(witness, prefix), prefix=prefix)
            assert (log.exhaustion_messages, log.starts) == ((), 0)

    def test_names_no_listener(self) -> None:
        log = log_of(f'conn=1 op=1 SRCH base="{ACCEPT}" filter="(cn= ACCEPT from IP=1.2.3.4:5 (IP=9.9.9.9:389)')
        assert log.listeners == ()


class TestCaptures:
    @pytest.mark.parametrize("name", ["slapd.stderr.log", "syslog-traditional.log"])
    def test_both_tellings_show_the_15_that_were_refused(self, captures: Path, name: str) -> None:
        folder = captures / "openldap" / "fd-exhaustion"
        refused = json.loads((folder / "leak.json").read_text())["counts"]["EOFError()"]
        (log,) = facts_of((folder / name).read_bytes(), path=f"ldap/{name}")
        (witness,) = log.exhaustion_messages
        assert (witness.meaning, witness.count) == (log_summary.DENIED, refused)
        assert witness.first.endswith("fd=127 DENIED from unknown (127.0.0.70)")
        assert witness.first <= witness.last
        assert (log.identity.version, log.starts, log.listeners) == ((2, 5, 13), 1, (("127.0.0.1", 13390),))
        assert (log.recovered, log.origin.not_understood) == (False, 0)

    @pytest.mark.parametrize("name", ["syslog-iso.head40.log", "syslog-rfc5424.head40.log"])
    def test_other_formats_of_rsyslog_read_the_same(self, captures: Path, name: str) -> None:
        (log,) = facts_of((captures / "openldap" / "held-42" / name).read_bytes())
        assert (log.identity.version, log.starts, log.origin.not_understood) == ((2, 5, 13), 1, 0)
        assert log.listeners == (("*", 13390),)

    @pytest.mark.parametrize(
        ("name", "starts", "misread"),
        [
            ("openldap-2.3.30-syslog-2007.log", 1, 0),
            ("openldap-2.3-samba-2007.log", 0, 1),
            ("openldap-2.4-bdb-notindexed-fragments.log", 0, 0),
            ("openldap-2.4-debug-notindexed.log", 0, 0),
            ("openldap-2.4-eea-cases.txt", 0, 0),
            ("openldap-2.4-fail2ban.log", 0, 0),
            ("openldap-2.4-ossec.log", 0, 0),
            ("openldap-2.5-journal-cat-reversed.log", 0, 0),
            ("openldap-2.6.8-bitnami-debug.log", 1, 0),
        ],
    )
    def test_public_logs_hold_no_exhaustion(self, corpus: Path, name: str, starts: int, misread: int) -> None:
        (log,) = facts_of((corpus / "public" / "accesslog" / name).read_bytes(), path=f"x/{name}")
        assert (log.exhaustion_messages, log.starts, log.origin.not_understood) == ((), starts, misread)


@given(st.binary(max_size=300))
def test_no_bytes_crash_it(data: bytes) -> None:
    for start in (b"", PREFIX.encode(), b"Nov 20 09:21:35 vm slapd[1]: ", b"conn=1 fd=", b"fd=1 DENIED from "):
        (log,) = facts_of(start + data, form=FORMAT)
        assert log.origin.lines == log.origin.understood + log.origin.not_understood
