"""A site whose nights the nightly example judges; the command that its script starts is run within this process."""

from __future__ import annotations

import os
import select
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from command import INCIDENT, LOGIN, NO_SITE, PATIENCE, ldapdiag

if TYPE_CHECKING:
    from pathlib import Path

    from nights import Night

SCRIPT = INCIDENT.parent / "nightly" / "nightly.sh"
PROGRAM = """#!/bin/sh
printf '%s\\n' "$@" > {folder}/asked
read -r code < {folder}/answered
cat {folder}/out
exit "$code"
"""


@dataclass
class Site:
    """A folder where the script runs each night."""

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
        asked = os.open(self.folder / "asked", os.O_RDONLY | os.O_NONBLOCK)
        with subprocess.Popen(script, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
            assert select.select([asked], [], [], PATIENCE)[0], "the script has not started the command"
            os.set_blocking(asked, True)
            with os.fdopen(asked, encoding="utf-8") as arguments:
                ran = ldapdiag(*arguments.read().splitlines())
            (self.folder / "out").write_bytes(ran.err + ran.out)
            (self.folder / "answered").write_text(f"{ran.code}\n")
            printed, _ = running.communicate(timeout=PATIENCE)
        return running.returncode, printed.decode()
