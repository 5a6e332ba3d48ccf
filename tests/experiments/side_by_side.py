"""Fleets of twelve servers side by side, with each condition, each pair of them, and none: what is named."""

from __future__ import annotations

import os
import tempfile
from datetime import datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import command
from command import ldapdiag
from drawn_fleet import START, VERSIONS, DrawnFleet, DrawnServer
from experiments.notebook import AS_EXPECTED, Experiment

AHEAD, SILENT = 3600.0, (2700.0, 3000.0)
CONDITIONS: dict[str, dict[str, Any]] = {
    "skew": {"ahead": AHEAD},
    "silence": {"silent": SILENT},
    "overload": {"load": 4.0},
    "version": {"old": True},
    "index": {"lacks_index": True},
}
SERVERS = tuple(f"ds{number:02}" for number in range(1, 13))
FIRST, SECOND = "ds03", "ds07"
SEEDS = 2
NEAR = timedelta(seconds=20)


def run(step: str, *, small: bool) -> dict[str, str]:
    """Compare the servers of a fleet, and return what is named."""
    dialect, conditions, seed = step.split()
    named = [] if conditions == "none" else conditions.split("+")
    places = (FIRST, SECOND) if int(seed) % 2 else (FIRST, FIRST)
    made: dict[str, dict[str, Any]] = {}
    for one, server in zip(named, places, strict=False):
        made.setdefault(server, {}).update(CONDITIONS[one])
    fleet = DrawnFleet(
        seed=step,
        servers=tuple(DrawnServer(name=name, **made.get(name, {})) for name in SERVERS),
        dialect=dialect,
        every=4.0 if small else 2.0,
    )
    expected = sorted(f"{one} of {server}" for one, server in zip(named, places, strict=False))
    found = sorted(named_by(compared(fleet), dialect))
    load = f"{os.getloadavg()[0]:.1f}"
    result = AS_EXPECTED if found == expected else f"named: {', '.join(found)}; made: {', '.join(expected)}"
    return {"named": ", ".join(found) or "nothing", "load": load, "result": result}


def compared(fleet: DrawnFleet) -> dict[str, Any]:
    """Return what `log --by server` says of a fleet."""
    command.PATIENCE = 300  # on a busy machine
    with tempfile.TemporaryDirectory() as folder:
        fleet.write(Path(folder))
        ran = ldapdiag("log", "--by", "server", folder, "--format", "json")
    found: dict[str, Any] = ran.report["fleet"]
    return found


def named_by(fleet: dict[str, Any], dialect: str) -> set[str]:
    """Return the conditions that are named with their server and size; what is not one of them, in its own words."""
    found = {f"{len(fleet['moved_clients'] or ())} moved", f"{len(fleet['clients_of_one_server'])} use one server"}
    found -= {"0 moved", "0 use one server"}
    for server in fleet["servers"]:
        name, clock = server["name"], server["clock"]
        if clock is not None:
            right = (
                clock["shifted"] and abs(clock["ahead_seconds"] - AHEAD) <= clock["uncertainty_seconds"] <= AHEAD / 4
            )
            found.add(f"skew of {name}" if right else f"clock of {name}: {clock}")
        if server["silences"]:
            right = len(server["silences"]) == 1 and _is_the_silence(server["silences"][0])
            found.add(f"silence of {name}" if right else f"silences of {name}: {server['silences']}")
        if server["not_compared"] or server["idle"] or fleet["even_share"] is None:
            found.add(f"{name}: not compared, or idle")
        elif server["connection_share"] >= 2 * fleet["even_share"]:
            found.add(f"overload of {name}")
    found |= {f"version of {name}" for name in fleet["servers_by_version"].get(VERSIONS[dialect][True], ())}
    for search in fleet["differing_searches"]:
        lacks = search["shape"] == "(employeeNumber=?)" and search["lacks_index"] == (dialect == "389ds")
        found.add(f"index of {search['server']}" if lacks else f"{search['shape']} of {search['server']}")
    return found


def _is_the_silence(times: list[str]) -> bool:
    return all(
        abs(datetime.fromisoformat(time) - START - timedelta(seconds=second)) <= NEAR
        for time, second in zip(times, SILENT, strict=True)
    )


CASES = ("none", *CONDITIONS, *("+".join(pair) for pair in combinations(CONDITIONS, 2)))
EXPERIMENT = Experiment(
    name="side-by-side",
    title="Servers side by side",
    about=(
        "Steps are `DIALECT CONDITIONS SEED`: two hours of twelve servers behind a balancer. One server's clock is an\n"
        "hour ahead (skew), one is silent for five minutes (silence), has four times the load (overload), another\n"
        "version (version), lacks an index (index): none, each alone, and each pair, of one server with an even seed.\n"
        "Expected: each is named for its server, the skew within its uncertainty, the silence within 20 s; nothing\n"
        "else. `load` is that of the machine."
    ),
    steps=tuple(f"{dialect} {case} {seed}" for case in CASES for dialect in VERSIONS for seed in range(SEEDS)),
    run=run,
    small=4,
)
