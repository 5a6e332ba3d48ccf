"""Write the screens of README.md, docs/tour.md and docs/live.md anew: the first lines of what each command prints.

    .venv/bin/python docs/make_screens.py

A screen is a block that begins with ```text and `$ ldapdiag …`; it ends with `…` where more follows. Those of
`ldapdiag top --replay` are what a terminal of 80 columns shows.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from threading import Event

HOUSE = Path(__file__).parent.parent
PAGES = (HOUSE / "README.md", HOUSE / "docs" / "tour.md", HOUSE / "docs" / "live.md")
REPLAY = "top --replay "
SCREEN = re.compile(r"(?<=```text\n)\$ ldapdiag (?P<arguments>[^\n]+)\n.*?(?=```)", re.DOTALL)
MOST_LINES = 24
COLUMNS = "100"


def printed(arguments: list[str]) -> list[str]:
    """Return the lines that a command prints when it is not on a terminal, 100 columns wide."""
    environment = os.environ | {"COLUMNS": COLUMNS, "NO_COLOR": "1"}
    command = [sys.executable, "-m", "ldapdiag", *arguments]
    ran = subprocess.run(command, cwd=HOUSE, env=environment, capture_output=True, text=True, check=False)
    return [line.rstrip() for line in ran.stdout.splitlines()]


def replayed(capture: str) -> list[str]:
    """Return the first moment of a replay as a terminal shows it, without the empty lines."""
    from ldapdiag.cli.collecting import Binding, Collecting  # noqa: PLC0415  import late: of one page
    from ldapdiag.cli.destinations import Output  # noqa: PLC0415
    from ldapdiag.cli.judging_options import Detail, Gate, Judging  # noqa: PLC0415
    from ldapdiag.cli.notices import Notices  # noqa: PLC0415
    from ldapdiag.cli.option_groups import Given  # noqa: PLC0415
    from ldapdiag.cli.top import recorded_moments  # noqa: PLC0415
    from ldapdiag.live_view.drawing import draw  # noqa: PLC0415
    from ldapdiag.live_view.replay import Replay  # noqa: PLC0415
    from ldapdiag.live_view.view import View  # noqa: PLC0415

    asked = Judging(Output(), Detail(), Gate(), Collecting(Binding(), Given(None, "")), quiet=True)
    moments = recorded_moments([str(HOUSE / capture)], asked, Event(), Notices(quiet=True))
    lines = draw(Replay(moments, lambda: 2.0, lambda: 0.0), View(), 80, MOST_LINES)
    return [line.plain.rstrip() for line in lines if line.plain.strip()]


def screen(arguments: str) -> str:
    """Return the screen of a command: the command, its first lines, and `…` where lines were left out."""
    is_replay = arguments.startswith(REPLAY)
    lines = replayed(arguments.removeprefix(REPLAY)) if is_replay else printed(arguments.split())
    shown = [f"$ ldapdiag {arguments}", *lines[:MOST_LINES], *(["…"] if len(lines) > MOST_LINES else [])]
    return "\n".join(shown) + "\n"


def fresh(page: str) -> str:
    """Return the text of a page with every screen as the commands print it now."""
    return SCREEN.sub(lambda found: screen(found["arguments"]), page)


if __name__ == "__main__":
    for one in PAGES:
        one.write_text(fresh(one.read_text()))
