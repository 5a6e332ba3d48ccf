"""Starting: commands on little evidence against importing the command-line library."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from measure import Figure, best

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUSE = Path(__file__).parents[1]
LOG = HOUSE / "tests/captures/access-logs/389-pools.head500.access"
COMMANDS = {
    "--help": (["--help"], 1.6),
    "log, 500 lines": (["log", LOG], 1.6),
    "diagnose examples/incident": (["diagnose", "--fail-on", "never", HOUSE / "examples/incident"], 8),
}
"""The words of each, and its goal."""


def figures() -> Iterator[Figure]:
    """Yield the time of each command."""
    start = partial(subprocess.run, check=True, capture_output=True)
    for name, (words, goal) in COMMANDS.items():
        ours, theirs = best(
            partial(start, [sys.executable, "-m", "ldapdiag", *words]),
            partial(start, [sys.executable, "-c", "import typer"]),
            repetitions=7,
        )
        yield Figure(what=f"ldapdiag {name} / python -c 'import typer'", ours=ours, theirs=theirs, goal=goal)
