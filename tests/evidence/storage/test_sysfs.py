"""The block devices of /sys, as captured and as the collection prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.storage import BlockDevice, BlockDevices
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

COLLECTED = """/sys/block/sda/queue/write_cache:write back
/sys/block/sda/queue/rotational:1
/sys/block/sda/queue/scheduler:none [mq-deadline] kyber
/sys/block/sda/queue/fua:0
/sys/block/sda/size:2048
/sys/block/sda/dev:8:0
/sys/block/sda/device/model:VIRTUAL-DISK
/sys/block/sda/sda1/partition:1
/sys/block/sda/sda1/dev:8:1
/sys/block/sda/integrity/format:none
/sys/block/nvme0n1/nvme0n1p1/dev:259:1
/sys/block/dm-3/dm/name:vg-db
/sys/block/dm-3/dm/uuid:LVM-VwND5MnV3sGXj0ouUEbvdAzLPy1cop9f
/sys/block/dm-3/dev:253:3
/sys/block/dm-4/dm/uuid:CRYPT-LUKS2-1f-data
/sys/block/md0/md/level:raid1
/sys/block/loop0/loop/backing_file:/var/img/with blank: and colon
/sys/block/dm-3/slaves/sda1
/sys/block/dm-3/slaves/md0
"""
LINKS = """total 0
lrwxrwxrwx 1 root root 0 Nov 22 04:49 259:1 -> ../../devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1/nvme0n1p1
lrwxrwxrwx 1 root root 0 Nov 22 04:49 259:0 -> ../../devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1
lrwxrwxrwx 1 root root 0 Nov 22 04:49 8:17 -> ../../devices/pci0000:00/ata1/host0/block/sdb/sdb1
"""


def devices(text: str | bytes) -> dict[str, BlockDevice]:
    (found,) = facts_of(text)
    assert isinstance(found, BlockDevices)
    assert found.origin.not_understood == 0
    return {one.name: one for one in found.devices}


def test_the_collected_attributes_are_read() -> None:
    found = devices(COLLECTED)
    assert found["sda"] == BlockDevice(
        name="sda", number="8:0", type="disk", write_cache="write back", rotational=True, fua=False,
        scheduler="mq-deadline", bytes=1 << 20, model="VIRTUAL-DISK",
    )  # fmt: skip
    assert found["sda1"] == BlockDevice(name="sda1", number="8:1", type="part", parents=("sda",))
    assert found["dm-3"] == BlockDevice(
        name="dm-3", number="253:3", type="lvm", parents=("sda1", "md0"), mapper_name="vg-db"
    )
    assert (found["dm-4"].type, found["md0"].type) == ("crypt", "raid1")
    assert found["nvme0n1p1"].parents == ("nvme0n1",)
    assert (found["loop0"].type, found["loop0"].backing_file) == ("loop", "/var/img/with blank: and colon")
    assert "integrity" not in found


def test_links_name_partitions_and_their_disks() -> None:
    found = devices(LINKS)
    assert (found["nvme0n1"].number, found["nvme0n1"].type, found["nvme0n1"].parents) == ("259:0", "disk", ())
    assert (found["nvme0n1p1"].number, found["nvme0n1p1"].parents) == ("259:1", ("nvme0n1",))
    assert (found["sdb1"].type, found["sdb1"].parents) == ("part", ("sdb",))


def test_the_stack_of_captures(captures: Path) -> None:
    lvm = devices((captures / "storage" / "uml-lvm-linear-ext4" / "sysfs.txt").read_bytes())
    assert (lvm["dm-0"].type, lvm["dm-0"].number, lvm["dm-0"].mapper_name) == ("lvm", "254:0", "vgldap-db")
    assert lvm["dm-0"].parents == ("ubda", "ubdb")
    both = devices((captures / "storage" / "uml-dm-on-md-raid1-ext4-nobarrier" / "sysfs.txt").read_bytes())
    assert (both["dm-0"].parents, both["md0"].parents, both["md0"].type) == (("md0",), ("ubdc", "ubdd"), "raid1")
    assert (both["ubdc"].type, both["ubdc"].write_cache, both["dm-0"].fua) == ("disk", "write back", True)
    (loop,) = devices((captures / "storage" / "ext4-default" / "sys_dev_block.txt").read_bytes()).values()
    assert (loop.name, loop.number, loop.type) == ("loop0", "7:0", "loop")


def test_lines_of_other_text_are_counted() -> None:
    (found,) = facts_of(COLLECTED + "no such file\n/sys/kernel/x:1\n")
    assert found.origin.not_understood == 2
