"""Real servers whose volume is full: what they refuse, and what is found."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from lab.host import Host
from lab.volumes import FileSystem, mount

if TYPE_CHECKING:
    from subprocess import CompletedProcess

FOLDER = "/var/lib/ldap"
CHANGES = 9
ENTRY = """dn: ou=large{0},dc=example,dc=com
changetype: add
objectClass: organizationalUnit
ou: large{0}
description: {1}
"""
LARGE = "x" * 200_000
"""It needs pages that no file of this size has free."""
OTHER = 80


@pytest.fixture
def host(laboratory):
    """Return a host with a slapd whose database is on a small ext4, with blocks that are reserved for root."""
    with Host("ldap") as running:
        mount(running, FileSystem("ext4", make="-N 256"), FOLDER, megabytes=24)
        laboratory.slapd(running)
        yield running


def results(host: Host) -> list[int]:
    """Return the results of so many additions of large entries."""
    asked = ["ldapmodify", "-Q", "-Y", "EXTERNAL", "-H", "ldapi:///"]
    return [host.attempt(asked, stdin=ENTRY.format(at, LARGE)).returncode for at in range(CHANGES)]


def judged(host: Host) -> tuple[int, dict[str, Any]]:
    """Return the exit code of that check alone, and what it says of the volume."""
    ran: CompletedProcess[str] = host.attempt(
        f"{sys.executable} -m ldapdiag diagnose local: -q --check volume-full --format json"
    )
    (said,) = [one for one in json.loads(ran.stdout)["findings"] if one["observed"]["mount_point"] == FOLDER]
    return ran.returncode, said


def test_a_volume_without_space_is_critical_and_the_server_refuses_changes(host) -> None:
    host.run("; ".join(f"dd if=/dev/zero of={FOLDER}/filler{block} bs={block} || :" for block in (65536, 1024)))
    assert results(host) == [OTHER] * CHANGES
    code, said = judged(host)
    assert (code, said["severity"]) == (1, "critical")
    kernel = [int(word) for word in host.run(["stat", "-f", "-c", "%a %S %b %d %c", FOLDER]).split()]
    free, unit, blocks, inodes, all_inodes = kernel
    assert free == 0
    assert said["observed"] | {"free_bytes": 0, "total_bytes": blocks * unit} == said["observed"]
    assert (said["observed"]["free_inodes"], said["observed"]["total_inodes"]) == (inodes, all_inodes)
    assert "result 80" in said["detail"]


def test_a_volume_without_inodes_is_critical(host) -> None:
    host.run(f"n=0; while touch {FOLDER}/file$n; do n=$((n+1)); done 2>/dev/null")
    code, said = judged(host)
    assert (code, said["severity"]) == (1, "critical")
    assert said["observed"]["free_inodes"] == 0
    assert said["observed"]["free_bytes"] > 10 << 20
    assert "inodes" in said["title"]
