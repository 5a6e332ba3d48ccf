"""Firewalls of known timeouts in every style: the bracket that is measured must contain the truth, and how wide it is.

With keepalive at either end nothing dies, and the bracket must be wide; two firewalls in series have the timeout of the
faster; a restart, of whatever, must not pass for a timeout.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.notebook import AS_EXPECTED, Experiment
from lab.brackets import STYLES, Bracket, Case, measured
from lab.laboratory import Laboratory

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS = (5, 8, 13, 21)
KEEPALIVE = ("none", "client", "server")
AT_ONCE = 14
"""They mostly sleep; each has four hosts."""
BUSY = (0.1, 0.15)
"""Gaps far below the timeout: what kills such connections is no timeout."""

SWEEP = {
    f"{seconds} s": [
        Case(seconds=seconds, style=style, keepalive=keepalive) for style, keepalive in product(STYLES, KEEPALIVE)
    ]
    for seconds in SECONDS
}
SERIES = [
    Case(seconds=5, at_server=8),
    Case(seconds=8, at_server=5),
    Case(seconds=21, at_server=13),
    Case(seconds=13, style="reset to the client", at_server=8),
    Case(seconds=5, style="reset to both", at_server=13),
    Case(seconds=13, style="proxy", at_server=5),
]
RESTARTED = ("client", "application", "server", "server's host", "table")
RESTARTS = [
    *(Case(seconds=seconds, restarted=restarted) for restarted in RESTARTED for seconds in (5, 13)),
    *(Case(seconds=21, restarted=restarted, gaps=BUSY, wait=0.3) for restarted in RESTARTED),
    Case(seconds=21, restarted="table", gaps=BUSY, wait=0.6, patience=0.1),
]
GROUPS = SWEEP | {"two in series": SERIES, "restarts": RESTARTS}
SMALL = [
    *(Case(seconds=5, style=style) for style in ("silent drop", "reset to both")),
    *(Case(seconds=5, keepalive=end) for end in ("client", "server")),
    Case(seconds=5, at_server=8),
    replace(RESTARTS[-2], seconds=8),
]


def run(step: str, *, small: bool) -> dict[str, str]:
    """Measure the cases of a group, print each bracket, and return whether all contain the truth, and their widths."""
    cases = SMALL if small else GROUPS[step]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = [bracket for brackets in pool.map(_of_case, cases) for bracket in brackets]
    for bracket in found:
        print("  | " + " | ".join(row(bracket)) + " |", flush=True)
    wrong = [f"{one.case.name}: {one.path.range_text}" for one in found if not one.contains]
    unmeasured = [case.name for case in cases if case not in {one.case for one in found}]
    return {
        "cases": str(len(cases)),
        "measured": _widths([one for one in found if not one.with_settings]),
        "with its settings": _widths([one for one in found if one.with_settings]),
        "result": f"wrong: {wrong}, without any: {unmeasured}" if wrong or unmeasured else AS_EXPECTED,
    }


def _widths(brackets: Sequence[Bracket]) -> str:
    """Return how many brackets there are, of how many seconds, and how many lack a bound."""
    widths = [one.seconds_wide for one in brackets]
    known = sorted(width for width in widths if width is not None)
    open_ends = len(widths) - len(known)
    shown = f"{known[0]:.1f} to {known[-1]:.1f} s wide" if known else "none of both bounds"
    return f"{len(brackets)}: {len(known)} of both bounds, {shown}; {open_ends} open"


def row(bracket: Bracket) -> list[str]:
    """Return what is known of a bracket: case, evidence, truth, bounds, loose, width, whether it contains the truth."""
    path = bracket.path
    bounds = ["-" if seconds is None else f"{seconds:g}" for seconds in (path.lower_seconds, path.upper_seconds)]
    evidence = "with its settings" if bracket.with_settings else "measured"
    contains = "contains" if bracket.contains else "WRONG"
    return [
        bracket.case.name,
        evidence,
        str(bracket.case.truth),
        *bounds,
        "loose" * path.loose,
        bracket.width,
        contains,
    ]


def _of_case(case: Case) -> list[Bracket]:
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "laboratory"
        own.mkdir()
        return measured(Laboratory(own), case, Path(folder))


EXPERIMENT = Experiment(
    name="brackets",
    title="Brackets of idle timeouts that are known",
    about=(
        "Firewalls that forget after 5, 8, 13 and 21 s, in four styles, without keepalive and with it at either end;\n"
        "two in series; and restarts of client, application, server, its host and the firewall's table in between.\n"
        "Pools use their connections after gaps on both sides of the timeout. Each case is judged without the\n"
        "firewall's settings, and with them. Expected: every bracket contains the timeout that was set."
    ),
    steps=tuple(GROUPS),
    run=run,
    small=1,
)
