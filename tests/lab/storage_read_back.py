"""File systems of every kind under one server, and what ldapdiag reads back of them.

`KINDS` states how each is made and what is true of it. One slapd has a database on each; `ldapdiag collect` runs in its
host, and the capture is read as anybody's.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lab.volumes import FileSystem, mount
from ldapdiag.analysis.storage.server_storage import ServerStorage
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import diagnose
from ldapdiag.sources.gathering import gather

if TYPE_CHECKING:
    from pathlib import Path

    from lab.directory_servers import Server
    from lab.host import Host
    from lab.laboratory import Laboratory
    from ldapdiag.diagnosis import Diagnosis

MEGABYTES = {"xfs": 320, "btrfs": 128}
SMALL = 32
ENTRY = "dn: o={name}\nobjectClass: organization\no: {name}\n"


@dataclass(frozen=True, slots=True)
class Kind:
    """A file system and what is true of it, as names and values of `Options`."""

    made: FileSystem
    options: dict[str, Any] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    """What is in force although no mount table shows it."""
    weaknesses: frozenset[str] = frozenset()
    """What a power cut damages or loses of a server that syncs each change, as `unsafe-writes` names it."""


JOURNAL, WRITEBACK = frozenset({"no-journal"}), frozenset({"writeback-journal"})
BARRIERS, MEMORY = frozenset({"no-barriers"}), frozenset({"in-memory"})
ORDERED = {"barrier": True, "journal": "ordered", "atime": "relatime", "lazytime": False, "sync": False}
KINDS = {
    "ext2": Kind(FileSystem("ext2"), {"journal": "none"}, weaknesses=JOURNAL),
    "ext3": Kind(FileSystem("ext3"), ORDERED),
    "ext4": Kind(FileSystem("ext4"), ORDERED),
    "ext4-journal": Kind(FileSystem("ext4", "data=journal"), ORDERED | {"journal": "journal"}),
    "ext4-writeback": Kind(
        FileSystem("ext4", "data=writeback"), ORDERED | {"journal": "writeback"}, weaknesses=WRITEBACK
    ),
    "ext4-async": Kind(
        FileSystem("ext4", "journal_async_commit,data=writeback"),
        {"async_commit": True},
        weaknesses=WRITEBACK | {"async-commit"},
    ),
    "ext4-nobarrier": Kind(FileSystem("ext4", "nobarrier"), ORDERED | {"barrier": False}, weaknesses=BARRIERS),
    "ext4-barrier0": Kind(FileSystem("ext4", "barrier=0"), ORDERED | {"barrier": False}, weaknesses=BARRIERS),
    "ext4-barrier-again": Kind(FileSystem("ext4", "barrier", defaults="nobarrier"), ORDERED),
    "ext4-tune2fs-nobarrier": Kind(
        FileSystem("ext4", defaults="nobarrier"), ORDERED | {"barrier": False}, ("nobarrier",), BARRIERS
    ),
    "ext4-tune2fs-writeback": Kind(
        FileSystem("ext4", defaults="journal_data_writeback"),
        ORDERED | {"journal": "writeback"},
        ("data=writeback",),
        WRITEBACK,
    ),
    "ext3-tune2fs-nobarrier": Kind(
        FileSystem("ext3", defaults="nobarrier"), ORDERED | {"barrier": False}, ("nobarrier",), BARRIERS
    ),
    "ext4-no-journal": Kind(FileSystem("ext4", make="-O ^has_journal"), {"journal": "none"}, weaknesses=JOURNAL),
    "ext4-no-dir-index": Kind(FileSystem("ext4", make="-O ^dir_index"), ORDERED),
    "ext4-strictatime": Kind(FileSystem("ext4", "strictatime"), ORDERED | {"atime": "strictatime"}),
    "ext4-noatime": Kind(FileSystem("ext4", "noatime"), ORDERED | {"atime": "noatime"}),
    "ext4-lazytime": Kind(FileSystem("ext4", "lazytime"), ORDERED | {"lazytime": True}),
    "ext4-sync": Kind(FileSystem("ext4", "sync"), ORDERED | {"sync": True}),
    "ext4-commit": Kind(FileSystem("ext4", "commit=60"), ORDERED | {"commit_seconds": 60}),
    "xfs": Kind(FileSystem("xfs"), {"barrier": True, "atime": "relatime"}),
    "xfs-wsync": Kind(FileSystem("xfs", "wsync,noatime"), {"barrier": True, "sync": True, "atime": "noatime"}),
    "btrfs": Kind(FileSystem("btrfs"), {"barrier": True, "cow": True, "compression": ""}),
    "btrfs-nobarrier": Kind(FileSystem("btrfs", "nobarrier"), {"barrier": False}, weaknesses=BARRIERS),
    "btrfs-nodatacow": Kind(FileSystem("btrfs", "nodatacow"), {"barrier": True, "cow": False}),
    "btrfs-compress": Kind(FileSystem("btrfs", "compress-force=zstd"), {"compression": "zstd:3"}),
    "tmpfs": Kind(FileSystem("tmpfs"), weaknesses=MEMORY),
    "zram": Kind(FileSystem("ext4", in_zram=True), ORDERED, weaknesses=MEMORY),
    "overlay": Kind(FileSystem("overlay"), {"volatile": False}),
    "overlay-volatile": Kind(
        FileSystem("overlay", "volatile"), {"volatile": True}, weaknesses=frozenset({"overlay-volatile"})
    ),
    "overlay-nobarrier": Kind(FileSystem("overlay", over=FileSystem("ext4", "nobarrier")), weaknesses=BARRIERS),
    "bind": Kind(FileSystem("bind"), ORDERED),
    "loop-on-loop": Kind(FileSystem("ext4", over=FileSystem("ext4")), ORDERED),
    "loop-on-nobarrier": Kind(
        FileSystem("ext4", over=FileSystem("ext4", defaults="nobarrier")), ORDERED, weaknesses=BARRIERS
    ),
}


def place_of(kind: str) -> str:
    """Return where a kind is mounted: where slapd has the database of that name."""
    return f"/var/lib/ldap-{kind}"


def serve_all(laboratory: Laboratory, host: Host, images: Path) -> Server:
    """Mount every kind, and start a slapd with a database on each."""
    for name, kind in KINDS.items():
        megabytes = MEGABYTES.get(kind.made.type, SMALL)
        mount(host, kind.made, place_of(name), megabytes=megabytes, images=images)
    databases = {f"o={name}": ("", ENTRY.format(name=name)) for name in KINDS}
    return laboratory.slapd(host, further=databases)


def read_back(host: Host, capture: Path) -> tuple[ServerStorage, Diagnosis]:
    """Collect on the host, and return what is made of the capture: the server's storage, and all verdicts."""
    host.run([sys.executable, "-m", "ldapdiag", "collect", "local:", "--apart", "0.1", "--output", capture])
    return stored(capture)


def stored(capture: Path) -> tuple[ServerStorage, Diagnosis]:
    """Return what is made of a capture of one server: its storage, and all verdicts."""
    diagnosis = diagnose(gather([str(capture)]), installed_checks())
    assert diagnosis.crashed == ()
    (found,) = diagnosis.facts.every(ServerStorage)
    return found, diagnosis
