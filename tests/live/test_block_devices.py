"""LVM and md under a real server, in a kernel that has them: collected, and read back down to the disks."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass

import pytest

from lab.host import Host
from lab.laboratory import need
from lab.storage_read_back import place_of, stored
from lab.user_mode_linux import OUTPUT, TOOLS, lvm, run
from ldapdiag.analysis.storage.server_storage import ServerStorage


@dataclass(frozen=True, slots=True)
class Under:
    """What is true of a volume there."""

    fs_type: str
    types: list[str]
    """Of its devices, top to bottom."""
    disks: set[str]
    barrier: bool = True
    hidden: tuple[str, ...] = ()


KINDS = {
    "lvm": Under("ext4", ["lvm", "disk", "disk"], {"ubda", "ubdb"}),
    "lvm-nobarrier": Under("ext4", ["lvm", "disk"], {"ubdb"}, barrier=False, hidden=("nobarrier",)),
    "raid": Under("xfs", ["raid1", "disk", "disk"], {"ubdc", "ubdd"}),
    "lvm-on-raid": Under("ext4", ["lvm", "raid1", "disk", "disk"], {"ubde", "ubdf"}),
}
CONFIGURATION = """include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile /run/slapd.pid
"""
CREATE = "mdadm --create /dev/md{number} --run --metadata=1.2 --level=1 --raid-devices=2 --assume-clean {disks}"
SCRIPT = "\n".join(
    [
        lvm("pvcreate", "-ff -y /dev/ubda /dev/ubdb"),
        lvm("vgcreate", "both /dev/ubda /dev/ubdb"),
        lvm("lvcreate", "-y -Wn -Zn -L 500M -n lvm both"),
        lvm("lvcreate", "-y -Wn -Zn -L 100M -n unsafe both /dev/ubdb"),
        "mkfs.ext4 -q -F /dev/mapper/both-lvm",
        "mkfs.ext4 -q -F /dev/mapper/both-unsafe",
        "tune2fs -o nobarrier /dev/mapper/both-unsafe",
        CREATE.format(number=0, disks="/dev/ubdc /dev/ubdd"),
        "mkfs.xfs -q -f /dev/md0",
        CREATE.format(number=1, disks="/dev/ubde /dev/ubdf"),
        lvm("pvcreate", "-ff -y /dev/md1", on="md"),
        lvm("vgcreate", "mirrored /dev/md1", on="md"),
        lvm("lvcreate", "-y -Wn -Zn -L 100M -n ldap mirrored", on="md"),
        "mkfs.ext4 -q -F /dev/mapper/mirrored-ldap",
        f"mkdir -p {' '.join(map(place_of, KINDS))}",
        f"mount /dev/mapper/both-lvm {place_of('lvm')}",
        f"mount /dev/mapper/both-unsafe {place_of('lvm-nobarrier')}",
        f"mount /dev/md0 {place_of('raid')}",
        f"mount /dev/mapper/mirrored-ldap {place_of('lvm-on-raid')}",
        f"echo {shlex.quote(CONFIGURATION)} > /run/slapd.conf",
        *(
            f"printf 'database mdb\\nsuffix o={kind}\\ndirectory {place_of(kind)}\\n' >> /run/slapd.conf"
            for kind in KINDS
        ),
        "slapd -f /run/slapd.conf -h ldap://127.0.0.1",
        f"cd {OUTPUT}; {sys.executable} -m ldapdiag collect local: --apart 0.1 --timeout 300 --output {OUTPUT}/capture",
    ]
)


@pytest.fixture(scope="module")
def storage(laboratory, tmp_path_factory) -> ServerStorage:
    need(*TOOLS)
    output = tmp_path_factory.mktemp("uml") / "output"
    with Host("ldap") as host:
        run(host, SCRIPT, disks=6, output=output)
    return stored(output / "capture")[0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_stack_is_read_back_down_to_the_disks(storage, kind) -> None:
    known = KINDS[kind]
    (volume,) = [one for one in storage.volumes if one.mount_point == place_of(kind)]
    assert volume.fs_type == known.fs_type
    assert [device.type for device in volume.stack] == known.types
    assert {device.name for device in volume.devices} == known.disks
    assert (volume.options.barrier, volume.options.hidden) == (known.barrier, known.hidden)
    assert volume.disk_known
