"""The volume of a path: of a server's own namespace, below links, on mounts over mounts."""

from __future__ import annotations

from dataclasses import replace

import pytest

import facts
import storage_facts as disk
from ldapdiag.analysis.storage.host_storage import mount_of
from ldapdiag.evidence.storage.settings import Role


@pytest.mark.parametrize(
    ("path", "point"),
    [
        ("/var/lib/dirsrv", "/var/lib/dirsrv"),
        ("/var/lib/dirsrv/slapd-ds/db", "/var/lib/dirsrv"),
        ("/var/lib/dirsrv2", "/var"),
        ("/srv", "/"),
        ("relative", None),
    ],
)
def test_a_path_is_on_the_longest_mount_by_whole_components(path, point) -> None:
    rows = [disk.mount(mount_point=one) for one in ("/var/lib/dirsrv", "/", "/var")]
    found = mount_of(path, rows)
    assert (found.mount_point if found else None) == point


def test_the_last_of_two_mounts_at_one_place_hides_the_other() -> None:
    first, second = disk.mount("xfs"), disk.mount("btrfs")
    assert mount_of(disk.DATABASE, [first, second]) is second


def test_a_server_in_a_container_has_its_own_mounts() -> None:
    inside = disk.mount(
        "overlay",
        "upperdir=/var/lib/docker/upper",
        mount_point="/",
        source="overlay",
        device="0:50",
        options="rw,relatime",
    )
    own = replace(disk.table(), mounts=(inside,), origin=replace(facts.origin(name="mountinfo.txt"), server="ldap"))
    host = disk.table(disk.mount("ext4", "nobarrier", mount_point="/var/lib/docker"), name="mount.txt")
    (volume,) = disk.joined(own, host, disk.devices(), disk.settings((Role.DATABASE, disk.DATABASE))).volumes
    assert (volume.fs_type, volume.mount_point) == ("overlay", "/")
    assert [one.fs_type for one in volume.beneath] == ["ext4"]
    assert [one.name for one in volume.devices] == ["sda", "sdb"]
    (alone,) = disk.joined(own, disk.devices(), disk.settings((Role.DATABASE, disk.DATABASE))).volumes
    assert "does not show the file system of /var/lib/docker/upper" in alone.disk_unknown


def test_a_link_is_followed_where_it_was_collected() -> None:
    link = disk.names(3, real_path="/data/db")
    rows = disk.table(disk.mount(), disk.mount("xfs", mount_point="/data", source="/dev/sdb", device="8:16"))
    (volume,) = disk.joined(rows, link, disk.settings((Role.DATABASE, disk.DATABASE))).volumes
    assert volume.mount_point == "/data"


@pytest.mark.parametrize("path", ["//var/lib/dirsrv//db/", "/var/lib/dirsrv/./db", "/var/lib/other/../dirsrv/db"])
def test_a_path_is_on_its_volume_however_it_is_spelt(path) -> None:
    storage = disk.joined(disk.table(disk.mount()), disk.settings((Role.DATABASE, path)))
    volume = storage.volume_of(Role.DATABASE)
    assert volume is not None
    assert volume.mount_point == "/var/lib/dirsrv"
    assert (Role.DATABASE, "/var/lib/dirsrv/db") in volume.paths


def test_a_relative_path_is_on_no_volume() -> None:
    storage = disk.joined(disk.table(disk.mount()), disk.settings((Role.DATABASE, "db")))
    assert storage.volumes == ()
    assert "relative" in storage.unplaced[0].why
