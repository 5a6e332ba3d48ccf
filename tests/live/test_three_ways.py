"""Each style of incident, three ways: live, from a capture of `collect`, and from files made by hand.

The verdicts are the same, or not judged with what is missing named. The truth is the applications' own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from lab import boxes, by_hand
from lab.applications import OPEN, RESET, UNANSWERED
from lab.desk import Said
from lab.host import wait_for

if TYPE_CHECKING:
    from pathlib import Path

BOX_SECONDS = 2
COUNT = 14
LIVE = 4
TARGETS = ("ssh://ldap", "ssh://app1", "ssh://app2", "ssh://fw")
HALF_OPEN = ("ghost-connections", "stranded-connections", "severed-connections")
"""Checks whose findings name the clients' ports."""

ORDER = (("app1", by_hand.CLIENT), ("app2", by_hand.CLIENT), ("fw", by_hand.FIREWALL), ("ldap", by_hand.SERVER))
"""A person goes from host to host, and what each page of the documentation says there."""


@dataclass(frozen=True, slots=True)
class Case:
    """An incident as it stands, and what has to be found: the ends by check, the style where one is left."""

    ends: dict[str, set[tuple[str, int]]]
    style: str | None = None
    kept: int = 0
    """Server-side legs that a proxy keeps."""


def rest() -> None:
    """Let the box's clock run out; it is not ours, so there is nothing to wait for."""
    time.sleep(BOX_SECONDS + 1.5)


class Incidents:
    """What makes each incident in a topology."""

    def __init__(self, topology, laboratory, start) -> None:
        self.topology, self.laboratory, self.start = topology, laboratory, start
        self.server = laboratory.slapd(topology.ldap)

    def _parted(self, box, fate: str):
        held = self.start(self.topology.app1, "held", count=COUNT, address=box.address)
        self.start(self.topology.app2, "pool", name="foo", count=LIVE, every=0.5, address=box.address)
        rest()
        held.order("use")
        wait_for(lambda: not self.topology.app1.ends("FIN-WAIT-1"), "the client does not give its dead ones up")
        return held.truth().ends(fate)

    def silent_drop(self) -> Case:
        ends = self._parted(boxes.silent_drop(self.topology.fw, BOX_SECONDS), UNANSWERED)
        return Case({"ghost-connections": ends}, "silent-drop")

    def reset_to_client(self) -> Case:
        ends = self._parted(boxes.reset_to_client(self.topology.fw, BOX_SECONDS), RESET)
        return Case({"ghost-connections": ends}, "reset-to-client")

    def reset_to_both(self) -> Case:
        self._parted(boxes.reset_to_both(self.topology.fw, BOX_SECONDS), RESET)
        return Case({})

    def virtual_address(self) -> Case:
        box = boxes.dnat(self.topology.fw)
        boxes.silent_drop(self.topology.fw, BOX_SECONDS)
        return Case({"ghost-connections": self._parted(box, UNANSWERED)}, "silent-drop")

    def rebooted_client(self) -> Case:
        self.start(self.topology.app1, "held", count=COUNT)
        self.start(self.topology.app2, "pool", name="foo", count=LIVE, every=0.5)
        dead = self.topology.app1.ends("ESTAB")
        rest()
        rest()
        host = self.topology.reboot("app1", uptime_seconds=1)
        self.laboratory.keys.serve(host)
        alive = self.start(host, "pool", count=LIVE, every=0.5)
        return Case({"ghost-connections": dead - alive.truth().ends(OPEN)}, "client-gone")

    def proxy_held(self) -> Case:
        box = boxes.proxy(self.topology.fw, 3600)
        self.start(self.topology.app1, "held", count=COUNT, address=box.address)
        self.start(self.topology.app2, "pool", name="foo", count=LIVE, every=0.5, address="10.77.3.1")
        dead = self.topology.app1.ends("ESTAB")
        rest()
        self.laboratory.keys.serve(self.topology.reboot("app1", uptime_seconds=1))
        return Case({"ghost-connections": dead}, "client-gone", kept=COUNT)

    def severed(self) -> Case:
        boxes.silent_drop(self.topology.fw, 3600)
        held = self.start(self.topology.app1, "held", count=COUNT)
        self.start(self.topology.app1, "pool", name="foo", count=LIVE, every=0.5)
        rest()
        ends = held.truth().ends(OPEN)
        for address, port in ends:
            self.topology.fw.run(["conntrack", "-D", "-p", "tcp", "-s", address, "--sport", str(port)])
        return Case({"severed-connections": ends})

    def stranded(self) -> Case:
        boxes.silent_drop(self.topology.fw, 3600)
        held = self.start(self.topology.app1, "held", count=COUNT)
        self.start(self.topology.app2, "pool", name="foo", count=LIVE, every=0.5)
        rest()
        self.topology.fw.run(["conntrack", "-D", "-s", "10.77.2.2"])
        self.topology.ldap.run(["ss", "-K", "dst", "10.77.2.2"])  # its RSTs meet the box that has forgotten
        wait_for(lambda: not {e for e in self.server.held() if e[0] == "10.77.2.2"}, "the server keeps some")
        return Case({"stranded-connections": held.truth().ends(OPEN)})


