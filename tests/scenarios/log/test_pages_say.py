"""What the screen of `ldapdiag log` says beside its tables is on the pages, too."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import pytest

import log_lines
from command import ldapdiag
from conftest import CAPTURES

if TYPE_CHECKING:
    from pathlib import Path

FORMS = ("html", "markdown")


def said(form: str, *evidence: str | Path) -> str:
    """Return the words of a page: without tags and escapes, and white space as one blank."""
    text = ldapdiag("log", *evidence, "--format", form).text
    text = unescape(re.sub(r"<[^>]*>", " ", text)) if form == "html" else re.sub(r"\\(.)", r"\1", text)
    return " ".join(text.split())


@pytest.mark.parametrize("form", FORMS)
def test_unindexed_searches_of_an_errors_log(form: str) -> None:
    page = said(form, CAPTURES / "389ds" / "hostile-clients" / "errors")
    assert "Unindexed searches in the errors log" in page
    assert "(displayName=*?*)" in page
    assert "no search among them" not in page


@pytest.mark.parametrize("form", FORMS)
def test_refused_connections(form: str) -> None:
    page = said(form, CAPTURES / "openldap" / "fd-exhaustion" / "slapd.stderr.log")
    assert re.search(r"127\.0\.0\.70[ |]+DENIED[ |]+15", page)


@pytest.mark.parametrize("form", FORMS)
def test_passwords_without_tls_and_waits_and_of_which_server_the_peak_is(form: str) -> None:
    page = said(form, CAPTURES / "access-logs")
    assert "Passwords that were sent without TLS" in page
    assert "at once on one server" in page
    assert "of the time was spent waiting for a worker thread" in page


@pytest.mark.parametrize("form", FORMS)
def test_whole_seconds(form: str, tmp_path: Path) -> None:
    log = re.sub(rb"etime=[\d.]+", b"etime=0", log_lines.run(1, 9))
    (tmp_path / "access").write_bytes(re.sub(rb"(\d\d:\d\d:\d\d)\.\d{9}", rb"\1", log))
    assert "Durations in this log are whole seconds; shorter ones show as 0 s" in said(form, tmp_path / "access")


@pytest.mark.parametrize("form", FORMS)
def test_searches_without_result_take_no_0_seconds(form: str, tmp_path: Path) -> None:
    (tmp_path / "access").write_bytes(
        b"".join(line for line in log_lines.run(1, 9).splitlines(True) if b"RESULT" not in line)
    )
    page = said(form, tmp_path / "access")
    assert "18 without result" in page
    assert "none is logged as unindexed" not in page
    (first, *_) = ldapdiag("log", tmp_path / "access", "--format", "json").report["searches"]["shapes"]
    assert (first["p50_seconds"], first["p99_seconds"]) == (None, None)


def test_pages_are_searches_of_the_number_that_is_told(tmp_path: Path) -> None:
    lines = [f"{log_lines.stamp(0)} conn=1 fd=64 slot=64 connection from 10.0.0.1 to 10.0.0.2"]
    for op in range(1, 7):
        cookie = f"pr_idx=0 pr_cookie={-1 if op == 6 else 0}"
        lines += [
            f'{log_lines.stamp(op)} conn=1 op={op} SRCH base="dc=x" scope=2 filter="(cn=a*)" attrs=ALL',
            f"{log_lines.stamp(op)} conn=1 op={op} RESULT err=0 tag=101 nentries=9 etime=0.1 notes=A,P {cookie}",
        ]
    (tmp_path / "access").write_text("\n".join(lines) + "\n")
    page = said("html", tmp_path / "access")
    assert "6 of 6 were unindexed" in page
    assert "5 later pages of paged searches" in page


@pytest.mark.parametrize("form", ["text", *FORMS])
@pytest.mark.parametrize("scanner", ["python", "native"])
def test_a_silence_within_an_interval(form: str, scanner: str, tmp_path: Path) -> None:
    hours = log_lines.run(1, 3 * 720, every=5).splitlines(keepends=True)
    pause = re.compile(rb"\[20/Nov/2026:09:1[234]:")
    (tmp_path / "access").write_bytes(b"".join(line for line in hours if not pause.match(line)))
    page = " ".join(ldapdiag("log", tmp_path / "access", "--scanner", scanner, "--format", form).text.split())
    begin, end, length = "09:11:56", "09:15:00", "184 s"
    if form == "text":
        assert f"no answer from {begin} to {end} UTC ({length}) · usual in that hour: 36.0 per minute" in page
    else:
        assert "Times without an answer" in page
        assert all(time in page for time in (begin, end, length))
