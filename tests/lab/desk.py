"""The desk of a topology: where the person who diagnoses sits, and what a run of ldapdiag there reports."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from lab.host import Host

MANAGER = "cn=Directory Manager"


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
    def alarms(self) -> set[str]:
        """Return the checks with findings that --fail-on high counts, but for those on disks.

        A server of the laboratory keeps its database in memory, or on whatever disk this machine has.
        """
        severe = {one["check"] for one in self.report["findings"] if one["severity"] in {"high", "critical"}}
        return severe - {"unsafe-writes", "unsuited-filesystem", "io-errors", "volume-full"}

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
