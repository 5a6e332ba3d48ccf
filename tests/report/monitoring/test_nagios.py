"""The output of a plug-in: statuses of Nagios, performance data that somebody else's parser reads, hostile evidence."""

from __future__ import annotations

from io import BytesIO, TextIOWrapper
from typing import TYPE_CHECKING, Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from pynag.Utils import PerfData

import diagnoses
import documents
from command import INCIDENT, ldapdiag
from ldapdiag.cli.plugin import run
from ldapdiag.finding import Severity
from ldapdiag.report.monitoring.nagios import CRITICAL, MOST_BYTES, NAMES, OK, UNKNOWN, WARNING, render, status
from ldapdiag.report.neutral import neutral

if TYPE_CHECKING:
    from pathlib import Path

SHORTFALL = {"reason": "most of it was passed over", "how": None}
ACCEPTED = {"reason": "planned", "standing": "accepted", "until": "2027-01-01", "up_to": "critical"}


def report(*severities: Severity, crashed: bool = False, **more: Any) -> dict[str, Any]:
    """Return a report with findings of these severities."""
    found = [diagnoses.finding(f"subject {number}", severity=each) for number, each in enumerate(severities)]
    checks = [diagnoses.check("a-check", *found, diagnoses.clear()), *([diagnoses.crashing()] if crashed else [])]
    return documents.of(diagnoses.diagnosis(*checks)) | {"servers": documents.incident()["servers"]} | more


def read(output: str) -> tuple[str, dict[str, Any]]:
    """Return the text of the status line, and the performance data as the parser of pynag reads it."""
    first, *_ = output.splitlines()
    text, _, data = first.partition("|")
    metrics = {one.label: one for one in PerfData(data).metrics}
    assert all(one.is_valid() for one in metrics.values())
    return text, metrics


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (report(), OK),
        (report(Severity.INFO, Severity.LOW), OK),
        (report(Severity.MEDIUM), WARNING),
        (report(Severity.LOW, Severity.HIGH), CRITICAL),
        (report(Severity.CRITICAL, crashed=True), CRITICAL),
        (report(Severity.MEDIUM, crashed=True), UNKNOWN),
        (report(crashed=True), UNKNOWN),
        (report(Severity.MEDIUM, shortfall=SHORTFALL), UNKNOWN),
        (report(shortfall=SHORTFALL), UNKNOWN),
        (report(servers=[]), UNKNOWN),
        (report(Severity.MEDIUM, servers=[]), UNKNOWN),
    ],
)
def test_the_status(document: dict[str, Any], code: int) -> None:
    text, metrics = read(render(document))
    assert (status(document), text.split(" - ")[0]) == (code, f"LDAP {NAMES[code]}")
    assert int(metrics["not_judged"].value) == 0


def test_an_accepted_finding_does_not_count() -> None:
    document = report(Severity.CRITICAL)
    document["findings"] = [one | {"acceptance": ACCEPTED} for one in document["findings"]]
    assert status(document) == OK


def test_the_incident() -> None:
    ran = ldapdiag("diagnose", INCIDENT, "--format", "nagios")
    text, metrics = read(ran.text)
    assert ran.code == CRITICAL
    assert text == "LDAP CRITICAL - 268 of the 270 connections from app1 no longer exist on app1 (+2)"
    assert {name: (one.value, one.max) for name, one in metrics.items()} == {
        "ghosts": ("268", ""),
        "connections": ("310", ""),
        "descriptors": ("335", "20000"),
        "not_judged": ("33", ""),
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ["diagnose", "no such file", "--format", "nagios"],
        ["diagnose", "--no-such-option", "--format=nagios"],
        ["diagnose", INCIDENT, "--format", "nagios", "-o", "x.txt"],
        ["log", INCIDENT, "--format", "nagios"],
    ],
    ids=str,
)
def test_a_run_without_a_diagnosis_is_unknown(arguments: list[str | Path]) -> None:
    ran = ldapdiag(*arguments)
    assert (ran.code, ran.text[:15]) == (UNKNOWN, "LDAP UNKNOWN - ")
    assert ran.complaints


@pytest.mark.parametrize("host", ["app1", "fw"])
def test_a_host_where_no_directory_server_was_found_is_unknown(host: str) -> None:
    ran = ldapdiag("diagnose", INCIDENT / host, "--format", "nagios")
    assert (ran.code, ran.text[:15]) == (UNKNOWN, "LDAP UNKNOWN - ")
    assert "no directory server is in the evidence" in ran.text


def test_the_exit_code_is_that_of_the_status_line(tmp_path: Path) -> None:
    (tmp_path / "full.json").symlink_to("/dev/full")
    ran = ldapdiag("diagnose", INCIDENT / "ldap", "--format", "nagios", "-o", "-", "-o", tmp_path / "full.json")
    assert (ran.code, ran.text[:10]) == (OK, "LDAP OK - ")
    assert ran.complaints


def test_a_status_is_written_in_any_character_set(monkeypatch: pytest.MonkeyPatch) -> None:
    content = BytesIO()
    with TextIOWrapper(content, encoding="ascii") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        with pytest.raises(SystemExit) as leaving:
            run(lambda: typer.echo("LDAP CRITICAL - uid=müller…"))
        stream.flush()
        assert (leaving.value.code, content.getvalue()) == (CRITICAL, b"LDAP CRITICAL - uid=m\\xfcller~\n")


@given(title=st.text(max_size=2000), number=st.integers(1, 60))
def test_hostile_text_begins_no_line_and_no_data(title: str, number: int) -> None:
    document = report(Severity.HIGH)
    document["findings"] = [one | {"title": title, "detail": title} for one in document["findings"] * number]
    output = render(document)
    assert output.count("|") == 1
    assert len(output.encode()) <= MOST_BYTES
    assert all(line == neutral(line, longest=MOST_BYTES) for line in output.split("\n"))
    assert all(line.startswith(("LDAP CRITICAL", "first: ", "high: ", "and ")) for line in output.split("\n")[:-1])
    read(output)
