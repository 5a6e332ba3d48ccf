"""What collect saves of an incident is judged elsewhere as a live run judges it; so is what its script saves."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from lab import boxes
from lab.applications import UNANSWERED, Application
from lab.directory_servers import account
from lab.host import wait_for
from lab.topology import Topology

BOX_SECONDS = 2
GHOSTS = 12
TARGETS = ("ldap://ldap", "ssh://ldap", "ssh://app1", "ssh://fw", "ssh://app2")
"""app2 lets nobody in, which is a gap."""


@pytest.fixture(scope="module", params=["389-ds", "openldap"])
def site(request, laboratory):
    """Return a network with an incident that stays as it is: ghosts of app1, and a pool that lives."""
    with Topology() as running:
        running.server = laboratory.server(request.param, running.ldap)
        boxes.silent_drop(running.fw, BOX_SECONDS)
        settings = {"count": GHOSTS, "rest": BOX_SECONDS + 1, "live": 3, "name": account("application_xyz")}
        app = Application(running.app1, "leaking", address="10.77.1.2", **settings).ready()
        wait_for(lambda: not running.app1.ends("FIN-WAIT-1"), "the client does not give its dead ones up")
        running.ghosts = app.truth().ends(UNANSWERED)
        yield running


@pytest.fixture(scope="module")
def sitting(site, desk_of):
    desk = desk_of(site, "ldap", "app1", "fw")
    desk.bind = ("-D", site.server.administrator, *desk.bind[2:])
    return desk


@pytest.fixture(scope="module")
def live(sitting):
    return sitting.diagnose(*TARGETS, *sitting.bind, "--apart", "1")


def elsewhere(*evidence: object) -> dict:
    """Return the report on evidence, by a run on this machine itself."""
    command = [sys.executable, "-m", "ldapdiag", "diagnose", "--format", "json", *map(str, evidence)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)


PASSING = {"longest_idle_seconds", "idle_ages", "ghost_samples"}
"""Keys of `observed` that contain for how long sockets had been idle when the tables were read."""


def lasting(finding: dict) -> dict:
    """Return what was observed, but for what passes."""
    return {key: value for key, value in finding["observed"].items() if key not in PASSING}


def judged(report: dict) -> dict:
    """Return what a report says, but for what passes: when, in which files, and after how many seconds."""
    return {
        "findings": {one["id"]: [one["severity"], one["confidence"], lasting(one)] for one in report["findings"]},
        "verdicts": sorted((one["check"], one["subject"], one["outcome"]) for one in report["verdicts"]),
        "gaps": [(one["target"], one["reason"].partition(" (")[0], one["how"]) for one in report["gaps"]],
        "hosts": [(one["name"], one["addresses"], one["roles"], one["looks"]) for one in report["hosts"]],
    }


@pytest.mark.parametrize("shape", ["capture", "capture.tar.gz", "capture.tar.zst"])
def test_a_capture_is_judged_as_the_live_run_was(site, sitting, live, tmp_path, shape) -> None:
    capture = tmp_path / shape
    code, out, err = sitting.run("collect", *TARGETS, *sitting.bind, "--apart", "1", "--output", str(capture))
    assert (code, out) == (0, ""), err
    assert live.ghost_ends == site.ghosts
    assert judged(elsewhere(capture)) == judged(live.report)


def test_the_script_that_is_printed_saves_the_same_ghosts(site, sitting, live, tmp_path) -> None:
    code, script, _ = sitting.run("collect", "--print-script")
    assert code == 0
    saved = tmp_path / "saved"
    saved.mkdir()
    (tmp_path / "collect.sh").write_text(script)
    run = ["sh", tmp_path / "collect.sh"]
    asked = [site.hosts[name].start(run, log=saved / f"{name}.txt") for name in ("ldap", "app1", "fw")]
    assert [one.wait(60) for one in asked] == [0, 0, 0]
    report = elsewhere(saved)
    (ghosts,) = [lasting(one) for one in report["findings"] if one["check"] == "ghost-connections"]
    assert {(ghosts["client"], port) for port in ghosts["ghost_client_ports"]} == site.ghosts == live.ghost_ends
    assert report["gaps"] == []
    assert {one["name"] for one in report["hosts"]} == {"ldap", "app1", "fw"}
    assert ghosts == lasting(live.found("ghost-connections")[0])


PLANTED = (b"application_xyz", b"example", b"10.77.1.2", b"10.77.2.2", b"10.77.3.2", b"app1")


def test_an_anonymised_capture_says_the_same_of_others(site, sitting, live, tmp_path) -> None:
    capture = tmp_path / "capture"
    sitting.run("collect", *TARGETS, *sitting.bind, "--apart", "1", "--anonymise", "--output", str(capture))
    key = tmp_path / "capture.map.json"
    names = {other: name for name, other in json.loads(key.read_text()).items()}
    assert key.stat().st_mode & 0o777 == 0o600
    saved = [path for path in capture.rglob("*") if path.is_file()]
    told = b"\n".join([str(path.relative_to(capture)).encode() + path.read_bytes() for path in saved])
    assert [one for one in PLANTED if one in told] == []
    assert key not in saved

    (ghosts,) = [one["observed"] for one in elsewhere(capture)["findings"] if one["check"] == "ghost-connections"]
    assert {(names[ghosts["client"]], port) for port in ghosts["ghost_client_ports"]} == site.ghosts
    (seen,) = live.found("ghost-connections")
    assert (ghosts["ghosts"], ghosts["matched"], ghosts["style"]) == (
        seen["observed"]["ghosts"],
        seen["observed"]["matched"],
        seen["observed"]["style"],
    )
