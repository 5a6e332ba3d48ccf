"""ldapdiag storage as a person runs it on the server: in a terminal of 80 x 24, with and without a probe."""

from __future__ import annotations

import json
import sys

import pytest

from lab.host import Host
from lab.terminal import paste
from lab.volumes import ROOM_FOR_389, FileSystem, mount

LDAPDIAG = f"{sys.executable} -m ldapdiag storage"
FOLDER = "/var/lib/ldap"


@pytest.fixture(scope="module")
def host(laboratory):
    """Return a host with a slapd whose database is on ext4 without barriers, as only the superblock shows."""
    with Host("ldap") as running:
        mount(running, FileSystem("ext4", defaults="nobarrier"), FOLDER, megabytes=ROOM_FOR_389)
        laboratory.slapd(running)
        yield running


def shown(host: Host, options: str = "") -> list[str]:
    """Return the lines that a terminal of 80 x 24 shows."""
    return paste(host, f"stty cols 80 rows 24; {LDAPDIAG} -q --color never {options} || :").splitlines()


def test_the_verdict_and_the_volume_are_on_the_first_screen(host) -> None:
    screen = shown(host)[:24]
    assert [line for line in screen if len(line) > 80] == []
    for start in (
        "verdicts ",
        "CRITICAL ",
        "    first ",
        "ldap        OpenLDAP ",
        f"volume      {FOLDER} · ext4",
        "disks ",
    ):
        assert any(line.startswith(start) for line in screen), (start, screen)
    assert any(line.startswith("options     nobarrier * data=ordered") for line in screen)


def test_the_last_screen_repeats_the_verdict(host) -> None:
    assert any(line.startswith("CRITICAL ") for line in shown(host)[-8:])


def test_a_probe_is_of_the_volume_and_leaves_nothing(host, tmp_path) -> None:
    before = host.run(["ls", "-A", FOLDER])
    file = tmp_path / "probe.json"
    told = host.run(
        f"{LDAPDIAG} -q --probe {FOLDER} --probe-seconds 6 --save-probe {file} --format json --fail-on never"
    )
    (server,), (probe,) = (json.loads(told)[name] for name in ("storage", "probes"))
    assert server["volumes"][0]["probe"] == probe["origin"]
    assert (probe["mount_point"], probe["stopped_because"]) == (FOLDER, "")
    assert host.run(["ls", "-A", FOLDER]) == before
    again = json.loads(host.run(f"{LDAPDIAG} -q local: {file} --format json --fail-on never"))
    assert again["storage"][0]["volumes"][0]["probe"] == again["probes"][0]["origin"]
    assert again["probes"][0]["syncs"] == probe["syncs"]


def test_a_volume_with_little_space_is_not_probed(host) -> None:
    mount(host, FileSystem("ext4"), "/srv/small")
    ran = host.attempt(f"{LDAPDIAG} -q --probe /srv/small")
    assert ran.returncode == 2
    assert "less than 1,024 MiB" in str(ran.stderr)
    assert host.run("ls -A /srv/small") == "lost+found\n"
