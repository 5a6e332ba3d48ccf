"""The real command, run as a person or a script runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldapdiag.sources.logs.native import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LDAPDIAG = (sys.executable, "-m", "ldapdiag")
INCIDENT = Path(__file__).parent.parent / "examples" / "incident"
PATIENCE = 30
"""Seconds after which a command counts as hanging."""

LOGIN = {name: value for name, value in os.environ.items() if name in {"HOME", "LANG", "LC_ALL", "PATH", "TMPDIR"}}
"""The environment without what pytest and terminals put there."""


@dataclass(frozen=True)
class Ran:
    """What became of a command."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """Its report."""
        return self.out.decode()

    @property
    def complaints(self) -> list[str]:
        """The lines it wrote to stderr."""
        return self.err.decode().splitlines()

    @property
    def report(self) -> dict[str, Any]:
        """Its report, of --format json."""
        report: dict[str, Any] = json.loads(self.out)
        return report


def _scanner() -> dict[str, str]:
    """Return what says which scanner is to read logs, where a test says so (conftest.py)."""
    return {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}


def ldapdiag(
    *arguments: str | bytes | Path,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    **settings: Any,
) -> Ran:
    """Run the command, which must never show a traceback; `before` is a program that starts it."""
    ran = subprocess.run(
        [*before, *LDAPDIAG, *arguments],
        input=stdin,
        capture_output=True,
        env=LOGIN | _scanner() | dict(environment or {}),
        timeout=PATIENCE,
        check=False,
        **settings,
    )
    for sign in (b"Traceback", b"this is a bug"):
        assert sign not in ran.stderr, ran.stderr.decode(errors="replace")
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def diagnose(*arguments: str | bytes | Path, **settings: Any) -> Ran:
    """Run `ldapdiag diagnose`."""
    return ldapdiag("diagnose", *arguments, **settings)
