"""Debian's Prometheus scrapes the exporter: its rules fire on real ghosts, and when the exporter ends."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from command import INCIDENT
from lab import boxes
from lab.applications import UNANSWERED
from lab.host import wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from lab.host import Host

EXAMPLES = INCIDENT.parent / "monitoring"
TARGETS = ("ldap://ldap", "ssh://ldap", "ssh://app1", "ssh://fw")
BOX_SECONDS = 2
PATIENCE = 90
QUICKLY = {r"for: \d+m": "for: 5s", r"_interval: 60s": "_interval: 2s", r"> 900": "> 30"}
"""The durations of the examples, too long for a test."""


def quick(folder: Path) -> Path:
    """Write the examples with shorter durations; return the script that starts them."""
    for name in ("prometheus.yml", "alerts.yml", "start.sh"):
        text = (EXAMPLES / name).read_text()
        for long, short in QUICKLY.items():
            text = re.sub(long, short, text)
        (folder / name).write_text(text)
    return folder / "start.sh"


def ask(host: Host, path: str) -> Any:
    """Return what the API of Prometheus answers; nothing before it does."""
    done = host.attempt(["curl", "--silent", f"http://127.0.0.1:9090/api/v1/{path}"])
    return json.loads(done.stdout)["data"] if done.returncode == 0 and done.stdout.startswith("{") else None


def firing(host: Host) -> dict[str, dict[str, str]]:
    """Return the labels of the alerts that fire, by name."""
    alerts = (ask(host, "alerts") or {"alerts": []})["alerts"]
    return {one["labels"]["alertname"]: one["labels"] for one in alerts if one["state"] == "firing"}


@pytest.mark.parametrize("family", ["389-ds", "openldap"])
def test_ghosts_and_silence_are_alerts(laboratory, topology, desk, start, tmp_path: Path, family: str) -> None:
    server = laboratory.server(family, topology.ldap)
    boxes.silent_drop(topology.fw, BOX_SECONDS)
    app = start(topology.app1, "leaking", count=12, rest=BOX_SECONDS + 1, rounds=2, live=3)
    bind = desk.bind if family == "389-ds" else ()
    environment = desk.environment | {"LDAPDIAG": " ".join(desk.command()), "TMPDIR": str(tmp_path)}
    command = ["sh", quick(tmp_path), *TARGETS, *bind, "--every", "5", "--apart", "1"]
    script = topology.desk.start(command, env=environment, log=tmp_path / "start.log")

    wait_for(lambda: "LdapGhostConnections" in firing(topology.desk), "no alert about ghosts", seconds=PATIENCE)
    assert firing(topology.desk)["LdapGhostConnections"]["client"] == topology.address("app1")
    assert "LdapdiagSilent" not in firing(topology.desk)
    (one,) = ask(topology.desk, "query?query=sum(ldapdiag_ghost_connections)")["result"]
    assert int(one["value"][1]) == len(app.truth().ends(UNANSWERED) & server.held())

    topology.desk.run(r"kill $(ss -Hltnp 'sport = :9942' | sed -n 's/.*pid=\([0-9]*\).*/\1/p')")
    wait_for(lambda: "LdapdiagSilent" in firing(topology.desk), "no alert about silence", seconds=PATIENCE)
    assert script.end(seconds=PATIENCE) == 0
    assert topology.desk.run("ss -Hltn 'sport = :9942 or sport = :9090'") == ""
    assert "Traceback" not in (tmp_path / "start.log").read_text()
