"""Real servers whose volume is full: what they refuse, and what is found."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from lab.host import Host
from lab.volumes import ROOM_FOR_389, FileSystem, mount

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


def fill(host: Host, folder: str) -> None:
    """Take all space of a volume, that for root included; a large part without writing it."""
    large = f"$(( $(stat -f -c '%a*%S' {folder}) * 9 / 10 ))"
    host.run(f"fallocate -l {large} {folder}/filler")
    host.run("; ".join(f"dd if=/dev/zero of={folder}/filler{block} bs={block} || :" for block in (65536, 1024)))


def results(host: Host, ldapi: str, count: int) -> list[int]:
    """Return the results of so many additions of large entries."""
    asked = ["ldapmodify", "-Q", "-Y", "EXTERNAL", "-H", f"ldapi://{ldapi}"]
    return [host.attempt(asked, stdin=ENTRY.format(at, LARGE)).returncode for at in range(count)]


def judged(host: Host, folder: str = FOLDER) -> tuple[int, dict[str, Any]]:
    """Return the exit code of that check alone, and what it says of the volume."""
    ran: CompletedProcess[str] = host.attempt(
        f"{sys.executable} -m ldapdiag diagnose local: -q --check volume-full --format json"
    )
    (said,) = [one for one in json.loads(ran.stdout)["findings"] if one["observed"]["mount_point"] == folder]
    return ran.returncode, said


def test_a_volume_without_space_is_critical_and_the_server_refuses_changes(host) -> None:
    fill(host, FOLDER)
    assert results(host, "%2Frun%2Fslapd%2Fldapi", CHANGES) == [OTHER] * CHANGES
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


HOME, OF_389, OPERATIONS_ERROR = "/dev/shm/slapd-live", "/var/lib/dirsrv/slapd-live/db", 1  # noqa: S108  of the host alone
ENOUGH = 90
"""Additions that the first file of the transaction log (10 MiB) has no room for."""


def test_389_ds_refuses_changes_when_its_transaction_log_cannot_grow(laboratory) -> None:
    with Host("ldap") as host:
        mount(host, FileSystem("ext4"), OF_389, megabytes=ROOM_FOR_389)
        host.run(f"mkdir {HOME}; chown dirsrv {HOME}")
        server = laboratory.ds389(
            host, settings={"nsslapd-disk-monitoring": "off"}, database={"nsslapd-db-home-directory": HOME}
        )
        fill(host, OF_389)
        found = results(host, server.ldapi, ENOUGH)
        assert set(found) == {0, OPERATIONS_ERROR}
        assert found == sorted(found), "first they succeed, then none does"
        code, said = judged(host, OF_389)
        assert (code, said["severity"]) == (1, "critical")
        assert "nsslapd-disk-monitoring is off" in said["detail"]
