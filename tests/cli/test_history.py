"""ldapdiag history: what `diagnose --record` wrote, from a time on, of one server; one line for everything else."""

from __future__ import annotations

import csv
import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest

from command import INCIDENT, diagnose, ldapdiag
from histories import found, minutes, run, server
from ldapdiag.evidence.history import RecordedVolume
from ldapdiag.sources.history.recording import Bounds, record

if TYPE_CHECKING:
    from pathlib import Path

DAY = 1440


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a history of ten days, of two servers."""
    for day in range(10):
        at = DAY * day
        record(tmp_path / "history", run(at, server(at, "ds1"), server(at, "ds2", exhausted=1)), Bounds())
    return tmp_path / "history"


def test_all_servers_are_reported(path: Path) -> None:
    ran = ldapdiag("history", path)
    assert (ran.code, ran.err) == (0, b"")
    assert "10 runs" in ran.text
    assert "2024-11-20 09:00 to 2024-11-29 09:00 UTC" in ran.text
    assert [line.split()[0] for line in ran.text.splitlines() if line.startswith("ds")] == ["ds1", "ds2"]


@pytest.mark.parametrize(
    ("since", "runs"),
    [("-3d", 4), ("2024-11-28", 2), ("2024-11-20T09:00:01Z", 9), ("today", 1), ("yesterday", 2), ("09:00", 1)],
)
def test_since_counts_from_the_last_run(path: Path, since: str, runs: int) -> None:
    ran = ldapdiag("history", path, "--since", since, "--format", "json")
    assert len(ran.report["runs"]) == runs


def test_one_server(path: Path, tmp_path: Path) -> None:
    assert ldapdiag("history", path, "--server", "ds2", "--format", "json", "-o", tmp_path / "report").code == 0
    report = json.loads((tmp_path / "report").read_text())
    assert {one["name"] for run in report["runs"] for one in run["servers"]} == {"ds2"}


class TestFormats:
    def test_markdown_has_the_runs_of_each_server(self, path: Path, tmp_path: Path) -> None:
        assert ldapdiag("history", path, "-o", tmp_path / "report.md").code == 0
        text = (tmp_path / "report.md").read_text()
        assert "10 runs of 2 servers, 2024-11-20 09:00 to 2024-11-29 09:00 UTC" in text
        assert [text.count(f"### {name}: runs, the latest first") for name in ("ds1", "ds2")] == [1, 1]
        assert "| 2024-11-29 09:00 | 13,270 |" in text

    def test_csv_has_a_row_per_run_and_server(self, path: Path) -> None:
        rows = list(csv.DictReader(ldapdiag("history", path, "--format", "csv").text.splitlines()))
        assert len(rows) == 20
        assert [rows[0][key] for key in ("name", "taken_at", "connections")] == ["ds1", "2024-11-20T09:00:00Z", "310"]

    def test_a_page_has_the_charts_and_the_runs_of_one_server(self, path: Path) -> None:
        page = ldapdiag("history", path, "--format", "html", "--server", "ds2").text
        assert re.findall("<strong>(.*?)</strong>", page) == [
            "Connections open at ds2 (socket table)",
            "Descriptors in use at ds2 (/proc/PID/fd)",
        ]
        assert "ds1" not in page
        assert len(re.findall('<th [^>]*scope="row">2024-11-2', page)) >= 10

    def test_names_are_text_in_every_format(self, tmp_path: Path) -> None:
        evil = "<b>=x|`\x1b[31m"
        record(tmp_path / "history", run(0, server(0, evil, [found(4)])), Bounds())
        for form in ("html", "markdown", "csv", "text"):
            text = ldapdiag("history", tmp_path / "history", "--format", form).text
            assert "\x1b" not in text
            assert (form == "html" and "&lt;b&gt;" in text) or form != "html"
            assert "<b>" not in text or form in {"csv", "text"}

    def test_lasting_findings_are_those_of_the_last_run(self, tmp_path: Path) -> None:
        for day in range(3):
            at = DAY * day
            record(tmp_path / "history", run(at, server(at, "ds1", [found(9)] if day else [found(4)])), Bounds())
        report = ldapdiag("history", tmp_path / "history", "--format", "json").report
        assert [(one["server"], one["since"], one["runs"]) for one in report["lasting"]] == [
            ("ds1", "2024-11-21T09:00:00Z", 2)
        ]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--server", "ds3"], "--server ds3: no such server in .*history; it has ds1, ds2"),
        (["--since", "2025-01-01"], "--since 2025-01-01: the last run in .* is of 2024-11-29 09:00 UTC; choose an ear"),
        (["--since", "soon"], "--since soon: not understood"),
    ],
)
def test_what_it_does_not_contain_is_one_line(path: Path, options: list[str], complaint: str) -> None:
    ran = ldapdiag("history", path, *options)
    assert (ran.code, ran.out, len(ran.complaints)) == (2, b"", 1)
    assert re.search(complaint, ran.complaints[0])


def test_a_file_without_a_run_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name, reason in (("empty", "no run in it"), ("absent", "there is no such file"), (".", "it is not a file")):
        ran = ldapdiag("history", tmp_path / name)
        assert (ran.code, ran.out, len(ran.complaints)) == (2, b"", 1)
        assert reason in ran.complaints[0]


def test_the_incident_recorded_and_reported(tmp_path: Path) -> None:
    for _ in range(2):  # the same evidence is one run
        ran = diagnose(INCIDENT, "--record", tmp_path / "history")
        assert (ran.code, ran.err) == (1, b"")
    text = ldapdiag("history", tmp_path / "history").text
    assert text.count("2026-11-20 08:57") == 2 + 4 + 1  # from and to, the findings, the run
    assert "critical: ghost-connections since 2026-11-20 08:57, the last run" in text


def test_what_a_volume_has_lost_since_the_first_run_forecasts_when_it_is_full(tmp_path: Path) -> None:
    """100 MiB more each hour; the last listing of the example has 1,871,260 KiB free, which lasts 18 h."""
    kept, here = tmp_path / "history", tmp_path / "evidence"
    shutil.copytree(INCIDENT.parent / "storage", here)
    last = minutes(60 * 24)
    (here / "ldap" / "captured-at.txt").write_text(f"{last:%Y-%m-%dT%H:%M:%SZ}\n")
    for hour in range(24):
        volume = RecordedVolume(
            mount_point="/var/lib/ldap", taken=minutes(60 * hour), total_bytes=1992552 << 10,
            free_bytes=(1871260 << 10) + ((24 - hour) * 100 << 20),
        )  # fmt: skip
        record(kept, run(60 * hour, server(60 * hour, volumes=(volume,))), Bounds())
    report = diagnose(here, "--record", kept, "--format", "json").report
    (found_there,) = [one for one in report["findings"] if one["check"] == "volume-full"]
    assert found_there["severity"] == "high"
    numbers = found_there["observed"]
    assert numbers["hours_left_earliest"] < 1871260 / 1024 / 100 < numbers["hours_left_latest"]
    latest = ldapdiag("history", kept, "--format", "json").report["runs"][-1]["servers"][0]["volumes"]
    assert {one["free_bytes"] for one in latest if one["mount_point"] == "/var/lib/ldap"} == {1871260 << 10}
