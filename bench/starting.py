"""Starting: `ldapdiag --help` against importing its command-line library."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

from measure import Figure, best

if TYPE_CHECKING:
    from collections.abc import Iterator

GOAL = 3


def figures() -> Iterator[Figure]:
    """Yield the time until the help is printed."""
    start = partial(subprocess.run, check=True, capture_output=True)
    ours, theirs = best(
        partial(start, [sys.executable, "-m", "ldapdiag", "--help"]),
        partial(start, [sys.executable, "-c", "import typer"]),
        repetitions=7,
    )
    yield Figure(what="ldapdiag --help / python -c 'import typer'", ours=ours, theirs=theirs, goal=GOAL)
