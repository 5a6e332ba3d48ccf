"""The superblock of ext4, as tune2fs -l and dumpe2fs -h print it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.storage import Superblock
from ldapdiag.evidence.storage.superblock import FORMAT as SUPERBLOCK
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path


def test_the_superblock_shows_its_defaults(captures: Path) -> None:
    (found,) = facts_of((captures / "storage" / "ext4-tune2fs-nobarrier" / "tune2fs_l.txt").read_bytes())
    assert isinstance(found, Superblock)
    assert found.default_options == ("user_xattr", "acl", "nobarrier")
    assert (found.last_mounted_on, found.block_bytes, found.error_count) == ("/srv/ldap/vol", 1024, None)
    assert {"dir_index", "has_journal"} <= found.features
    assert (found.device, found.origin.not_understood) == ("", 0)
    (same,) = facts_of((captures / "storage" / "ext4-tune2fs-nobarrier" / "dumpe2fs_h.txt").read_bytes())
    assert (same.uuid, same.default_options, same.features) == (found.uuid, found.default_options, found.features)


def test_several_superblocks_with_their_commands_and_errors(captures: Path) -> None:
    text = (captures / "storage" / "ext4-default" / "tune2fs_l.txt").read_text()
    errors = "FS Error count:           3\nFirst error time:         Sun Nov 22 04:49:07 2026\n"
    session = f"# tune2fs -l /dev/sda1\n{text}{errors}\n# tune2fs -l /dev/mapper/vg-db\n{text}"
    first, second = facts_of(session, form=SUPERBLOCK)
    assert (first.device, first.error_count, first.first_error) == ("/dev/sda1", 3, "Sun Nov 22 04:49:07 2026")
    assert (second.device, second.error_count) == ("/dev/mapper/vg-db", None)
