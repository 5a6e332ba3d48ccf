"""The block devices that lsblk prints: the tree in both directions, with all columns and with few."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ldapdiag.evidence.storage import BlockDevice, BlockDevices
from ldapdiag.evidence.storage.lsblk import FORMAT, MOST_DEVICES
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path


def devices(content: str | bytes) -> dict[str, BlockDevice]:
    (found,) = facts_of(content, form=FORMAT)
    assert isinstance(found, BlockDevices)
    assert found.origin.not_understood == 0
    return {one.name: one for one in found.devices}


def lsblk(*nodes: dict[str, Any]) -> str:
    return json.dumps({"blockdevices": nodes}, indent=3)


def test_all_columns_of_a_volume_over_two_disks(captures: Path) -> None:
    found = devices((captures / "storage" / "uml-lvm-linear-ext4" / "lsblk.json").read_bytes())
    volume = found["dm-0"]
    assert (volume.type, volume.number, volume.mapper_name) == ("lvm", "254:0", "vgldap-db")
    assert (volume.parents, volume.mount_points) == (("ubda", "ubdb"), ("/srv/ldap",))
    assert (found["ubda"].parents, found["ubda"].scheduler, found["ubda"].bytes) == ((), "mq-deadline", 400 << 20)


@pytest.mark.parametrize("name", ["lsblk.json", "lsblk_s.json"])
def test_both_directions_show_the_same_stack(captures: Path, name: str) -> None:
    found = devices((captures / "storage" / "uml-dm-on-md-raid1-ext4-nobarrier" / name).read_bytes())
    volume = next(one for one in found.values() if one.mapper_name == "dbvol")
    assert (volume.parents, found["md0"].parents, found["md0"].type) == (("md0",), ("ubdc", "ubdd"), "raid1")
    assert found["ubdc"].parents == ()


def test_old_versions_print_text_and_few_columns() -> None:
    part = {"name": "sda1", "maj:min": "8:1", "size": "1.5G", "type": "part", "mountpoint": "/srv/ldap"}
    disk = {"name": "sda", "maj:min": "8:0", "rota": "1", "size": "2G", "type": "disk", "children": [part]}
    found = devices(lsblk(disk))
    assert (found["sda"].rotational, found["sda"].bytes, found["sda1"].bytes) == (True, 2 << 30, 3 << 29)
    assert (found["sda1"].parents, found["sda1"].mount_points) == (("sda",), ("/srv/ldap",))


def test_a_disk_upon_a_disk_does_not_turn_the_tree() -> None:
    cache = {"name": "bcache0", "type": "disk", "mountpoint": "/srv/ldap"}
    assert devices(lsblk({"name": "sda", "type": "disk", "children": [cache]}))["bcache0"].parents == ("sda",)


def test_messages_before_the_json_are_counted() -> None:
    (found,) = facts_of("lsblk: sdz: not a block device\n" + lsblk({"name": "sda", "type": "disk"}))
    assert (len(found.devices), found.origin.not_understood) == (1, 1)


WRONG: list[list[Any]] = [
    [3],
    [{}],
    [{"name": None}],
    [{"name": ["x"]}],
    [{"name": "", "children": 4}],
    [{"name": "a", "children": [[]], "rota": [], "size": {}, "mountpoints": [3]}],
]


@pytest.mark.parametrize("nodes", WRONG)
def test_wrong_values_are_none(nodes: list[Any]) -> None:
    found = facts_of(json.dumps({"blockdevices": nodes}), form=FORMAT)
    assert [one.name for fact in found for one in fact.devices] in ([], ["a"])


def test_their_number_is_limited() -> None:
    assert len(devices(lsblk(*({"name": f"sd{at}"} for at in range(MOST_DEVICES + 5))))) == MOST_DEVICES
