from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.document import Document
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.evidence.server_log_formats import log_summary
from ldapdiag.evidence.server_log_formats.ds389_errors import FORMAT
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

NEW = "[20/Nov/2026:08:45:18.529737884 +0000] - ERR - accept_thread - "
ERAS = (
    NEW,
    "[20/Nov/2026:08:45:18 +0000] - ERR - accept_thread - ",
    "[20/Nov/2026:08:45:18 +0000] accept_thread - ",
    "[20/Nov/2026:08:45:18 -0400] - ",
    "[20/Nov/2026:08:45:18 -0400] ",
    "ds-1        | " + NEW,
)
FULL = "Not listening for new connections - too many fds open\n"
AGAIN = "Listening for new connections again\n"


class TestExhaustion:
    @pytest.mark.parametrize("prefix", ERAS)
    def test_is_read_in_every_version(self, prefix: str) -> None:
        (log,) = facts_of(NEW + "x\n" + (prefix + FULL) * 2 + prefix + AGAIN, form=FORMAT)
        (witness,) = log.exhaustion_messages
        assert (witness.meaning, witness.count) == (log_summary.NOT_LISTENING, 2)
        assert witness.first == (prefix + FULL).strip()
        assert log.recovered
        assert log.origin.not_understood == 0

    def test_is_not_over_while_the_last_word_is_that_it_does_not_listen(self) -> None:
        (log,) = facts_of(NEW + FULL + NEW + AGAIN + NEW + FULL)
        assert not log.recovered

    def test_ends_with_a_restart(self) -> None:
        (log,) = facts_of(
            NEW + FULL + "[20/Nov/2026:08:46:18 +0000] - INFO - main - 389-Directory/2.3.1 B2025 starting up\n"
        )
        assert (log.starts, log.recovered) == (1, True)

    def test_is_read_from_the_portable_runtime(self) -> None:
        (log,) = facts_of(
            "[20/Nov/2026:08:45:18 +0000] - PR_Accept() failed, Netscape Portable Runtime error -5971 "
            "(Process open FD table is full.)\n"
            "[20/Nov/2026:08:45:18 +0000] - PR_Accept() failed, Netscape Portable Runtime error -5961 (TCP reset)\n"
        )
        assert [(one.meaning, one.count) for one in log.exhaustion_messages] == [(log_summary.ACCEPT_FAILED, 1)]

    @pytest.mark.parametrize(
        "line",
        [
            f'[20/Nov/2026:08:45:18 +0000] - NOTICE - ldbm_back_search - Unindexed search: base="{FULL.strip()}"',
            f'{NEW}Unindexed search: filter="(cn=x\\0A{NEW}{FULL.strip()})" conn=1 op=1',
            f'[20/Nov/2026:08:45:18 +0000] f - "x - {FULL.strip()}',
            f"conn=1 {FULL.strip()}",
        ],
    )
    def test_is_not_what_a_client_wrote(self, line: str) -> None:
        (log,) = facts_of(NEW + "x\n" + line + "\n")
        assert log.exhaustion_messages == ()


class TestCaptures:
    def test_hostile_clients_testify_to_nothing(self, captures: Path) -> None:
        (log,) = facts_of((captures / "389ds" / "hostile-clients" / "errors").read_bytes(), path="ldap/errors")
        assert (log.identity.family, log.identity.version) == (Family.DS389, (2, 3, 1))
        assert (log.exhaustion_messages, log.starts, log.recovered) == ((), 1, False)
        assert log.listeners == (("*", 13389), ("*", 13636))
        assert log.origin.not_understood == 0

    def test_reads_an_old_log_whose_header_is_indented(self, corpus: Path) -> None:
        path = corpus / "public" / "accesslog" / "389-1.2.11-rhel6-insights.errors"
        (log,) = facts_of(path.read_bytes())
        assert (log.identity.version, log.starts, log.origin.not_understood) == ((1, 2, 11), 0, 0)


class TestOthers:
    def test_an_old_start_and_its_listeners(self) -> None:
        (log,) = facts_of(
            "[23/Apr/2015:23:12:31 -0400] - 389-Directory/1.2.11.15 B2014.300.2010 starting up\n"
            "[23/Apr/2015:23:12:32 -0400] - slapd started.  Listening on All Interfaces port 389 for LDAP requests\n"
            "[23/Apr/2015:23:12:32 -0400] - Listening on 192.0.2.1 port 636 for LDAPS requests\n"
            "garbage\n"
        )
        assert (log.identity.version, log.starts) == ((1, 2, 11), 1)
        assert log.listeners == (("*", 389), ("192.0.2.1", 636))
        assert log.origin.samples == ("garbage",)

    def test_the_log_of_another_product_is_passed_over(self) -> None:
        text = "\tSun-Java(tm)-System-Directory/6.3 B2008.0311.0058\n\n[03/Mar/2008:10:00:00 +0100] - Listening\n"
        document = Document(path="x", source=text.splitlines())
        assert FORMAT.read
        assert list(FORMAT.read(document)) == []
        assert "a product that is not supported" in document.notes[0]

    @pytest.mark.parametrize(
        "line",
        [
            '[20/Nov/2026:08:58:03 +0000] CONNECT instanceName="a" conn=0 from="192.0.2.1"',
            "[20/Nov/2026:08:56:46 +0000] category=JVM severity=NOTICE msgID=21 msg=x",
            "[07/17/2005:17:29:45 +0200] - CONNECT - INFO - conn=1",
            "[20/Nov/2026:08:58:03 +0000] conn=1 op=0 UNBIND",
        ],
    )
    def test_other_logs_with_such_times_are_not_it(self, line: str) -> None:
        assert recognise(head_of("errors", line.encode(), whole=True), (FORMAT,)) is None


@given(st.binary(max_size=300))
def test_no_bytes_crash_it(data: bytes) -> None:
    for text in (data, NEW.encode() + data, b"\t389-Directory/" + data):
        for log in facts_of(text, form=FORMAT):
            assert log.origin.lines == log.origin.understood + log.origin.not_understood
