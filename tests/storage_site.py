"""The disk under a directory server, as facts: a 389-ds on ext4 whose superblock switches barriers off.

Data and changelog are on /srv/ldap (LVM on a disk), the access log is on the root file system. The mount rows, the
options in force and the files of the kernel are as Linux 6 prints them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import facts
from ldapdiag.evidence.bundle import Bundle
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.origin import Origin
from ldapdiag.evidence.storage import (
    BlockDevice,
    BlockDevices,
    EffectiveOptions,
    FileExtents,
    FileSystemSpace,
    KernelErrors,
    Space,
)
from ldapdiag.evidence.storage.probe import (
    GroupCommit,
    Latency,
    StorageProbe,
    SyncCall,
    SyncLatency,
    WriteKind,
)
from ldapdiag.evidence.storage.settings import Role, StoragePlace, StorageSetting, StorageSettings
from reading import facts_of

MOUNTINFO = """\
23 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
24 23 0:22 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
26 23 254:0 / /srv/ldap rw,relatime shared:14 - ext4 /dev/mapper/vg-ldap rw
"""
OPTIONS = ("rw", "delalloc", "nobarrier", "auto_da_alloc", "errors=continue", "commit=5", "data=ordered")
GIB = 1 << 30
INODES = {"total_inodes": 1_310_720, "free_inodes": 1_200_000}
PLACES = (
    StoragePlace(role=Role.DATABASE, path="/srv/ldap/db", backend="userRoot"),
    StoragePlace(role=Role.TRANSACTION_LOG, path="/srv/ldap/db", is_default=True),
    StoragePlace(role=Role.CHANGELOG, path="/srv/ldap/db/userRoot", is_default=True),
    StoragePlace(role=Role.ACCESS_LOG, path="/var/log/dirsrv/slapd-ds1/access"),
)
DEVICES = (
    BlockDevice(name="sda", number="8:0", type="disk", write_cache="write back", rotational=False, bytes=100 * GIB),
    BlockDevice(name="sda1", number="8:1", type="part", parents=("sda",), bytes=20 * GIB),
    BlockDevice(name="sdb", number="8:16", type="disk", write_cache="write back", rotational=False, bytes=100 * GIB),
    BlockDevice(name="dm-0", number="254:0", type="lvm", parents=("sdb",), mapper_name="vg-ldap", bytes=80 * GIB),
)


def probe(directory: str = "/srv/ldap/db", **changed: Any) -> StorageProbe:
    """Return what a disk with a flush of 10 ms gives."""
    measured: dict[str, Any] = {
        "mount_point": "/srv/ldap",
        "fs_type": "ext4",
        "device": "254:0",
        "written_bytes": 12 << 20,
        "syncs": tuple(
            _sync(write, call, milliseconds)
            for write, milliseconds in ((WriteKind.APPEND, 21.9), (WriteKind.OVERWRITE, 10.4))
            for call in SyncCall
        ),
        "commits": tuple(
            GroupCommit(committers=many, commits=round(66 * rate), syncs=66, seconds=1.5, commit=_latency(20))
            for many, rate in ((1, 1), (10, 6), (80, 21))
        ),
        "files": (),
        "access_times": None,
        "stopped_because": "",
    }
    origin = replace(facts.origin(name="probe.json"), taken=facts.at(30))
    return StorageProbe(origin=origin, directory=directory, **(measured | changed))


def _sync(write: WriteKind, call: SyncCall, milliseconds: float) -> SyncLatency:
    written = _latency(0.01)
    return SyncLatency(
        write=write, call=call, block_bytes=4096, count=120, sync=_latency(milliseconds), written=written
    )


def _latency(milliseconds: float) -> Latency:
    p10, p50, p90, p99, worst = (milliseconds * share / 1000 for share in (0.9, 1, 1.1, 1.5, 4))
    return Latency(p10_seconds=p10, p50_seconds=p50, p90_seconds=p90, p99_seconds=p99, worst_seconds=worst)


def settings(
    *settings: StorageSetting, places: tuple[StoragePlace, ...] = PLACES, origin: Origin | None = None
) -> StorageSettings:
    """Return the settings of the server."""
    return StorageSettings(
        origin=origin or facts.origin(name="dse.ldif"),
        identity=facts.DS389,
        places=places,
        settings=settings,
        backends=("userRoot",),
        complete=True,
    )


def mounts(text: str = MOUNTINFO) -> list[Any]:
    """Return the mount table of the server's process."""
    return [
        replace(fact, origin=facts.origin(name="mountinfo.txt")) for fact in facts_of(text, path="ldap/mountinfo.txt")
    ]


def server() -> list[Any]:
    """Return what shows that there is a server."""
    configuration = Configuration(origin=facts.origin(name="cn-config.ldif"), identity=facts.DS389)
    return [facts.table([facts.listening()]), configuration]


def disks() -> list[Any]:
    """Return everything about the disks but the mount table."""
    extents = (("id2entry.db", 4 << 20, 14), ("cn.db", 1 << 20, 3), ("uid.db", 1 << 20, 2), ("sn.db", 1 << 20, 2))
    rows = (
        Space(
            mount_point="/srv/ldap",
            fs_type="ext4",
            total_bytes=80 * GIB,
            used_bytes=68 * GIB,
            free_bytes=12 * GIB,
            **INODES,
        ),
        Space(mount_point="/", fs_type="ext4", total_bytes=20 * GIB, used_bytes=5 * GIB, free_bytes=14 * GIB, **INODES),
    )
    return [
        EffectiveOptions(origin=facts.origin(name="ext4-options.txt"), device="dm-0", options=OPTIONS),
        BlockDevices(origin=facts.origin(name="block-devices.txt"), devices=DEVICES),
        FileSystemSpace(origin=facts.origin(name="df.txt"), rows=rows),
        *(
            FileExtents(
                origin=facts.origin(name="extents.txt"),
                path=f"/srv/ldap/db/userRoot/{name}",
                bytes=size,
                allocated_bytes=size,
                extents=many,
            )
            for name, size, many in extents
        ),
        KernelErrors(origin=facts.origin(name="kernel-errors.txt"), errors=(), lines_read=900, from_boot=True),
    ]


def bundle(*more: Any, whole: bool = True) -> Bundle:
    """Return the evidence; not the whole of it: without disks and probe."""
    read = [*server(), settings(), *mounts(), *(disks() if whole else []), *more]
    return Bundle(facts=tuple(facts.nobodys(fact) for fact in read))
