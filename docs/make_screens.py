"""Write the screens of README.md and docs/tour.md anew: the first lines of what each command there prints.

    .venv/bin/python docs/make_screens.py

A screen is a block that begins with ```text and `$ ldapdiag …`; it ends with `…` where more follows.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

HOUSE = Path(__file__).parent.parent
PAGES = (HOUSE / "README.md", HOUSE / "docs" / "tour.md")
SCREEN = re.compile(r"(?<=```text\n)\$ ldapdiag (?P<arguments>[^\n]+)\n.*?(?=```)", re.DOTALL)
MOST_LINES = 24
COLUMNS = "100"


def printed(arguments: list[str]) -> list[str]:
    """Return the lines that a command prints when it is not on a terminal, 100 columns wide."""
    environment = os.environ | {"COLUMNS": COLUMNS, "NO_COLOR": "1"}
    command = [sys.executable, "-m", "ldapdiag", *arguments]
    ran = subprocess.run(command, cwd=HOUSE, env=environment, capture_output=True, text=True, check=False)
    return [line.rstrip() for line in ran.stdout.splitlines()]


def screen(arguments: str) -> str:
    """Return the screen of a command: the command, its first lines, and `…` where lines were left out."""
    lines = printed(arguments.split())
    shown = [f"$ ldapdiag {arguments}", *lines[:MOST_LINES], *(["…"] if len(lines) > MOST_LINES else [])]
    return "\n".join(shown) + "\n"


def fresh(page: str) -> str:
    """Return the text of a page with every screen as the commands print it now."""
    return SCREEN.sub(lambda found: screen(found["arguments"]), page)


if __name__ == "__main__":
    for one in PAGES:
        one.write_text(fresh(one.read_text()))
