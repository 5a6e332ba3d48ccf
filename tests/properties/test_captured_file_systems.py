"""Every captured file system of the shared corpus is read as it was made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from conftest import CORPUS
from ldapdiag.evidence.storage import BlockDevices, EffectiveOptions, FileExtents, MountTable, Superblock
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = sorted(
    path.parent
    for path in (CORPUS / "storage").glob("*/TRUTH.json")
    if not path.parent.name.startswith("log-") and path.parent.name != "xfs-nobarrier"
)
"""All but those of access logs, and of a mount that was refused."""
UNREAD = {"df_i.txt", "ls_s.txt", "btrfs.txt", "lvs.txt", "mdstat.txt", "dmsetup_table.txt", "mount-refused.txt"}
UNREAD |= {"fiemap.json", "statvfs.json", "losetup.json", "TRUTH.json"}
"""Files that the readers need not know."""


def facts(folder: Path) -> list[Any]:
    return [
        fact for path in sorted(folder.iterdir()) if path.name not in UNREAD for fact in facts_of(path.read_bytes())
    ]


def volume(tables: list[MountTable]) -> set[str]:
    """Return all options that the tables show of the volume, which is their last row."""
    return {option for table in tables for option in (*table.mounts[-1].options, *table.mounts[-1].super_options)}


def in_force(found: list[Any]) -> set[str]:
    options = volume([fact for fact in found if isinstance(fact, MountTable)])
    return options.union(*(fact.options for fact in found if isinstance(fact, EffectiveOptions)))


def expected_options(truth: dict[str, Any]) -> set[str]:
    wanted = {0: {"nobarrier"}, 1: set()}.get(truth.get("barrier", 1), set())
    wanted |= {f"data={truth['journal']}"} if truth.get("journal", "none") != "none" else set()
    wanted |= {
        word for word in str(truth.get("atime", "")).replace("+", ",").split(",") if word not in {"", "strictatime"}
    }
    wanted |= {"wsync"} if truth.get("wsync") else set()
    wanted |= {"ro"} if truth.get("ro") else set()
    wanted |= {f"commit={truth['commit']}"} if truth.get("commit") else set()
    wanted |= {"nodatacow"} if truth.get("cow") is False else set()
    return wanted | ({"nodelalloc"} if truth.get("delalloc") is False else set())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_it_is_read_as_it_was_made(folder: Path) -> None:
    truth = json.loads((folder / "TRUTH.json").read_text())
    found = facts(folder)
    tables = [fact for fact in found if isinstance(fact, MountTable)]
    assert {table.mounts[-1].fs_type for table in tables} == {truth.get("fs", "ext4")}
    assert expected_options(truth) <= in_force(found)
    if truth.get("atime") == "strictatime":
        assert not {"relatime", "noatime"} & in_force(found)
    if truth.get("volatile"):
        assert {"volatile", "fsync=volatile"} & in_force(found)
    extents = {one.path: one for one in found if isinstance(one, FileExtents)}
    for name, number in truth.get("extents", {}).items():
        assert (extents[name].extents == number) or (extents[name].extents is None and extents[name].unsupported)
    for block in (fact for fact in found if isinstance(fact, Superblock)):
        assert ("has_journal" in block.features) == (truth.get("journal") != "none"), "as it was made"
        assert ("dir_index" in block.features) == truth.get("dir_index", True)
        assert ("fast_commit" in block.features) == truth.get("fast_commit", False)


@pytest.mark.parametrize(
    "folder",
    [one for one in FOLDERS if one.name.startswith("uml-") and "nfs" not in one.name],
    ids=lambda path: path.name,
)
def test_the_stack_ends_at_its_disks(folder: Path) -> None:
    truth = json.loads((folder / "TRUTH.json").read_text())
    for name in ("sysfs.txt", "lsblk.json", "lsblk_s.json"):
        (found,) = facts_of((folder / name).read_bytes())
        assert isinstance(found, BlockDevices)
        devices = {one.name: one for one in found.devices}
        (table,) = facts_of((folder / "mountinfo.txt").read_bytes())
        (top,) = [one for one in found.devices if one.number == table.mounts[-1].device]
        stack, level = [top.type], [top]
        while level := [devices[parent] for one in level for parent in one.parents]:
            stack += [one.type for one in level]
        if truth.get("stack"):
            assert stack == [kind.removeprefix("md ") for kind in truth["stack"]]
        assert stack[-1] == "disk"
