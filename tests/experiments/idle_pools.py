"""Pools that are idle altogether behind a firewall, dropped or not: what the report says, and what the pool does."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from experiments.notebook import AS_EXPECTED, Experiment
from lab.applications import Application
from lab.desk import Desk
from lab.directory_servers import account
from lab.idle_pools import CASES, tried
from lab.laboratory import Laboratory
from lab.topology import Topology


def run(step: str, *, small: bool) -> dict[str, str]:
    """Try one case, and return the outcomes of the run and of files by hand."""
    case = CASES[step]
    with tempfile.TemporaryDirectory() as folder, Topology(apps=1) as topology:
        laboratory, password = Laboratory(Path(folder)), Path(folder) / "password"
        password.write_text("password")
        for host in topology.hosts.values():
            laboratory.keys.serve(host)
        desk = Desk(topology.desk, laboratory.keys.configuration(topology), password)
        laboratory.slapd(topology.ldap)
        result = tried(case, topology, desk, start, Path(folder) / "hand")
    row = {"connections": str(case.count), "live": result.live, "files": result.files}
    answers = "answers" if result.lives else "dead"
    return row | {"pool": answers, "load": f"{os.getloadavg()[0]:.1f}", "result": result.wrong(case) or AS_EXPECTED}


def start(host: object, mode: str, *, name: str = "xyz", **settings: object) -> Application:
    """Start an application, and wait until it is ready."""
    app = Application(host, mode, address="10.77.1.2", name=account(f"application_{name}"), **settings)
    return app.ready()


EXPERIMENT = Experiment(
    name="idle-pools",
    title="Pools that are idle altogether, behind a firewall without an entry for them, and their healthy twins",
    about=(
        "A pool of connections to slapd is idle behind a Linux firewall whose table is flushed or expires, or is not.\n"
        "ldapdiag reads both ends and the firewall, live over ssh and from files by the commands of\n"
        "docs/capture-by-hand.md; then the pool sends a request on each connection.\n"
        "Expected: a dead pool is severed, certain, or not judged (NAT); one that answers is clear."
    ),
    steps=tuple(CASES),
    run=run,
    small=1,
)
