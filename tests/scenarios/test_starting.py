"""Starting: what a command can do without is not imported, for that takes longer than to read many a log."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from command import LOGIN, PATIENCE
from log_lines import header, run

if TYPE_CHECKING:
    from pathlib import Path

DEAR = (
    "concurrent.futures", "ldap3",
    "ldapdiag.analysis.hosts.instances", "ldapdiag.evidence.log.openldap", "multiprocessing",
    "pyroute2", "rich",
)  # fmt: skip

COMMAND = f"""
import sys
from ldapdiag.cli import main
try:
    main()
finally:
    sys.stderr.write(" ".join(name for name in {DEAR} if name in sys.modules))
"""


def imported(*arguments: str | Path) -> bytes:
    """Return which dear modules a command imports that goes well."""
    ran = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments], capture_output=True, env=LOGIN, timeout=PATIENCE, check=True
    )
    return ran.stderr


def test_a_small_log_is_told_as_json_without_what_other_commands_need(tmp_path: Path) -> None:
    access = tmp_path / "access"
    access.write_bytes(header() + run(1, 20))

    assert imported("log", "--format", "json", access) == b""


def test_help_is_told_without_what_commands_need() -> None:
    assert imported("--help") == b""
