"""The results of 389-ds: the durations of each era, notes, accounts, pages, and what is no number."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.log import ds389_text
from ldapdiag.evidence.log.connection import OperationResult
from ldapdiag.evidence.log.operation_kinds import BIND, SEARCH, UNKNOWN
from log.calls import calls_of

STAMP, TIME = b"[20/Nov/2026:08:45:20.751921248 +0000] ", 1795164320_751921248
ANSWERED = b"err=0 tag=101 nentries=1"


def said(message: bytes) -> list[tuple]:
    """Return the calls for one line."""
    return calls_of(ds389_text.scan, STAMP + message + b"\n")


def result(tail: bytes, answer: bytes = ANSWERED) -> tuple:
    """Return etime, wait, optime, notes, account, page and pages_end of a result line."""
    [call] = said(b"conn=7 op=1 RESULT " + answer + tail)
    name, number, result, *paging = call
    assert (name, number, result[:2]) == ("result", 7, (1, TIME))
    page, (_, pages_end) = paging or (None, ("pages_end", False))
    return result.etime, result.wait, result.optime, result.notes, result.account, page, pages_end


TIMINGS = {
    b" etime=0": (0, None, None),
    b" etime=30": (30_000_000_000, None, None),
    b" etime=0.000240": (240_000, None, None),
    b" etime=0.000554371": (554_371, None, None),
    b" etime=30.000554371": (30_000_554_371, None, None),
    b" wtime=0.000091024 optime=0.000464531 etime=0.000554371": (554_371, 91_024, 464_531),
    b" wtime=2.000091024 optime=0.000464531 etime=2.000554371": (2_000_554_371, 2_000_091_024, 464_531),
    b" wqtime=0.000000005 wtime=0.000000007 optime=0.000000001 writetime=0.000000002 etime=0.000000015": (15, 7, 1),
    b" wtime=0.000000007 wqtime=0.000000005 optime=0.000000001 etime=0.000000015": (15, 7, 1),
    b" wqtime=0.000000005 optime=0.000000001 etime=0.000000015": (15, 5, 1),
    b" wtime=-0.000000007 optime=-0.1 etime=-1.000000015": (0, 0, 0),
    b"": (None, None, None),
}


@pytest.mark.parametrize("tail", TIMINGS)
def test_the_timings_of_each_era(tail: bytes) -> None:
    assert result(tail)[:3] == TIMINGS[tail]


@pytest.mark.parametrize(
    "tail",
    [
        b"e9 etime=1",
        b" etime=soon",
        b" etime=1e999",
        b" etime=",
        b" etime=0.1.2",
        b" etime=9999999999",
        b" wtime=1e9 etime=1",
        b" optime=0.x etime=1",
        b" wtime=0.000091024 optime=0.000464531 etime=0.0005543711234",
        b" etime=1 wbusy=1e9/16 wqdepth=0",
        b" etime=1 wbusy=1/16 wqdepth=9999999999",
    ],
)
def test_a_result_with_what_is_no_number_is_misread(tail: bytes) -> None:
    line = b"conn=7 op=1 RESULT " + ANSWERED + tail
    [(call, text)] = said(line)
    assert call == "misread"
    assert text.endswith(line)


def test_busy_workers_are_read_from_results() -> None:
    line = b"conn=7 op=1 RESULT " + ANSWERED + b" wtime=0.0001 optime=0.001 etime=0.0011 wbusy=8/16 wqdepth=3 notes=A"
    busy, answered = said(line)
    assert busy == ("workers_busy", TIME, 8, 16, 3)
    assert answered == (
        "result",
        7,
        OperationResult(1, TIME, SEARCH, 0, 1_100_000, 100_000, 1_000_000, 1, b"A", None),
        None,
        ("pages_end", False),
    )


NOTES = {
    b" etime=0 notes=U": (b"U", None, False),
    b' etime=0.100000000 notes=A details="Fully Unindexed Filter"': (b"A", None, False),
    b' etime=0.100000000 notes=P,A details="Paged Search,Fully Unindexed Filter" pr_idx=0 pr_cookie=0': (
        b"P,A", 0, False,
    ),
    b' etime=0.100000000 notes=U,P details="Partially Unindexed Filter,Paged Search" pr_idx=3 pr_cookie=-1 sid="x"': (
        b"U,P", 3, True,
    ),
    b' etime=0.100000000 sid="a b" notes=P,A details="Paged Search" pr_idx=0 pr_cookie=-1 ': (b"P,A", 0, True),
    b' etime=0.100000000 sid="a b" pr_idx=1 pr_cookie=0': (b"", 1, False),
    b' etime=0 notes=F details="Filter Element Missing From Schema" - Invalid attribute in filter - results may not be'
    b" complete.": (b"F", None, False),
    b" etime=0 csn=50f0 notes=A": (b"", None, False),
    b" etime=0 - notes=A pr_idx=0 pr_cookie=-1": (b"", None, False),
    b' etime=0 sid="x" notes=A': (b"", None, False),
    b' etime=0 sid=" pr_idx=0 pr_cookie=-1" - text': (b"", None, False),
}  # fmt: skip


@pytest.mark.parametrize("tail", NOTES)
def test_notes_are_read_where_the_server_puts_them(tail: bytes) -> None:
    *_, notes, account, page, pages_end = result(tail)
    assert (notes, page, pages_end) == NOTES[tail]
    assert account is None


BOUND = {
    b' etime=0.100000000 dn="uid=joe,dc=x"': b"uid=joe,dc=x",
    b' etime=0 dn=""': b"",
    b' etime=0 notes=M details="Multi-factor Authentication" dn="uid=frank,dc=x"': b"uid=frank,dc=x",
    b' etime=0 sid="x" dn="uid=joe,dc=x"': b"uid=joe,dc=x",
    b' etime=0 sid="dn="cn=root"" dn="uid=joe,dc=x"': b"uid=joe,dc=x",
    b' etime=0 - text dn="cn=root"': None,
    b", SASL bind in progress": None,
    b" etime=0": None,
}


@pytest.mark.parametrize("tail", BOUND)
def test_a_bind_that_succeeded_names_who_is_bound(tail: bytes) -> None:
    assert result(tail, b"err=0 tag=97 nentries=0")[4] == BOUND[tail]


def test_a_failed_bind_has_no_account() -> None:
    assert result(b' etime=0 dn="cn=root"', b"err=49 tag=97 nentries=0")[4] is None


def test_a_result_keeps_its_kind_error_and_entries() -> None:
    line = b"conn=7 op=1 RESULT err=4 tag=101 nentries=500 etime=1"
    assert said(line) == [
        (
            "result",
            7,
            OperationResult(1, TIME, SEARCH, 4, 1_000_000_000, None, None, 500, b"", None),
            None,
            ("pages_end", False),
        ),
    ]
    assert said(line.replace(b"101", b"97"))[0][2].kind == BIND
    assert said(line.replace(b"101", b"115"))[0][2].kind == UNKNOWN
