"""Dead and standing connections of every kind, and their healthy twins: what the reports say in each format."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

from experiments.notebook import AS_EXPECTED, Experiment
from lab.connection_cases import CASES, Site, tried
from lab.desk import Desk
from lab.laboratory import Laboratory
from lab.topology import Topology


def run(step: str, *, small: bool) -> dict[str, str]:
    """Try one case, and return the outcomes of the run and of files by hand."""
    case = CASES[step]
    with tempfile.TemporaryDirectory() as folder, Topology() as topology, ExitStack() as kept:
        laboratory, password = Laboratory(Path(folder)), Path(folder) / "password"
        password.write_text("password")
        for host in topology.hosts.values():
            laboratory.keys.serve(host)
        desk = Desk(topology.desk, laboratory.keys.configuration(topology), password)
        result = tried(case, Site(topology=topology, laboratory=laboratory, desk=desk, folder=Path(folder), kept=kept))
    row = {"check": case.check, "connections": str(result.count), "live": result.live, "files": result.files}
    row["they"] = "work" if result.works else "do not work"
    return row | {"load": f"{os.getloadavg()[0]:.1f}", "result": result.wrong(case) or AS_EXPECTED}


EXPERIMENT = Experiment(
    name="connection-cases",
    title="Dead and standing connections of every kind, and their healthy twins",
    about=(
        "Connections to slapd or 389-ds die, or stand still, in namespaces behind real Linux firewalls, or do not.\n"
        "ldapdiag reads the hosts live over ssh, and files by the commands of docs/capture-by-hand.md; each of the\n"
        "two runs writes text, JSON, HTML and Markdown, and all four must agree. Then the connections are used.\n"
        "Expected: a finding (certain or likely) on exactly these; of a healthy twin clear, and no high finding."
    ),
    steps=tuple(CASES),
    run=run,
    small=1,
)
