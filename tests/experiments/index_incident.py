"""The closed loop with medians of twenty searches, and without each index of the plan alone."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.notebook import AS_EXPECTED, Experiment
from lab.closed_loop import SERVERS, close_loop, without_each
from lab.host import Host
from lab.laboratory import Laboratory
from lab.predicted_times import predictions, summary, table
from lab.search_kinds import kinds_of

if TYPE_CHECKING:
    from lab.audited_load import Round

MEDIANS, RIGHT = 20, 0.9
"""Searches of each kind, and the share of predictions within a factor of two."""
EVERY = 1000
"""More indexes than a plan has."""


def run(step: str, *, small: bool) -> dict[str, str]:
    """Close the loop on one server, and print the table of times and what happens without each index."""
    with tempfile.TemporaryDirectory() as folder, Host("ldap") as host:
        host.run("echo 127.0.0.1 ldap >> /etc/hosts")
        server = SERVERS[step](Laboratory(Path(folder)), host)
        loop = close_loop(server, step, Path(folder), 1 if small else MEDIANS)
        rows = predictions(kinds_of(step), loop.first, loop.second)
        print(table(rows), flush=True)
        dropped = []
        for one in without_each(loop, 1 if small else EVERY):
            dropped.append(one)
            print(f"without {one.index}: {', '.join(sorted(one.scan))}; asks for {one.planned}", flush=True)
    pauses = loop.client.longest_pauses()
    missed = [one.index for one in dropped if not (one.scan and one.is_put_back)]
    long = [one for one in rows if one.is_long]
    right = small or sum(one.is_right for one in long) >= RIGHT * len(long)
    return {
        "search time": f"{_seconds(loop.first):.1f} s before, {_seconds(loop.second):.1f} s after",
        "scans": f"{len(loop.first.scans)} kinds before, {len(loop.second.scans)} after",
        "predictions": summary(rows),
        "client": f"longest pause {max(pauses.values()):.2f} s, {len(loop.client.failures)} failures",
        "without one index": f"{len(dropped) - len(missed)} of {len(dropped)} as expected",
        "result": AS_EXPECTED if right and not missed and not loop.client.failures else f"without {missed}",
    }


def _seconds(one: Round) -> float:
    return sum(record.etime for records in one.records.values() for record in records)


EXPERIMENT = Experiment(
    name="index-incident",
    title="Over a hundred kinds of search in two databases, before and after the printed script",
    about=(
        "Two databases of 20,000 and 8,000 entries on a 389-ds and a slapd of the laboratory are sent twenty searches\n"
        "of each kind (tests/lab/search_kinds.py), before and after the script that `indexes --script` prints.\n"
        "Expected: of the predicted times that are 5 ms or more, 90 % are within a factor of two of the medians;\n"
        "a client that searches all the while sees no failure; without any one index of the plan some kind scans\n"
        "again, and the next plan is that index."
    ),
    steps=("openldap", "389-ds"),
    run=run,
    small=1,
)
