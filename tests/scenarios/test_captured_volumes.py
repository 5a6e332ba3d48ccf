"""Captured volumes, each judged as it was made: tests/captures/storage, with TRUTH.json by whoever made them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import storage_facts as disk
from ldapdiag.analysis.storage.power_cut import doubts, weaknesses
from ldapdiag.analysis.storage.volume import Volume
from ldapdiag.evidence.storage import MountTable
from ldapdiag.evidence.storage.settings import Role
from reading import facts_of

HERE = Path(__file__).parents[1] / "captures" / "storage"
MORE = Path(__file__).parents[3] / "shared" / "corpus" / "storage"
"""More captures of the same kind, where the tests run beside them."""
FOLDERS = sorted(
    {path.parent.name: path.parent for root in (MORE, HERE) for path in root.glob("*/TRUTH.json")}.values()
)
VOLUMES = [folder for folder in FOLDERS if (folder / "mountinfo.txt").exists()]
ENOUGH = ("mountinfo.txt", "proc_fs_ext4_options.txt", "sysfs_queue.txt", "sysfs.txt", "lsblk_s.json", "lsblk.json")


def read(folder: Path, *names: str) -> list[Any]:
    """Return what is read of some files of a capture; of all that are not truth, if none is named."""
    files = [folder / name for name in names] if names else sorted(folder.iterdir())
    found: list[Any] = []
    for file in files:
        if file.exists() and file.name != "TRUTH.json":
            try:
                found += facts_of(file.read_bytes(), path=f"ldap/{file.name}")
            except AssertionError:  # a file of another kind of evidence
                continue
    return [replace(one, origin=replace(one.origin, host="ldap")) for one in found if hasattr(one, "origin")]


@cache
def volume_of(folder: Path, *names: str) -> Volume:
    """Return the volume of a capture, with the database of a server on it."""
    given = read(folder, *names)
    tables = [one for one in given if isinstance(one, MountTable)]
    point = next(iter(tables[0].mounts)).mount_point if tables else "/srv/ldap/vol"
    storage = disk.joined(*given, disk.settings((Role.DATABASE, f"{point}/db")))
    return storage.volumes[0]


def truth(folder: Path) -> dict[str, Any]:
    known: dict[str, Any] = json.loads((folder / "TRUTH.json").read_text())
    return known


@pytest.mark.parametrize("folder", VOLUMES, ids=lambda folder: folder.name)
class TestEachCapture:
    def test_shows_the_options_in_force(self, folder) -> None:
        known, options = truth(folder), volume_of(folder).options
        if "barrier" in known:
            assert options.barrier is bool(known["barrier"])
        if "journal" in known:
            assert options.journal == known["journal"]
        if "atime" in known:
            assert options.atime == known["atime"].replace("+", ",").partition(",")[0]
            assert options.lazytime is ("lazytime" in known["atime"])
        if isinstance(known.get("cow"), bool):
            assert options.cow is known["cow"]
        assert bool(options.compression) is known.get("compress", False)
        assert options.sync is (known.get("sync", False) or known.get("wsync", False))
        assert options.read_only is known.get("ro", False)
        if "commit" in known:
            assert options.commit_seconds == known["commit"]

    def test_is_of_its_type(self, folder) -> None:
        known, volume = truth(folder), volume_of(folder)
        assert volume.fs_type == known.get("fs", volume.fs_type)
        assert volume.local is known.get("local", True)
        assert (volume.durable is False) is (known.get("durable") is False or known.get("volatile", False))

    def test_lies_on_its_disks(self, folder) -> None:
        known, volume = truth(folder), volume_of(folder)
        if "disks" in known:
            assert [one.name for one in volume.devices] == known["disks"]
            assert volume.disk_known
        if "stack" in known:
            assert len(volume.stack) == len(known["stack"])

    def test_has_the_weaknesses_it_was_made_with(self, folder) -> None:
        known = truth(folder)
        expected = set()
        if known.get("barrier") == 0:
            expected.add("no-barriers")
        if known.get("journal") == "none":
            expected.add("no-journal")
        if known.get("journal") == "writeback":
            expected.add("writeback-journal")
        if folder.name == "ext4-async-commit":
            expected.add("async-commit")
        if known.get("durable") is False:
            expected = {"in-memory"}
        if known.get("volatile"):
            expected.add("overlay-volatile")
        for volume in (volume_of(folder), volume_of(folder, *ENOUGH)):
            assert {one.name for one in weaknesses(volume)} == expected

    def test_is_never_proven_safe_by_its_mount_alone(self, folder) -> None:
        for name in ("mountinfo.txt", "proc_mounts.txt", "mount.txt", "findmnt.json"):
            if (folder / name).exists():
                volume = volume_of(folder, name)
                assert weaknesses(volume) or list(doubts(volume))


def test_the_superblock_shows_what_the_mount_hides() -> None:
    hiding = [folder for folder in VOLUMES if "tune2fs -o" in truth(folder).get("set_by", "")]
    assert hiding
    for folder in hiding:
        assert not weaknesses(volume_of(folder, "mountinfo.txt"))
        for name in ("tune2fs_l.txt", "dumpe2fs_h.txt", "proc_fs_ext4_options.txt"):
            volume = volume_of(folder, "mountinfo.txt", name)
            assert weaknesses(volume), name
            assert volume.options.hidden, name
