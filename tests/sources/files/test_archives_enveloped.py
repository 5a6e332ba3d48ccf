"""A log is read within the lines of a container runtime, the journal or syslog as if they were not there."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import envelopes
import examples
import log_lines
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.log.envelopes import ENVELOPES, envelopes_of
from ldapdiag.sources.gathering import gather
from ldapdiag.sources.logs.access_log import ScannedLogs, read
from log.cuts import content_of

HERE = Path(__file__).parents[2]
LONG = (
    log_lines.stamp(9)
    + ' conn=90 op=1 SRCH base="dc=x" scope=2 filter="(|'
    + "(uid=abcdefgh)" * 3000
    + ')" attrs=ALL\n'
    + log_lines.stamp(9)
    + " conn=90 op=1 RESULT err=0 tag=101 nentries=1 etime=0.000200000\n"
)
LOGS = {
    "389-text": log_lines.run(1, 20) + LONG.encode() + log_lines.run(21, 30),
    "ping-text": b"".join((HERE / "captures/unboundid/access").read_bytes().splitlines(keepends=True)[:80]),
    "ping-json": b"".join((HERE / "captures/unboundid/access.json").read_bytes().splitlines(keepends=True)[:80]),
    "openldap-stderr": b"".join(
        b"6b000aac.1b749727 0x7f6ced7fe6c0 conn=%d op=%d SRCH base="
        b'"dc=x" scope=2 deref=0 filter="(cn=a)"\n'
        % (conn, op)
        + b"6b000aac.1b749728 0x7f6ced7fe6c0 conn=%d op=%d SEARCH RESULT tag=101 err=0 nentries=1 text=\n" % (conn, op)
        for conn in range(1000, 1020)
        for op in range(3)
    ),
}

BROKEN = (b'{"log":"a', b'{"MESSAGE":[1,', b"\n", b"\0" * 9, b"[" * 9, b"2026-11-20T09:00:00Z stdout P x\n")


TOKENS = (b'"', b"\\", b"{", b"}", b"\n{", b"\n\t{", b"},", b"\n\n", b"__CURSOR=")


def reading(path: Path, log: bytes) -> ScannedLogs:
    path.write_bytes(log)
    return read([str(path)])


@pytest.mark.usefixtures("scanner")
@pytest.mark.parametrize(("name", "envelope"), examples.some([*product(LOGS, envelopes.ENVELOPES)], 5))
def test_a_log_is_the_same_in_each_envelope(name: str, envelope: str, tmp_path: Path) -> None:
    (plain,) = reading(tmp_path / "plain", LOGS[name]).streams
    (within,) = reading(tmp_path / "within", envelopes.ENVELOPES[envelope](LOGS[name])).streams

    assert content_of(within.counts.finished()) == content_of(plain.counts.finished())
    if envelope in envelopes.READ_FROM_THE_BEGINNING:
        assert within.stream.end <= plain.stream.end
    else:
        assert within.stream.end == plain.stream.end
    assert within.notes == plain.notes == []


@pytest.mark.parametrize("outer", ["docker_json", "cri", "compose", "journal_json"])
def test_envelopes_may_be_in_envelopes(outer: str, tmp_path: Path) -> None:
    log = LOGS["389-text"]
    (plain,) = reading(tmp_path / "plain", log).streams
    (within,) = reading(tmp_path / "within", envelopes.ENVELOPES[outer](envelopes.syslog_iso(log))).streams

    assert content_of(within.counts.finished()) == content_of(plain.counts.finished())


def test_diagnose_reads_it_too(tmp_path: Path) -> None:
    (tmp_path / "ldap-json.log").write_bytes(envelopes.docker_json(LOGS["openldap-stderr"]))

    (log,) = (fact for fact in gather([str(tmp_path)]).facts if isinstance(fact, AccessLog))

    assert log.segment.lines == LOGS["openldap-stderr"].count(b"\n")
    assert log.origin.not_understood == 0


def test_a_line_feed_in_a_message_begins_no_line(tmp_path: Path) -> None:
    record = b'{"__REALTIME_TIMESTAMP":"1795165200000000","_HOSTNAME":"vm","SYSLOG_IDENTIFIER":"slapd","MESSAGE":'
    genuine = record + b'"conn=1 op=1 UNBIND"}\n'
    forged = record + b'"conn=1 op=2 SRCH base=\\"\\n2026-11-20T09:00:00Z vm slapd[7]: conn=2 op=1 UNBIND"}\n'

    (stream,) = reading(tmp_path / "log", genuine + forged + genuine).streams

    assert (stream.counts.finished().lines, stream.counts.finished().misread) == (3, 1)


@pytest.mark.parametrize("envelope", ENVELOPES, ids=lambda one: one.name)
@given(
    st.lists(
        st.binary(max_size=60) | st.sampled_from([b'{"log":"a', b'{"MESSAGE":[1,', b"\n", b"\0" * 9, b"[" * 9, *TOKENS])
    )
)
def test_no_bytes_crash_a_decoder_and_cuts_have_no_effect(envelope, parts: list[bytes]) -> None:
    whole, pieces = envelope.decoder(), envelope.decoder()

    expected = whole.feed(b"".join(parts)) + whole.finish()

    assert b"".join(map(pieces.feed, parts)) + pieces.finish() == expected


@pytest.mark.parametrize("length", [2, 1 << 40, (1 << 64) - 1])
def test_a_field_of_the_export_format_that_is_cut_or_says_a_false_length_is_no_record(length: int) -> None:
    (export,) = [one for one in ENVELOPES if one.name == "journal-export"]
    entry = b"__CURSOR=a\n__REALTIME_TIMESTAMP=1795165200000000\nMESSAGE\n" + length.to_bytes(8, "little") + b"x"
    assert export.piece(entry) is None


@given(st.binary(max_size=300))
def test_no_head_crashes_the_search_for_envelopes(head: bytes) -> None:
    for envelope in envelopes_of(head):
        assert envelope.carries(head)


def test_truncated_and_forged_records_are_lines_that_are_not_understood(tmp_path: Path) -> None:
    log = envelopes.docker_json(LOGS["openldap-stderr"])
    broken = (
        log
        + b'{"log":"6b000aac conn=1 op=\n{"log":1e999}\n{"log":'
        + b"[" * 100_000
        + b"\n"
        + b"\0" * 100
        + b"\n"
        + log
    )

    (stream,) = reading(tmp_path / "log", broken).streams

    assert stream.counts.finished().misread == 4
    assert stream.counts.finished().lines == 2 * LOGS["openldap-stderr"].count(b"\n") + 4
