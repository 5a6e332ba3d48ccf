"""The desk of the laboratory: ldapdiag run there as a person runs it, over ssh and LDAP, and what it said."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from lab.applications import Application
from lab.directory_servers import account
from lab.host import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from lab.host import Host
    from lab.topology import Topology

MANAGER = "cn=Directory Manager"
PASSWORD = "password"  # noqa: S105  of servers that live for one test


@dataclass(frozen=True, slots=True)
class Said:
    """What one run said."""

    code: int
    report: dict[str, Any]
    err: str

    def found(self, check: str) -> list[dict[str, Any]]:
        """Return what a check found."""
        return [one for one in self.report["findings"] if one["check"] == check]

    def outcomes(self, check: str) -> set[str]:
        """Return what a check said of all its subjects."""
        return {one["outcome"] for one in self.report["verdicts"] if one["check"] == check}

    def outcome(self, check: str, subject: str) -> str:
        """Return what a check said of one subject."""
        (verdict,) = [one for one in self.report["verdicts"] if (one["check"], one["subject"]) == (check, subject)]
        return str(verdict["outcome"])

    @property
    def connections(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return the connections of the only server, by client and by account."""
        (share,) = self.found("connection-share")
        observed = share["observed"]
        return (
            {one["client"]: one["connections"] for one in observed["by_client"]},
            {one["bind_dn"]: one["connections"] for one in observed["by_account"]},
        )

    @property
    def ghosts(self) -> dict[str, dict[str, Any]]:
        """Return what was observed of ghosts, by the client's address."""
        return {one["observed"]["client"]: one["observed"] for one in self.found("ghost-connections")}

    @property
    def ghost_ends(self) -> set[tuple[str, int]]:
        """Return the clients' ends of all ghosts that are known exactly."""
        return {(client, port) for client, seen in self.ghosts.items() for port in seen["ghost_client_ports"] or ()}

    @property
    def gaps(self) -> dict[str, str]:
        """Return the gaps' reasons, by target."""
        return {one["target"]: one["reason"] for one in self.report["gaps"]}


class Desk:
    """Where the person who diagnoses sits: a host of the topology with ssh keys and a password file."""

    def __init__(self, host: Host, ssh: Path, password: Path) -> None:
        self.host = host
        self.environment = {"LDAPDIAG_SSH": f"ssh -F {ssh}", "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        self.bind = ("-D", MANAGER, "-y", str(password))

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of ldapdiag."""
        return [sys.executable, "-m", "ldapdiag", *arguments]

    def run(self, *arguments: str, host: Host | None = None) -> tuple[int, str, str]:
        """Run ldapdiag at the desk, or on another host, and return its exit code and both outputs."""
        done = (host or self.host).attempt(self.command(*arguments), env=self.environment)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    def diagnose(self, *arguments: str, host: Host | None = None) -> Said:
        """Diagnose, and return the report."""
        code, out, err = self.run("diagnose", *arguments, "--format", "json", host=host)
        assert out, f"exit {code}: {err}"
        said = Said(code, json.loads(out), err)
        assert not [one for one in said.report["verdicts"] if one["outcome"] == "crashed"]
        return said


@pytest.fixture(scope="session")
def desk_of(laboratory) -> Callable[..., Desk]:
    """Return what makes the desk of a topology, with a way into every host, or into these."""

    def made(topology: Topology, *hosts: str) -> Desk:
        for name in hosts or topology.hosts:
            laboratory.keys.serve(topology.hosts[name])
        password = laboratory.folder / "password"
        password.write_text(PASSWORD)
        return Desk(topology.desk, laboratory.keys.configuration(topology), password)

    return made


@pytest.fixture
def desk(desk_of, topology: Topology) -> Desk:
    """Return the desk, with a way into every host."""
    return desk_of(topology)


@pytest.fixture
def start() -> Callable[..., Application]:
    """Return what starts an application and waits until it is ready."""

    def started(
        host: Host, mode: str, *, address: str = "10.77.1.2", name: str = "xyz", **settings: object
    ) -> Application:
        return Application(host, mode, address=address, name=account(f"application_{name}"), **settings).ready()

    return started


def gone_from(host: Host, ends: set[tuple[str, int]], *, states: Sequence[str] = ()) -> None:
    """Wait until a client shows none of these ends any more, in any state or in these."""
    every = states or (
        "ESTAB",
        "FIN-WAIT-1",
        "FIN-WAIT-2",
        "CLOSE-WAIT",
        "LAST-ACK",
        "CLOSING",
        "TIME-WAIT",
        "SYN-SENT",
    )
    wait_for(lambda: not host.ends(*every) & ends, f"{host.name} still has some of {sorted(ends)[:3]}…")
