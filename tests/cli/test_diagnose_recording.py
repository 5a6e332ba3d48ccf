"""diagnose --record: the report is the same, the summary is added, and a failure of that changes no exit code."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from command import INCIDENT, diagnose, ldapdiag
from histories import run, server
from ldapdiag.sources.history.recorded_runs import read
from ldapdiag.sources.history.recording import Bounds, record

if TYPE_CHECKING:
    from pathlib import Path


def test_the_report_is_the_same_until_there_are_earlier_runs(tmp_path: Path) -> None:
    plain, path = diagnose(INCIDENT), tmp_path / "history"
    first, second = diagnose(INCIDENT, "--record", path), diagnose(INCIDENT, "--record", path, "--format", "json")
    assert (first.code, first.out, first.err) == (plain.code, plain.out, plain.err)
    (evidence,) = [one for one in second.report["evidence"] if one["fact"] == "history"]
    assert (evidence["origin"], evidence["lines"]) == (str(path), 2)  # one run, one server
    assert second.report["findings"] == diagnose(INCIDENT, "--format", "json").report["findings"]


@pytest.mark.parametrize("options", [["--fail-on", "never"], ["--strict"], []])
def test_the_exit_code_is_recorded(tmp_path: Path, options: list[str]) -> None:
    ran = diagnose(INCIDENT, "--record", tmp_path / "history", *options)
    assert [one.exit_code for one in read(tmp_path / "history").runs] == [ran.code]


def test_an_option_bounds_the_history(tmp_path: Path) -> None:
    record(tmp_path / "history", run(0), Bounds())  # two years before the incident
    assert diagnose(INCIDENT, "--record", tmp_path / "history", "--record-days", "1000").err == b""
    assert len(read(tmp_path / "history").runs) == 2
    assert diagnose(INCIDENT, "--record", tmp_path / "history").err == b""
    assert len(read(tmp_path / "history").runs) == 1


@pytest.mark.parametrize("name", ["notes.txt", "folder", "link", "no/history"])
def test_a_file_that_cannot_be_a_history_ends_the_command_before_it_collects(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").write_text("accounts")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    ran = diagnose(INCIDENT, "--record", tmp_path / name)
    assert (ran.code, ran.out, len(ran.complaints)) == (2, b"", 1)
    assert f"cannot record in {tmp_path / name}: " in ran.complaints[0]
    assert (tmp_path / "notes.txt").read_text() == "accounts"
    assert not (tmp_path / "elsewhere").exists()


def test_a_selection_of_checks_is_not_recorded(tmp_path: Path) -> None:
    ran = diagnose(INCIDENT, "--record", tmp_path / "history", "--check", "idle-timeout")
    assert (ran.code, ran.out, len(ran.complaints)) == (2, b"", 1)
    assert "omit one of them" in ran.complaints[0]


def test_evidence_without_a_time_is_judged_and_not_recorded(tmp_path: Path) -> None:
    ran = diagnose(INCIDENT / "ldap" / "ss-tiepmnaO.txt", "--record", tmp_path / "history")
    assert (ran.code, bool(ran.out)) == (diagnose(INCIDENT / "ldap" / "ss-tiepmnaO.txt").code, True)
    assert "not recorded: no evidence about a directory server shows its time" in ran.complaints[-1]
    assert not (tmp_path / "history").exists()


def test_no_evidence_leaves_no_history(tmp_path: Path) -> None:
    ran = diagnose("ldap://127.0.0.1:1", "--record", tmp_path / "history")
    assert (ran.code, ran.out) == (2, b"")
    assert not (tmp_path / "history").exists()


def test_a_failure_to_record_changes_no_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "history"
    record(path, run(0, server(0, taken=datetime(2026, 11, 21, 12, tzinfo=UTC))), Bounds())  # a day after the incident
    ran = diagnose(INCIDENT, "--record", path, "--record-days", "1")
    assert ran.code == 1
    assert "268 of the 270 connections from app1 no longer exist on app1" in ran.text
    assert "cannot record" in ran.complaints[-1]


SECRET = "correct-horse-battery"  # noqa: S105  what must not be found


def test_no_password_reaches_the_file(tmp_path: Path) -> None:
    """Passwords of the configuration, of a BIND with a password in place of the DN, of a search, of the options."""
    folder = tmp_path / "ds1"
    shutil.copytree(INCIDENT.parent / "audit" / "ds1", folder)
    with (folder / "access").open("a") as log:
        for number in range(40):
            conn = f"[20/Nov/2026:08:45:2{number % 5}.123456789 +0000] conn={900 + number}"
            log.write(
                f"{conn} fd=70 slot=70 connection from 127.0.0.11 to 127.0.0.1\n"
                f'{conn} op=0 BIND dn="cn={SECRET}" method=128 version=3\n'
                f"{conn} op=0 RESULT err=49 tag=97 nentries=0 wtime=0.000100 optime=0.000200 etime=0.000300\n"
                f'{conn} op=1 SRCH base="dc=example,dc=com" scope=2 filter="(userPassword={SECRET})" attrs=ALL\n'
                f"{conn} op=1 RESULT err=0 tag=101 nentries=0 wtime=0.000100 optime=9.000200 etime=9.000300 notes=A\n"
            )
    (folder / "dse.ldif").write_text(f"dn: cn=config\nobjectClass: top\nnsslapd-rootpw: {SECRET}\n")
    (tmp_path / "password").write_text(SECRET)
    ran = diagnose(folder, "--record", tmp_path / "history", "-D", f"cn={SECRET}", "-y", tmp_path / "password")
    (one,) = read(tmp_path / "history").runs
    assert "failed-binds" in {finding.check for finding in one.servers[0].findings}, ran.text
    assert SECRET.encode() not in (tmp_path / "history").read_bytes()
    assert SECRET not in ldapdiag("history", tmp_path / "history", "--format", "json").text


def test_a_history_that_is_damaged_meanwhile_does_not_cost_the_report(tmp_path: Path) -> None:
    path = tmp_path / "history"
    record(path, run(0), Bounds())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE server SET connections = 'many'")
    ran = diagnose(INCIDENT, "--record", path, "--record-days", "1000")
    assert (ran.code, ran.err) == (1, b"")
    assert ran.out
