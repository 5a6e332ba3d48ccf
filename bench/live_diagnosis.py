"""A live diagnosis, from the command to the exit code: a directory with ten thousand connections from two hosts.

All hosts are namespaces (tests/lab), queried over ssh and over LDAP. The figure is the time beyond the sample interval.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from measure import Figure

from lab.applications import Application
from lab.directory_servers import account
from lab.laboratory import Laboratory, lacking
from lab.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.directory_servers import Server

CONNECTIONS = 10_000
"""In total, half of them from each host."""
INTERVAL = 1.0
GOAL_SECONDS = 3.0
PATIENCE = 120.0
"""Seconds until the server must have accepted all connections."""
DESCRIPTORS = 16_000
MANAGER = "cn=Directory Manager"


def figures() -> Iterator[Figure | str]:
    """Yield the seconds that a diagnosis takes; or why it is not measured."""
    if reason := lacking():
        yield f"live diagnosis: not measured, no laboratory: {reason}"
        return
    with tempfile.TemporaryDirectory(prefix="ldapdiag-bench-") as folder:
        for family in ("openldap", "389-ds"):
            seconds = measured(Laboratory(Path(folder, family)), family)
            yield Figure(
                what=f"diagnosis of {CONNECTIONS:,} live connections, {family} / {GOAL_SECONDS:g} s",
                ours=seconds,
                theirs=GOAL_SECONDS,
                goal=1.0,
            )


def measured(laboratory: Laboratory, family: str) -> float:
    """Return the seconds of a diagnosis over ssh and LDAP beyond the sample interval, the best of three."""
    laboratory.folder.mkdir()
    password = laboratory.folder / "password"
    password.write_text("password", encoding="ascii")
    with Topology() as topology:
        for host in (topology.ldap, topology.app1, topology.app2):
            laboratory.keys.serve(host)
        server = started(laboratory, family, topology)
        applications = [
            Application(host, "held", address="10.77.1.2", name=account("application_xyz"), count=CONNECTIONS // 2)
            for host in (topology.app1, topology.app2)
        ]
        for application in applications:
            application.ready(seconds=PATIENCE)
        if (established := len(server.held())) < CONNECTIONS:
            raise AssertionError(f"{established} connections of {CONNECTIONS}")
        ssh = f"ssh -F {laboratory.keys.configuration(topology)}"
        asked = ["ldap://ldap", "ssh://ldap", "ssh://app1", "ssh://app2", "-D", MANAGER, "-y", str(password)]
        command = [
            sys.executable,
            "-m",
            "ldapdiag",
            "diagnose",
            *asked,
            "--apart",
            f"{INTERVAL:g}",
            "--fail-on",
            "never",
        ]
        return min(timed(topology, command, ssh) for _ in range(3)) - INTERVAL


def started(laboratory: Laboratory, family: str, topology: Topology) -> Server:
    """Start a directory server whose descriptor limit allows all connections."""
    if family == "openldap":
        return laboratory.slapd(topology.ldap, descriptors=DESCRIPTORS)
    limit = {"nsslapd-maxdescriptors": str(DESCRIPTORS)}
    return laboratory.ds389(topology.ldap, settings=limit, descriptors=DESCRIPTORS)


def timed(topology: Topology, command: list[str], ssh: str) -> float:
    """Return the seconds that a command takes on the operator's host."""
    started = time.perf_counter()
    topology.desk.run(command, env={"LDAPDIAG_SSH": ssh, "PATH": os.environ["PATH"]})
    return time.perf_counter() - started


if __name__ == "__main__":
    for figure in figures():
        print(figure, flush=True)
