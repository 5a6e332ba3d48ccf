"""Nights of a site judged by the nightly example: it fails when something becomes worse, and at no other night."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from command import INCIDENT, LOGIN, NO_SITE, PATIENCE, ldapdiag
from nights import FIRST, Night

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = INCIDENT.parent / "nightly" / "nightly.sh"
PROGRAM = """#!/bin/sh
printf '%s\\n' "$@" > {folder}/asked
read -r code < {folder}/answered
cat {folder}/out
exit "$code"
"""
WEEKEND = {5, 6}
DEPLOYMENT, POOL = 12, 20


@dataclass
class Site:
    """A folder where the script runs each night; the command that it starts is run within this process."""

    folder: Path
    alarms: dict[int, str] = field(default_factory=dict)
    printed: dict[int, str] = field(default_factory=dict)
    """By night: what was printed; `alarms` where the script failed."""

    def __post_init__(self) -> None:
        """Make the folders, and the program."""
        (self.folder / "nightly").mkdir()
        for pipe in ("asked", "answered"):
            os.mkfifo(self.folder / pipe)
        self.program = self.folder / "ldapdiag"
        self.program.write_text(PROGRAM.format(folder=self.folder))
        self.program.chmod(0o755)

    def judge(self, number: int, night: Night) -> None:
        """Judge a night; what fails is accepted the next morning, by the command that was printed."""
        night.write(self.folder / "evidence")
        code, printed = self.run(str(SCRIPT), str(self.folder / "nightly"), str(self.folder / "evidence"))
        assert code in {0, 1}, printed
        self.printed[number] = printed
        if code:
            self.alarms[number] = printed
            accepting = ["sh", "-c", printed.splitlines()[-1]]
            assert b"is the last report now" in subprocess.run(accepting, check=True, capture_output=True).stdout

    def run(self, *script: str) -> tuple[int, str]:
        """Run the script, and answer its program."""
        environment = LOGIN | NO_SITE | {"LDAPDIAG": str(self.program)}
        with subprocess.Popen(script, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
            ran = ldapdiag(*(self.folder / "asked").read_text().splitlines())
            (self.folder / "out").write_bytes(ran.err + ran.out)
            (self.folder / "answered").write_text(f"{ran.code}\n")
            printed, _ = running.communicate(timeout=PATIENCE)
        return running.returncode, printed.decode()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def of_november(day: int) -> Night:
    """Return a night: less traffic at weekends, 1 % more each night, searches that a deployment made slower, a leak."""
    begin = FIRST + timedelta(days=day - 1)
    traffic = (0.35 if begin.weekday() in WEEKEND else 1.0) * 1.01**day
    return Night(
        seed=day,
        begin=begin,
        seconds=6_000,
        connections=300 * traffic,
        slow_seconds=1.5 if day >= DEPLOYMENT else 0.5,
        held=round(20 * traffic),
        ghosts=30 if day >= POOL else 0,
    )


def test_thirty_nights_have_two_alarms(site: Site) -> None:
    for day in range(1, 31):
        site.judge(day, of_november(day))
    assert list(site.alarms) == [DEPLOYMENT, POOL]
    assert "search time per 1,000 operations (" in lines_on_changes(site.alarms[DEPLOYMENT])
    assert " s now, +" in lines_on_changes(site.alarms[DEPLOYMENT])
    assert "30 of the " in lines_on_changes(site.alarms[POOL])
    assert "(from a Saturday), and in the baseline" in site.printed[7]
    kept, latest = ((site.folder / "nightly" / f"{name}.json").read_bytes() for name in ("baseline", "latest"))
    assert kept == latest


def lines_on_changes(printed: str) -> str:
    """Return what is new or worse, from the end of what was printed, as one line."""
    last = printed.splitlines()[:-2]
    (begin,) = [place for place, line in enumerate(last) if line.startswith(("new ", "worse "))]
    return " ".join(line.strip() for line in last[begin:])
