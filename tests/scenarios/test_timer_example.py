"""The systemd units in examples/: systemd accepts them, and their command records a run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command import INCIDENT, ldapdiag
from ldapdiag.sources.history.recorded_runs import read
from systemd_units import complaints, sections

EXAMPLES = INCIDENT.parent
SERVICE, TIMER = "ldapdiag-record.service", "ldapdiag-record.timer"
PROGRAM = "/usr/local/bin/ldapdiag"


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """Return a folder with the units, whose program exists; skip where systemd's own tool is not installed."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed (Debian: apt-get install systemd)")
    (tmp_path / SERVICE).write_text((EXAMPLES / SERVICE).read_text().replace(PROGRAM, sys.executable))
    shutil.copy(EXAMPLES / TIMER, tmp_path)
    return tmp_path


def test_systemd_accepts_the_units(units: Path) -> None:
    assert complaints(units / SERVICE, units / TIMER) == []


def test_systemd_would_refuse_a_wrong_one(units: Path) -> None:
    with (units / SERVICE).open("a") as unit:
        unit.write("ProtectSystems=strict\n")
    with (units / TIMER).open("a") as unit:
        unit.write("[Timer]\nOnCalendar=sometimes\n")
    assert len(complaints(units / SERVICE, units / TIMER)) >= 2


def test_the_calendar_of_the_timer_is_every_15_minutes() -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed (Debian: apt-get install systemd)")
    line = next(line for line in (EXAMPLES / TIMER).read_text().splitlines() if line.startswith("OnCalendar="))
    command = ["systemd-analyze", "calendar", line.partition("=")[2]]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "*-*-* *:00/15:00" in ran.stdout


def test_the_command_of_the_service_records_a_run(tmp_path: Path) -> None:
    (tmp_path / "ldapdiag").mkdir()
    program, *arguments = sections(EXAMPLES / SERVICE)["Service"]["ExecStart"].replace("%S", str(tmp_path)).split()
    assert program == PROGRAM
    ran = ldapdiag(*[str(INCIDENT) if one == "local:" else one for one in arguments])
    assert (ran.code, ran.err) == (0, b"")
    assert len(read(tmp_path / "ldapdiag" / "history").runs) == 1


def test_the_service_is_no_root_and_writes_its_state_only() -> None:
    unit = sections(EXAMPLES / SERVICE)["Service"]
    assert (unit["DynamicUser"], unit["ProtectSystem"], unit["NoNewPrivileges"]) == ("yes", "strict", "yes")
    assert f"%S/{unit['StateDirectory']}/" in unit["ExecStart"]
    assert unit["AmbientCapabilities"] == unit["CapabilityBoundingSet"]