STYLES = (
    "silent_drop",
    "reset_to_client",
    "reset_to_both",
    "virtual_address",
    "rebooted_client",
    "proxy_held",
    "severed",
    "stranded",
)


def found_ends(said: Said, check: str) -> set[tuple[str, int]]:
    """Return the clients' ends that a check names."""
    return {
        (one["observed"]["client"], port)
        for one in said.found(check)
        for key, ports in one["observed"].items()
        if key.endswith("_client_ports")
        for port in ports or ()
    }


def elsewhere(evidence: Path) -> Said:
    """Return the report on evidence, made on this machine itself."""
    command = [sys.executable, "-m", "ldapdiag", "diagnose", "--format", "json", str(evidence)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return Said(done.returncode, json.loads(done.stdout), done.stderr)


@pytest.mark.parametrize("style", STYLES)
def test_all_three_agree(topology, laboratory, desk, start, tmp_path, style) -> None:
    case: Case = getattr(Incidents(topology, laboratory, start), style)()
    live = desk.diagnose(*TARGETS, "--apart", "0.5")
    code, _, err = desk.run("collect", *TARGETS, "--apart", "0.5", "--output", str(tmp_path / "capture"))
    assert code == 0, err
    for host, heading in ORDER:
        by_hand.capture(topology.hosts[host], heading, tmp_path / "hand")
    for way, said in (
        ("live", live),
        ("collect", elsewhere(tmp_path / "capture")),
        ("hand", elsewhere(tmp_path / "hand")),
    ):
        agrees(case, said, way)


def agrees(case: Case, said: Said, way: str) -> None:
    """Assert that a report names what the case has, or, made by hand, does not judge it and says what is missing."""
    for check in HALF_OPEN:
        expected, found = case.ends.get(check, set()), found_ends(said, check)
        assert found <= expected, (way, check)
        if found != expected:
            assert way == "hand", (way, check, len(expected - found), unjudged(said, check))
            assert unjudged(said, check), (way, check)
    ghosts = {one["observed"]["style"] for one in said.found("ghost-connections")}
    assert ghosts <= ({case.style, "unknown"} if way == "hand" else {case.style}), way
    kept = sum(one["observed"]["connections"] for one in said.found("proxy-held-connections"))
    assert kept == case.kept or (way == "hand" and unjudged(said, "proxy-held-connections")), way


def unjudged(said: Said, check: str) -> list[str]:
    """Return what a report names as missing for a check."""
    verdicts = [one for one in said.report["verdicts"] if one["check"] == check and one["outcome"] == "not-judged"]
    return [one["reason"] for one in verdicts if one["how"] or one["reason"]]
