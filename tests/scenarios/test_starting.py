"""Starting: what a command can do without is not imported, for that takes longer than to read many a log.

Seconds depend on the machine, modules do not. What a command has begun to need may raise its number here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from command import INCIDENT, LOGIN, NO_SITE, PATIENCE

LOG = Path(__file__).parents[1] / "captures" / "access-logs" / "389-pools.head500.access"
HEAVY = {"asyncio", "ctypes", "jinja2", "ldap3", "multiprocessing", "pyroute2", "secrets", "sqlite3"}
DEAR = HEAVY | {
    "concurrent.futures", "hashlib", "linecache", "rich", "subprocess", "tokenize",
    "ldapdiag.analysis.hosts.instances", "ldapdiag.evidence.log.event_exports", "ldapdiag.evidence.log.openldap",
}  # fmt: skip
RARE = {"bz2", "csv", "decimal", "glob", "lzma", "pickle", "shlex", "tarfile", "textwrap"}
"""Not in what `import typer` loads, and not for a plain log."""

COMMAND = """
import json, sys
from ldapdiag.cli import main
try:
    main()
finally:
    from ldapdiag.lazy_dataclass import _plans
    sys.stderr.write(f"\\n{json.dumps([sorted(sys.modules), len(_plans)])}")
"""


class Start(NamedTuple):
    modules: int
    """Of ldapdiag and its checks, at most."""
    made: int
    """Dataclasses that have instances, at most."""
    missing: set[str]
    """What is not imported."""


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        (["--help"], Start(8, 2, DEAR | RARE - {"textwrap"})),
        (["log", "--help"], Start(34, 4, DEAR | RARE - {"textwrap"})),
        (["log", LOG, "--scanner", "python"], Start(149, 45, DEAR | RARE)),
        (["log", LOG, "--scanner", "python", "--format", "json"], Start(142, 42, DEAR | RARE)),
        (["diagnose", INCIDENT, "--quiet", "--fail-on", "never"], Start(538, 164, HEAVY | {"rich.console"})),
        (["checks"], Start(319, 24, DEAR - {"ldapdiag.analysis.hosts.instances"})),
    ],
    ids=["--help", "log --help", "log", "log as JSON", "diagnose", "checks"],
)
def test_a_command_imports_what_it_uses(arguments: list[str | Path], start: Start) -> None:
    words = [sys.executable, "-c", COMMAND, *arguments]
    ran = subprocess.run(words, capture_output=True, env=LOGIN | NO_SITE, timeout=PATIENCE, check=True)
    modules, made = json.loads(ran.stderr.splitlines()[-1])
    ours = [name for name in modules if name.partition(".")[0] in {"ldapdiag", "ldapdiag_checks"}]
    assert (len(ours) <= start.modules, made <= start.made) == (True, True), f"{len(ours)}, {made}: {ours}"
    assert start.missing & set(modules) == set()
